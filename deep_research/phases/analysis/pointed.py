"""Which of the findings for a part of the question stay: those that are to the point, and not outdone. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from deep_research.evidence.defining import explains_kind, kind_asked
from deep_research.evidence.expecting import EXPLAINED, WORKING, expected_answer, fits, stands_apart, wanted
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.rows import unlabelled
from deep_research.evidence.saying import weight_of
from deep_research.evidence.text import NAME_WEIGHT
from deep_research.phases.analysis.aspects import Aspect, Batch, said_above
from deep_research.phases.analysis.handoff import AnalyzedFinding
from deep_research.phases.analysis.outdone import Said, is_narrow, outdone, term_in, wants_a_value

BESIDES = 0.3  # of what the best finding says of the question besides its names


def to_the_point(
    drawn: list[AnalyzedFinding], aspect: Aspect, weights: Mapping[str, float], batch: Batch
) -> list[AnalyzedFinding]:
    """Without the findings that have the right names and hardly a word of what is asked besides, where another has
    more; what is expected of an answer may stand for those words. Where somebody asks how a thing works,
    sources that are not about it only mention it, if there are some that are."""
    besides = {term: weight for term, weight in weights.items() if aspect.weights[term] < NAME_WEIGHT}
    expected = expected_answer(aspect.query)

    def says(finding: AnalyzedFinding) -> float:
        return weight_of(besides, stems_of(unlabelled(finding.content)) | said_above(finding, batch))

    least = BESIDES * max(map(says, drawn), default=0.0)
    thing = weights.keys() - WORKING
    if expected is EXPLAINED and thing and not kind_asked(aspect.query):
        drawn = [f for f in drawn if thing <= _title_of(f, batch)] or drawn
    drawn = _explaining(drawn, aspect, batch)
    return [f for f in drawn if says(f) >= least or (stands_apart(expected) and fits(expected, f.content))]


def _explaining(drawn: list[AnalyzedFinding], aspect: Aspect, batch: Batch) -> list[AnalyzedFinding]:
    """Those that explain most of the kind of things of which it is asked how they work, and what is announced as that."""
    most = max((explains_kind(aspect.query, f.content) for f in drawn), default=0)
    return [f for f in drawn if _announced(f, batch) or explains_kind(aspect.query, f.content) == most]


def _announced(finding: AnalyzedFinding, batch: Batch) -> bool:
    quote = finding.quotes[0]
    return (quote.source_id, quote.start) in batch.announced


def without_outdone(
    drawn: list[AnalyzedFinding], aspect: Aspect, weights: Mapping[str, float], batch: Batch
) -> list[AnalyzedFinding]:
    """The best, and of the others those that are not `outdone` by it where the question has one answer, or the best
    stands under what asks the same."""
    if not drawn or aspect.later or not (is_narrow(aspect.query) or _announced(drawn[0], batch)):
        return drawn
    expected = expected_answer(aspect.query)

    def said(finding: AnalyzedFinding) -> Said:
        stems = stems_of(unlabelled(finding.content)) | said_above(finding, batch)
        return Said(
            frozenset(stems & weights.keys()),
            _announced(finding, batch)
            or (fits(expected, finding.content) and not _announced(drawn[0], batch)),
            term_in(finding.content),
            not wanted(aspect.query) or fits(expected, finding.content),
        )

    best, by_value = said(drawn[0]), wants_a_value(aspect.query) or _announced(drawn[0], batch)
    apart = stands_apart(expected)

    def stays(finding: AnalyzedFinding) -> bool:
        own = said(finding)
        return (apart and own.answers) or not outdone(own, best, weights, by_value=by_value)

    return [drawn[0], *filter(stays, drawn[1:])]


def _title_of(finding: AnalyzedFinding, batch: Batch) -> set[str]:
    """The wanted stems in the title of its source."""
    return next(
        held
        for held, s in zip(batch.titles, batch.handoff.sources, strict=True)
        if s.id in finding.source_ids
    )
