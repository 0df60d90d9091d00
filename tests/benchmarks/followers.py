"""The CPU of following a run: ``python tests/benchmarks/followers.py [LISTENERS] [EVENTS]``.

Many listeners follow one run as it is recorded: by the engine that they follow it with, and by another process on the
same store. The figure is the CPU of this process per event that a listener gets, less that of recording alone.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deep_research import DeepResearch, Notice, RunOptions
from deep_research.state import AbortReason, DeepResearchPhase
from deep_research.state.events import NoticeAdded, RunAborted, RunCreated
from deep_research.state.reducer import Fold
from deep_research.store import Lane, LoopOutbox, NewRun, Owner, RunJournal, SQLiteStore, Watch
from deep_research.testing import ScriptedSearch

RUN = "deepres-0123456789ab"
PAUSE_SECONDS = 0.002  # between two events
BODY_CHARS = 1_000  # of an event
TIMES = 3


def journal_of(store: SQLiteStore, engine: DeepResearch | None = None) -> RunJournal:
    """A run that this process owns, and its engine's listeners hear of."""
    from deep_research.store import Feed

    feed = engine._feed if engine is not None else Feed()
    outbox = LoopOutbox(store, asyncio.get_running_loop())
    lane = Lane(RUN, Owner.here("bench"), fence=1)
    return RunJournal(store, lane, fold=Fold(), outbox=outbox, feed=feed, new_run=NewRun(query="Why?"))


async def record(journal: RunJournal, store: SQLiteStore, events: int, ready: asyncio.Event) -> None:
    await journal.record(RunCreated(research_id=RUN, query="Why?", options=RunOptions()))
    store.watch(journal.lane, Watch(on_command=lambda _: None, on_lost=lambda: None))
    ready.set()
    for number in range(events):
        message = f"{number} " + "The keeper wrote down the wind. " * (BODY_CHARS // 32)
        await journal.record(NoticeAdded(notice=Notice(name="bench", message=message)))
        await asyncio.sleep(PAUSE_SECONDS)
    await journal.record(
        RunAborted(
            reason=AbortReason.CANCELLED, message="over", phase=DeepResearchPhase.PLANNING, iteration=1
        )
    )


async def listen(engine: DeepResearch) -> int:
    count = 0
    async with aclosing(engine.follow(RUN)) as events:
        async for _ in events:
            count += 1
    return count


async def here(folder: Path, listeners: int, events: int) -> tuple[float, int]:
    """The CPU of recording and listening in one process, and how many events came."""
    store = SQLiteStore(folder / "runs.db")
    async with DeepResearch(store=store, search=[ScriptedSearch()]) as engine:
        ready = asyncio.Event()
        journal = journal_of(store, engine)
        began = time.process_time()
        recording = asyncio.create_task(record(journal, store, events, ready))
        await ready.wait()
        counts = await asyncio.gather(*(listen(engine) for _ in range(listeners)))
        await recording
        spent = time.process_time() - began
    store.close()
    return spent, sum(counts)


async def elsewhere(folder: Path, listeners: int, events: int) -> tuple[float, int]:
    """The CPU of listening alone, to a run of another process."""
    command = [sys.executable, __file__, "record", str(folder), str(events)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        store = SQLiteStore(folder / "runs.db")
        async with DeepResearch(store=store, search=[ScriptedSearch()]) as engine:
            began = time.process_time()
            counts = await asyncio.gather(*(listen(engine) for _ in range(listeners)))
            spent = time.process_time() - began
        store.close()
    return spent, sum(counts)


async def record_alone(folder: Path, events: int) -> None:
    store = SQLiteStore(folder / "runs.db")
    ready = asyncio.Event()
    recording = asyncio.create_task(record(journal_of(store), store, events, ready))
    await ready.wait()
    print("ready", flush=True)
    await recording
    store.close()


def main(listeners: int, events: int) -> None:
    for name, measure in (("of this engine", here), ("of another process", elsewhere)):
        figures = []
        for _ in range(TIMES):
            with tempfile.TemporaryDirectory() as folder:
                alone = asyncio.run(here(Path(folder), 0, events))[0] if measure is here else 0.0
            with tempfile.TemporaryDirectory() as folder:
                spent, count = asyncio.run(measure(Path(folder), listeners, events))
            assert count == listeners * (events + 2), f"{count} events came"
            figures.append((spent - alone) / count * 1e6)
        shown = ", ".join(f"{figure:.0f}" for figure in sorted(figures))
        print(f"{listeners} listeners, {events} events, a run {name}: {shown} us of CPU an event")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        asyncio.run(record_alone(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        main(*(int(word) for word in sys.argv[1:] or ("50", "300")))
