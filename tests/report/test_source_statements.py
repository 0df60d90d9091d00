"""What a report says of its sources as a whole needs no finding: what code knows of them bears it out, nothing else."""

from datetime import date

import pytest
from orm_light import BUILT, F1, F3, FINDINGS, HARE, HARE_TEXT, ORM, TEXTS, finding, state

from deep_research.report.checking import checked_claims
from deep_research.state import ClaimBasis, ClaimVerdict

GROUP = "The PostgreSQL Global Development Group"
MANUAL = HARE.model_copy(
    update={
        "title": "PostgreSQL 15: Vacuuming",
        "published": date(2024, 3, 1),
        "metadata": {"author": GROUP, "manual": "postgresql-15/index.html"},
    }
)
OTHER = ORM.model_copy(update={"title": "The Orm Light", "published": date(2019, 5, 7)})


def claim(text, sources=(OTHER, MANUAL)):
    draft = f"# T\n\n## S\n\n{BUILT[:-1]} {F1}. {text}\n"
    found = state(
        sources=sources, findings=(*FINDINGS, finding(9, HARE_TEXT.split("\n")[2], HARE, HARE_TEXT))
    )
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
    found = claim(
        "All of this is from the manual of PostgreSQL 15.", (MANUAL.model_copy(update={"id": ORM.id}), MANUAL)
    )
    assert found.verdict is ClaimVerdict.SUPPORTED
