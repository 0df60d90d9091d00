"""What holds for every test: no network, no folder of the user who runs them, bounded hypothesis runs; and virtual
time."""

from __future__ import annotations

import asyncio
import gc
import inspect
import ipaddress
import itertools
import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from tiers import SECOND_TIER

pytest.register_assert_rewrite("deep_research.testing", "servers")

hypothesis_settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
hypothesis_settings.load_profile("suite")

# Compiled code is kept, whatever the shell says: the tests start hundreds of processes, which would each compile again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def own_secrets() -> Iterator[None]:
    """What a test registers as a secret is none for the next one, nor are the keys of its engines."""
    from deep_research import secret_values

    process = secret_values.keyring()
    forms = set(process._forms), set(process._unmistakable_forms)
    yield
    process._forms, process._unmistakable_forms = forms
    secret_values._KEYRINGS.clear()
    secret_values._KEYRINGS.add(process)
    secret_values._version += 1


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """How a test has the package print its log is no matter of the next one."""
    logger = logging.getLogger("deep_research")
    level, handlers = logger.level, logger.handlers[:]
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers


LONG = {"slow", "bench", "sweep"}

FIRST_TIER = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """The first tier alone runs where neither a mark nor a file is named."""
    named = config.option.markexpr or config.args_source is pytest.Config.ArgsSource.ARGS
    config.stash[FIRST_TIER] = getattr(config, "workerinput", {}).get("first_tier", not named)


def pytest_configure_node(node: Any) -> None:
    """A worker of xdist does what the process does that started it."""
    node.workerinput["first_tier"] = node.config.stash[FIRST_TIER]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are given a clock are `timed`; tests/test_timed.py sees to the others. What is long runs where its
    mark is asked for by name."""
    unnamed = LONG - set(re.findall(r"\w+", config.option.markexpr))
    second = tuple(str(Path(__file__).parent / each) for each in SECOND_TIER)
    left = []
    for item in items:
        if {"time", "seconds", "least", "stretch"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.timed)
        if is_second := str(item.path).startswith(second):
            item.add_marker(pytest.mark.ci)
        marks = LONG & {mark.name for mark in item.iter_markers()}
        if (marks and marks <= unnamed) or (is_second and config.stash[FIRST_TIER]):
            left.append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine has a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_collection_finish() -> None:
    """What was collected stays until the end: millions of objects that no later search for rings need look at."""
    gc.freeze()


@pytest.fixture(params=[5, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def examples(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """Of so many examples a fifth in the fast run, all of them in the slow one."""
    share: int = request.param
    return lambda most: most // share


@pytest.fixture
def least() -> Callable[[float, Callable[[], float]], float]:
    """The least figure of at most five tries, the first below the bound ending them: a busy machine spoils one or two,
    a fault all of them."""

    def measure(bound: float, figure: Callable[[], float]) -> float:
        found = figure()
        for _ in range(4):
            if found < bound:
                break
            found = min(found, figure())
        return found

    return measure


@pytest.fixture
def seconds(
    least: Callable[[float, Callable[[], float]], float],
) -> Callable[[float, Callable[[], object]], float]:
    """How long a call computes, as `least` measures."""

    def once(work: Callable[[], object]) -> float:
        began = thread_time()
        work()
        return thread_time() - began

    return lambda bound, work: least(bound, lambda: once(work))


@pytest.fixture
def stretch() -> Callable[[float, Callable[[float], object]], None]:
    """Try with so many seconds, and with more where it does not hold: too few are too few for a busy machine, a fault
    stays one."""

    def tried(seconds: float, attempt: Callable[[float], object]) -> None:
        for _ in range(4):
            try:
                attempt(seconds)
            except (AssertionError, TimeoutError, pytest.fail.Exception):
                seconds *= 4
            else:
                return
        attempt(seconds)

    return tried


class NetworkForbiddenError(AssertionError):
    """A test tried to leave the machine."""


def is_local(family: int, address: Any) -> bool:
    """Whether an address is a socket file or loopback. Names are refused too: resolving them asks the network."""
    if family == getattr(socket, "AF_UNIX", None):
        return True
    try:
        return ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    except ValueError:
        return address[0] == "localhost"


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Connecting anywhere but to this machine raises."""

    def guarded(original: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            if not is_local(self.family, address):
                raise NetworkForbiddenError(f"a test tried to reach {address!r}")
            return original(self, address)

        return connect

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
        yield


def move_to(home: Path, patch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        patch.setenv(name, str(home))
    patch.setenv("DEEP_RESEARCH_HOME", str(home / "deep-research"))


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Path]]:
    """Folders with a number each, for `mktemp` would look through thousands of them for the next number. The first is
    the home of what several tests share."""
    within = tmp_path_factory.mktemp("homes")
    numbered = (within / str(number) for number in itertools.count())
    with pytest.MonkeyPatch.context() as patch:
        move_to(next(numbered), patch)
        yield numbered


@pytest.fixture(scope="module", autouse=True)
def settled() -> None:
    """What the files before have left, and what came to be imported, is not looked through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """What ends or is cancelled has as long as a busy machine takes."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("engine.CANCEL_WAIT_SECONDS", "runner.RELEASE_WAIT_SECONDS", "loops._GRACE_SECONDS"):
            patch.setattr(f"deep_research.research.{limit}", 300.0)
        yield


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a data directory of the test's own."""
    home = next(homes)
    move_to(home, monkeypatch)
    return home


@pytest.fixture(scope="module")
def kept_readers() -> Iterator[None]:
    """Processes that read documents are kept from one engine of a file to the next, which would else start its own."""
    from deep_research.sources.extract import Extractor

    made: dict[tuple[tuple[str, Any], ...], Extractor] = {}

    class Kept(Extractor):
        def close(self) -> None:
            """The next engine uses it."""

    def kept(**given: Any) -> Extractor:
        return made.setdefault(tuple(sorted(given.items())), Kept(**given))

    with pytest.MonkeyPatch.context() as patch:
        for place in ("assembly.source_choice", "sources.documents.corpus", "sources.documents.index"):
            patch.setattr(f"deep_research.{place}.Extractor", kept)
        yield
    for extractor in made.values():
        Extractor.close(extractor)


class VirtualTime:
    """A clock that only sleeping moves. ``slept`` is what was slept."""

    def __init__(self):
        self.now = 1_000.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(round(seconds, 6))
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def time():
    return VirtualTime()
