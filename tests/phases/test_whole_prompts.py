"""Whole prompts, as a model gets them: what writer, outliner and critic know of sources, dates and what was said."""

from datetime import UTC, datetime

import pytest
from orm_light import BUILT, FINDINGS, HARE, HARE_TEXT, ORM, TEXTS, WHITE, finding, state
from phases.builders import SYNTHESIS, Model, prompt

from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.report.render import finished
from deep_research.state import (
    Contradiction,
    Notice,
    Reference,
    RunOptions,
    SourceQuality,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.notices import reported_notices
from deep_research.state.records import NO_HIGH_QUALITY

ASKED = SubQuery(
    id="subq-1",
    query="Orm lighthouse height",
    rationale="The height decides.",
    status=SubQueryStatus.COMPLETED,
)
HIGH = {"quality": SourceQuality.HIGH}
KNOWN = ORM.model_copy(update={"metadata": {"author": "Ada Brook"}, **HIGH})
COPY = ORM.model_copy(update={"id": "src-000000000009", "url": "https://copy.example/9"})
COPIED = FINDINGS[0].model_copy(update={"source_ids": (ORM.id, COPY.id)})
HEIGHTS = Contradiction(id="c", description="Two heights", finding_ids=(FINDINGS[0].id, FINDINGS[1].id))
MORE = tuple(finding(n, f"{WHITE[:-1]} and {n} times more.", HARE, HARE_TEXT, WHITE) for n in range(4, 9))
REPORT = f"# The Orm\n\n## Said\n\n{BUILT[:-1]} [F1].\n\n## More\n\n{WHITE[:-1]} [F3].\n"
SECTION = "The tower of the Orm lighthouse is 90 feet tall [F1], and so it is."
OUTLINE = {
    "title": "The lights",
    "sections": [
        {"heading": "The Orm", "purpose": "Its tower.", "findings": ["F1", "F2"]},
        {"heading": "The Hare", "purpose": "Its paint.", "findings": ["F2", "F3"]},
    ],
}
ANSWERS = {
    "Judgement": {"gap_analysis": [], "iteration_recommendation": {"should_iterate": False}},
    "report": REPORT,
    "Outline": OUTLINE,
    "Frame": {"answer": f"{BUILT[:-1]} [F1].", "open": "What it cost."},
    "The_Orm": SECTION,
    "The_Hare": SECTION,
    "last_pass": "No.",
}
PHASES = {
    "writer": lambda: SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
    "critic": lambda: RefinementPhase(LLMRefiner()),
}


def known(**more):
    fields = {
        "created_at": datetime(2026, 3, 5, tzinfo=UTC),
        "sub_queries": (ASKED,),
        "findings": (COPIED, *FINDINGS[1:]),
        "sources": (KNOWN, HARE, COPY),
        "research_brief": "Which tower is meant, and its height.",
        "contradictions": (HEIGHTS,),
        "references": (Reference(source_id=ORM.id, text="see Section 20.4.4", target="20.4.4"),),
    }
    return state(**fields | more)


def prompts(work, agent, **more):
    """The messages of all requests of a phase, by their kind."""
    phase, model = PHASES[agent](), Model(**ANSWERS)
    work(phase, known(phase=phase.phase, **more), model, texts=TEXTS.values())
    return {kind: prompt(calls[0]) for kind, calls in model.asked.items()}


LONG = {"options": RunOptions(report_words=3_000), "findings": (*FINDINGS, *MORE)}
REPORTED = {"report": f"{BUILT} [1]", "report_draft": f"# T\n\n## S\n\n{BUILT[:-1]} [{FINDINGS[0].id}].\n"}
AROUND, WHY = "The lamp burned whale oil until 1843.", "Orm lighthouse height — The height decides."
# Agent, kind of request, and what it has to have: who says it, when, that a copy is no second source, what stands
# around a quote, why it was searched, and what of the whole a part has to know.
WITNESS = {
    "a writer": ("writer", "report", {}, (
        "S1: “The Orm Light”, Ada Brook, ok.example, 2019-03-01, high quality, copied 1 times (copy.example)",
        "S2: “The Hare Light”, ok.example, no date", "F1 (S1)", "medium: F1", AROUND, WHY)),
    "an outliner": ("writer", "Outline", LONG, ("S1: “The Orm Light”", "F1 (S1)", AROUND)),
    "a section": ("writer", "The_Orm", LONG, (
        AROUND, "Which tower is meant", "- The Orm: Its tower.\n- The Hare: Its paint.", "before “The Hare”",
        "Two heights", WHY)),
    "a frame": ("writer", "Frame", LONG, ("Write what stands before and after them",)),
    "a critic": ("critic", "Judgement", REPORTED, (
        f"{BUILT[:-1]} [F1].", "S1: “The Orm Light”, Ada Brook", "F3 (S2)", "Two heights", AROUND,
        "Section 20.4.4 → 20.4.4", "G1 (priority 1): What the Orm lighthouse cost", "Which tower is meant")),
}  # fmt: skip


@pytest.mark.parametrize(("agent", "kind", "more", "words"), WITNESS.values(), ids=WITNESS)
def test_what_a_prompt_has(work, agent, kind, more, words):
    said = prompts(work, agent, **more)
    for each in words:
        assert each in said[kind]
    assert "at most 0" not in "".join(said.values())


def test_a_sources_quality_that_was_found_out_later_makes_a_limit_void():
    notices = (Notice(name="gate:gathering", message=NO_HIGH_QUALITY),)
    for source, told in ((ORM, True), (ORM.model_copy(update=HIGH), False)):
        limits = reported_notices(known(phase=SYNTHESIS, sources=(source, HARE), notices=notices))
        assert (NO_HIGH_QUALITY in [limit.message for limit in limits]) is told


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        (f"The tower [{FINDINGS[0].id}]: it is old.", "The tower [1]: it is old."),
        (f"[{FINDINGS[0].id}]: it is old.", "[1]\\: it is old."),
        (f"- [{FINDINGS[0].id}]: it is old.", "- [1]\\: it is old."),
    ],
)
def test_a_colon_after_a_reference_is_escaped_only_where_it_would_define_a_link(draft, shown):
    report, *_ = finished(f"# T\n\n{draft}\n", FINDINGS, (ORM, HARE), writer="x")
    assert shown in [line.strip() for line in report.splitlines()]
