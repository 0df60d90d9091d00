"""Whole prompts, as a model gets them: what writer, outliner and critic know of sources, dates and what was said."""

from datetime import UTC, date, datetime

import pytest
from orm_light import BUILT, FINDINGS, HARE, HARE_TEXT, ORM, TEXTS, WHITE, finding, state

from deep_research.phases.planning import PlanningPhase
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.report.render import finished
from deep_research.state import (
    Contradiction,
    DeepResearchPhase,
    Notice,
    QualityUpdate,
    Reference,
    RunOptions,
    SourceQuality,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.notices import reported_notices
from deep_research.state.records import NO_HIGH_QUALITY
from deep_research.testing.models import ScriptedProvider

P = DeepResearchPhase
ASKED = SubQuery(
    id="subq-1",
    query="Orm lighthouse height",
    rationale="The height decides.",
    status=SubQueryStatus.COMPLETED,
)
KNOWN = ORM.model_copy(update={"metadata": {"author": "Ada Brook"}, "quality": SourceQuality.HIGH})
COPY = ORM.model_copy(update={"id": "src-000000000009", "url": "https://copy.example/9"})
COPIED = FINDINGS[0].model_copy(update={"source_ids": (ORM.id, COPY.id)})
MORE = tuple(finding(n, f"{WHITE[:-1]} and {n} times more.", HARE, HARE_TEXT, WHITE) for n in range(4, 9))
REPORT = f"# The Orm\n\n## Said\n\n{BUILT[:-1]} [F1].\n\n## More\n\n{WHITE[:-1]} [F3].\n"
PHASES = {
    P.PLANNING: lambda: PlanningPhase(LLMPlanner()),
    P.SYNTHESIS: lambda: SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
    P.REFINEMENT: lambda: RefinementPhase(LLMRefiner()),
}


def known(**more):
    fields = {
        "created_at": datetime(2026, 3, 5, tzinfo=UTC),
        "sub_queries": (ASKED,),
        "findings": (COPIED, *FINDINGS[1:]),
        "sources": (KNOWN, HARE, COPY),
        "research_brief": "Which tower is meant, and its height.",
        "contradictions": (
            Contradiction(id="contra-1", description="Two heights", finding_ids=(FINDINGS[0].id, FINDINGS[1].id)),
        ),
        "references": (Reference(source_id=ORM.id, text="see Section 20.4.4", target="20.4.4"),),
        **more,
    }  # fmt: skip
    return state(**fields)


def prompts(work, phase, *answers, **more):
    """The system texts and messages of all requests of a phase."""
    seen = []

    def answer(call):
        seen.append(call)
        return answers[min(len(seen), len(answers)) - 1]

    work(PHASES[phase](), known(phase=phase, **more), ScriptedProvider(answer), texts=TEXTS.values())
    return [call.messages[-1].content for call in seen]


OUTLINE = {
    "title": "The lights",
    "sections": [
        {"heading": "The Orm", "purpose": "Its tower.", "findings": ["F1", "F2"]},
        {"heading": "The Hare", "purpose": "Its paint.", "findings": ["F2", "F3"]},
    ],
}
FRAME = {"answer": f"{BUILT[:-1]} [F1].", "open": "What it cost."}
PLAN = {"research_brief": "b", "sub_queries": [{"query": "q"}, {"query": "r"}]}
NOTHING = {"gap_analysis": [], "iteration_recommendation": {"should_iterate": False}}
LONG = {"options": RunOptions(report_words=3_000), "findings": (*FINDINGS, *MORE)}
SECTION = "The tower of the Orm lighthouse is 90 feet tall [F1], and so it is."

# Which requests, by their place, have to have which words.
WITNESS = {
    "a writer knows who says it, when, and that a copy is no second source": (
        P.SYNTHESIS, [REPORT], {}, 0,
        ("S1: “The Orm Light”, Ada Brook, ok.example, 2019-03-01, high quality, copied 1 times (copy.example)",
         "S2: “The Hare Light”, ok.example, no date", "F1 (S1)", "medium: F1"),
    ),
    "and what stands around a quote": (P.SYNTHESIS, [REPORT], {}, 0, ("The lamp burned whale oil until 1843.",)),
    "and why it was searched": (P.SYNTHESIS, [REPORT], {}, 0, ("Orm lighthouse height — The height decides.",)),
    "an outliner knows the sources": (
        P.SYNTHESIS, [OUTLINE, SECTION, SECTION, FRAME, "No."], LONG, 0,
        ("S1: “The Orm Light”", "F1 (S1)", "The lamp burned whale oil until 1843."),
    ),
    "a section has its passages, the brief, the outline and its place": (
        P.SYNTHESIS, [OUTLINE, SECTION, SECTION, FRAME, "No."], LONG, 1,
        ("The lamp burned whale oil until 1843.", "Which tower is meant", "- The Orm: Its tower.\n- The Hare: Its paint.",
         "before “The Hare”", "Two heights", "Orm lighthouse height — The height decides."),
    ),
    "a critic knows report, findings, sources, contradictions, references and gaps": (
        P.REFINEMENT, [NOTHING],
        {"report": f"{BUILT} [1]", "report_draft": f"# T\n\n## S\n\n{BUILT[:-1]} [{FINDINGS[0].id}].\n"}, 0,
        (f"{BUILT[:-1]} [F1].", "S1: “The Orm Light”, Ada Brook", "F3 (S2)", "Two heights",
         "The lamp burned whale oil until 1843.", "Section 20.4.4 → 20.4.4",
         "G1 (priority 1): What the Orm lighthouse cost", "Which tower is meant"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("phase", "answers", "more", "place", "words"), WITNESS.values(), ids=WITNESS)
def test_what_a_prompt_has(work, phase, answers, more, place, words):
    said = prompts(work, phase, *answers, **more)[place]
    for each in words:
        assert each in said


@pytest.mark.parametrize(
    ("phase", "answer"),
    [(P.PLANNING, PLAN), (P.SYNTHESIS, REPORT), (P.REFINEMENT, NOTHING)],
    ids=["planner", "writer", "critic"],
)
def test_every_prompt_has_the_day(work, phase, answer):
    more = {"options": RunOptions(as_of=date(2025, 12, 31))}
    for said in prompts(work, phase, answer, **more):
        assert "2026-03-05" in said
        assert "2025-12-31" in said


def test_a_sources_quality_that_was_found_out_later_makes_a_limit_void():
    at = known(
        phase=P.SYNTHESIS,
        sources=(ORM, HARE),
        notices=(Notice(name="gate:gathering", message=NO_HIGH_QUALITY),),
    )
    assert NO_HIGH_QUALITY in [limit.message for limit in reported_notices(at)]
    raised = SourcesAnalyzed(
        source_ids=(ORM.id,), quality_updates=(QualityUpdate(source_id=ORM.id, quality=SourceQuality.HIGH),)
    )
    better = at.model_copy(
        update={"sources": (ORM.model_copy(update={"quality": raised.quality_updates[0].quality}), HARE)}
    )
    assert NO_HIGH_QUALITY not in [limit.message for limit in reported_notices(better)]


COLONS = {
    "in a line": (f"The tower [{FINDINGS[0].id}]: it is old.", "The tower [1]: it is old."),
    "at its beginning": (f"[{FINDINGS[0].id}]: it is old.", "[1]\\: it is old."),
    "of an item": (f"- [{FINDINGS[0].id}]: it is old.", "- [1]\\: it is old."),
}


@pytest.mark.parametrize(("draft", "shown"), COLONS.values(), ids=COLONS)
def test_a_colon_after_a_reference_is_escaped_only_where_it_would_define_a_link(draft, shown):
    report, *_ = finished(f"# T\n\n{draft}\n", FINDINGS, (ORM, HARE), writer="x")
    assert shown in [line.strip() for line in report.splitlines()]


def test_no_prompt_says_one_thing_and_its_opposite(work):
    said = prompts(work, P.SYNTHESIS, OUTLINE, SECTION, SECTION, FRAME, "No.", **LONG)
    assert "Write what stands before and after them" in said[3]
    assert "at most 0" not in "".join(said)
