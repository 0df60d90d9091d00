"""Every arrow of the machine: the situation that takes it, and a run that does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parking import parking_hooks

from deep_research import (
    DeepResearch,
    DeepResearchPhase,
    StopResearch,
    SupervisorAction,
    SupervisorHooks,
    Verdict,
)
from deep_research.errors import LogDamagedError
from deep_research.state import events as ev
from deep_research.state.phases import AbortReason
from deep_research.state.reducer import Fold
from deep_research.state.transitions import (
    PHASES,
    TRANSITIONS,
    Node,
    Situation,
    Transition,
    mermaid,
    next_transition,
)
from deep_research.testing import FakeClock, ScriptedAgent, scripted_agents

ARCHITECTURE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
ONWARD = Situation(should_iterate=True, follow_ups=1, iterations_left=1)

# What must be the case for each condition of the table, by its words.
SITUATIONS: dict[str, Situation] = {
    "start": Situation(started=True),
    "resume an interrupted run": Situation(resumed=True),
    "resume, with an answer or later": Situation(resumed=True),
    "resume": Situation(resumed=True),
    "cancelled": Situation(stop=AbortReason.CANCELLED),
    "cancelled, timeout, config or error": Situation(stop=AbortReason.CANCELLED),
    "it waits: for an answer, a service or a resume": Situation(park=True),
    "plan again, once per iteration": Situation(replan=True),
    "retry, attempts left": Situation(retry=True),
    "gate blocks, no attempts left": Situation(blocked=True),
    "no answer yet, follow-ups and iterations left": replace(ONWARD, blocked=True),
    "gate passed": Situation(),
    "unresolved gaps and iterations left": Situation(should_iterate=True, iterations_left=1),
    "no gaps, or no iterations left": Situation(),
    "iteration recommended, follow-ups and iterations left": ONWARD,
    "improve the report once more": Situation(improve_report=True),
    "a version that a model has to look at": Situation(critique=True),
    "done": Situation(),
}


def named(row: Transition) -> str:
    return f"{row.source} to {row.target}: {row.label}"


@pytest.mark.parametrize("row", TRANSITIONS, ids=named)
def test_every_row_is_taken_in_its_situation(row: Transition) -> None:
    assert next_transition(row.source, SITUATIONS[row.label]) is row


@pytest.mark.parametrize("row", TRANSITIONS, ids=named)
def test_a_stop_comes_before_everything_else(row: Transition) -> None:
    if row.source in (*PHASES, Node.PARKED):
        stopped = replace(SITUATIONS[row.label], stop=AbortReason.TIMEOUT)
        assert next_transition(row.source, stopped).target is Node.ABORTED


def test_no_row_is_there_twice() -> None:
    assert len({(r.source, r.target, r.label) for r in TRANSITIONS}) == len(TRANSITIONS)


def test_every_phase_has_a_way_on_in_every_situation() -> None:
    flags = {f.name for f in Situation.__dataclass_fields__.values() if f.type == "bool"}
    for phase in PHASES:
        for flag in flags:
            assert next_transition(phase, Situation(**{flag: True}))


@pytest.mark.parametrize(
    ("situation", "target"),
    [
        (replace(ONWARD, iterations_left=0), Node.COMPLETED),
        (replace(ONWARD, follow_ups=0), Node.COMPLETED),
        (replace(ONWARD, should_iterate=False), Node.COMPLETED),
        (replace(ONWARD, follow_ups=0, improve_report=True), Node.SYNTHESIS),
        (replace(ONWARD, improve_report=True), Node.GATHERING),
    ],
)
def test_refinement_goes_on_only_with_all_it_needs(situation: Situation, target: Node) -> None:
    assert next_transition(Node.REFINEMENT, situation).target is target


@pytest.mark.parametrize("node", [Node.COMPLETED, Node.IDLE, Node.PARKED, Node.ABORTED, Node.RESUME_POINT])
def test_from_where_nothing_is_asked_no_way_leads_on(node: Node) -> None:
    with pytest.raises(LogDamagedError, match="No way leads on"):
        next_transition(node, Situation())


def test_a_completed_run_is_never_left() -> None:
    assert not [row for row in TRANSITIONS if row.source is Node.COMPLETED]


def test_the_diagram_has_every_row() -> None:
    """What most phases share is drawn once, from the box around them."""
    diagram = mermaid()
    assert diagram.startswith("stateDiagram-v2\n")
    for row in TRANSITIONS:
        own = "[*]" if row.source is Node.IDLE else row.source
        ends = {(own, row.target), ("working", row.target), ("working", "working")}
        assert any(f"    {left} --> {right}: {row.label}\n" in diagram for left, right in ends), row


# Runs that take them

Arrow = tuple[str, str]
ROLES = {
    "planning": "planner",
    "gathering": "gatherer",
    "analysis": "analyzer",
    "synthesis": "synthesizer",
    "refinement": "refiner",
}
SUB_QUERIES = 3
RETRY = Verdict(action=SupervisorAction.RETRY)
PLAN_AGAIN = Verdict(action=SupervisorAction.RETRY, phase=DeepResearchPhase.PLANNING)


def overruling(phase: str, verdict: Verdict) -> SupervisorHooks:
    """Overrule the gate of a phase, the first time."""
    left = [verdict]

    async def gate(state: Any, at: Any, validation: Any) -> Verdict | None:
        return left.pop() if at == phase and left else None

    return SupervisorHooks(gate=gate)


def stopping(phase: str) -> SupervisorHooks:
    async def before_phase(state: Any, at: Any) -> None:
        if at == phase:
            raise StopResearch

    return SupervisorHooks(before_phase=before_phase)


def walked(engine: DeepResearch, research_id: str) -> list[Arrow]:
    """The arrows that a run took, from its log."""
    arrows: list[Arrow] = []
    state, here = Fold(), "idle"
    for event in engine.events(research_id):
        state.apply(event)
        match event:
            case ev.PhaseStarted() | ev.PhaseRetried():
                there = event.phase.value
            case ev.RunParked() | ev.RunCompleted() | ev.RunAborted():
                there = state.status.value
            case ev.RunResumed():
                arrows.append((here, "resume_point"))
                here = state.phase.value
                continue
            case _:
                continue
        arrows.append((here, there))
        here = there
    return arrows


def run(**parts: Any) -> list[Arrow]:
    """Of a run that is answered whenever it parks."""
    parts.setdefault("agents", scripted_agents(iterations=2))
    with DeepResearch(store="memory", clock=FakeClock(), **parts) as engine:
        result = engine.run("Who kept the light?")
        while result.status == "parked":
            result = engine.resume(result.research_id, answer="go on")
        return walked(engine, result.research_id)


WALKS: dict[str, tuple[Callable[[], dict[str, Any]], list[Arrow]]] = {
    "straight on": (
        lambda: {"agents": scripted_agents()},
        [
            ("idle", "planning"),
            ("planning", "gathering"),
            ("gathering", "analysis"),
            ("analysis", "synthesis"),
            ("synthesis", "completed"),
        ],
    ),
    "two iterations": (
        dict,
        [("synthesis", "refinement"), ("refinement", "gathering"), ("synthesis", "completed")],
    ),
    "the refiner sees nothing more": (
        lambda: {"agents": scripted_agents(iterations=2, follow_ups=0)},
        [("synthesis", "refinement"), ("refinement", "completed")],
    ),
    "the report is improved once more": (
        lambda: {"agents": scripted_agents(iterations=2, follow_ups=0, improvements=["say more"])},
        [("refinement", "synthesis"), ("synthesis", "completed")],
    ),
    "nothing answers before the second iteration": (
        lambda: {"agents": scripted_agents(iterations=2, answered_from=2)},
        [("analysis", "gathering"), ("analysis", "synthesis"), ("synthesis", "completed")],
    ),
    "refinement again": (
        lambda: {"hooks": overruling("refinement", RETRY)},
        [("refinement", "refinement")],
    ),
}
for _phase, _role in list(ROLES.items())[:-1]:
    WALKS[f"{_phase} again"] = (
        lambda role=_role: {
            "agents": scripted_agents(retries={role: SUB_QUERIES if role == "gatherer" else 1})
        },
        [(_phase, _phase)],
    )
    WALKS[f"{_phase} blocked"] = (
        lambda role=_role: {"agents": scripted_agents(retries={role: 99})},
        [(_phase, _phase), (_phase, "aborted")],
    )
for _phase in ROLES:
    WALKS[f"{_phase} is stopped"] = (lambda phase=_phase: {"hooks": stopping(phase)}, [(_phase, "aborted")])
    WALKS[f"{_phase} parks"] = (
        lambda phase=_phase: {"hooks": parking_hooks("after_phase", phases=[phase])},
        [(_phase, "parked"), ("parked", "resume_point")],
    )
for _phase in list(ROLES)[1:]:
    WALKS[f"plan again after {_phase}"] = (
        lambda phase=_phase: {"hooks": overruling(phase, PLAN_AGAIN)},
        [(_phase, "planning")],
    )


@pytest.fixture(scope="module")
def walks() -> dict[str, list[Arrow]]:
    return {name: run(**parts()) for name, (parts, _) in WALKS.items()}


@pytest.mark.parametrize("name", WALKS)
def test_a_run_takes_the_way(walks: dict[str, list[Arrow]], name: str) -> None:
    assert set(WALKS[name][1]) <= set(walks[name])


@pytest.mark.parametrize("name", WALKS)
def test_a_run_takes_no_way_that_is_not_in_the_table(walks: dict[str, list[Arrow]], name: str) -> None:
    assert set(walks[name]) <= {(str(row.source), str(row.target)) for row in TRANSITIONS}


def test_together_these_runs_take_every_row(walks: dict[str, list[Arrow]]) -> None:
    """But for three: the tests below, and those that kill."""
    taken = {arrow for way in walks.values() for arrow in way}
    table = {(str(row.source), str(row.target)) for row in TRANSITIONS}
    assert table - taken == {("idle", "resume_point"), ("aborted", "resume_point"), ("parked", "aborted")}


def test_a_parked_run_can_be_cancelled_where_it_is() -> None:
    hooks = parking_hooks("think_pause", phases=["analysis"])
    with DeepResearch(agents=scripted_agents(), hooks=hooks, store="memory", clock=FakeClock()) as engine:
        parked = engine.run("Who?")
        assert engine.cancel(parked.research_id).status == "aborted"
        assert walked(engine, parked.research_id)[-1] == ("parked", "aborted")
        result = engine.result(parked.research_id)
        assert result.report_metadata is not None
        assert result.report_metadata.partial


def test_an_aborted_run_is_resumed_at_the_phase_that_was_interrupted() -> None:
    agents = scripted_agents()
    whole = scripted_agents()["synthesizer"]
    agents["synthesizer"] = mended = ScriptedAgent(
        lambda handoff: whole(handoff) if len(mended.handoffs) > 1 else RuntimeError("broken")
    )
    with DeepResearch(agents=agents, store="memory", clock=FakeClock()) as engine:
        first = engine.run("Who?")
        assert (first.status, first.reason, first.state.phase) == ("aborted", "error", "synthesis")
        assert engine.resume(first.research_id).status == "completed"
        assert len(agents["planner"].handoffs) == 1
        assert ("aborted", "resume_point") in walked(engine, first.research_id)
