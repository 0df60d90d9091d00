"""The refiner that thinks with a model."""

import asyncio

from deep_research.models.profiles import Profile
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.handoff import RefinerInput
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.state import DeepResearchPhase, DeepResearchState, Gap
from deep_research.testing.models import ScriptedModel, ScriptedProvider

GAPS = (
    Gap(id="gap-000000000001", description="What it cost", priority=2, suggested_queries=("cost of it",)),
    Gap(id="gap-000000000002", description="Who paid for it", priority=1),
)


def handoff(**more):
    fields = {
        "research_id": "r",
        "original_query": "What is known of the tower?",
        "current_phase": DeepResearchPhase.REFINEMENT,
        "iteration": 1,
        "max_iterations": 3,
        "remaining_iterations": 2,
        "has_report_draft": True,
        "report": "# The tower\n\n## Answer\n\nIt stands [1].\n\n## References\n\n1. A page.",
        "gaps": GAPS,
        "earlier_queries": ("the tower",),
        **more,
    }
    return RefinerInput(**fields)


def judgement(**more):
    return {
        "gap_analysis": [
            {
                "gap_id": "G1",
                "severity": "critical",
                "follow_up_queries": [{"query": "sum spent on the tower"}],
            }
        ],
        "iteration_recommendation": {
            "should_iterate": True,
            "rationale": "It matters.",
            "priority_gaps": ["G1"],
        },
        "report_improvements": ["Name the builder first.", " "],
        **more,
    }


def judged(answer, **more):
    model = ScriptedModel([answer])
    return asyncio.run(LLMRefiner()(handoff(**more), model)), model


def test_all_that_is_wanted_reaches_the_prompt():
    _, model = judged(
        judgement(),
        guidance=("Think of the cost.",),
        system_prompt="We are a museum.",
        language="German",
        audience="children",
    )
    text = model.calls[0][0].messages[0].content
    for said in (
        "Think of the cost.",
        "We are a museum.",
        "Write in German. Write for children.",
        "Round 1 of 3; 2 are left.",
        "G1 (priority 2): What it cost Ideas: cost of it",
        "It stands [1].",
        "- the tower",
    ):
        assert said in text
    assert text.index("G2 (priority 1)") < text.index("G1 (priority 2)")
    assert "A page." not in text  # the references are put in by code


def test_gaps_that_were_not_given_are_dropped_and_counted(work):
    answer = judgement(
        gap_analysis=[{"gap_id": "G1"}, {"gap_id": "G1"}, {"gap_id": "G7"}],
        iteration_recommendation={"should_iterate": True, "priority_gaps": ["G9", "G1"]},
    )
    output, _ = judged(answer)
    assert [g.gap_id for g in output.gap_analysis] == [GAPS[0].id]
    assert output.iteration_recommendation.priority_gaps == (GAPS[0].id,)
    assert output.unknown == 2
    state = DeepResearchState(query="q", phase=DeepResearchPhase.REFINEMENT, gaps=GAPS, report="# R")
    journal = work(RefinementPhase(LLMRefiner()), state, ScriptedProvider([answer]))
    assert journal.state.unknown_ids == 2


def test_searches_that_were_made_or_are_named_twice_are_left_out():
    queries = [{"query": q} for q in ("The  tower", "new one", "New one", " ")]
    output, _ = judged(
        judgement(
            gap_analysis=[
                {"gap_id": "G1", "follow_up_queries": queries},
                {"gap_id": "G2", "follow_up_queries": [{"query": "new one"}, {"query": "another"}]},
            ]
        )
    )
    assert [[q.query for q in g.follow_up_queries] for g in output.gap_analysis] == [["new one"], ["another"]]
    assert output.report_improvements == ("Name the builder first.",)


def test_a_long_report_and_many_gaps_fit_a_small_window_and_it_shows():
    gaps = tuple(
        Gap(id=f"gap-{n:012x}", description=f"Open matter {n} " * 12, priority=n) for n in range(200)
    )
    model = ScriptedModel([judgement()], profile=Profile(context=8_192, output=4_096))
    output = asyncio.run(
        LLMRefiner()(
            handoff(
                gaps=gaps,
                report="# R\n\n" + "The sea was heavy. " * 3_000,
                earlier_queries=tuple(f"search number {n} of many" for n in range(300)),
                original_query="Why? " * 3_000,
            ),
            model,
        )
    )
    call = model.calls[0][0]
    assert (len(call.system) + len(call.messages[0].content)) / 3 + call.max_output < 8_192
    assert "[…]" in call.messages[0].content
    assert "For want of room the refiner was given only a part of the gaps." in output.notes
