"""What a report says of the research and of its sources as a whole needs no finding: it holds where the log or what code
knows of the sources bears it out, and nowhere else."""

from datetime import date

import pytest
from orm_light import BUILT, COST, F1, F3, FINDINGS, HARE, HARE_TEXT, ORM, TEXTS, WHITE, finding, state

from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.phases.synthesis.phase import partial_report, synthesizer_input
from deep_research.report.checking import Checker, checked_claims
from deep_research.report.report_notices import (
    ALL_WITHDRAWN,
    IN_OTHER_WORDS,
    IN_THEIR_WORDS,
    MOST_WORDS,
    STOPPED,
    SURE,
)
from deep_research.state import AbortReason, ClaimBasis, ClaimVerdict, ConfidenceLevel

RETRACTED = tuple(s.model_copy(update={"metadata": {"retracted": "2020"}}) for s in (ORM, HARE))
LIKELY, UNLIKELY = 0.6, 0.3
CANCELLED, LATE = STOPPED[AbortReason.CANCELLED], STOPPED[AbortReason.TIMEOUT]


def sure(probability):
    """The findings, the first with a probability."""
    return (FINDINGS[0].model_copy(update={"probability": probability}), *FINDINGS[1:])


MEDIUM_LINE, LOW_LINE = SURE[ConfidenceLevel.MEDIUM], SURE[ConfidenceLevel.LOW]
DOUBTFUL_LINE = SURE[ConfidenceLevel.SPECULATION]
UNCITED = (FINDINGS[0], *(each.model_copy(update={"probability": UNLIKELY}) for each in FINDINGS[1:]))
# The line, the state that it holds of and one that it does not hold of; a partial report says so of itself.
LINES = {
    "it is rather sure": (MEDIUM_LINE, {"findings": sure(LIKELY)}, {"findings": sure(UNLIKELY)}),
    "its words are its sources'": (IN_THEIR_WORDS, {}, {"own_words": True}),
    "its words are an agent's": (IN_OTHER_WORDS, {"own_words": True}, {}),
    "all of it was withdrawn": (ALL_WITHDRAWN, {"sources": RETRACTED}, {"sources": (RETRACTED[0], HARE)}),
    "it is not sure": (LOW_LINE, {"findings": sure(UNLIKELY)}, {"findings": sure(LIKELY)}),
    "it is not sure, by what is not cited": (LOW_LINE, {"findings": sure(UNLIKELY)}, {"findings": UNCITED}),
    "it is doubtful": (DOUBTFUL_LINE, {"findings": sure(0.01)}, {"findings": FINDINGS}),
    "it was cancelled": (CANCELLED, {"partial": True}, {}),
    "its time ran out": (LATE, {"partial": True}, {}),
}


def claims_of(line, *, partial=False, **fields):
    """Those of the line, in a report that cites the first finding."""
    checker = Checker(state(**fields), TEXTS, partial=partial)
    return checker.claims(f"{BUILT[:-1]} {F1}.\n\n*{line}*\n", {})[1:]


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


# Of sources as a whole

GROUP = "The PostgreSQL Global Development Group"
NAMED = {"author": GROUP, "manual": "postgresql-15/index.html"}
MANUAL = HARE.model_copy(
    update={"title": "PostgreSQL 15: Vacuuming", "published": date(2024, 3, 1), "metadata": NAMED}
)
OTHER = ORM.model_copy(update={"title": "The Orm Light", "published": date(2019, 5, 7)})


def claim(text, sources=(OTHER, MANUAL)):
    draft = f"# T\n\n## S\n\n{BUILT[:-1]} {F1}. {text}\n"
    told = finding(9, HARE_TEXT.split("\n")[2], HARE, HARE_TEXT)
    found = state(sources=sources, findings=(*FINDINGS, told))
    return next(each for each in checked_claims(draft, found, TEXTS) if each.text != BUILT)


STATEMENTS = {
    "of its product and version": (f"This is from the manual of PostgreSQL 15 {F3}.", True),
    "of its month": ("The manual was published in March 2024.", True),
    "of its day": ("The manual was published on 1 March 2024.", True),
    "of its author": (f"The documentation was written by {GROUP} {F3}.", True),
    "of its year": (f"The page was published in 2024 {F3}.", True),
    "of the sources": ("The sources are pages of PostgreSQL 15.", True),
    "of another date": ("The manual was published in April 2025.", False),
    "of another's date": (f"The manual was published in May 2019 {F3}.", False),
    "of another version": (f"This is from the manual of PostgreSQL 16 {F3}.", False),
    "denied": (f"This is not from the manual of PostgreSQL 15 {F3}.", False),
    "of all sources, of which it holds for one": ("All of this is from the manual of PostgreSQL 15.", False),
    "of the subject": (f"PostgreSQL 15 was published in March 2024 {F3}.", False),
    "and of the subject as well": (f"The manual of PostgreSQL 15 recommends three workers {F3}.", False),
}


@pytest.mark.parametrize(("text", "is_known"), STATEMENTS.values(), ids=STATEMENTS)
def test_what_is_known_of_a_whole_source_needs_no_finding_and_nothing_else_is_borne_out(text, is_known):
    found = claim(text)
    assert (found.verdict is ClaimVerdict.SUPPORTED) is is_known
    assert not is_known or found.basis is ClaimBasis.RUN


def test_what_is_said_of_all_sources_has_to_hold_of_each():
    both = (MANUAL.model_copy(update={"id": ORM.id}), MANUAL)
    found = claim("All of this is from the manual of PostgreSQL 15.", both)
    assert found.verdict is ClaimVerdict.SUPPORTED
