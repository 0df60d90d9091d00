"""Runs that are cancelled, interrupted or resumed at any moment end in one way, and say so everywhere alike."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from parking import parking_hooks

from deep_research import Budget, DeepResearch, ResearchResult, RunStatus
from deep_research.errors import AppendRefusedError, RunStateError
from deep_research.research.runs import Resumption
from deep_research.state.projection import Projector
from deep_research.state.reducer import fold
from deep_research.store import Lane, MemoryStore, Owner, SQLiteStore, Store
from deep_research.store.writer import Writer
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
MakeStore = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    if request.param == "memory":
        return MemoryStore
    return lambda: SQLiteStore(tmp_path / "runs.db", heartbeat=0.02, control_interval=0.005)


@asynccontextmanager
async def engine_on(store: Store, **parts: Any) -> AsyncIterator[DeepResearch]:
    parts.setdefault("agents", scripted_agents(iterations=2, without=["gatherer"]))
    parts.setdefault("search", [ScriptedSearch()])
    engine = DeepResearch(store=store, clock=FakeClock(), **parts)
    try:
        async with asyncio.timeout(BOUND):
            yield engine
    finally:
        await engine.aclose()
        store.close()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def same_everywhere(engine: DeepResearch, store: Store, result: ResearchResult) -> None:
    """The result, the log and the row tell one story, with at most one ending."""
    log = await engine.aevents(result.research_id)
    state = fold(log).snapshot()
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert state == result.state
    assert not any(event.terminal for event in log[:-1])
    row = store.run(result.research_id)
    counted = Projector(fold(log)).projection(row.projection.seconds)
    assert row.projection == counted
    assert row.projection.status == result.status
    assert row.projection.seconds >= state.seconds
    if result.status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        assert log[-1].terminal
        assert row.owner is None


def test_a_run_cancelled_at_any_moment_ends_once(make_store: MakeStore) -> None:
    async def rounds() -> set[str]:
        seen = set()
        store = make_store()
        async with engine_on(store) as engine:
            for moment in range(0, 120, 2):
                handle = await engine.astart("Who?")
                await turns(moment * 2)
                summary = await engine.acancel(handle.research_id)
                result = await handle.aresult(BOUND)
                assert summary.status == result.status
                assert result.status in (RunStatus.COMPLETED, RunStatus.ABORTED)
                await same_everywhere(engine, store, result)
                seen.add(result.status.value)
        return seen

    assert "aborted" in asyncio.run(rounds())


def test_a_run_interrupted_at_any_moment_can_be_resumed(make_store: MakeStore) -> None:
    async def rounds() -> None:
        store = make_store()
        async with engine_on(store) as engine:
            whole = await engine.arun("Who?")
            for moment in range(0, 80, 2):
                task = asyncio.ensure_future(engine.arun("Who?"))
                await turns(moment * 3)
                task.cancel()
                await asyncio.wait({task})
                (row, *_) = store.runs()
                if row.run_id == whole.research_id:  # it had not begun
                    continue
                result = await engine.aresume(row.run_id)
                await same_everywhere(engine, store, result)
                assert result.report == whole.report
                store.delete(row.run_id)

    asyncio.run(rounds())


def test_a_run_whose_resumption_is_cancelled_while_its_log_is_read_belongs_to_nobody(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        store = make_store()
        async with engine_on(store, hooks=parking_hooks("before_phase")) as engine:
            run_id = (await engine.arun("Who?")).research_id
            reading, go_on, read = threading.Event(), threading.Event(), store.read

            def slow_read(*given: Any, **options: Any) -> Any:
                if store.run(run_id).owner is not None:
                    reading.set()
                    assert go_on.wait(BOUND)
                return read(*given, **options)

            monkeypatch.setattr(store, "read", slow_read)
            task = asyncio.ensure_future(engine.aresume(run_id))
            assert await asyncio.to_thread(reading.wait, BOUND)
            task.cancel()
            go_on.set()
            await asyncio.wait({task})
            assert task.cancelled()
            assert store.run(run_id).owner is None

    asyncio.run(check())


def test_a_stop_that_comes_before_the_run_begins_is_heard(make_store: MakeStore) -> None:
    async def check() -> None:
        store = make_store()
        agents = scripted_agents()
        async with engine_on(store, agents=agents) as engine:
            task = asyncio.ensure_future(engine.arun("Who?"))
            while not engine._runner._active:
                await asyncio.sleep(0)
            ((research_id, _),) = engine._runner._active.items()
            assert engine._runner.cancel(research_id)
            result = await task
            assert (result.status, result.reason) == ("aborted", "cancelled")
            assert not agents["planner"].handoffs
            await same_everywhere(engine, store, result)

    asyncio.run(check())


def test_a_run_that_parks_before_its_owner_hears_that_it_is_cancelled_is_cancelled(tmp_path: Path) -> None:
    async def check() -> None:
        store, other = (
            SQLiteStore(tmp_path / "runs.db", control_interval=BOUND),
            SQLiteStore(tmp_path / "runs.db"),
        )
        inside, go_on = asyncio.Event(), asyncio.Event()

        async def wait(_: Any) -> None:
            inside.set()
            await go_on.wait()

        search, hooks = [ScriptedSearch(before=wait)], parking_hooks("before_phase", phases=["analysis"])
        async with engine_on(store, search=search, hooks=hooks) as one, engine_on(other) as two:
            handle = await one.astart("Who?")
            await inside.wait()
            cancelling = asyncio.ensure_future(two.acancel(handle.research_id))
            while not other.pending_commands(handle.research_id):
                await asyncio.sleep(0.001)
            go_on.set()
            assert (await handle.aresult(BOUND)).status is RunStatus.PARKED
            assert (await cancelling).status is RunStatus.ABORTED
            assert other.pending_commands(handle.research_id) == []
            await same_everywhere(two, other, await two.aresult(handle.research_id))

    asyncio.run(check())


class HoldingWriter(Writer):
    """Waits before it makes the completion of a run durable."""

    def __init__(self, reached: threading.Event, go_on: threading.Event, *given: Any) -> None:
        self.reached, self.go_on_committing = reached, go_on
        super().__init__(*given)

    def commit_transaction(self, db: sqlite3.Connection) -> None:
        if (
            db.execute("SELECT 1 FROM runs WHERE status = 'completed'").fetchone()
            and not self.reached.is_set()
        ):
            self.reached.set()
            assert self.go_on_committing.wait(BOUND)
        super().commit_transaction(db)


def test_a_run_cancelled_while_its_completion_is_being_stored_is_completed(tmp_path: Path) -> None:
    async def check() -> None:
        reached, go_on = threading.Event(), threading.Event()
        store = SQLiteStore(tmp_path / "runs.db")
        store._writer_class = partial(HoldingWriter, reached, go_on)
        async with engine_on(store) as engine:
            handle = await engine.astart("Who?")
            assert await asyncio.to_thread(reached.wait, BOUND)
            assert engine._runner.cancel(handle.research_id)
            await turns(20)
            go_on.set()
            result = await handle.aresult(BOUND)
            assert result.status is RunStatus.COMPLETED
            await same_everywhere(engine, store, result)

    asyncio.run(check())


def test_a_run_that_completes_while_another_looks_at_it_is_not_taken_up_again(make_store: MakeStore) -> None:
    async def check() -> None:
        store = make_store()
        async with engine_on(store) as engine:
            done = await engine.arun("Who?")
            result = await engine._runner.resume(done.research_id, Resumption())
            assert result.status is RunStatus.COMPLETED
            await same_everywhere(engine, store, result)
            assert result.state.seq == done.state.seq
            assert store.run(done.research_id).owner is None

    asyncio.run(check())


def test_who_loses_a_run_stops_without_another_call(make_store: MakeStore) -> None:
    async def check() -> None:
        store = make_store()
        taken = asyncio.Event()

        async def take(_: Any) -> None:
            """During the second search another process takes the run."""
            if len(search.requests) == 2 and not taken.is_set():
                (row,) = store.runs()
                assert row.owner is not None
                store.release(Lane(row.run_id, row.owner, row.fence))
                store.acquire(row.run_id, Owner.here("another"))
                taken.set()

        search = ScriptedSearch(before=take)
        agents = scripted_agents(sub_queries=5, without=["gatherer"])
        async with engine_on(store, agents=agents, search=[search], max_concurrent=1) as engine:
            with pytest.raises(AppendRefusedError, match="no longer owns run"):
                await engine.arun("Who?")
            assert len(search.requests) == 2
            (row,) = store.runs()
            assert row.owner == Owner.here("another")
            assert [e.seq for e in store.read(row.run_id)] == list(range(1, row.last_seq + 1))

    asyncio.run(check())


def test_a_handle_of_an_interrupted_run_says_so(make_store: MakeStore) -> None:
    async def check() -> None:
        store = make_store()
        never = asyncio.Event()

        async def wait(_: Any) -> None:
            await never.wait()

        async with engine_on(store, search=[ScriptedSearch(before=wait)]) as engine:
            handle = await engine.astart("Who?")
            await turns(50)
            await engine.aclose()
            with pytest.raises(RunStateError, match="Resume the run"):
                await handle.aresult(BOUND)
            assert store.run(handle.research_id).owner is None

    asyncio.run(check())


def test_a_run_that_waits_for_its_turn_is_kept_alive_and_can_be_cancelled(tmp_path: Path) -> None:
    async def check() -> None:
        store = SQLiteStore(tmp_path / "runs.db", heartbeat=0.01, control_interval=0.005)
        other = SQLiteStore(tmp_path / "runs.db")
        go_on = asyncio.Event()

        async def wait(_: Any) -> None:
            await go_on.wait()

        async with engine_on(store, search=[ScriptedSearch(before=wait)], max_active_runs=1) as engine:
            first = await engine.astart("Who?")
            waiting = [await engine.astart(f"What {n}?") for n in range(3)]
            lease = store.run(waiting[0].research_id).lease_until
            while store.run(waiting[0].research_id).lease_until <= lease:
                await asyncio.sleep(0)
            assert (await engine.acancel(waiting[0].research_id)).status == "aborted"
            other.enqueue_command(waiting[1].research_id, "cancel")
            ended = [await handle.aresult(BOUND) for handle in waiting[:2]]
            assert [(r.status, r.reason) for r in ended] == [("aborted", "cancelled")] * 2
            assert not first.done()
            go_on.set()
            assert [(await h.aresult(BOUND)).status for h in (first, waiting[2])] == ["completed"] * 2
            for result in ended:
                await same_everywhere(engine, store, result)
                assert (await engine.aresume(result.research_id)).status == "completed"
        other.close()

    asyncio.run(check())


def test_waiting_for_a_turn_does_not_use_up_the_seconds_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("deep_research.research.runner.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def check() -> None:
        go_on = asyncio.Event()

        async def wait(_: Any) -> None:
            await go_on.wait()

        search = ScriptedSearch(before=wait)
        async with engine_on(MemoryStore(), search=[search], max_active_runs=1) as engine:
            first = await engine.astart("Who?")
            second = await engine.astart("What?", budget=Budget(max_seconds=60))
            now[0] = 3_600.0
            go_on.set()
            await first.aresult(BOUND)
            result = await second.aresult(BOUND)
            assert result.status is RunStatus.COMPLETED
            assert result.sources
            assert not [limit for limit in result.limits if limit.name == "max_seconds"]

    asyncio.run(check())
