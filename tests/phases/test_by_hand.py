"""Phases by hand: a phase works only on a state that stands at it, and the journal brings it there."""

import asyncio

import pytest

from deep_research import DeepResearchPhase, DeepResearchState, SubQuery
from deep_research.errors import PhaseStateError, UsageError
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.gathering import GatheringPhase
from deep_research.phases.planning import PlanningPhase
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.state.journal import MemoryJournal
from deep_research.testing import ScriptedAgent, scripted_agents

P = DeepResearchPhase
KINDS = (PlanningPhase, GatheringPhase, AnalysisPhase, SynthesisPhase, RefinementPhase)
MORE = SubQuery(id="subq-more", query="more of it", index=9, iteration=2)


@pytest.mark.parametrize("at", P)
@pytest.mark.parametrize("kind", KINDS)
def test_a_phase_refuses_a_state_that_stands_elsewhere_and_names_the_event_to_record(kind, at):
    agents = scripted_agents()
    worker = kind(agents["planner"] if kind is PlanningPhase else ScriptedAgent([]))
    journal = MemoryJournal(DeepResearchState(query="q", phase=at, phase_done=True))
    if at is kind.phase:
        asyncio.run(worker.run(journal.state, journal))
        return
    with pytest.raises(PhaseStateError) as refused:
        asyncio.run(worker.run(journal.state, journal))
    back = kind is GatheringPhase and at in (P.ANALYSIS, P.SYNTHESIS, P.REFINEMENT)
    event = "iteration.started" if back else "phase.started"
    assert refused.value.data == {"phase": kind.phase.value, "stands_at": at.value, "event": event}
    assert f"Record {event} before: `await journal.enter(DeepResearchPhase.{kind.phase.name})`" in str(
        refused.value
    )
    assert journal.events == []
    asyncio.run(journal.enter(kind.phase))
    assert journal.events[0].name == event
    worker.check_place(journal.state)


def test_entering_a_phase_records_its_dispatch():
    journal = MemoryJournal(DeepResearchState(query="q"))
    asyncio.run(journal.enter("gathering"))
    (decision,) = journal.state.decisions
    assert (decision.agent, decision.action) == ("gatherer", "execute_gathering")
    assert (journal.state.status, journal.state.phase) == ("running", P.GATHERING)


def test_a_further_iteration_begins_with_its_sub_queries():
    journal = MemoryJournal(DeepResearchState(query="q", phase=P.REFINEMENT))
    asyncio.run(journal.enter(P.GATHERING, sub_queries=[MORE]))
    assert [event.name for event in journal.events] == ["iteration.started", "phase.started"]
    assert journal.state.iteration == 2
    assert journal.state.pending_sub_queries() == (MORE,)


@pytest.mark.parametrize(("at", "to"), [(P.PLANNING, P.GATHERING), (P.SYNTHESIS, P.REFINEMENT)])
def test_sub_queries_where_no_iteration_begins_are_refused(at, to):
    journal = MemoryJournal(DeepResearchState(query="q", phase=at))
    with pytest.raises(UsageError, match="No iteration begins"):
        asyncio.run(journal.enter(to, sub_queries=[MORE]))
    assert journal.events == []
