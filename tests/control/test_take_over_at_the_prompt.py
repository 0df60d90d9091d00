"""`resume --take-over` while another live process owns the run: real processes over one database."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from witness import Witness

from deep_research.state import CommandKind
from deep_research.store import SQLiteStore

pytestmark = pytest.mark.timed

BOUND = 300.0
# The search that is held must outlast the start of the others, and the commands of others arrive before the run is done.
HELD = ("--set", "operation_timeout=3600")
SHORT = ("--set", "lease_ttl=1")  # an owner that hangs is waited for for two leases
CLI = (
    f"import sys; sys.path.append({str(Path(__file__).parents[1])!r})"
    + """
import asyncio
from pathlib import Path
from deep_research import DeepResearch
from deep_research.interfaces.cli.main import main
from deep_research.testing import scripted_agents
from witness import WitnessedSearch

folder, waits = Path(sys.argv.pop(1)), sys.argv.pop(1) == "waits"

async def wait(request):
    if waits and len(search.requests) == 2:
        (folder / "inside").touch()
        while not (folder / "go_on").exists():
            await asyncio.sleep(0.005)
    elif waits and len(search.requests) > 2:
        await asyncio.sleep(0.2)  # a search that takes its time

search = WitnessedSearch(before=wait, witness=folder / "witness")

def engine(**given):
    agents = scripted_agents(sub_queries=5, without=["gatherer"])
    return DeepResearch(search=[search], agents=agents, max_concurrent=1, **given)

sys.exit(main(engine=engine))
"""
)


class Prompts:
    """The command line in processes of its own over one folder; those left at the end are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, SQLiteStore(folder / "runs" / "runs.db")
        self._left: list[subprocess.Popen[str]] = []

    def begin(self, *arguments: str, waits: bool = False) -> subprocess.Popen[str]:
        how = [sys.executable, "-c", CLI, str(self.folder), "waits" if waits else "goes on"]
        command = [*how, *arguments, "--data-dir", str(self.folder / "runs")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._left.append(process)
        return process

    def owner(self, *options: str) -> tuple[subprocess.Popen[str], str]:
        """A process in the middle of the second search of its run, and the id of that."""
        process = self.begin("run", "Who kept the light?", *HELD, *options, waits=True)
        self.until((self.folder / "inside").exists, process)
        (row,) = self.store.runs()
        return process, row.run_id

    def until(self, there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
        end = time.monotonic() + BOUND
        while not there():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.005)  # between two looks

    def asked_to_let_go(self, run_id: str) -> bool:
        return CommandKind.RELEASE in [command.kind for command in self.store.pending_commands(run_id)]

    def names(self, run_id: str) -> Counter[str]:
        return Counter(event.type for event in self.store.read(run_id))

    def searches(self) -> Counter[str]:
        return Counter(call.unit for call in Witness(self.folder / "witness").calls())

    def close(self) -> None:
        for process in self._left:
            process.kill()
            process.communicate()
        self.store.close()


@pytest.fixture
def prompts(tmp_path: Path) -> Iterator[Prompts]:
    made = Prompts(tmp_path)
    yield made
    made.close()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=BOUND)
    return process.returncode, out, err


def one_line(err: str) -> str:
    (line,) = [line for line in err.splitlines() if line.startswith("deep-research: ")]
    assert err.splitlines()[-1] == line
    return line


def test_a_live_owner_lets_go_at_its_next_unit_and_nothing_is_searched_twice(prompts: Prompts) -> None:
    owner, run_id = prompts.owner()
    code, out, err = ended(prompts.begin("resume", run_id))
    assert (code, out) == (2, "")
    assert "worked on" in one_line(err)
    assert "--take-over" in err
    assert (
        prompts.names(run_id)["sub_query.completed"] == 1
    )  # told at once, while the owner is at its second search
    taker = prompts.begin("resume", run_id, "--take-over")
    prompts.until(lambda: prompts.asked_to_let_go(run_id), taker)
    (prompts.folder / "go_on").touch()
    code, out, err = ended(taker)
    assert code == 0, err
    assert out.startswith("#")
    code, out, err = ended(owner)
    assert (code, out) == (1, "")
    assert f"no longer owns run '{run_id}': another process continues it" in one_line(err)
    assert set(prompts.searches().values()) == {1}
    assert prompts.store.pending_commands(run_id) == []
    names = prompts.names(run_id)
    assert (names["run.created"], names["run.resumed"], names["run.completed"]) == (1, 1, 1)


def test_an_owner_that_hangs_is_passed_over_and_loses_the_run(prompts: Prompts) -> None:
    owner, run_id = prompts.owner(*SHORT)
    code, out, err = ended(prompts.begin("resume", run_id, "--take-over", *SHORT))
    assert code == 0, err
    assert out.startswith("#")
    log = prompts.store.read(run_id)
    (prompts.folder / "go_on").touch()
    code, out, err = ended(owner)
    assert (code, out) == (1, "")
    assert "no longer owns run" in one_line(err)
    assert prompts.store.read(run_id) == log
    twice = [query for query, times in prompts.searches().items() if times > 1]
    assert len(twice) == 1  # what was in flight when it hung


def test_of_two_that_take_over_at_once_one_has_the_run(prompts: Prompts) -> None:
    owner, run_id = prompts.owner()
    takers = [prompts.begin("resume", run_id, "--take-over") for _ in range(2)]
    both = [CommandKind.RELEASE, CommandKind.RELEASE]
    prompts.until(
        lambda: [command.kind for command in prompts.store.pending_commands(run_id)] == both, takers[0]
    )
    (prompts.folder / "go_on").touch()
    came = [ended(taker) for taker in takers]
    assert 0 in [code for code, _, _ in came]
    for code, out, err in came:
        if code:
            assert (code, out) == (2, "")
            assert "took the run over first" in one_line(err) or "worked on" in one_line(err)
    assert ended(owner)[0] == 1
    assert set(prompts.searches().values()) == {1}
    assert prompts.names(run_id)["run.completed"] == 1
    assert prompts.store.pending_commands(run_id) == []


def test_a_run_that_nobody_owns_is_simply_gone_on_with(prompts: Prompts) -> None:
    owner, run_id = prompts.owner()
    owner.kill()
    owner.wait(timeout=BOUND)
    code, out, err = ended(prompts.begin("resume", run_id, "--take-over"))
    assert code == 0, err
    assert out.startswith("#")
    assert prompts.names(run_id)["run.completed"] == 1
    assert prompts.store.pending_commands(run_id) == []
