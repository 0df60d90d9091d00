"""What is said to one of a hundred runs is heard at the next look, and runs that wait cost no looks: in ticks of a clock
that only the test moves, counted, not timed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deep_research import DeepResearch, RunStatus
from deep_research.state.events import RunSteered, SubQueryCompleted
from deep_research.store import SQLiteStore, sqlite, writer
from deep_research.store.writer import Writer
from deep_research.supervisor.hooks import Park, SupervisorHooks
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
RUNS = 100
INTERVAL = 0.05  # seconds between looks, of a clock that stands still


class Ticks:
    """The clock of the writing threads; ``looks`` are those for commands that were over, by database."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.looks: Counter[Path] = Counter()

    def monotonic(self) -> float:
        return self.now

    async def tick(self, store: SQLiteStore) -> None:
        """Time for one look: it is over when this returns."""
        before = self.looks[store.path]
        self.now += INTERVAL
        async with asyncio.timeout(BOUND):
            while self.looks[store.path] == before:
                await asyncio.sleep(0.001)


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    made = Ticks()
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=made.monotonic))
    look = Writer._look

    def counted(self: Writer) -> None:
        look(self)
        made.looks[self._path] += 1

    monkeypatch.setattr(Writer, "_look", counted)
    return made


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every statement that a store has SQLite carry out, by the thread: the writing one's and all others'."""
    counted: Counter[str] = Counter()
    gate = threading.Lock()

    def note(statement: str) -> None:
        with gate:
            counted[f"{threading.current_thread().name.startswith('deep-research-writer')}: {statement}"] += 1

    def traced(*given: Any) -> sqlite3.Connection:
        connection = connect(*given)
        connection.set_trace_callback(note)
        return connection

    connect = writer.connect
    monkeypatch.setattr(writer, "connect", traced)
    monkeypatch.setattr(sqlite, "connect", traced)
    return counted


class Gate:
    """Searches of which the first of each run waits until it may go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.search = ScriptedSearch(before=self._wait)
        self.search.at_once = RUNS  # of all runs: a hundred are to be in the middle of one

    async def _wait(self, _: Any) -> None:
        await self.go_on.wait()

    async def reached(self, count: int) -> None:
        while len(self.search.requests) < count:
            await asyncio.sleep(0.001)


def engine_on(store: SQLiteStore, search: ScriptedSearch, **more: Any) -> DeepResearch:
    given = {
        "agents": scripted_agents(sub_queries=3, without=["gatherer"]),
        "clock": FakeClock(),
        "max_concurrent": 1,
        "max_active_runs": RUNS + 1,
        "operation_timeout": BOUND,
    }
    return DeepResearch(store=store, search=[search], **{**given, **more})


def test_what_is_said_to_each_of_a_hundred_runs_is_heard_at_the_next_look_and_before_the_next_unit(
    tmp_path: Path, ticks: Ticks
) -> None:
    async def check() -> None:
        store = SQLiteStore(tmp_path / "runs.db", heartbeat=1e9, control_interval=INTERVAL)
        other = SQLiteStore(tmp_path / "runs.db")
        gate = Gate()
        async with (
            asyncio.timeout(BOUND),
            engine_on(store, gate.search) as owner,
            engine_on(other, ScriptedSearch()) as says,
        ):
            handles = [await owner.astart(f"Who kept light {n}?") for n in range(RUNS)]
            await gate.reached(RUNS)
            await ticks.tick(store)
            looks = ticks.looks[store.path]
            for n, handle in enumerate(handles):
                await says.asteer(handle.research_id, f"Mind marker {n}.", stop_searching=True)
            assert not any([await steered(owner, handle.research_id) for handle in handles])
            await ticks.tick(store)
            for n, handle in enumerate(handles):
                while not (heard := await steered(owner, handle.research_id)):
                    await asyncio.sleep(0.001)
                assert [event.text for event in heard] == [f"Mind marker {n}."]
            assert ticks.looks[store.path] == looks + 1
            assert len(gate.search.requests) == RUNS
            gate.go_on.set()
            results = [await handle.aresult() for handle in handles]
            assert {result.status for result in results} == {RunStatus.COMPLETED}
            assert len(gate.search.requests) == RUNS  # two more were planned of each
            for handle in handles:
                log = await owner.aevents(handle.research_id)
                kinds = [type(event) for event in log if isinstance(event, RunSteered | SubQueryCompleted)]
                assert kinds == [RunSteered, SubQueryCompleted]
                assert store.pending_commands(handle.research_id) == []
        store.close()
        other.close()

    asyncio.run(check())


async def steered(engine: DeepResearch, run_id: str) -> list[RunSteered]:
    return [event for event in await engine.aevents(run_id) if isinstance(event, RunSteered)]


def test_a_hundred_parked_runs_cost_the_watcher_and_the_waker_no_statement(
    tmp_path: Path, ticks: Ticks, statements: Counter[str]
) -> None:
    async def looked(parked: int) -> tuple[Counter[str], Counter[str]]:
        """What ten looks of each come to, beside so many runs that wait."""
        clock, gate = FakeClock(), Gate()
        store = SQLiteStore(tmp_path / f"{parked}.db", heartbeat=1e9, control_interval=INTERVAL)
        in_an_hour = clock() + timedelta(days=1)

        def ask(state: Any, phase: Any) -> Park | None:
            until = in_an_hour if "until" in state.query else None
            return Park("a year", until=until, default="1811") if "waits" in state.query else None

        hooks = SupervisorHooks(before_phase=ask)
        async with asyncio.timeout(BOUND), engine_on(store, gate.search, clock=clock, hooks=hooks) as engine:
            for n in range(parked):
                result = await engine.arun(f"Who waits {'until then' if n % 2 else 'for ever'}, at {n}?")
                assert result.status is RunStatus.PARKED
            assert len(await engine.awaiting()) == parked
            handle = await engine.astart("Who is going?")
            await gate.reached(1)
            await ticks.tick(store)
            counts = []
            for waker in (False, True):
                statements.clear()
                for _ in range(10):
                    if waker:
                        assert await engine.awake() == []
                    else:
                        await ticks.tick(store)
                counts.append(Counter(statements))
            gate.go_on.set()
            assert (await handle.aresult()).status is RunStatus.COMPLETED
        store.close()
        return counts[0], counts[1]

    none, hundred = asyncio.run(looked(0)), asyncio.run(looked(RUNS))
    watcher, waker = (sum(counts.values()) for counts in none)
    assert watcher == 20  # has another connection written, and has a row come: each at each look
    assert waker
    assert [sum(counts.values()) for counts in hundred] == [watcher, waker]
