"""Every rule of every gate: what it says, whether it blocks, and the score."""

import pytest

from deep_research.phases.analysis import validate_analysis
from deep_research.phases.gathering import validate_gathering
from deep_research.phases.planning import validate_planning
from deep_research.phases.refinement import validate_refinement
from deep_research.phases.synthesis import validate_synthesis
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchState,
    Finding,
    Gap,
    RunOptions,
    Source,
    SourceQuality,
    SubQuery,
    SubQueryStatus,
)


def queries(count: int, text: str = "a long enough query", **fields: object) -> tuple[SubQuery, ...]:
    return tuple(SubQuery(id=f"subq-{n}", query=f"{text} {n}", index=n, **fields) for n in range(count))


def sources(count: int, quality: SourceQuality = SourceQuality.HIGH) -> tuple[Source, ...]:
    return tuple(
        Source(id=f"src-{n}", sub_query_id="subq-0", title="t", quality=quality) for n in range(count)
    )


def findings(count: int, confidence: ConfidenceLevel = ConfidenceLevel.HIGH) -> tuple[Finding, ...]:
    return tuple(
        Finding(id=f"find-{n}", content=f"c {n}", confidence=confidence, source_ids=(f"src-{n}",))
        for n in range(count)
    )


def state(**fields: object) -> DeepResearchState:
    return DeepResearchState(query="q", **fields)


PLANNING = [
    ("a good plan", {"sub_queries": queries(3), "research_brief": "b"}, 0, 0, 7.5),
    ("no sub-query", {"research_brief": "b"}, 1, 1, 0.0),
    ("one sub-query", {"sub_queries": queries(1), "research_brief": "b"}, 1, 0, 2.5),
    ("too many sub-queries", {"sub_queries": queries(6), "research_brief": "b"}, 1, 0, 10.0),
    ("no brief", {"sub_queries": queries(2)}, 1, 0, 5.0),
    ("short sub-queries", {"sub_queries": queries(2, "ab"), "research_brief": "b"}, 2, 0, 5.0),
    (
        "superseded ones do not count",
        {"sub_queries": queries(2, status=SubQueryStatus.SUPERSEDED)},
        2,
        1,
        0.0,
    ),
]
GATHERING = [
    ("enough good sources", {"sources": sources(4)}, 0, 0, 6.0),
    ("no source", {}, 1, 1, 0.0),
    ("two sources", {"sources": sources(2)}, 1, 0, 3.0),
    ("none of high quality", {"sources": sources(3, SourceQuality.MEDIUM)}, 1, 0, 4.5),
    (
        "less than half of the sub-queries searched",
        {"sources": sources(3), "sub_queries": queries(2, status=SubQueryStatus.FAILED)},
        1,
        0,
        4.5,
    ),
    ("the score ends at ten", {"sources": sources(20)}, 0, 0, 10.0),
]
ANALYSIS = [
    ("two strong findings", {"sources": sources(2), "findings": findings(2)}, 0, 0, 6.0),
    ("no finding", {"sources": sources(2)}, 2, 1, 0.0),
    ("one finding", {"sources": sources(2), "findings": findings(1)}, 1, 0, 3.0),
    (
        "none strong",
        {"sources": sources(2), "findings": findings(2, ConfidenceLevel.LOW)},
        1,
        0,
        4.0,
    ),
    (
        "confirmed is strong",
        {"sources": sources(2), "findings": findings(2, ConfidenceLevel.CONFIRMED)},
        0,
        0,
        6.0,
    ),
    ("few sources cited", {"sources": sources(10), "findings": findings(2)}, 1, 0, 6.0),
]
SYNTHESIS = [
    ("a report with a section", {"report": "# T\n\n## S\n\n" + "x" * 500}, 0, 0, pytest.approx(511 / 500)),
    ("no report", {}, 1, 1, 0.0),
    ("only white space", {"report": " \n"}, 1, 1, 0.0),
    ("too short", {"report": "## S\n\nx"}, 1, 1, pytest.approx(7 / 500)),
    ("no section", {"report": "x" * 200 + " ## not a heading"}, 1, 1, pytest.approx(217 / 500)),
]


@pytest.mark.parametrize(
    ("validate", "case"),
    [
        (validate, case)
        for validate, cases in (
            (validate_planning, PLANNING),
            (validate_gathering, GATHERING),
            (validate_analysis, ANALYSIS),
            (validate_synthesis, SYNTHESIS),
        )
        for case in cases
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value.__name__,
)
def test_a_gate_names_each_issue_and_says_which_block(validate, case):
    _, fields, issues, blocking, score = case
    result = validate(state(**fields))
    assert len(result.issues) == issues, result.issues
    assert len(result.blocking) == blocking, result.blocking
    assert set(result.blocking) <= set(result.issues)
    assert result.valid is (issues == 0)
    assert result.quality_score == score


def test_refinement_never_blocks_and_scores_by_open_gaps():
    gaps = tuple(Gap(id=f"gap-{n}", description="d") for n in range(3))
    result = validate_refinement(state(gaps=gaps, options=RunOptions(max_iterations=1)))
    assert result.valid
    assert not result.blocking
    assert len(result.issues) == 1
    assert result.quality_score == 4.0


def test_open_gaps_are_no_issue_while_iterations_are_left():
    gaps = (Gap(id="gap-1", description="d"),)
    assert validate_refinement(state(gaps=gaps)).issues == ()


def test_advisory_issues_are_those_that_do_not_block():
    result = validate_planning(state())
    assert set(result.advisory) == set(result.issues) - set(result.blocking)
