"""A run that is parked, of whatever kind, outlives its process, which is killed, and a copy of its store elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warm_parent import WarmParent
from witness import Witness, WitnessedSearch

from deep_research import Budget, DeepResearch, Park, RunStatus, SupervisorHooks
from deep_research.errors import ModelError, RunStateError, UsageError
from deep_research.state import ParkedKind
from deep_research.store import SQLiteStore
from deep_research.testing import FakeClock, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
QUESTION = "Who kept the light?"
# By kind: an answer that is refused, and one with which the run goes on; None: it is resumed.
ANSWERS: dict[ParkedKind, tuple[Any, Any]] = {
    ParkedKind.QUESTION: ("1811", 1811),
    ParkedKind.PLAN: (7, {"sub_queries": [{"query": "keepers of the light"}]}),
    ParkedKind.BUDGET: ({"max_money": 3}, {"max_searches": 50}),
    ParkedKind.OUTAGE: (None, None),
    ParkedKind.PAUSE: (None, None),
    ParkedKind.SHUTDOWN: (None, None),
}
OPTIONS: dict[ParkedKind, dict[str, Any]] = {
    ParkedKind.PLAN: {"approve_plan": True},
    ParkedKind.BUDGET: {"on_budget_exhausted": "ask", "budget": Budget(max_searches=1)},
}


def year(state: Any, phase: str) -> Park | None:
    asks = phase == "gathering" and not state.answers
    return Park("the year", answer_schema={"type": "integer"}, default=1812) if asks else None


def made(folder: Path, kind: ParkedKind, before: Any = None, **agents: Any) -> DeepResearch:
    hooks = SupervisorHooks(before_phase=year) if kind is ParkedKind.QUESTION else None
    return DeepResearch(
        store=SQLiteStore(folder / "runs.db", control_interval=0.005),
        clock=FakeClock(),
        hooks=hooks,
        agents=scripted_agents(sub_queries=4, without=["gatherer"]) | agents,
        search=[WitnessedSearch(before=before, witness=folder.parent / "witness")],
        max_concurrent=1,
    )


def out_of_service(handoff: Any) -> Any:
    raise ModelError("The service is down.", verdict="park", retry_after=3600.0)


async def parked(folder: Path, kind: ParkedKind) -> None:
    """Has a run park as such a kind, and dies without a word."""

    async def in_the_first_search(_: Any) -> None:
        (run,) = await engine.alist()
        if kind is ParkedKind.PAUSE:
            await engine.apause(run.research_id)
        elif kind is ParkedKind.SHUTDOWN:
            ending.append(asyncio.create_task(engine.adrain(BOUND)))
        else:
            return
        while not engine._runner._active[run.research_id].journal._halted:
            await asyncio.sleep(0.005)

    ending: list[Any] = []
    agents = {"analyzer": out_of_service} if kind is ParkedKind.OUTAGE else {}
    engine = made(folder, kind, in_the_first_search, **agents)
    await engine.arun(QUESTION, **OPTIONS.get(kind, {}))
    os.kill(os.getpid(), signal.SIGKILL)


def park(folder: str, kind: str) -> None:
    asyncio.run(parked(Path(folder), ParkedKind(kind)))


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("test_outliving") as warm:
        yield warm


def searched(folder: Path) -> Counter[str]:
    return Counter(call.unit for call in Witness(folder.parent / "witness").calls())


def test_every_kind_of_parking_has_a_case():
    assert set(ANSWERS) == set(ParkedKind)


@pytest.mark.parametrize("kind", ParkedKind)
def test_a_parked_run_goes_on_after_its_process_was_killed_and_its_store_moved(parent, tmp_path, kind):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    ended = parent.run("test_outliving:park", folder=first, kind=kind)
    assert ended.killed_by == signal.SIGKILL, ended.error
    shutil.copytree(first, second)  # with what its log has that was not written back
    shutil.rmtree(first)
    wrong, right = ANSWERS[kind]
    with made(second, kind) as research:
        (waiting,) = research.waiting()
        run_id = waiting.research_id
        assert (waiting.kind, waiting.asks) == (kind, right is not None)
        assert research.status(run_id).status is RunStatus.PARKED
        log, before = research.events(run_id), searched(second)
        assert log[-1].name == "run.parked"
        with pytest.raises(UsageError if waiting.asks else RunStateError) as refused:
            research.answer(run_id, wrong)
        assert "\n" not in str(refused.value)
        assert research.events(run_id) == log
        setup = "new" if kind is ParkedKind.OUTAGE else "same"  # with an agent that is there
        result = research.answer(run_id, right) if waiting.asks else research.resume(run_id, setup=setup)
        after = research.events(run_id)
    assert result is not None
    assert result.status is RunStatus.COMPLETED
    assert after[: len(log)] == log
    assert set(searched(second).values()) == {1}
    assert searched(second).total() == result.usage.searches > before.total() - (kind is ParkedKind.OUTAGE)


def test_an_answer_that_was_left_moves_with_the_store(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    with made(first, ParkedKind.QUESTION) as research:
        run_id = research.run(QUESTION).research_id
        research.answer(run_id, 1811, run=False)
        research.steer(run_id, "Mind the keepers.")
    shutil.copytree(first, second)
    with made(second, ParkedKind.QUESTION) as research:
        (waiting,) = research.waiting()
        assert waiting.has_answer
        (result,) = research.wake()
    assert result.status is RunStatus.COMPLETED
    assert {"1811", "Mind the keepers."} <= {guidance.text for guidance in result.state.guidance}
    with made(first, ParkedKind.QUESTION) as research:  # what it was copied from waits as before
        assert research.status(run_id).status is RunStatus.PARKED
