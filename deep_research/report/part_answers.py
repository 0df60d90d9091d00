"""Answers to the parts of the question, and the claims that give them. Pure.

A claim tells of a part where its own words hold the kind of answer that the part expects. The judge says which claims
answer; code holds it to that only where they have the names of the part, in their words, their passages, or what these
stand under.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deep_research.report.judging import key_of
from deep_research.retrieval.parsed_question import ParsedQuestion, may_hold, parse_question, whole_names
from deep_research.state import (
    AnswerStatus,
    Claim,
    ClaimVerdict,
    DeepResearchState,
    PartVerdict,
    QuestionPart,
    Source,
)

_HOLDING = (ClaimVerdict.SUPPORTED, ClaimVerdict.PARTIAL)


def part_answers(state: DeepResearchState, claims: Iterable[Claim]) -> tuple[PartVerdict, ...]:
    """The verdicts on the parts of the question with the claims of a report that tell of each. Where the judge was asked
    about a part, its answer counts; a gap of a part keeps it open."""
    parts = {part.id: part for part in state.parts}
    sources = {source.id: source for source in state.sources}
    holding = [claim for claim in claims if claim.verdict in _HOLDING and not claim.is_marked]
    open_ = {gap.part_id for gap in state.unresolved_gaps()}
    return tuple(
        _answer(verdict, parts[verdict.part_id], holding, sources, state, is_open=verdict.part_id in open_)
        if verdict.part_id in parts
        else verdict
        for verdict in state.verdicts
    )


def _answer(
    verdict: PartVerdict,
    part: QuestionPart,
    claims: Sequence[Claim],
    sources: Mapping[str, Source],
    state: DeepResearchState,
    *,
    is_open: bool,
) -> PartVerdict:
    inquiry = parse_question(state.query).of_part(part)
    judgement = state.part_judgements.get(part.id)
    found = verdict.verdict
    if judgement is None:
        of_findings = [c for c in claims if not set(verdict.finding_ids).isdisjoint(c.finding_ids)]
        telling = [claim for claim in of_findings if _holds_kind(claim, inquiry)]
    else:
        answering, near = (
            [c for c in claims if key_of(c) in keys and _holds_kind(c, inquiry)]
            for keys in (judgement.claims, judgement.near)
        )
        telling = [*answering, *near]
        if not names_held(inquiry, " ".join(_context(claim, sources) for claim in telling)):
            answering, telling = [], []
        is_whole = bool(answering) and not judgement.open and not is_open
        found = (
            AnswerStatus.ANSWERED if is_whole else AnswerStatus.PARTLY if telling else AnswerStatus.NOT_FOUND
        )
    return verdict.model_copy(update={"verdict": found, "claim_ids": tuple(claim.id for claim in telling)})


def _holds_kind(claim: Claim, inquiry: ParsedQuestion) -> bool:
    return may_hold(inquiry.expects, claim.text, inquiry.words, frozenset(inquiry.terms))


def _context(claim: Claim, sources: Mapping[str, Source]) -> str:
    titles = (sources[q.source_id].title for q in claim.evidence if q.source_id in sources)
    return " ".join((claim.text, claim.heading, *(quote.quote for quote in claim.evidence), *titles))


def names_held(inquiry: ParsedQuestion, text: str) -> bool:
    """Whether a text has every name of a question."""
    terms = set(inquiry.words.terms(text))
    return all(name <= terms for name in whole_names(inquiry))
