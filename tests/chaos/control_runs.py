"""One run and three processes that have a say in it at random. What children of a `WarmParent` do: `actor` carries out a
list of verbs on a store that others use too, `finish` goes on with what they left, undisturbed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

from witness import Witness, unit_of

from deep_research import DeepResearch
from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli.main import main
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.store import SQLiteStore
from deep_research.supervisor.hooks import Park, SupervisorHooks
from deep_research.testing import scripted_agents
from deep_research.testing.doubles import FakeClock, ScriptedAgent, results

QUESTION = "Who kept the light?"
ASKED = ("gathering", "synthesis")  # phases before which the run asks
PATIENCE = 300.0
HOURS = timedelta(hours=2)  # a question waits for one
BEGUN, OVER = "begun", "over"


class Meter:
    """Has the witness told when a paid unit begins and when it is over, and what the database said as it began: the last
    event that was committed, and whose the run was."""

    def __init__(self, database: str, witness: str, seed: int) -> None:
        self._database = database
        self._witness = Witness(witness)
        self._chance = random.Random(seed)

    async def unit(self, name: str, work: Callable[[], Awaitable[Any]] | None = None) -> Any:
        self._witness.note(f"{BEGUN} {name}", self._seen())
        try:
            await asyncio.sleep(self._chance.uniform(0, 0.02))  # so that there is something to be disturbed
            return await work() if work is not None else None
        finally:
            self._witness.note(f"{OVER} {name}")

    def _seen(self) -> str:
        with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True, timeout=PATIENCE)) as db:
            (last, owner) = db.execute(
                "SELECT last_seq, coalesce(json_extract(owner, '$.pid'), 0) FROM runs"
            ).fetchone()
        return f"{last} {owner}"


class MeteredSearch(SearchProvider):
    name = "metered"

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        await self._meter.unit(f"search:{request.query}")
        return results(request.query, 2)[: request.limit]


def metered(agent: ScriptedAgent, meter: Meter) -> ScriptedAgent:
    async def answer(handoff: Any) -> Any:
        return await meter.unit(unit_of(handoff), lambda: agent(handoff))

    return ScriptedAgent(answer, batch_bytes=900, name=agent.name)


def asking(clock: FakeClock) -> SupervisorHooks:
    """Asks before the first search of each iteration and before the report, for an hour each."""

    def ask(state: Any, phase: Any) -> Park | None:
        if phase not in ASKED:
            return None
        return Park(f"a word on {phase}", until=clock() + timedelta(hours=1), default="by default")

    return SupervisorHooks(before_phase=ask)


def engine_on(store: SQLiteStore, meter: Meter, clock: FakeClock, **given: Any) -> DeepResearch:
    agents = scripted_agents(sub_queries=4, iterations=2, without=["gatherer"])
    return DeepResearch(
        **{
            "store": store,
            "search": [MeteredSearch(meter)],
            "agents": {role: metered(agent, meter) for role, agent in agents.items()},
            "clock": clock,
            "hooks": asking(clock),
            "max_concurrent": 2,
            "max_sub_queries": 20,
            "max_iterations": 2,
            "data_dir": str(store.path.parent),
            **given,
        }
    )


def actor(
    database: str, witness: str, told: str, *, steps: Sequence[Sequence[Any]], lease: float, seed: int
) -> bool:
    """Carries out ``steps`` (name, verb, seconds to wait before it, words), each told of in the file ``told`` when it
    begins and when it is over. True where SIGTERM came, on which its runs are parked."""
    _silence()
    return asyncio.run(_Actor(database, witness, told, lease, seed).act(steps))


def _silence() -> None:
    """What the command line prints goes nowhere: stdout is how the warm process answers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)


class _Actor:
    def __init__(self, database: str, witness: str, told: str, lease: float, seed: int) -> None:
        self._told = Witness(told)
        self._clock = FakeClock()
        self._meter = Meter(database, witness, seed)
        self._lease = lease
        self._database = database
        self._store = self._opened()
        self._engine = engine_on(self._store, self._meter, self._clock)
        self._under_way: set[asyncio.Task[None]] = set()

    def _opened(self) -> SQLiteStore:
        return SQLiteStore(
            self._database, lease_ttl=self._lease, heartbeat=self._lease / 5, control_interval=0.005
        )

    async def act(self, steps: Sequence[Sequence[Any]]) -> bool:
        terminated = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
        walk, stop = asyncio.ensure_future(self._walk(steps)), asyncio.ensure_future(terminated.wait())
        await asyncio.wait({walk, stop}, return_when=asyncio.FIRST_COMPLETED)
        if terminated.is_set():
            walk.cancel()
            await self._engine.adrain(PATIENCE)
        for task in (walk, stop, *self._under_way):
            task.cancel()
        await asyncio.gather(walk, stop, *self._under_way, return_exceptions=True)
        await self._engine.aclose()
        self._store.close()
        return terminated.is_set()

    async def _walk(self, steps: Sequence[Sequence[Any]]) -> None:
        """Verbs that work on the run go on beside those that come after them."""
        for name, verb, seconds, words in steps:
            await asyncio.sleep(seconds)
            self._told.note(name, BEGUN)
            task = asyncio.ensure_future(self._noted(name, self._verb(verb, words)))
            self._under_way.add(task)
            if verb in ("steer", "answer later"):
                await asyncio.wait({task})
        while left := [task for task in self._under_way if not task.done()]:
            await asyncio.wait(left)

    async def _noted(self, name: str, work: Awaitable[str]) -> None:
        try:
            came = await work
        except asyncio.CancelledError:
            self._told.note(name, "stopped")
            raise
        except DeepResearchError as error:
            came = f"refused {type(error).__name__}" if "\n" not in str(error) else f"fault {error}"
        except Exception:
            came = f"fault {traceback.format_exc()}"
        self._told.note(name, came)

    async def _verb(self, verb: str, words: str) -> str:
        engine = self._engine
        if verb == "start":
            return (await (await engine.astart(QUESTION)).aresult()).status.value
        runs = await engine.alist()
        if not runs:
            return "there is no run yet"
        (run,) = runs
        match verb:
            case "steer":
                await engine.asteer(run.research_id, words)
            case "answer":
                answered = await engine.aanswer(run.research_id, words)
                return answered.status.value if answered else "left"
            case "answer later":
                await engine.aanswer(run.research_id, words, run=False)
            case "cancel":
                return (await engine.acancel(run.research_id)).status.value
            case "wake":
                self._clock.move(HOURS)
                return f"{len(await engine.awake())} woken"
            case "take over":
                if run.status.is_final:
                    return "over"
                return (await engine.aresume(run.research_id, take_over=True)).status.value
            case "steer by command":
                return await self._command("steer", run.research_id, words)
            case "answer by command":
                return await self._command("answer", run.research_id, words, "--no-run")
            case _:
                raise AssertionError(verb)
        return "left"

    async def _command(self, *arguments: str) -> str:
        """A line of the command line, with an engine and a store of its own."""

        store = self._opened()

        def engine(**given: Any) -> DeepResearch:
            return engine_on(store, self._meter, self._clock, **given)

        line = [*arguments, "--data-dir", str(self._store.path.parent)]
        try:
            return f"exit {await asyncio.to_thread(main, line, engine=engine)}"
        finally:
            store.close()


def finish(database: str, witness: str, *, aborted: bool) -> dict[str, Any]:
    """Goes on with the run until it has ended, answering what it asks; with one that was ``aborted`` too. Says what came
    of it."""
    store = SQLiteStore(database)
    with engine_on(store, Meter(database, witness, 0), FakeClock(), max_concurrent=1) as engine:
        runs = engine.list()
        if not runs:
            return {"status": "none", "resumed": 0}
        (run,) = runs
        resumed = 0
        while not (run.status.is_final and not (aborted and run.status == "aborted")):
            if resumed == 40:
                print("it does not come to an end", file=sys.stderr)
                break
            parked = run.status == "parked" and engine.waiting()[0].asks
            if parked:
                engine.answer(run.research_id, f"quiet {resumed}")
            else:
                engine.resume(run.research_id)
            resumed += 1
            run = engine.status(run.research_id)
        answer = {"status": run.status.value, "resumed": resumed}
    store.close()
    return answer
