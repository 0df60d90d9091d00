"""An engine that is to end parks its runs before their next unit, and interrupts those that do not come to one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from deep_research.errors import UsageError
from deep_research.research import DeepResearch
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import ParkedKind, RunStatus
from deep_research.store import SQLiteStore

pytestmark = pytest.mark.timed

QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"
TEXT = "Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall."


class Gated(SearchProvider):
    """Notes each search, and answers when it is let to."""

    name = "gated"

    def __init__(self, *, open: bool = False) -> None:
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.queries: list[str] = []
        if open:
            self.gate.set()

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self.queries.append(request.query)
        self.begun.set()
        await self.gate.wait()
        return [SearchResult(address="https://example.org/bell-rock", title="Bell Rock", text=TEXT)]


def test_runs_park_before_their_next_unit_and_any_process_wakes_them(tmp_path: Path) -> None:
    async def scene() -> None:
        search = Gated()
        async with DeepResearch(
            search=[search], store=SQLiteStore(tmp_path / "runs.db"), max_concurrent=1
        ) as engine:
            handle = await engine.astart(QUESTION)
            await search.begun.wait()
            draining = asyncio.create_task(engine.adrain(300))
            await asyncio.sleep(0)
            search.gate.set()
            assert await draining == 1
            result = await handle.aresult()
            assert (result.status, search.queries) == (RunStatus.PARKED, search.queries[:1])
        again = Gated(open=True)
        async with DeepResearch(search=[again], store=SQLiteStore(tmp_path / "runs.db")) as other:
            (waiting,) = await other.awaiting()
            assert (waiting.kind, waiting.asks) == (ParkedKind.SHUTDOWN, False)
            assert [woken.status for woken in await other.awake()] == [RunStatus.COMPLETED]
        assert again.queries
        assert not set(again.queries) & set(search.queries)

    asyncio.run(scene())


def test_what_comes_to_no_unit_in_time_is_interrupted_and_resumable(tmp_path: Path) -> None:
    async def scene() -> None:
        search = Gated()
        async with DeepResearch(search=[search], store=SQLiteStore(tmp_path / "runs.db")) as engine:
            handle = await engine.astart(QUESTION)
            await search.begun.wait()
            assert await engine.adrain(0) == 0
            assert (await engine.astatus(handle.research_id)).status is RunStatus.INTERRUPTED
            search.gate.set()
            assert (await engine.aresume(handle.research_id)).status is RunStatus.COMPLETED

    asyncio.run(scene())


def test_nothing_to_park_is_no_wait() -> None:
    with DeepResearch(search=[], store="memory") as engine:
        assert engine.drain() == 0


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "5"])
def test_what_is_no_time_is_refused(seconds: float) -> None:
    with (
        DeepResearch(search=[], store="memory") as engine,
        pytest.raises(UsageError, match="seconds must be"),
    ):
        engine.drain(seconds)
