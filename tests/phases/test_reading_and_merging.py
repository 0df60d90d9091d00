"""What the prompts of reading and merging hold as a whole, and what comes of the answers: gaps, contradictions,
references."""

from datetime import UTC, date, datetime

import pytest
from phases.builders import WHOLE, Model, at_analysis, prompt, quoting, source
from prompt_reading import blocks

from deep_research.models.profiles import Profile
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.synthesis.phase import synthesizer_input
from deep_research.state import Difference, Gap, QuestionPart, RunOptions, SourceQuality, SubQuery

QUESTION = "How much memory does the free-threaded build of Python need?"
SAID = [
    "The free-threaded build of Python needs 20 percent more memory, as the maintainers say.",
    "The free-threaded build of Python needs 10 percent less memory, as a blogger measured.",
    "The free-threaded build of Python is slower on one thread (see Section 4.2).",
]
GAP = Gap(
    id="gap-000000000001",
    description="Whether the free-threaded build of Python needs more memory",  # code would take it for filled
    suggested_queries=("free-threaded build memory",),
    iteration=1,
)
SECOND = {"gaps": (GAP,), "iteration": 2}
SEVERAL = {"padding": 900}  # each source fills a call


def state(texts, **more):
    sources = tuple(
        source(n, text, title=f"Notes {n}", url=f"https://site{n}.example/page", published=date(2025, 3, n + 1),
               quality=SourceQuality.MEDIUM) for n, text in enumerate(texts)
    )  # fmt: skip
    ids = tuple(s.id for s in sources)
    queries = (("subq-a", "memory", "the figure itself", ids), ("subq-b", "speed", "what it costs", ids[2:]))
    fields = {
        "research_brief": "Maintainers are asked first.",
        "created_at": datetime(2026, 3, 4, tzinfo=UTC),
        "options": RunOptions(max_iterations=3, as_of=date(2025, 12, 31)),
        "parts": (QuestionPart(id="part-1", text=QUESTION),),
        "sub_queries": tuple(
            SubQuery(id=name, query=f"free-threaded {query}", rationale=why, index=n, source_ids=found)
            for n, (name, query, why, found) in enumerate(queries)
        ),
    }
    return at_analysis(QUESTION, texts, **{"sources": sources, **fields, **more})


def run(work, *, padding=0, reading=None, merge=None, **more):
    """The state after the phase, and the prompts of the readings and of the merges."""

    def reads(call):
        shown = {name.removeprefix("source "): body for name, body in blocks(prompt(call)).items()}
        found = [
            quoting(n, said) for said in SAID for n, body in shown.items() if n[0] == "S" and said in body
        ]
        found = [{**each, "confidence": "low"} for each in found]
        return {"findings": found, **(reading or {})}

    texts = [f"{said} {'Nothing else is told. ' * padding}".strip() for said in SAID]
    model = Model(Reading=reads, Merge=lambda call: merge(prompt(call)) if callable(merge) else merge or {})
    profile = Profile(context=14_000, output=2_000) if padding else Profile(context=200_000, output=32_000)
    journal = work(
        AnalysisPhase(LLMAnalyzer(WHOLE)), state(texts, **more), model, texts=texts, profile=profile
    )
    return journal.state, model.prompts("Reading"), model.prompts("Merge")


def test_a_reading_is_told_the_day_the_plan_and_which_search_found_what(work):
    _, (prompt_,), _ = run(work, **SECOND)
    for said in (
        "Today is 2026-03-04. Answer as of 2025-12-31: what is later does not count.",
        "Maintainers are asked first.",
        "Q1: free-threaded memory (the figure itself)",
        "Q2: free-threaded speed (what it costs)",
        "Found by: Q1\n",
        "Found by: Q1, Q2",
        f"G1: {GAP.description}",
    ):
        assert said in prompt_


def test_a_merge_is_told_the_day_the_plan_and_what_the_findings_rest_on(work):
    made, readings, (merge,) = run(work, **SEVERAL, **SECOND)
    assert len(readings) > 1
    for said in (
        "Today is 2026-03-04. Answer as of 2025-12-31",
        "Maintainers are asked first.",
        "free-threaded memory (the figure itself)",
        "S1: Notes 0; site0.example; 2025-03-01; medium",
        f"{SAID[0]} [S1; low]",
        "see Section 4.2",
        "[it has words of F",
    ):
        assert said in merge
    assert [r.target for r in made.references] == ["Section 4.2"]


def test_a_merge_of_the_last_round_is_asked_for_no_further_searches(work):
    _, _, (merge,) = run(work, **SEVERAL, options=RunOptions(max_iterations=1))
    assert "No further searches will be made." in merge
    assert "at most 0" not in merge


@pytest.mark.parametrize("several", [False, True], ids=["by the only reading", "by the merge of several"])
def test_the_gaps_of_a_round_are_named_once_by_who_sees_all(work, several):
    named, measured = (
        {"gaps": [{"description": what, "suggested_queries": ["memory 3.14"], "priority": 1}]}
        for what in ("What version 3.14 needs", "What nobody measured")
    )
    made, readings, merges = run(work, **(SEVERAL if several else {}), reading=named, merge=measured)
    assert [gap.description for gap in made.gaps] == [
        (measured if several else named)["gaps"][0]["description"]
    ]
    assert all(("Name no gaps" in said) is several for said in readings)
    assert len(merges) == several


FILLS = {"addressed_gap_ids": ["G1"]}
CLOSED = {
    "nobody says so": ({}, {}, {}, False),
    "the reading says so": ({}, FILLS, {}, True),
    "nobody of several": (SEVERAL, {}, {}, False),
    "the merge says so": (SEVERAL, {}, {"filled_gaps": ["G1"]}, True),
    "one of several": (SEVERAL, FILLS, {}, True),
}


@pytest.mark.parametrize(("more", "reading", "merge", "addressed"), CLOSED.values(), ids=CLOSED)
def test_no_gap_is_closed_without_a_models_word(work, more, reading, merge, addressed):
    made, *_ = run(work, **more, reading=reading, merge=merge, **SECOND)
    assert [g.addressed for g in made.gaps if g.id == GAP.id] == [addressed]


def test_a_gap_keeps_the_searches_that_it_was_named_with(work):
    made, *_ = run(work, **SEVERAL, merge={"suggested_queries": ["free threading PEP"]}, **SECOND)
    (gap,) = [g for g in made.gaps if g.id == GAP.id]
    assert gap.suggested_queries == ("free-threaded build memory", "free threading PEP")


def conflict(*sides):
    sides = [{"name": name, "says": says} for name, says in sides]
    return {"contradictions": [{"of": "memory", "differs": "direction", "sides": sides}]}


SIDES = ("20 percent more memory", "10 percent less memory")


def of_merge(prompt_):
    """The sides under the names that the prompt has for their findings."""
    named = [next(line.partition(":")[0] for line in prompt_.split("\n") if said in line) for said in SAID]
    return conflict(*zip(named, SIDES, strict=False))


OF_READING = conflict(*zip(("S1", "S2"), SIDES, strict=True))
BY = {"by a reading": {"reading": OF_READING}, "by the merge": {**SEVERAL, "merge": of_merge}}


@pytest.mark.parametrize("told", BY.values(), ids=BY)
def test_a_contradiction_that_a_model_sees_reaches_the_writer(work, told):
    made, *_ = run(work, **told)
    (found,) = made.contradictions
    assert found.differs is Difference.DIRECTION
    assert [side.wording for side in found.sides] == [*SIDES]
    assert {side.finding_id for side in found.sides} <= {finding.id for finding in made.findings}
    assert synthesizer_input(made).contradictions == (found,)


@pytest.mark.parametrize(
    "other", [(), (("S77", "less"),), (("F9", "less"),)], ids=["none", "no source", "no finding"]
)
def test_a_contradiction_with_what_nobody_knows_is_none(work, other):
    made, *_ = run(work, reading=conflict(("S1", "more"), *other))
    assert all(c.by == "code" for c in made.contradictions)
