"""What the engine says of the research itself holds where it is true, and in the report of nobody else."""

import pytest
from orm_light import BUILT, COST, F1, FINDINGS, HARE, ORM, TEXTS, WHITE, state

from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.phases.synthesis.phase import partial_report, synthesizer_input
from deep_research.report.checking import Checker
from deep_research.report.report_notices import (
    ALL_WITHDRAWN,
    IN_OTHER_WORDS,
    IN_THEIR_WORDS,
    MOST_WORDS,
    STOPPED,
    SURE,
)
from deep_research.state import AbortReason, ClaimBasis, ClaimVerdict, ConfidenceLevel

HIGH, LOW = ConfidenceLevel.HIGH, ConfidenceLevel.LOW
RETRACTED = tuple(s.model_copy(update={"metadata": {"retracted": "2020"}}) for s in (ORM, HARE))
LIKELY, UNLIKELY = 0.6, 0.3
CANCELLED, LATE = STOPPED[AbortReason.CANCELLED], STOPPED[AbortReason.TIMEOUT]


def sure(probability):
    """The findings, the first with a probability."""
    return (FINDINGS[0].model_copy(update={"probability": probability}), *FINDINGS[1:])


MEDIUM_LINE, LOW_LINE = SURE[ConfidenceLevel.MEDIUM], SURE[ConfidenceLevel.LOW]
DOUBTFUL_LINE = SURE[ConfidenceLevel.SPECULATION]
# The line, the state that it holds of and one that it does not hold of; a partial report says so of itself.
LINES = {
    "it is rather sure": (MEDIUM_LINE, {"findings": sure(LIKELY)}, {"findings": sure(UNLIKELY)}),
    "its words are its sources'": (IN_THEIR_WORDS, {}, {"own_words": True}),
    "its words are an agent's": (IN_OTHER_WORDS, {"own_words": True}, {}),
    "all of it was withdrawn": (ALL_WITHDRAWN, {"sources": RETRACTED}, {"sources": (RETRACTED[0], HARE)}),
    "it is not sure": (LOW_LINE, {"findings": sure(UNLIKELY)}, {"findings": sure(LIKELY)}),
    "it is not sure, by what is not cited": (
        LOW_LINE,
        {"findings": sure(UNLIKELY)},
        {"findings": (FINDINGS[0], *(f.model_copy(update={"probability": UNLIKELY}) for f in FINDINGS[1:]))},
    ),
    "it is doubtful": (DOUBTFUL_LINE, {"findings": sure(0.01)}, {"findings": FINDINGS}),
    "it was cancelled": (CANCELLED, {"partial": True}, {}),
    "its time ran out": (LATE, {"partial": True}, {}),
}


def claims_of(line, *, partial=False, **fields):
    """Those of the line, in a report that cites the first finding."""
    _, *told = Checker(state(**fields), TEXTS, partial=partial).claims(
        f"{BUILT[:-1]} {F1}.\n\n*{line}*\n", {}
    )
    return told


@pytest.mark.parametrize(("line", "true", "false"), LINES.values(), ids=LINES)
def test_a_line_is_borne_out_by_the_run_that_it_is_true_of_and_by_no_other(line, true, false):
    for fields, verdict in ((true, ClaimVerdict.SUPPORTED), (false, ClaimVerdict.UNSUPPORTED)):
        told = claims_of(line, **fields)
        assert " ".join(claim.text for claim in told) == line
        assert {(claim.verdict, claim.basis) for claim in told} == {(verdict, ClaimBasis.RUN)}


def test_a_line_that_cites_a_source_is_held_against_that():
    (_, told) = Checker(state(), TEXTS).claims(f"{BUILT[:-1]} {F1}. {IN_THEIR_WORDS[:-1]} {F1}.", {})
    assert (told.verdict, told.basis) == (ClaimVerdict.UNSUPPORTED, ClaimBasis.SOURCES)


def test_a_model_that_says_its_report_is_partial_is_not_borne_out():
    checker = Checker(state(), TEXTS)
    (told, _) = checker.claims(f"*{CANCELLED}*\n\n{BUILT[:-1]} {F1}.\n", {})
    assert checker.fails(told)


@pytest.mark.parametrize("reason", STOPPED)
def test_a_report_that_is_put_together_at_a_stop_says_so_unmarked(reason):
    known = state(findings=sure(UNLIKELY))
    written = partial_report(known, draft(synthesizer_input(known), notice=STOPPED[reason]), "writer")
    lines = {claim.text: claim.basis for claim in written.claims}
    assert (
        lines[STOPPED[reason]] is lines[MOST_WORDS] is lines[IN_THEIR_WORDS] is lines[COST] is ClaimBasis.RUN
    )
    assert not any(claim.is_marked for claim in written.claims)
    assert WHITE[:-1] in written.report
