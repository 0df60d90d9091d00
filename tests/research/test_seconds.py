"""The seconds of work on a run are counted over all its owners, and no time in which nobody works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from deep_research import Budget, DeepResearch, Park, SupervisorHooks
from deep_research.state import DeepResearchPhase
from deep_research.state.events import PhaseEnded
from deep_research.store import MemoryStore, SQLiteStore, Store
from deep_research.supervisor.opening import Stopwatch
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
BOUND = 300.0
AN_HOUR = 3_600.0
GATHERING = DeepResearchPhase.GATHERING


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock of the runner, which only the test moves."""
    moment = [1_000.0]
    monkeypatch.setattr("deep_research.research.runner.time", SimpleNamespace(monotonic=lambda: moment[0]))
    return moment


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "runs.db")
    yield made
    made.close()


def working(
    now: list[float], seconds: float = 10.0, *, park_after: DeepResearchPhase | None = None
) -> SupervisorHooks:
    """Every phase takes so long; a run parks once."""

    def before_phase(state: Any, phase: Any) -> None:
        now[0] += seconds

    def think_pause(state: Any, prompt: str) -> Park | None:
        return Park("a word") if state.phase is park_after else None

    return SupervisorHooks(before_phase=before_phase, think_pause=think_pause)


def engine(store: Store, hooks: SupervisorHooks | None = None, **more: Any) -> DeepResearch:
    parts = {"agents": scripted_agents(iterations=2, without=["gatherer"]), "search": [ScriptedSearch()]}
    return DeepResearch(store=store, clock=FakeClock(), hooks=hooks, **(parts | more))


def ended(research: DeepResearch, run_id: str) -> list[float]:
    return [event.seconds for event in research.events(run_id) if isinstance(event, PhaseEnded)]


def test_the_seconds_of_the_phases_are_those_of_the_run(now: list[float], store: Store) -> None:
    with engine(store, working(now)) as research:
        result = research.run(QUESTION)
        assert ended(research, result.research_id) == [10.0] * 8
        assert research.status(result.research_id).seconds == result.state.seconds == 80.0


def test_parked_time_does_not_count_and_a_later_owner_adds_to_what_was_worked(
    now: list[float], store: Store
) -> None:
    with engine(store, working(now, park_after=GATHERING)) as research:
        run_id = research.run(QUESTION).research_id
        assert (research.status(run_id).status, research.status(run_id).seconds) == ("parked", 20.0)
        assert ended(research, run_id) == [10.0]
    now[0] += AN_HOUR
    with engine(store, working(now, 5.0)) as research:
        result = research.resume(run_id, answer="Go on.", setup="new")
        assert result.status == "completed"
        # The work of both owners on GATHERING is in its end; so the log alone knows the whole.
        assert ended(research, run_id)[:3] == [10.0, 15.0, 5.0]
        assert research.status(run_id).seconds == result.state.seconds == 20.0 + 5.0 * 7


def test_a_resumed_run_gathers_for_what_is_left_of_its_seconds(now: list[float], store: Store) -> None:
    with engine(store, working(now, park_after=DeepResearchPhase.ANALYSIS)) as research:
        run_id = research.run(QUESTION, budget=Budget(max_seconds=35)).research_id
    now[0] += AN_HOUR
    search = ScriptedSearch()
    with engine(store, working(now), search=[search]) as research:
        result = research.resume(run_id, answer="Go on.", setup="new")
    assert (result.status, result.iterations, search.requests) == ("completed", 1, [])


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(8.0, ("aborted", "timeout")), (1_800.0, ("completed", None))],
    ids=["none left", "some left"],
)
def test_a_resumed_run_has_what_is_left_of_the_time_of_the_whole_run(
    now: list[float], store: Store, limit: float, outcome: tuple[str, str | None]
) -> None:
    with engine(store, working(now, park_after=GATHERING)) as research:
        run_id = research.run(QUESTION).research_id
    agents = scripted_agents(iterations=2, without=["gatherer"])
    with engine(store, agents=agents, task_timeout=limit) as research:
        result = research.resume(run_id, answer="Go on.", setup="new")
    assert (result.status, result.reason) == outcome
    assert bool(agents["analyzer"].handoffs) is (outcome[0] == "completed")


def letting_go(now: list[float], store: Store, stop: Callable[[DeepResearch, str], Any]) -> float | None:
    """The seconds that are left behind by a run that was stopped 7 s after it last recorded something."""

    async def told() -> float | None:
        reached = asyncio.Event()

        async def wait(_: Any) -> None:
            reached.set()
            await asyncio.Event().wait()

        async with asyncio.timeout(BOUND):
            research = engine(store, working(now), search=[ScriptedSearch(before=wait)])
            handle = await research.astart(QUESTION)
            await reached.wait()
            now[0] += 7.0
            assert (await research.astatus(handle.research_id)).seconds == 10.0
            await stop(research, handle.research_id)
            seconds = (await research.astatus(handle.research_id)).seconds
            await research.aclose()
            return seconds

    return asyncio.run(told())


@pytest.mark.parametrize(
    "stop",
    [lambda research, _: research.aclose(), lambda research, run_id: research.acancel(run_id)],
    ids=["close", "cancel"],
)
def test_who_lets_go_of_a_run_leaves_its_seconds_behind(
    now: list[float], store: Store, stop: Callable[[DeepResearch, str], Any]
) -> None:
    assert letting_go(now, store, stop) == 27.0


def test_a_stopwatch_stands_until_it_is_started() -> None:
    seconds = iter([100.0, 101.5, 102.25])
    elapsed = Stopwatch(lambda: next(seconds), before=3.0)
    assert elapsed() == 3.0
    elapsed.start()
    assert [elapsed(), elapsed()] == [4.5, 5.25]
