"""Runs that search with an MCP server: what is found, who takes its place, who may, and that no process is left."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch, SearchResult, SupervisorHooks
from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.sources.mcp import mcp_connection
from deep_research.state import Permissions, UserContext
from deep_research.testing import ScriptedSearch

sys.path.insert(0, str(Path(__file__).parents[1] / "sources" / "mcp"))

from mcp_runs import all_gone, lines, notes, odd, pids, until

pytestmark = pytest.mark.timed

QUESTION = "How tall is the Orm lighthouse?"
HEIGHT = "The tower of the Orm lighthouse is 90 feet tall."


def engine(folder: Path, servers: dict[str, Any], **more: Any) -> DeepResearch:
    given = {
        "search": ["mcp:odd"],
        "store": "sqlite",
        "data_dir": folder / "data",
        "fetch": {"enabled": False},
        **more,
    }
    return DeepResearch(mcp_servers=servers, **given)


def answers(text: str = HEIGHT) -> list[Any]:
    return [{"content": [{"type": "text", "text": text}]}]


def other() -> ScriptedSearch:
    found = [SearchResult(address="https://ok.example/orm", title="Orm", text=HEIGHT)]
    return ScriptedSearch(lambda request: found, name="other")


def test_a_run_searches_a_server_and_quotes_it(tmp_path: Path) -> None:
    with engine(tmp_path, {"notes": notes(tmp_path)}, search=["mcp:notes"]) as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert HEIGHT[:-1] in result.report
    assert {source.metadata["provider"] for source in result.sources} == {"mcp:notes"}
    all_gone(tmp_path, "notes.log")


def test_a_text_without_an_address_is_quoted_and_referred_to(tmp_path: Path) -> None:
    with engine(tmp_path, {"odd": odd(tmp_path, results=answers())}) as research:
        result = research.run(QUESTION)
    assert HEIGHT[:-1] in result.report
    assert "mcp:odd/" in result.report


@pytest.mark.parametrize("deed", ["die-call", "large", "deny"])
def test_where_a_server_fails_the_next_service_takes_its_place(deed: str, tmp_path: Path) -> None:
    with engine(tmp_path, {"odd": odd(tmp_path, deed)}, search=["mcp:odd", other()]) as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert HEIGHT[:-1] in result.report
    assert "mcp:odd: " in "\n".join(notice.message for notice in result.state.notices)
    all_gone(tmp_path)


def test_a_server_that_always_fails_is_left_alone_after_a_while(tmp_path: Path) -> None:
    with engine(tmp_path, {"odd": odd(tmp_path, "die-call")}, search=["mcp:odd", other()]) as research:
        for _ in range(6):
            research.run(QUESTION)
        service = research._parts.sources.services[0]
        assert service.health.rest > 0


def test_a_server_that_hangs_costs_its_deadline_and_no_more(tmp_path: Path) -> None:
    table = odd(tmp_path, "hang-call", timeout=0.5)
    with engine(tmp_path, {"odd": table}, search=["mcp:odd", other()]) as research:
        assert research.run(QUESTION).status == "completed"
    all_gone(tmp_path)


UNUSABLE = [
    ({"search": ["mcp:other"]}, UnknownNameError, "mcp_servers"),
    ({"local_only": True}, ConfigurationError, "'mcp:odd' is not on this machine"),
]


@pytest.mark.parametrize(("given", "error", "line"), UNUSABLE)
def test_what_cannot_be_searched_is_told_at_once(
    given: dict[str, Any], error: type[Exception], line: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=line):
        engine(tmp_path, {"odd": odd(tmp_path)}, **given)
    assert not pids(tmp_path)


def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_connection, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'deep-research\[mcp\]'"):
        engine(tmp_path, {"odd": odd(tmp_path)})
    with engine(tmp_path, {"odd": odd(tmp_path)}, search=[other()]) as research:  # which needs nothing of it
        assert research.run(QUESTION).status == "completed"


def test_a_variable_that_is_not_set_leaves_the_server_out_and_is_told(tmp_path: Path) -> None:
    servers = {"odd": odd(tmp_path, variables=["NO_SUCH_VARIABLE"])}
    with engine(tmp_path, servers, search=["mcp:odd", other()]) as research:
        result = research.run(QUESTION)
    assert "NO_SUCH_VARIABLE" in "\n".join(notice.message for notice in result.state.notices)
    assert not pids(tmp_path)


class Directory:
    def __init__(self, sources: tuple[str, ...]) -> None:
        self.sources = sources

    async def context(self, user_id: str | None) -> UserContext:
        return UserContext(name=user_id, permissions=Permissions(sources=self.sources))


@pytest.mark.parametrize(
    ("sources", "is_asked"), [(("other",), False), (("web",), True), (("mcp:odd",), True)]
)
def test_a_user_searches_a_server_only_where_they_may(
    sources: tuple[str, ...], is_asked: bool, tmp_path: Path
) -> None:
    given = {"search": ["mcp:odd", other()], "users": Directory(sources)}
    with engine(tmp_path, {"odd": odd(tmp_path, results=answers())}, **given) as research:
        assert research.run(QUESTION, user_id="ann").status == "completed"
    assert bool(pids(tmp_path)) is is_asked


def test_a_run_is_gone_on_with_by_the_name_of_its_server(tmp_path: Path) -> None:
    servers = {"odd": odd(tmp_path, results=answers())}
    with engine(tmp_path, servers, approve_plan=True) as research:
        parked = research.run(QUESTION)
    assert parked.status == "parked"
    with engine(tmp_path, servers, search=None) as research:  # it searches what the run did
        assert research.resume(parked.research_id, "approve").status == "completed"
    assert any(line.startswith("call") for line in lines(tmp_path))


# No process is left


def test_with_the_last_run_on_a_loop_of_the_callers_its_processes_end(tmp_path: Path) -> None:
    async def journey() -> None:
        research = engine(tmp_path, {"odd": odd(tmp_path, "child", "stubborn", results=answers())})
        assert (await research.arun(QUESTION)).status == "completed"
        await asyncio.to_thread(all_gone, tmp_path)
        await research.aclose()

    asyncio.run(journey())


def test_a_run_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    async def journey() -> None:
        research = engine(tmp_path, {"odd": odd(tmp_path, "child", "stubborn", "hang-call")})
        task = asyncio.create_task(research.arun(QUESTION))
        await asyncio.to_thread(until, lambda: any(line.startswith("call") for line in lines(tmp_path)))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(all_gone, tmp_path)
        await research.aclose()

    asyncio.run(journey())


def test_an_error_that_ends_a_run_leaves_no_process(tmp_path: Path) -> None:
    class Failing(SupervisorHooks):
        async def after_phase(self, *args: Any, **more: Any) -> None:
            if pids(tmp_path):
                raise ValueError("a hook that fails")

    more = {"hooks": Failing(), "strict_hooks": True}
    servers = {"odd": odd(tmp_path, "child", "stubborn", results=answers())}
    with engine(tmp_path, servers, **more) as research, pytest.raises(ValueError, match="a hook that fails"):
        research.run(QUESTION)
    all_gone(tmp_path)


def test_many_servers_that_will_not_end_are_ended_together(tmp_path: Path) -> None:
    names = [f"s{n}" for n in range(6)]
    servers = {}
    for name in names:
        (tmp_path / name).mkdir()
        hits = answers() if name == names[-1] else []  # so that each is asked
        servers[name] = odd(tmp_path / name, "child", "stubborn", results=hits)
    search = [f"mcp:{name}" for name in names]

    async def journey() -> None:
        research = engine(tmp_path, servers, search=search)
        assert (await research.arun(QUESTION)).status == "completed"
        for name in names:
            await asyncio.to_thread(all_gone, tmp_path / name)
        await research.aclose()

    asyncio.run(journey())
