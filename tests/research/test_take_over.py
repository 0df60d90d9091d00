"""A run that a live process works on is taken over: its owner lets go at the next unit, and nothing is done twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from deep_research.errors import AppendRefusedError, RunBusyError
from deep_research.research import DeepResearch
from deep_research.research.taking import taken_over
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import RunStatus
from deep_research.testing.witness import Witness

pytestmark = pytest.mark.timed

QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"
TEXT = "Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall."


class Gated(SearchProvider):
    """Tells the witness of each search, and answers when it is let to."""

    name = "gated"

    def __init__(self, witness: Witness, who: str) -> None:
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self._witness, self._who = witness, who

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self._witness.note(request.query, self._who)
        self.begun.set()
        await self.gate.wait()
        return [SearchResult(address="https://example.org/bell-rock", title="Bell Rock", text=TEXT)]


def engine(search: Gated, folder: Path, **settings: float) -> DeepResearch:
    return DeepResearch(search=[search], data_dir=str(folder), max_concurrent=1, **settings)


def rows_left(folder: Path) -> int:
    (path,) = folder.glob("*.db")
    with sqlite3.connect(path) as db:
        (count,) = db.execute("SELECT count(*) FROM control").fetchone()
    db.close()
    return int(count)


def test_the_owner_lets_go_at_its_next_unit_and_nothing_is_searched_twice(tmp_path: Path) -> None:
    async def scene() -> None:
        witness = Witness(tmp_path / "witness")
        mine, other = Gated(witness, "owner"), Gated(witness, "taker")
        other.gate.set()
        async with engine(mine, tmp_path / "runs") as owner, engine(other, tmp_path / "runs") as taker:
            handle = await owner.astart(QUESTION)
            await mine.begun.wait()
            with pytest.raises(RunBusyError, match="--take-over"):
                await taker.aresume(handle.research_id)
            taking = asyncio.create_task(taker.aresume(handle.research_id, take_over=True))
            while not owner._runner._active[handle.research_id].journal._halted:
                await asyncio.sleep(0.01)
            mine.gate.set()
            result = await taking
            with pytest.raises(AppendRefusedError, match="another process asked for it"):
                await handle.aresult()
            assert result.status is RunStatus.COMPLETED
            events = await taker.aevents(handle.research_id)
            assert [event.name for event in events if event.terminal] == ["run.completed"]
        calls = witness.calls()
        assert {call.given for call in calls} == {"owner", "taker"}
        assert len({call.unit for call in calls}) == len(calls) > 1
        assert rows_left(tmp_path / "runs") == 0

    asyncio.run(scene())


def test_a_row_that_nobody_came_back_for_does_not_stop_the_next_owner(tmp_path: Path) -> None:
    async def scene() -> None:
        search = Gated(Witness(tmp_path / "witness"), "owner")
        async with engine(search, tmp_path / "runs") as owner:
            handle = await owner.astart(QUESTION)
            await search.begun.wait()
            await owner._runner._ask_to_release(handle.research_id)
            search.gate.set()
            with pytest.raises(AppendRefusedError):
                await handle.aresult()
            assert (await owner.astatus(handle.research_id)).status is RunStatus.INTERRUPTED
            assert rows_left(tmp_path / "runs") == 1
            assert (await owner.aresume(handle.research_id)).status is RunStatus.COMPLETED
        assert rows_left(tmp_path / "runs") == 0

    asyncio.run(scene())


def test_an_owner_that_hangs_in_a_unit_loses_the_run_all_the_same(tmp_path: Path) -> None:
    async def scene() -> None:
        witness = Witness(tmp_path / "witness")
        mine, other = Gated(witness, "owner"), Gated(witness, "taker")
        other.gate.set()
        async with (
            engine(mine, tmp_path / "runs") as owner,
            engine(other, tmp_path / "runs", lease_ttl=0.2, heartbeat=0.05) as taker,
        ):
            handle = await owner.astart(QUESTION)
            await mine.begun.wait()
            result = await taker.aresume(handle.research_id, take_over=True)
            assert result.status is RunStatus.COMPLETED
            mine.gate.set()
            with pytest.raises(AppendRefusedError):
                await handle.aresult()
            events = await taker.aevents(handle.research_id)
            assert [event.name for event in events if event.terminal] == ["run.completed"]

    asyncio.run(scene())


def test_a_run_that_nobody_works_on_is_resumed_without_a_word(tmp_path: Path) -> None:
    async def scene() -> None:
        search = Gated(Witness(tmp_path / "witness"), "owner")
        async with engine(search, tmp_path / "runs") as owner:
            handle = await owner.astart(QUESTION)
            await search.begun.wait()
            await owner.adrain(0)
            search.gate.set()
            result = await owner.aresume(handle.research_id, take_over=True)
            assert result.status is RunStatus.COMPLETED

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("freed_after", "forced", "waited"), [(0.0, False, 0), (7.0, False, 7), (99.0, True, 30)]
)
def test_the_owner_is_asked_once_and_has_two_leases_to_let_go(
    freed_after: float, forced: bool, waited: float, time
) -> None:  # type: ignore[no-untyped-def]
    began, tries, asked = time.now, [], []

    async def acquire(force: bool) -> object:
        tries.append(force)
        if not force and time.now - began < freed_after:
            raise RunBusyError("busy")
        return "row"

    async def ask() -> None:
        asked.append(time.now)

    row = asyncio.run(taken_over(acquire, ask, seconds=30.0, now=time, sleep=time.sleep))
    assert (row, tries[-1], len(asked)) == ("row", forced, freed_after > 0)
    assert time.now - began == pytest.approx(waited, abs=0.1)
