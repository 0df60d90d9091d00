"""Parked runs whose time has come are gone on with once, by one waker, whatever clocks do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from witness import Witness, WitnessedSearch

from deep_research import DeepResearch, RunStatus
from deep_research.errors import SettingsError
from deep_research.research.run_worker import Waker
from deep_research.store import MemoryStore, SQLiteStore
from deep_research.supervisor.hooks import Park, SupervisorHooks
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
DAY = timedelta(days=1)


def parking(clock: FakeClock, then: str = "default") -> SupervisorHooks:
    """Asks after the plan, for an hour."""
    until = clock() + timedelta(hours=1)

    def ask(state: Any, *_: Any) -> Park | None:
        return Park("a year", until=until, default="1811", then=then) if state.phase == "planning" else None

    return SupervisorHooks(after_phase=ask)


def made(path: Path, clock: FakeClock, witness: Path, *, then: str = "default", **more: Any) -> DeepResearch:
    return DeepResearch(
        store=SQLiteStore(path / "runs.db", control_interval=0.005),
        clock=clock,
        agents=scripted_agents(without=["gatherer"]),
        search=[WitnessedSearch(witness=witness)],
        hooks=parking(clock, then),
        **more,
    )


def searched(witness: Path) -> Counter[str]:
    return Counter(call.unit for call in Witness(witness).calls())


def test_of_two_wakers_one_wins_and_the_other_pays_nothing(tmp_path):
    clock, witness = FakeClock(), tmp_path / "witness"
    with made(tmp_path, clock, witness) as one, made(tmp_path, clock, witness) as two:
        runs = [one.run(f"Who kept light {n}?").research_id for n in range(4)]
        clock.move(timedelta(hours=2))

        async def both() -> list[Any]:
            return list(await asyncio.gather(one.awake(), two.awake()))

        woken = [result.research_id for results in asyncio.run(both()) for result in results]
        assert sorted(woken) == sorted(runs)
        assert all(one.status(run).status is RunStatus.COMPLETED for run in runs)
        assert searched(witness).total() == sum(one.result(run).usage.searches for run in runs)
        for run in runs:
            names = [event.name for event in one.events(run)]
            assert names.count("run.resumed") == names.count("run.completed") == 1


def test_what_was_seen_as_waiting_and_was_woken_meanwhile_is_left(tmp_path):
    clock, witness = FakeClock(), tmp_path / "witness"
    with made(tmp_path, clock, witness) as one, made(tmp_path, clock, witness) as two:
        run = one.run("Who kept the light?").research_id
        clock.move(timedelta(hours=2))
        stale = two.waiting()
        assert stale[0].due(clock())
        assert [result.research_id for result in one.wake()] == [run]
        before = one.events(run)

        async def seen_before(_: Any) -> Any:
            return stale

        two._due = seen_before  # type: ignore[method-assign]
        assert two.wake() == []
        assert one.events(run) == before
        assert set(searched(witness).values()) == {1}


@pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])
def test_a_clock_that_jumps_a_day_neither_loses_nor_doubles_a_wake(tmp_path, jump):
    clock, witness = FakeClock(), tmp_path / "witness"
    with made(tmp_path, clock, witness) as engine:
        run = engine.run("Who kept the light?").research_id
        woken = list(engine.wake())
        clock.move(jump)
        woken += engine.wake()
        clock.move(-jump)
        woken += engine.wake()
        clock.move(timedelta(hours=2))
        woken += engine.wake()
        woken += engine.wake()
        assert [result.research_id for result in woken] == [run]
        assert engine.status(run).status is RunStatus.COMPLETED
        assert set(searched(witness).values()) == {1}


def test_a_run_that_was_paused_is_never_woken(tmp_path):
    clock = FakeClock()

    async def check() -> None:
        inside, go_on = asyncio.Event(), asyncio.Event()

        async def wait(_: Any) -> None:
            inside.set()
            await go_on.wait()

        search = ScriptedSearch(before=wait)
        agents = scripted_agents(sub_queries=3, without=["gatherer"])
        store = MemoryStore()
        engine = DeepResearch(store=store, clock=clock, agents=agents, search=[search], max_concurrent=1)
        async with asyncio.timeout(BOUND), engine:
            handle = await engine.astart("Who?")
            await inside.wait()
            await engine.apause(handle.research_id)
            await asyncio.sleep(0)
            go_on.set()
            parked = await handle.aresult()
            assert parked.state.parking.kind == "pause"
            clock.move(3650 * DAY)
            assert await engine.awake() == []
            assert (await engine.astatus(handle.research_id)).status is RunStatus.PARKED
            assert len(search.requests) == 1

    asyncio.run(check())


def test_what_is_to_be_aborted_when_nobody_answers_is_aborted_once(tmp_path):
    clock, witness = FakeClock(), tmp_path / "witness"
    with made(tmp_path, clock, witness, then="abort") as engine:
        run = engine.run("Who kept the light?").research_id
        assert engine.wake() == []
        clock.move(timedelta(hours=2))
        (result,) = engine.wake()
        assert (result.research_id, result.status, result.reason) == (run, RunStatus.ABORTED, "cancelled")
        assert engine.wake() == []
        assert not searched(witness)


def test_an_engine_that_wakes_does_so_by_itself_until_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr("deep_research.research.engine.WAKE_INTERVAL_SECONDS", 0.01)
    clock, witness = FakeClock(), tmp_path / "witness"
    engine = made(tmp_path, clock, witness, auto_resume=True)
    try:
        run = engine.run("Who kept the light?").research_id
        clock.move(timedelta(hours=2))
        for _ in engine.events(run):
            pass
        engine._background.call(_until(lambda: engine.astatus(run), RunStatus.COMPLETED))
        assert set(searched(witness).values()) == {1}
    finally:
        engine.close()
    looks = engine._waker
    assert looks is not None
    assert looks._stopped


async def _until(look: Any, status: RunStatus) -> None:
    async with asyncio.timeout(BOUND):
        while (await look()).status is not status:
            await asyncio.sleep(0.005)


def test_a_waker_looks_by_the_time_of_its_loop_and_goes_on_after_a_fault():
    class Looked:
        looks = 0

        async def awake(self) -> list[Any]:
            self.looks += 1
            if self.looks == 1:
                raise SettingsError("not now")
            if self.looks == 3:
                waker.stop()
            return []

    engine = Looked()
    waker = Waker(engine, 0.001)
    asyncio.run(asyncio.wait_for(waker.run(), BOUND))
    assert engine.looks == 3


def test_a_waker_ends_with_its_engine():
    class Gone:
        async def awake(self) -> list[Any]:
            raise AssertionError("nobody is there")

    waker = Waker(Gone(), 0.001)
    asyncio.run(asyncio.wait_for(waker.run(), BOUND))


WAKER = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
from datetime import timedelta
from test_waking import made
from deep_research.testing import FakeClock
clock = FakeClock()
with made(Path(sys.argv[2]), clock, Path(sys.argv[3])) as engine:
    clock.move(timedelta(hours=2))
    print(len(engine.wake()))
"""


def test_of_two_waking_processes_each_run_has_one(tmp_path):
    clock, witness = FakeClock(), tmp_path / "witness"
    with made(tmp_path, clock, witness) as engine:
        runs = [engine.run(f"Who kept light {n}?").research_id for n in range(5)]
        command = [sys.executable, "-c", WAKER, str(Path(__file__).parent), str(tmp_path), str(witness)]
        wakers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        woken = [int(waker.communicate(timeout=BOUND)[0]) for waker in wakers]
        assert sum(woken) == len(runs)
        assert all(engine.status(run).status is RunStatus.COMPLETED for run in runs)
        assert searched(witness).total() == sum(engine.result(run).usage.searches for run in runs)
