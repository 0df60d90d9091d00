"""What the prompts of reading and merging hold as a whole, and what comes of the answers: gaps, contradictions,
references."""

from datetime import UTC, date, datetime

import pytest
from prompt_reading import blocks

from deep_research.budget.content_budget import ContentRules
from deep_research.models.profiles import Profile
from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.synthesis.phase import synthesizer_input
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Difference,
    Gap,
    QuestionPart,
    RunOptions,
    Source,
    SourceQuality,
    SubQuery,
)
from deep_research.state.journal import Content
from deep_research.testing.models import ScriptedProvider

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
SMALL = Profile(context=14_000, output=2_000)  # two sources in a call


def source(n, text):
    return Source(
        id=f"src-{n:012x}",
        sub_query_id="subq-a",
        title=f"Notes {n}",
        url=f"https://site{n}.example/page",
        published=date(2025, 3, n + 1),
        quality=SourceQuality.MEDIUM,
        content_hash=Content.of(text).hash,
        length=len(text),
        rank=n,
    )


def texts(padding=0):
    return [f"{said} {'Nothing else is told. ' * padding}".strip() for said in SAID]


def state(padding=0, **more):
    sources = tuple(source(n, text) for n, text in enumerate(texts(padding)))
    ids = tuple(s.id for s in sources)
    fields = {
        "query": QUESTION,
        "phase": DeepResearchPhase.ANALYSIS,
        "research_brief": "Maintainers are asked first.",
        "created_at": datetime(2026, 3, 4, tzinfo=UTC),
        "options": RunOptions(max_iterations=3, as_of=date(2025, 12, 31)),
        "parts": (QuestionPart(id="part-1", text=QUESTION),),
        "sub_queries": (
            SubQuery(
                id="subq-a", query="free-threaded memory", rationale="the figure itself", source_ids=ids
            ),
            SubQuery(
                id="subq-b",
                query="free-threaded speed",
                rationale="what it costs",
                index=1,
                source_ids=ids[2:],
            ),
        ),
        "sources": sources,
        **more,
    }
    return DeepResearchState(**fields)


def reads(call, **more):
    """A finding for each sentence in the prompt."""
    findings = []
    for label, body in blocks(call.messages[-1].content).items():
        for said in SAID:
            if label.startswith("source ") and said in body:
                name = label.removeprefix("source ")
                findings.append(
                    {"content": said, "source_ids": [name], "quotes": [{"source_id": name, "quote": said}]}
                )
    return {"findings": findings, **more}


def run(work, *, padding=0, reading=None, merge=None, **more):
    """The state after the phase, and the prompts of the readings and of the merge."""
    prompts = {"Reading": [], "Merge": []}

    def answer(call):
        said = call.messages[-1].content
        prompts[call.form.name].append(said)
        if call.form.name == "Reading":
            return reads(call, **(reading or {}))
        return merge(said) if callable(merge) else merge or {}

    made = work(
        AnalysisPhase(LLMAnalyzer(ContentRules(read_sections=False))),
        state(padding, **more),
        ScriptedProvider(answer),
        texts=texts(padding),
        profile=SMALL if padding else Profile(context=200_000, output=32_000),
    ).state
    return made, prompts


SEVERAL = {"padding": 900}  # each source fills a call


def named(prompt, said):
    """The name of a finding in the prompt of a merge."""
    return next(line.partition(":")[0] for line in prompt.split("\n") if said in line)


def test_a_reading_is_told_the_day_the_plan_and_which_search_found_what(work):
    _, prompts = run(work, iteration=2, gaps=(GAP,))
    (prompt,) = prompts["Reading"]
    for said in (
        "Today is 2026-03-04. Answer as of 2025-12-31: what is later does not count.",
        "Maintainers are asked first.",
        "Q1: free-threaded memory (the figure itself)",
        "Q2: free-threaded speed (what it costs)",
        "Found by: Q1\n",
        "Found by: Q1, Q2",
        f"G1: {GAP.description}",
    ):
        assert said in prompt


def test_a_merge_is_told_the_day_the_plan_and_what_the_findings_rest_on(work):
    made, prompts = run(work, **SEVERAL, gaps=(GAP,), iteration=2)
    (prompt,) = prompts["Merge"]
    assert len(prompts["Reading"]) > 1
    for said in (
        "Today is 2026-03-04. Answer as of 2025-12-31",
        "Maintainers are asked first.",
        "free-threaded memory (the figure itself)",
        "S1: Notes 0; site0.example; 2025-03-01; medium",
        f"{SAID[0]} [S1; low]",
        "see Section 4.2",
        "[it has words of F",
    ):
        assert said in prompt
    assert [r.target for r in made.references] == ["Section 4.2"]


def test_a_merge_of_the_last_round_is_asked_for_no_further_searches(work):
    options = RunOptions(max_iterations=1)
    _, prompts = run(work, **SEVERAL, options=options)
    (prompt,) = prompts["Merge"]
    assert "No further searches will be made." in prompt
    assert "at most 0" not in prompt


NAMED = {"description": "What version 3.14 needs", "suggested_queries": ["memory 3.14"], "priority": 1}


@pytest.mark.parametrize(
    ("several", "expected"),
    [(False, ["What version 3.14 needs"]), (True, ["What nobody measured"])],
    ids=["by the only reading", "by the merge of several"],
)
def test_the_gaps_of_a_round_are_named_once_by_who_sees_all(work, several, expected):
    merge = {"gaps": [{"description": "What nobody measured", "suggested_queries": ["measured memory"]}]}
    made, prompts = run(work, **(SEVERAL if several else {}), reading={"gaps": [NAMED]}, merge=merge)
    assert [gap.description for gap in made.gaps] == expected
    assert all(("Name no gaps" in prompt) is several for prompt in prompts["Reading"])
    assert len(prompts["Merge"]) == several


@pytest.mark.parametrize(
    ("more", "reading", "merge", "addressed"),
    [
        ({}, {}, {}, False),
        ({}, {"addressed_gap_ids": ["G1"]}, {}, True),
        (SEVERAL, {}, {}, False),
        (SEVERAL, {}, {"filled_gaps": ["G1"]}, True),
        (SEVERAL, {"addressed_gap_ids": ["G1"]}, {}, True),
    ],
    ids=["nobody says so", "the reading says so", "nobody of several", "the merge says so", "one of several"],
)
def test_no_gap_is_closed_without_a_models_word(work, more, reading, merge, addressed):
    made, _ = run(work, **more, reading=reading, merge=merge, gaps=(GAP,), iteration=2)
    (gap,) = [g for g in made.gaps if g.id == GAP.id]
    assert gap.addressed is addressed


def test_a_gap_keeps_the_searches_that_it_was_named_with(work):
    made, _ = run(
        work, **SEVERAL, merge={"suggested_queries": ["free threading PEP"]}, gaps=(GAP,), iteration=2
    )
    (gap,) = [g for g in made.gaps if g.id == GAP.id]
    assert gap.suggested_queries == ("free-threaded build memory", "free threading PEP")


DIFFER = {"of": "memory", "differs": "direction"}
SIDES = [("20 percent more memory", 0), ("10 percent less memory", 1)]


def of_reading():
    sides = [{"name": f"S{n + 1}", "says": says} for says, n in SIDES]
    return {"reading": {"contradictions": [{**DIFFER, "sides": sides}]}}


def of_merge(**more):
    def merge(prompt):
        sides = [{"name": named(prompt, SAID[n]), "says": says} for says, n in SIDES]
        return {"contradictions": [{**DIFFER, "sides": sides}], **more}

    return {**SEVERAL, "merge": merge}


@pytest.mark.parametrize("told", [of_reading(), of_merge()], ids=["by a reading", "by the merge"])
def test_a_contradiction_that_a_model_sees_reaches_the_writer(work, told):
    made, _ = run(work, **told)
    (found,) = made.contradictions
    assert found.differs is Difference.DIRECTION
    assert [side.wording for side in found.sides] == [says for says, _ in SIDES]
    assert {side.finding_id for side in found.sides} <= {finding.id for finding in made.findings}
    assert synthesizer_input(made).contradictions == (found,)


@pytest.mark.parametrize(
    "sides",
    [
        [{"name": "S1", "says": "more"}],
        [{"name": "S1", "says": "more"}, {"name": "S77", "says": "less"}],
        [{"name": "S1", "says": "more"}, {"name": "F9", "says": "less"}],
    ],
    ids=["one side", "an unknown source", "an unknown finding"],
)
def test_a_contradiction_with_what_nobody_knows_is_none(work, sides):
    made, _ = run(work, reading={"contradictions": [{**DIFFER, "sides": sides}]})
    assert all(c.by == "code" for c in made.contradictions)
