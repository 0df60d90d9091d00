"""A process that lives lets go of a run for another that asks; one that does not is passed over after two lease times."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, RunStatus
from deep_research.errors import AppendRefusedError, RunBusyError
from deep_research.research.resumption import request_release
from deep_research.state import CommandKind
from deep_research.store import MemoryStore, Owner, SQLiteStore, Store
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
MakeStore = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    if request.param == "memory":
        return MemoryStore
    return lambda: SQLiteStore(tmp_path / "runs.db", lease_ttl=1.0, heartbeat=0.02, control_interval=0.005)


class Gated(ScriptedSearch):
    """Its second search waits until it may go on."""

    def __init__(self) -> None:
        self.inside, self.go_on = asyncio.Event(), asyncio.Event()

        async def wait(_: Any) -> None:
            if len(self.requests) == 2:
                self.inside.set()
                await self.go_on.wait()

        super().__init__(before=wait)


def made(store: Store, search: ScriptedSearch, **more: Any) -> DeepResearch:
    agents = scripted_agents(sub_queries=5, without=["gatherer"])
    return DeepResearch(
        store=store, clock=FakeClock(), agents=agents, search=[search], max_concurrent=1, **more
    )


def rows(store: Store, run_id: str) -> list[str]:
    return [command.kind for command in store.pending_commands(run_id)]


def test_the_owner_lets_go_at_the_next_unit_and_nothing_is_searched_twice(make_store):
    async def check() -> None:
        store, first, second = make_store(), Gated(), ScriptedSearch()
        async with asyncio.timeout(BOUND), made(store, first) as one, made(store, second) as two:
            handle = await one.astart("Who?")
            await first.inside.wait()
            with pytest.raises(RunBusyError):
                await two.aresume(handle.research_id)
            taking = asyncio.create_task(two.aresume(handle.research_id, take_over=True))
            while CommandKind.RELEASE not in rows(store, handle.research_id):
                await asyncio.sleep(0.001)
            first.go_on.set()
            result = await taking
            with pytest.raises(
                AppendRefusedError, match=r"no longer owns run .*: another process continues it"
            ) as lost:
                await handle.aresult()
            assert "\n" not in str(lost.value)
            assert result.status is RunStatus.COMPLETED
            searched = Counter(r.query for r in (*first.requests, *second.requests))
            assert set(searched.values()) == {1}
            assert len(first.requests) == 2
            assert rows(store, handle.research_id) == []
            names = [event.name for event in await two.aevents(handle.research_id)]
            assert names.count("run.resumed") == names.count("run.completed") == 1
        store.close()

    asyncio.run(check())


def test_an_owner_that_hangs_is_passed_over_and_what_it_does_then_is_refused(make_store):
    async def check() -> None:
        store, first, second = make_store(), Gated(), ScriptedSearch()
        store.lease = 0.05
        async with asyncio.timeout(BOUND), made(store, first) as one, made(store, second) as two:
            handle = await one.astart("Who?")
            await first.inside.wait()
            result = await two.aresume(handle.research_id, take_over=True)
            assert result.status is RunStatus.COMPLETED
            first.go_on.set()
            with pytest.raises(AppendRefusedError, match="no longer owns run"):
                await handle.aresult()
            finished = [first.requests[0].query]
            assert not set(finished) & {request.query for request in second.requests}
            assert rows(store, handle.research_id) == []
        store.close()

    asyncio.run(check())


def test_a_run_that_waits_for_a_slot_is_let_go_of(make_store):
    async def check() -> None:
        store, first, second = make_store(), Gated(), ScriptedSearch()
        async with (
            asyncio.timeout(BOUND),
            made(store, first, max_active_runs=1) as one,
            made(store, second) as two,
        ):
            busy = await one.astart("Who?")
            await first.inside.wait()
            waits = await one.astart("Who else?")
            result = await two.aresume(waits.research_id, take_over=True)
            assert result.status is RunStatus.COMPLETED
            with pytest.raises(AppendRefusedError, match="another process continues it"):
                await waits.aresult()
            first.go_on.set()
            assert (await busy.aresult()).status is RunStatus.COMPLETED
        store.close()

    asyncio.run(check())


def test_a_run_that_nobody_owns_is_taken_over_without_a_row(make_store):
    async def check() -> None:
        store = make_store()
        async with asyncio.timeout(BOUND), made(store, ScriptedSearch()) as engine:
            task = asyncio.create_task(engine.arun("Who?"))
            while not store.runs():
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            (row,) = store.runs()
            assert await request_release(store, row.run_id) is None
            assert rows(store, row.run_id) == []
            assert (await engine.aresume(row.run_id, take_over=True)).status is RunStatus.COMPLETED
        store.close()

    asyncio.run(check())


def test_of_two_that_take_over_the_one_that_comes_late_is_refused(make_store):
    async def check() -> None:
        store, first = make_store(), Gated()
        async with asyncio.timeout(BOUND), made(store, first) as one:
            handle = await one.astart("Who?")
            await first.inside.wait()
            waiting = asyncio.create_task(request_release(store, handle.research_id))
            while not rows(store, handle.research_id):
                await asyncio.sleep(0.001)
            row = store.run(handle.research_id)
            store.acquire(handle.research_id, Owner.here("faster"), over=row.fence)
            with pytest.raises(RunBusyError, match="took the run over first"):
                await waiting
            first.go_on.set()
            with pytest.raises(AppendRefusedError):
                await handle.aresult()
        store.close()

    asyncio.run(check())


def test_the_row_of_a_taker_that_died_does_not_stop_the_next_owner(make_store):
    async def check() -> None:
        store, search = make_store(), ScriptedSearch()
        async with asyncio.timeout(BOUND), made(store, search) as engine:
            task = asyncio.create_task(engine.arun("Who?"))
            while not search.requests:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            (row,) = store.runs()
            store.enqueue_command(row.run_id, CommandKind.RELEASE.value)
            assert (await engine.aresume(row.run_id)).status is RunStatus.COMPLETED
            assert rows(store, row.run_id) == []
        store.close()

    asyncio.run(check())


TAKER = """
import asyncio, os, signal, sys
from deep_research.research.resumption import request_release
from deep_research.store import SQLiteStore
asyncio.run(request_release(SQLiteStore(sys.argv[1]), sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_taker_killed_between_asking_and_taking_leaves_a_run_that_goes_on(tmp_path):
    async def check() -> None:
        path = tmp_path / "runs.db"
        store, first, second = SQLiteStore(path, control_interval=0.005), Gated(), ScriptedSearch()
        async with asyncio.timeout(BOUND), made(store, first) as one, made(store, second) as two:
            handle = await one.astart("Who?")
            await first.inside.wait()
            taker = await asyncio.create_subprocess_exec(
                sys.executable, "-c", TAKER, str(path), handle.research_id
            )
            while not rows(store, handle.research_id):
                await asyncio.sleep(0.005)
            first.go_on.set()
            with pytest.raises(AppendRefusedError):
                await handle.aresult()
            assert await taker.wait() == -signal.SIGKILL
            assert rows(store, handle.research_id) == [CommandKind.RELEASE]
            assert (await two.astatus(handle.research_id)).status is RunStatus.INTERRUPTED
            result = await two.aresume(handle.research_id)
            assert result.status is RunStatus.COMPLETED
            assert set(Counter(r.query for r in (*first.requests, *second.requests)).values()) == {1}
        store.close()

    asyncio.run(check())


def test_a_store_of_the_old_contract_passes_over_nobody(tmp_path):
    class Old(MemoryStore):
        def acquire(self, run_id: str, owner: Owner) -> Any:  # type: ignore[override]
            return super().acquire(run_id, owner)

    async def check() -> None:
        store, first, second = Old(), Gated(), ScriptedSearch()
        store.lease = 0.02
        async with asyncio.timeout(BOUND), made(store, first) as one, made(store, second) as two:
            handle = await one.astart("Who?")
            await first.inside.wait()
            with pytest.raises(RunBusyError):
                await two.aresume(handle.research_id, take_over=True)
            first.go_on.set()
            await asyncio.gather(handle.aresult(), return_exceptions=True)
            assert (await two.aresume(handle.research_id)).status is RunStatus.COMPLETED

    asyncio.run(check())


class Slow(ReadingModel):
    """Each of its answers is held back until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.go_on = asyncio.Event(), asyncio.Event()

    async def send(self, call: Any, on_text: Any = None) -> Any:
        answer = await super().send(call, on_text)
        if len(self.calls) == 2:
            self.inside.set()
            await self.go_on.wait()
        return answer


def test_the_owner_makes_no_further_paid_call_and_none_is_paid_twice(make_store):
    async def check() -> None:
        store, slow, other = make_store(), Slow(), ReadingModel()
        question = "What is said about the tower of the reef?"

        def engine(model: ReadingModel) -> DeepResearch:
            return DeepResearch(store=store, clock=FakeClock(), model=[model], search=[ScriptedSearch()])

        async with asyncio.timeout(BOUND), engine(slow) as one, engine(other) as two:
            handle = await one.astart(question)
            await slow.inside.wait()
            taking = asyncio.create_task(two.aresume(handle.research_id, take_over=True))
            while CommandKind.RELEASE not in rows(store, handle.research_id):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)  # the owner looks every few milliseconds
            slow.go_on.set()
            result = await taking
            assert result.status is RunStatus.COMPLETED
            with pytest.raises(AppendRefusedError):
                await handle.aresult()
            assert len(slow.calls) == 2
            assert len(slow.calls) + len(other.calls) == result.usage.model_calls
            alone = await two.arun(question)
            assert result.usage.model_calls == alone.usage.model_calls
        store.close()

    asyncio.run(check())
