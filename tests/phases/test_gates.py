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

LOW, HIGH, CONFIRMED = ConfidenceLevel.LOW, ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED


def queries(count, text="a long enough query", brief="b", status=SubQueryStatus.PENDING):
    made = (SubQuery(id=f"subq-{n}", query=f"{text} {n}", index=n, status=status) for n in range(count))
    return {"sub_queries": tuple(made), "research_brief": brief}


def sources(count, quality=SourceQuality.HIGH):
    made = (Source(id=f"src-{n}", sub_query_id="subq-0", title="t", quality=quality) for n in range(count))
    return {"sources": tuple(made)}


def evidence(of, count, confidence=HIGH):
    named = ((f"find-{n}", f"c {n}", (f"src-{n}",)) for n in range(count))
    made = (Finding(id=i, content=c, confidence=confidence, source_ids=s) for i, c, s in named)
    return {**sources(of), "findings": tuple(made)}


# The gate, what is there; how many issues, how many of them block, and the score.
PLANNING, GATHERING = validate_planning, validate_gathering
ANALYSIS, SYNTHESIS = validate_analysis, validate_synthesis
CASES = {
    "a good plan": (PLANNING, queries(3), 0, 0, 7.5),
    "no sub-query": (PLANNING, queries(0), 1, 1, 0.0),
    "one sub-query": (PLANNING, queries(1), 1, 0, 2.5),
    "too many sub-queries": (PLANNING, queries(6), 1, 0, 10.0),
    "no brief": (PLANNING, queries(2, brief=""), 1, 0, 5.0),
    "short sub-queries": (PLANNING, queries(2, "ab"), 2, 0, 5.0),
    "superseded ones": (PLANNING, queries(2, brief="", status=SubQueryStatus.SUPERSEDED), 2, 1, 0.0),
    "enough good sources": (GATHERING, sources(4), 0, 0, 6.0),
    "no source": (GATHERING, {}, 1, 1, 0.0),
    "two sources": (GATHERING, sources(2), 1, 0, 3.0),
    "none of high quality": (GATHERING, sources(3, SourceQuality.MEDIUM), 1, 0, 4.5),
    "failed searches": (GATHERING, {**sources(3), **queries(2, status=SubQueryStatus.FAILED)}, 1, 0, 4.5),
    "the score ends at ten": (GATHERING, sources(20), 0, 0, 10.0),
    "two strong findings": (ANALYSIS, evidence(2, 2), 0, 0, 6.0),
    "no finding": (ANALYSIS, evidence(2, 0), 2, 1, 0.0),
    "one finding": (ANALYSIS, evidence(2, 1), 1, 0, 3.0),
    "none strong": (ANALYSIS, evidence(2, 2, LOW), 1, 0, 4.0),
    "confirmed is strong": (ANALYSIS, evidence(2, 2, CONFIRMED), 0, 0, 6.0),
    "few sources cited": (ANALYSIS, evidence(10, 2), 1, 0, 6.0),
    "a report with a section": (SYNTHESIS, {"report": f"# T\n\n## S\n\n{'x' * 500}"}, 0, 0, 511 / 500),
    "no report": (SYNTHESIS, {}, 1, 1, 0.0),
    "only white space": (SYNTHESIS, {"report": " \n"}, 1, 1, 0.0),
    "too short": (SYNTHESIS, {"report": "## S\n\nx"}, 1, 1, 7 / 500),
    "no section": (SYNTHESIS, {"report": f"{'x' * 200} ## not a heading"}, 1, 1, 217 / 500),
}


@pytest.mark.parametrize(("validate", "fields", "issues", "blocking", "score"), CASES.values(), ids=CASES)
def test_a_gate_names_each_issue_and_says_which_block(validate, fields, issues, blocking, score):
    result = validate(DeepResearchState(query="q", **fields))
    assert (len(result.issues), len(result.blocking)) == (issues, blocking), result.issues
    assert set(result.advisory) == set(result.issues) - set(result.blocking)
    assert len(result.advisory) == issues - blocking
    assert result.valid is (issues == 0)
    assert result.quality_score == pytest.approx(score)


def test_refinement_never_blocks_scores_by_open_gaps_and_minds_them_in_the_last_round_alone():
    gaps = tuple(Gap(id=f"gap-{n}", description="d") for n in range(3))
    result, earlier = (
        validate_refinement(DeepResearchState(query="q", gaps=gaps, options=RunOptions(max_iterations=most)))
        for most in (1, 3)
    )
    assert result.valid
    assert not result.blocking
    assert (len(result.issues), result.quality_score) == (1, 4.0)
    assert earlier.issues == ()
