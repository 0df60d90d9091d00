"""A key goes to the service that its variable belongs to, or to a server that its owner named, and nowhere else."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import socket
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, get_args

import pytest
from key_listener import KeyListener

import deep_research
from deep_research import DeepResearch
from deep_research.errors import DeepResearchError, SettingsError
from deep_research.models import Message, ModelCall, ModelProvider
from deep_research.models.registry import make_model_provider
from deep_research.setting_fields import fields_by_path, flatten
from deep_research.settings import Settings, env_variable
from deep_research.settings.folder_file import FREE_TEXTS
from deep_research.sources.search import SearchProvider, SearchRequest
from deep_research.sources.search.providers import make_provider

pytestmark = pytest.mark.timed

# The variables whose keys are sent, with the server that each belongs to.
OWN_SERVERS = {
    "ANTHROPIC_API_KEY": "api.anthropic.com:443",
    "OPENAI_API_KEY": "api.openai.com:443",
    "TAVILY_API_KEY": "api.tavily.com:443",
    "GOOGLE_API_KEY": "www.googleapis.com:443",
    "SEMANTIC_SCHOLAR_API_KEY": "api.semanticscholar.org:443",
    "OPENALEX_API_KEY": "api.openalex.org:443",
}
HEADERS = {
    f"{name}_API_KEY": f"{name}_CUSTOM_HEADERS" for name in ("ANTHROPIC", "OPENAI")
}  # go where the key goes
OF_SDKS = ("ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY", "OLLAMA_API_KEY")  # are sent nowhere
PASSWORD = "the password of the proxy"
SERVICES = ("tavily", "google", "semantic_scholar", "openalex")
CALL = ModelCall(messages=(Message(content="How tall is the tower?"),), max_output=100, timeout=60)

REFUSED = "refused"
NOTHING: frozenset[str] = frozenset()
Outcome = str | frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A ``value``, as TOML, of a setting, in which ``{url}`` is the listener. What that hears where somebody ``named``
    the value, and where a file of the current ``folder`` has it. ``more`` are other settings, named by argument."""

    value: str
    named: Outcome = NOTHING
    folder: Outcome = NOTHING
    more: dict[str, Any] = field(default_factory=dict)


def keys(*names: str) -> frozenset[str]:
    """The keys of services, with the headers that are sent beside them."""
    found = {f"{name}_API_KEY" for name in names}
    return frozenset(found | {HEADERS[name] for name in found & HEADERS.keys()})


def of_models(wrap: str = '"{}"', **more: Any) -> list[Row]:
    """A model at the listener, written as ``wrap`` says."""
    return [
        Row(value=wrap.format("openai:m@{url}/v1"), named=keys("OPENAI"), folder=REFUSED, more=more),
        Row(value=wrap.format("anthropic:m@{url}"), named=keys("ANTHROPIC"), folder=REFUSED, more=more),
        Row(value=wrap.format("openai-compatible:m@{url}/v1"), more=more),
        Row(value=wrap.format("ollama:m@{url}"), more=more),
        Row(value=wrap.format("openai:m"), more=more),
    ]


def of_words() -> list[Row]:
    return [Row(value='"{url}/path"')]


def of_paths(inside: str = '"kept/x"', outside: str = '"../outside/x"', **more: Any) -> list[Row]:
    return [Row(value=inside, more=more), Row(value=outside, folder=REFUSED, more=more)]


_SEARCHES = 'tools = ["search"], search_tool = "search" } }'
NO_NAME = [Row(value='"{url}"', named=REFUSED, folder=REFUSED)]
TABLE: dict[str, list[Row]] = {
    "model": [*of_models(), Row(value='"replay:../outside/none.jsonl"', named=REFUSED, folder=REFUSED)],
    "models": of_models('{{ planner = "{}" }}'),
    "summarization.model": [*of_models(), *of_models('["{}"]')],
    "search_urls": [
        *(
            Row(value=f'{{ {name} = "{{url}}" }}', named=keys(name.upper()), folder=REFUSED)
            for name in SERVICES
        ),
        *(
            Row(value=f'{{ {name} = "{{url}}" }}', folder=REFUSED, more={"search": [name]})
            for name in ("searxng", "wikipedia")
        ),
    ],
    "fetch.proxy": [
        Row(
            value=f'"http://me:{PASSWORD.replace(" ", "%20")}@{{server}}"',
            named=frozenset([PASSWORD]),
            folder=REFUSED,
        ),
        Row(value='"environment"'),
        Row(value='"off"'),
    ],
    "corpus": of_paths('"kept/docs"', '["kept/docs", "../outside/docs"]'),
    "named_corpora": of_paths('{ docs = "kept/docs" }', '{ docs = "../outside/docs" }'),
    "users_file": of_paths('"kept/users.toml"', '"../outside/users.toml"'),
    "model_file": [
        *of_paths('"kept/models.toml"', '"../outside/models.toml"'),
        Row(
            value='"kept/cheaper.toml"',
            named=keys("OPENAI"),
            folder=REFUSED,
            more={"cheap_model": True, "model": "ollama:m@{url}"},
        ),
    ],
    "record_models": of_paths(),
    "content_archive.dir": of_paths(),
    "data_dir": of_paths(),
    "mcp_servers": [
        Row(
            value='{ notes = { url = "{url}", token_variable = "OPENAI_API_KEY", ' + _SEARCHES,
            named=frozenset({"OPENAI_API_KEY"}),
            folder=REFUSED,
            more={"search": ["mcp:notes"]},
        ),
        Row(value='{ notes = { url = "{url}", ' + _SEARCHES, folder=REFUSED, more={"search": ["mcp:notes"]}),
        Row(value='{ notes = { command = "true" } }', folder=REFUSED),
        Row(value='{ notes = { command = "true", url = "{url}" } }', named=REFUSED, folder=REFUSED),
        Row(value='{ notes = { url = "http://me:word@{server}" } }', named=REFUSED, folder=REFUSED),
    ],
    "search": NO_NAME,
    "memory": NO_NAME,
    "preset": NO_NAME,
    "effort": NO_NAME,
    "thinking_tokens": NO_NAME,
    "window.model_tokens": [Row(value='{ "ollama:m@{url}" = 4096 }')],
    "source_language": [Row(value='"{url}"', folder=REFUSED)],
    "source_types": [Row(value='"{url}"', folder=REFUSED)],
    "tasks.sources": [Row(value='"{url}"', folder=REFUSED)],
    "tasks.tools": [Row(value='"{url}"', folder=REFUSED)],
    **{name: of_words() for name in FREE_TEXTS},
}
CASES = [(name, number) for name, rows in TABLE.items() for number in range(len(rows))]


def leaves(sort: object) -> Iterator[object]:
    yield sort
    for part in get_args(sort):
        yield from leaves(part)


def test_every_setting_that_can_hold_an_address_or_a_path_has_a_row() -> None:
    texts = {
        name for name, of in fields_by_path(Settings).items() if {str, Path} & set(leaves(of.annotation))
    }
    assert TABLE.keys() == texts


def test_every_variable_of_a_key_that_the_code_reads_is_among_those_that_are_listened_for() -> None:
    package = Path(deep_research.__file__).parent
    quoted = re.compile(r'"([A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD))"')
    texts = [path.read_text() for path in package.rglob("*.py") if "testing" not in path.parts]
    found = {name for text in texts for name in quoted.findall(text)}
    # They go to their servers alone: tests/client/test_connection.py, tests/capabilities/test_remote_capability.py.
    of_clients = {"DEEP_RESEARCH_TOKEN", "RESEARCHER_SERVICE_TOKEN"}
    assert found == {*OWN_SERVERS, *of_clients}


installed = cache(entry_points)  # it looks through all packages


@pytest.fixture(scope="module")
def listener() -> Iterator[KeyListener]:
    with KeyListener() as running:
        yield running


@pytest.fixture(scope="module")
def proxy() -> Iterator[KeyListener]:
    """Stands for all that is not this machine."""
    with KeyListener() as running:
        yield running


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, listener: KeyListener, proxy: KeyListener) -> dict[str, str]:
    """A key for each variable; and the network, of which a proxy is all there is."""
    made = {name: f"sk-{name.lower()}-{secrets.token_hex(12)}" for name in (*OWN_SERVERS, *OF_SDKS)}
    made |= {name: f"gateway-{secrets.token_hex(12)}" for name in HEADERS.values()}
    for name, key in made.items():
        monkeypatch.setenv(name, f"X-Gateway: {key}" if name in HEADERS.values() else key)
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_base_url", "_host")) or name.startswith("DEEP_RESEARCH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine")
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)

    for module in ("models.registry", "sources.search.providers"):
        monkeypatch.setattr(f"deep_research.{module}.entry_points", installed)

    def no_names(host: Any, *_: Any, **__: Any) -> Any:
        if host in ("127.0.0.1", b"127.0.0.1"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", _[0]))]
        raise socket.gaierror(socket.EAI_NONAME, "there is no network")

    monkeypatch.setattr(socket, "getaddrinfo", no_names)
    listener.heard.clear()
    proxy.heard.clear()
    return made | {PASSWORD: PASSWORD}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listener: KeyListener) -> Path:
    """The current folder, with a folder of documents and models, and such another outside."""
    for kept in ("folder/kept", "outside"):
        (tmp_path / kept / "docs").mkdir(parents=True)
        (tmp_path / kept / "docs" / "tower.md").write_text("# Tower\n\nThe tower is 41 metres tall.\n")
        (tmp_path / kept / "users.toml").write_text('[users."*"]\nrole = "keeper"\n')
        (tmp_path / kept / "models.toml").write_text('["ollama:m"]\ncontext = 8192\n')
        cheaper = f'["ollama:m"]\ncheaper = "openai:cheap@{listener.url}/v1"\n'
        (tmp_path / kept / "cheaper.toml").write_text(cheaper)
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setattr("deep_research.settings.sources._user_config_dir", lambda: tmp_path / "user")
    return tmp_path / "folder"


async def ask_model(provider: ModelProvider) -> None:
    """Every request that can be made of a model."""
    requests: list[Callable[[], Awaitable[object]]] = [
        lambda: provider.send(CALL),
        lambda: provider.send(CALL, lambda _: None),
        lambda: provider.count(CALL),
        provider.ask_window,
    ]
    for request in requests:
        with suppress(DeepResearchError):
            await request()
    await provider.aclose()


async def ask_service(provider: SearchProvider) -> None:
    with suppress(DeepResearchError):
        await provider.search(SearchRequest(query="tower", limit=3))
    await provider.aclose()


async def ask_everything(engine: DeepResearch) -> None:
    """Every request that runs of this engine can make of services, and one for a page where there is a proxy for it."""
    parts = engine._parts
    roles = parts.models
    for model in {each for chain in (roles.chain, *roles.by_role.values()) for each in chain}:
        await ask_model(roles.pool.provider(model))
    for service in parts.sources.services:
        await ask_service(service.provider)
    pages = parts.sources.gatherer.reading.pages
    if pages is not None and parts.settings.fetch.proxy != "off":
        for url in ("http://towers.lighthouses.org/page", "https://towers.lighthouses.org/page"):
            with suppress(DeepResearchError):
                await pages.read(url)


def outcome(listener: KeyListener, known: dict[str, str], **given: Any) -> Outcome:
    try:
        engine = DeepResearch(store="memory", **given)
    except DeepResearchError:
        return REFUSED
    with engine:
        asyncio.run(ask_everything(engine))
    return frozenset(listener.keys(known))


def written(value: Any) -> str:
    """As it stands in a variable of the environment."""
    return value if isinstance(value, str) else json.dumps(value)


ORIGINS = ("argument", "environment", "--config", "user", "folder")
OTHER_WAYS = ("--config of this folder", "DEEP_RESEARCH_CONFIG")  # to name a file


@pytest.mark.parametrize(
    ("name", "number", "origin"),
    [
        *((name, number, origin) for name, number in CASES for origin in ORIGINS),
        *((name, number, way) for name, number in CASES if name in ("model", "corpus") for way in OTHER_WAYS),
    ],
)
def test_a_key_goes_where_its_owner_says(
    name: str,
    number: int,
    origin: str,
    known: dict[str, str],
    folder: Path,
    listener: KeyListener,
    proxy: KeyListener,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def filled(text: str) -> str:
        return text.replace("{url}", listener.url).replace("{server}", listener.url.removeprefix("http://"))

    row = TABLE[name][number]
    line = f"{name} = {filled(row.value)}"
    # With all services and models at their own places beside.
    given: dict[str, Any] = {"model": ["anthropic:m", "openai:m"], "search": SERVICES}
    given |= {key: filled(value) if isinstance(value, str) else value for key, value in row.more.items()}
    given.pop(name, None)
    document = f"[research]\n{line}\n"
    match origin:
        case "argument":
            given |= tomllib.loads(line)
        case "environment":
            value = flatten(Settings, tomllib.loads(line))[name]
            monkeypatch.setenv(env_variable(name), written(value))
        case "--config" | "DEEP_RESEARCH_CONFIG":
            (folder / "mine.toml").write_text(document)
            if origin == "--config":
                given["config"] = "mine.toml"
            else:
                monkeypatch.setenv("DEEP_RESEARCH_CONFIG", "mine.toml")
        case "user":
            (folder.parent / "user").mkdir()
            # Its paths start from its own folder.
            moved = document.replace('"kept', '"../folder/kept')
            (folder.parent / "user" / "deep-research.toml").write_text(moved)
        case _:
            (folder / "deep-research.toml").write_text(document)
            if origin != "folder":
                given["config"] = "deep-research.toml"
    found = outcome(listener, known, **given)
    assert found == (row.folder if origin == "folder" else row.named)
    # What goes to the services themselves goes through tunnels, in which nobody on the way hears a key.
    assert not proxy.keys(known)
    assert proxy.tunnels <= {*OWN_SERVERS.values(), "towers.lighthouses.org:443"}


def test_with_all_keys_set_each_service_is_asked_at_its_own_server(
    known: dict[str, str], folder: Path, listener: KeyListener, proxy: KeyListener
) -> None:
    outcome(listener, known, model=["anthropic:m", "openai:m"], search=SERVICES)
    assert proxy.tunnels == set(OWN_SERVERS.values())


@pytest.mark.parametrize(
    ("variable", "path", "model", "heard"),
    [
        ("ANTHROPIC_BASE_URL", "", "anthropic:m", keys("ANTHROPIC")),
        ("OPENAI_BASE_URL", "/v1", "openai:m", keys("OPENAI")),
        ("OPENAI_BASE_URL", "/v1", "openai-compatible:m", keys("OPENAI")),
        ("OLLAMA_HOST", "", "ollama:m", NOTHING),
    ],
)
def test_the_variable_of_an_address_moves_the_key_of_its_service_alone(
    variable: str,
    path: str,
    model: str,
    heard: frozenset[str],
    known: dict[str, str],
    folder: Path,
    listener: KeyListener,
    proxy: KeyListener,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, listener.url + path)
    # Also where it is a file of the folder that says which model is asked.
    (folder / "deep-research.toml").write_text(f'[research]\nmodel = "{model}"\n')
    assert outcome(listener, known, search=SERVICES) == heard
    assert listener.heard
    assert not proxy.keys(known)


@pytest.mark.parametrize(
    "address",
    [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.evil.example/v1",
        "https://evil.example/api.openai.com/v1",
    ],
)
def test_an_address_that_only_looks_like_the_own_server_of_a_key_gets_none(
    address: str, known: dict[str, str]
) -> None:
    assert make_model_provider(f"openai-compatible:m@{address}").sent_key == ""
    assert (
        make_model_provider("openai-compatible:m@https://API.openai.com:443/v1").sent_key == "OPENAI_API_KEY"
    )


@pytest.mark.parametrize("model", ["anthropic:m", "openai:m", "openai-compatible:m", "ollama:m"])
def test_no_model_is_followed_to_another_server(
    model: str, known: dict[str, str], listener: KeyListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KeyListener(to=f"{listener.url}/v1/elsewhere") as first:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{first.url}/v1")  # so that its key goes to the first
        url = "" if model.startswith("openai") else f"@{first.url}"
        asyncio.run(ask_model(make_model_provider(f"{model}{url}")))
        assert first.heard
        assert not listener.heard


@pytest.mark.parametrize("name", [*SERVICES, "searxng", "wikipedia"])
def test_no_search_is_followed_to_another_server(
    name: str, known: dict[str, str], listener: KeyListener
) -> None:
    with KeyListener(to=f"{listener.url}/elsewhere") as first:
        asyncio.run(ask_service(make_provider(name, base_url=first.url)))
        assert first.heard
        assert not listener.heard


@pytest.mark.parametrize("setting", ["environment", "address"])
def test_the_password_of_a_proxy_goes_to_the_proxy_and_to_no_page(
    setting: str, known: dict[str, str], folder: Path, proxy: KeyListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = proxy.url.replace("//", f"//me:{PASSWORD.replace(' ', '%20')}@")
    monkeypatch.setenv("HTTPS_PROXY", address)
    monkeypatch.setenv("HTTP_PROXY", address)
    given = "environment" if setting == "environment" else address
    with DeepResearch(store="memory", search=["tavily"], fetch={"proxy": given}) as engine:
        asyncio.run(ask_everything(engine))
    assert proxy.keys(known) == {PASSWORD}
    for request in proxy.heard:
        authorization = [
            line for line in request.splitlines() if line.lower().startswith("proxy-authorization:")
        ]
        assert len(authorization) == 1
        assert request.startswith(("CONNECT ", "GET http://towers.lighthouses.org/"))


REACHING_RUNS: dict[str, dict[str, Any]] = {
    "a model at another server": {"model": "openai:m@{url}/v1"},
    "a model of its own at another server": {"provider_id": "openai:m@{url}/v1"},
    "a search at another server": {"search": ["tavily"], "search_urls": {"tavily": "{url}"}, "corpus": None},
    "documents outside of the folder": {"corpus": "../outside/docs", "model": "openai-compatible:m@{url}/v1"},
}
QUESTION = "How tall is the tower?"


def foreign_run(listener: KeyListener, **given: Any) -> str:
    """A run in a database of the folder, as somebody else may have made it, that can be gone on with."""
    of_run = {name: given.pop(name) for name in ("provider_id",) if name in given}
    with DeepResearch(data_dir="kept/data", **given) as engine:
        run = engine.run(QUESTION, **of_run)
        assert run.status != "completed"
    assert listener.heard
    listener.heard.clear()
    return run.research_id


@pytest.mark.parametrize("origin", ["folder", "--config"])
@pytest.mark.parametrize("kind", REACHING_RUNS)
def test_a_run_of_a_database_that_a_folder_brings_reaches_no_further_than_its_file(
    kind: str, origin: str, known: dict[str, str], folder: Path, listener: KeyListener
) -> None:
    given = json.loads(json.dumps(REACHING_RUNS[kind]).replace("{url}", listener.url))
    run_id = foreign_run(listener, **{"corpus": "kept/docs"} | given)
    (folder / "deep-research.toml").write_text('[research]\ndata_dir = "kept/data"\n')
    with DeepResearch(config=None if origin == "folder" else "deep-research.toml") as engine:
        if origin == "folder":
            with pytest.raises(SettingsError, match=r"in the set-up of this run names a.*--config"):
                engine.resume(run_id)
            assert not listener.heard
        else:
            engine.resume(run_id)
            assert listener.heard


def test_a_run_of_a_database_that_a_folder_brings_is_not_woken_to_reach_out(
    known: dict[str, str], folder: Path
) -> None:
    def later() -> datetime:
        return datetime.now(UTC) + timedelta(days=1)

    with KeyListener(status=503) as busy:
        foreign_run(busy, model=f"openai:m@{busy.url}/v1", corpus="kept/docs")
        (folder / "deep-research.toml").write_text('[research]\ndata_dir = "kept/data"\nauto_resume = true\n')
        with DeepResearch(clock=later) as engine:
            assert engine.waiting()
            assert engine.wake() == []
        assert not busy.heard
        with DeepResearch(clock=later, config="deep-research.toml") as engine:
            assert len(engine.wake()) == 1
        assert busy.keys(known) == keys("OPENAI")
