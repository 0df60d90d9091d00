"""The agents that think with a model: what reaches their prompts, and what planner and refiner make of the answers."""

import asyncio

import pytest
from phases.builders import finding, handoff, prompt

from deep_research.phases.analysis import AnalyzerInput
from deep_research.phases.analysis.handoff import SourceText
from deep_research.phases.analysis.llm import LLMAnalyzer, Reading
from deep_research.phases.planning import PlannerInput
from deep_research.phases.planning.llm import LLMPlanner, Plan
from deep_research.phases.refinement import RefinementPhase, RefinerInput
from deep_research.phases.refinement.llm import Judgement, LLMRefiner
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.state import (
    Contradiction,
    DeepResearchPhase,
    DeepResearchState,
    FirstLook,
    Gap,
    Notice,
    SubQuery,
)
from deep_research.testing.models import ScriptedModel, ScriptedProvider

GAPS = (
    Gap(id="gap-000000000001", description="What it cost", priority=2, suggested_queries=("cost of it",)),
    Gap(id="gap-000000000002", description="Who paid for it", priority=1),
)
KEEPER = "The tower on the reef was built by its keeper in the year 1801."
REPORT = "# The tower\n\n## Answer\n\nIt stands [1].\n\n## References\n\n1. A page."
DRAFT = "# Towers\n\n## Answer\n\nThe first tower was built by its keeper [F1].\n\n## Open\n\nIts cost is not known."


def plan(*queries):
    searches = [{"query": query, "rationale": "why", "priority": priority} for query, priority in queries]
    return {"research_brief": "How it is looked into.", "sub_queries": searches}


def judgement(**more):
    searches = [{"query": "sum spent on the tower"}]
    return {
        "gap_analysis": [{"gap_id": "G1", "severity": "critical", "follow_up_queries": searches}],
        "iteration_recommendation": {"should_iterate": True, "rationale": "r", "priority_gaps": ["G1"]},
        "report_improvements": ["Name the builder first.", " "],
        **more,
    }


def asked(agent, kind, answer, *, profile=None, **more):
    model = ScriptedModel([answer], profile=profile)
    return asyncio.run(agent(handoff(kind, **more), model)), model.calls


def planned(answer, **more):
    return asked(LLMPlanner(), PlannerInput, answer, **more)


def refined(answer, **more):
    return asked(LLMRefiner(), RefinerInput, answer, **{"gaps": GAPS, "report": REPORT, **more})


TOLD = {
    "guidance": ("Ask about costs.", "Ask about keepers."),
    "system_prompt": "We are a museum.",
    "language": "German",
    "audience": "children",
}
IN_ALL = (
    "Ask about costs.",
    "Ask about keepers.",
    "We are a museum.",
    "Write in German. Write for children.",
)
FACTS = tuple(finding(n, f"Fact number {n}.", source_ids=(f"src-{n}",)) for n in range(1, 4))
# Agent, handoff, form, answer; what it is handed, which words reach its prompt, and which do not.
PROMPTS = {
    "planner": (
        *(LLMPlanner(), PlannerInput, Plan, plan(("one", 1))),
        {
            "original_query": "Who built the Bell Rock?",
            "earlier_queries": ("an earlier search",),
            "first_look": FirstLook(passages=31, titles=("The Bell Rock lighthouse",)),
        },
        ("Question: Who built the Bell Rock?", "an earlier search", "The Bell Rock lighthouse", "at most 3 searches"),
        (),
    ),
    "analyzer": (
        *(LLMAnalyzer(), AnalyzerInput, Reading, {"findings": []}),
        {
            "original_query": "Who built it?",
            "sources": (SourceText(id="src-1", title="A page", url="https://x.example", content=KEEPER),),
            "research_brief": "It is looked into by tower.",
            "sub_queries": (SubQuery(id="subq-a", query="builders of the towers"),),
            "open_gaps": GAPS[:1],
            "findings": (finding(1, "The reef is of granite."),),
        },
        ("Question: Who built it?", "looked into by tower.", "builders of the towers", "G1: What it cost",
         "The reef is of granite.", "Title: A page", "Address: https://x.example", KEEPER),
        (),
    ),
    "synthesizer": (
        *(LLMSynthesizer(), SynthesizerInput, None, DRAFT),
        {
            "findings": FACTS,
            "words": 300,
            "research_brief": "By tower.",
            "gaps": (GAPS[0], GAPS[1].model_copy(update={"addressed": True})),
            "contradictions": (Contradiction(id="c", description="Two heights", finding_ids=(FACTS[0].id, FACTS[2].id)),),
            "improvements": ("Name the builder first.",),
            "notices": (
                Notice(name="gate:analysis", message="No finding is of high confidence."),
                Notice(name="agent", message="The planner could not do its work."),  # code tells that itself
            ),
        },
        ("By tower.", "- What it cost", "F1, F3: Two heights", "Name the builder first.", "about 300 words",
         "No finding is of high confidence.", "F1 (1 source): Fact number 1", "low: F1"),
        ("Who paid for it", "The planner could not"),
    ),
    "refiner": (
        *(LLMRefiner(), RefinerInput, Judgement, judgement()),
        {"gaps": GAPS, "report": REPORT, "earlier_queries": ("the tower",)},
        ("Round 1 of 3; 2 are left.", "G2 (priority 1): Who paid for it\nG1 (priority 2): What it cost Ideas: cost of it",
         "It stands [1].", "- the tower"),
        ("A page.",),  # the references are put in by code
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "kind", "form", "answer", "more", "words", "absent"), PROMPTS.values(), ids=PROMPTS
)
def test_all_that_is_wanted_reaches_the_prompt(agent, kind, form, answer, more, words, absent):
    _, ((call, wanted),) = asked(agent, kind, answer, **TOLD, **more)
    assert wanted is form
    assert call.nonce
    assert call.nonce in prompt(call)
    for said in (*IN_ALL, *words):
        assert said in prompt(call)
    for said in absent:
        assert said not in prompt(call)


# The planner


def test_searches_are_kept_by_weight_each_once_and_none_that_was_made():
    searches = (
        ("Third", 3),
        ("first thing", 1),
        ("second", 2),
        ("First  Thing", 4),
        ("asked before", 1),
        (" ", 1),
    )
    output, _ = planned(plan(*searches), earlier_queries=("Asked  before",))
    assert [s.query for s in output.sub_queries] == ["first thing", "second", "Third"]
    output, _ = planned(plan(("d", 4), ("c", 3), ("b", 2), ("a", -3)))
    assert [(s.query, s.priority) for s in output.sub_queries] == [("a", 1), ("b", 2), ("c", 3)]
    queries = {"G1": ("The  tower", "new one", "New one", " "), "G2": ("new one", "another")}
    gaps = [
        {"gap_id": gap, "follow_up_queries": [{"query": q} for q in asked_of]}
        for gap, asked_of in queries.items()
    ]
    output, _ = refined(judgement(gap_analysis=gaps), earlier_queries=("the tower",))
    assert [[q.query for q in g.follow_up_queries] for g in output.gap_analysis] == [["new one"], ["another"]]
    assert output.report_improvements == ("Name the builder first.",)


# The refiner


def test_gaps_that_were_not_given_are_dropped_and_counted(work):
    answer = judgement(
        gap_analysis=[{"gap_id": "G1"}, {"gap_id": "G1"}, {"gap_id": "G7"}],
        iteration_recommendation={"should_iterate": True, "priority_gaps": ["G9", "G1"]},
    )
    output, _ = refined(answer)
    assert [g.gap_id for g in output.gap_analysis] == [GAPS[0].id]
    assert output.iteration_recommendation.priority_gaps == (GAPS[0].id,)
    assert output.unknown == 2
    state = DeepResearchState(query="q", phase=DeepResearchPhase.REFINEMENT, gaps=GAPS, report="# R")
    journal = work(RefinementPhase(LLMRefiner()), state, ScriptedProvider([answer]))
    assert journal.state.unknown_ids == 2
