"""The parts that a plan carries, whatever a planner answers, and what a new plan does to old verdicts."""

import asyncio

from deep_research.phases.analysis.weighed_evidence import with_lacking
from deep_research.phases.planning import PlannedQuery, PlannerOutput, PlanningPhase
from deep_research.phases.planning.handoff import PlannedPart
from deep_research.state import (
    AnswerCoverage,
    AnswerStatus,
    DeepResearchState,
    Gap,
    PartVerdict,
    QuestionPart,
)
from deep_research.state.events import EvidenceWeighed
from deep_research.state.identity import gap_id
from deep_research.state.journal import MemoryJournal

QUESTION = "Who built the Mole, and when was it finished?"


def planned(*parts, queries=(), state=None):
    class Planner:
        deterministic = False

        async def __call__(self, handoff):
            asked = queries or (PlannedQuery(query="the whole question"),)
            return PlannerOutput(research_brief="b", parts=parts, sub_queries=asked)

    state = state or DeepResearchState(query=QUESTION)
    journal = MemoryJournal(state)
    asyncio.run(PlanningPhase(Planner()).run(state, journal))
    return journal.state


def part(text, expects=""):
    return PlannedPart(text=text, expects=expects)


def test_a_planner_that_sees_no_parts_leaves_those_of_the_question():
    state = planned()
    assert [(p.text, p.expects) for p in state.parts] == [
        ("Who built the Mole", "person"),
        ("when was it finished", "date"),
    ]


def test_empty_and_repeated_parts_and_unknown_kinds_do_no_harm():
    state = planned(
        part(" "),
        part("Who built it", "person"),
        part("Who built it", "salary" * 50),
        part("When was it finished", "salary"),
        queries=(PlannedQuery(query="who built the mole", part=2), PlannedQuery(query="a blank one", part=1)),
    )
    assert [(p.text, p.expects) for p in state.parts] == [
        ("Who built it", "person"),
        ("When was it finished", ""),
    ]
    assert [s.part_id for s in state.sub_queries] == [state.parts[0].id, None]


def test_of_too_many_parts_none_is_lost():
    state = planned(*(part(f"Who built tower {n}") for n in range(30)))
    assert len(state.parts) == 20
    assert all(f"tower {n}" in " ".join(p.text for p in state.parts) for n in range(30))


def test_a_new_plan_leaves_no_verdict_on_parts_that_are_none():
    old = (QuestionPart(id="part-old", text="Who built it"),)
    state = DeepResearchState(
        query=QUESTION,
        parts=old,
        verdicts=(PartVerdict(part_id="part-old", verdict=AnswerStatus.ANSWERED),),
        research_brief="b",
    )
    assert state.answer_coverage is AnswerCoverage.YES
    state = planned(part("Where does it lie"), state=state)
    assert (state.verdicts, state.answer_coverage) == ((), None)


def test_a_gap_is_open_again_when_nothing_answers_its_part_any_more():
    (asked,) = (QuestionPart(id="part-1", text="Who built it"),)
    key = gap_id("Not found: Who built it")
    gap = Gap(id=key, description="Not found: Who built it", addressed=True, resolution="Evidence was found.")
    state = DeepResearchState(query=QUESTION, parts=(asked,), gaps=(gap,))
    event = EvidenceWeighed(verdicts=(PartVerdict(part_id="part-1", verdict=AnswerStatus.NOT_FOUND),))
    (again,) = with_lacking(event, state).gaps
    assert (again.addressed, again.resolution) == (False, None)
