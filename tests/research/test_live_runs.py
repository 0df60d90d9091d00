"""All who listen to a run get its log whole and in order, from one reader."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch, Notice, RunOptions
from deep_research.errors import RunNotFoundError
from deep_research.research import live_run
from deep_research.state import AbortReason, DeepResearchPhase
from deep_research.state.events import (
    Event,
    Missed,
    NoticeAdded,
    Progress,
    RunAborted,
    RunCreated,
    decode,
)
from deep_research.state.reducer import Fold
from deep_research.store import (
    Feed,
    Lane,
    LoopOutbox,
    MemoryStore,
    NewRun,
    Owner,
    RunJournal,
    SQLiteStore,
    Store,
)
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed

RUN = "deepres-0123456789ab"
GATHERING = DeepResearchPhase.GATHERING


class Recorder:
    """A run that is recorded event by event."""

    def __init__(self, store: Store, feed: Feed) -> None:
        outbox = LoopOutbox(store, asyncio.get_running_loop())
        lane = Lane(RUN, Owner.here("recorder"), fence=1)
        new = NewRun(query="Why?")
        self.journal = RunJournal(store, lane, fold=Fold(), outbox=outbox, feed=feed, new_run=new)

    async def begin(self) -> None:
        await self.journal.record(RunCreated(research_id=RUN, query="Why?", options=RunOptions()))

    async def add(self, number: int) -> None:
        await self.journal.record(NoticeAdded(notice=Notice(name="test", message=f"number {number}")))

    async def end(self) -> None:
        await self.journal.record(
            RunAborted(reason=AbortReason.CANCELLED, message="over", phase=GATHERING, iteration=1)
        )


class CountingStore(MemoryStore):
    """Counts how often a log is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self, *given: Any, **more: Any) -> Any:
        self.reads += 1
        return super().read(*given, **more)


def engine(store: Store) -> DeepResearch:
    return DeepResearch(store=store, search=[ScriptedSearch()])


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that listeners fall out of it."""
    monkeypatch.setattr(live_run, "MAX_WINDOW_EVENTS", 8)
    monkeypatch.setattr(live_run, "MAX_PAGE_EVENTS", 5)
    monkeypatch.setattr(live_run, "POLL_SECONDS", 0.01)


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("elsewhere", [False, True], ids=["of this engine", "of another store"])
def test_every_listener_gets_the_log_without_gap_or_repeat(
    tmp_path: Path, seed: int, elsewhere: bool
) -> None:
    chance = random.Random(seed)
    events = 60

    async def listen(research: DeepResearch, seen: list[int], after: int) -> None:
        """Joins at any time, leaves and comes back, and may be slow."""
        await asyncio.sleep(chance.random() * 0.05)
        slow, leaves = chance.random() < 0.3, chance.random() < 0.5
        while True:
            async with aclosing(research.live(RUN, after)) as items:
                async for item in items:
                    if isinstance(item.event, Event):
                        seen.append(item.event.seq)
                        after = item.event.seq
                        stored = decode(item.event.name, item.event.version, item.json)
                        assert stored == item.event
                        if item.event.terminal:
                            return
                    if slow:
                        await asyncio.sleep(0.003)
                    if leaves and chance.random() < 0.1:
                        break

    async def journey() -> None:
        written = SQLiteStore(tmp_path / "runs.db")
        read = SQLiteStore(tmp_path / "runs.db") if elsewhere else written
        async with engine(read) as research:
            recorder = Recorder(written, Feed() if elsewhere else research._feed)
            await recorder.begin()
            starts = [chance.randint(0, events) if chance.random() < 0.5 else 0 for _ in range(12)]
            logs: list[list[int]] = [[] for _ in starts]
            listeners = [
                asyncio.create_task(listen(research, log, after))
                for log, after in zip(logs, starts, strict=True)
            ]
            for number in range(events):
                await recorder.add(number)
                if chance.random() < 0.3:
                    recorder.journal.progress(Progress(phase=GATHERING, message=str(number)))
                    await asyncio.sleep(0.002)
            await recorder.end()
            async with asyncio.timeout(120):
                await asyncio.gather(*listeners)
            for log, after in zip(logs, starts, strict=True):
                assert log == list(range(after + 1, events + 3))
            assert research._live_runs._runs == {}
        for store in {written, read}:
            store.close()

    asyncio.run(journey())


def in_engine(work: Callable[[DeepResearch, Recorder], Any], store: Store | None = None) -> None:
    async def journey() -> None:
        kept = store or MemoryStore()
        async with asyncio.timeout(120), engine(kept) as research:
            recorder = Recorder(kept, research._feed)
            await recorder.begin()
            await work(research, recorder)

    asyncio.run(journey())


def test_many_listeners_have_one_reader() -> None:
    store = CountingStore()

    async def count(research: DeepResearch) -> int:
        return len([event async for event in research.follow(RUN)])

    async def work(research: DeepResearch, recorder: Recorder) -> None:
        listeners = [asyncio.create_task(count(research)) for _ in range(50)]
        await asyncio.sleep(0.05)
        for number in range(20):
            await recorder.add(number)
            await asyncio.sleep(0)
        await recorder.end()
        assert await asyncio.gather(*listeners) == [22] * 50
        assert store.reads < 100

    in_engine(work, store)


def test_a_slow_listener_loses_notes_alone_and_is_told_how_many() -> None:
    async def work(research: DeepResearch, recorder: Recorder) -> None:
        async with aclosing(research.follow(RUN)) as events:
            assert (await anext(events)).type == "run.created"
            await asyncio.sleep(0.05)  # the reader runs
            for number in range(400):
                recorder.journal.progress(Progress(phase=GATHERING, message=str(number)))
                if number % 100 == 99:
                    await asyncio.sleep(0.05)
            await recorder.add(1)
            await recorder.end()
            came = [event async for event in events]
        missed = [event for event in came if isinstance(event, Missed)]
        notes = [event for event in came if type(event) is Progress]
        assert sum(each.count for each in missed) + len(notes) == 400
        assert missed[0].count > 0
        assert [note.message for note in notes] == [str(n) for n in range(400 - len(notes), 400)]
        assert [e.type for e in came if isinstance(e, Event)] == ["notice.added", "run.aborted"]

    in_engine(work)


def test_a_listener_of_a_run_that_is_deleted_is_told() -> None:
    store = MemoryStore()

    async def work(research: DeepResearch, recorder: Recorder) -> None:
        async with aclosing(research.follow(RUN)) as events:
            await anext(events)
            del store._runs[RUN]  # at once: a run that is let go of first is left alone for a moment
            with pytest.raises(RunNotFoundError):
                async for _ in events:
                    pass

    in_engine(work, store)


def test_a_queued_run_is_waited_for() -> None:
    async def journey() -> None:
        async with asyncio.timeout(120), engine(MemoryStore()) as research:
            run_id = await research.asubmit("Why is the tower white?")
            async with aclosing(research.follow(run_id)) as events:
                assert (await anext(events)).type == "run.created"
                work = asyncio.create_task(research.awork(once=True))
                last = [event async for event in events if isinstance(event, Event)][-1]
            assert last.terminal
            await work

    asyncio.run(journey())
