"""Which part of the question a finding or a gap serves, and how far each part is answered. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.answer_kinds import may_hold
from deep_research.evidence.inquiry import expected, read_question, standing
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchState,
    Finding,
    Found,
    Gap,
    PartVerdict,
    QuestionPart,
)


def part_of(
    named: str | None,
    sub_query_id: str | None,
    text: str,
    parts: Sequence[QuestionPart],
    state: DeepResearchState,
) -> str | None:
    """The part that a statement serves: the one that is ``named``; that of the search which led to it; that of whose
    words the ``text`` has most."""
    known = {part.id for part in parts}
    if named in known:
        return named
    if len(parts) < 2:
        return next(iter(known), None)
    found_by = next((s.part_id for s in state.sub_queries if s.id == sub_query_id), None)
    if found_by in known:
        return found_by
    shares = {part.id: _share(part, state.query, text) for part in parts}
    return max(shares, key=lambda part: shares[part])


def _share(part: QuestionPart, question: str, text: str) -> float:
    asked = standing(part, question)
    return len(set(asked.terms) & set(asked.words.terms(text))) / max(1, len(set(asked.terms)))


def verdicts(
    parts: Sequence[QuestionPart], findings: Iterable[Finding], state: DeepResearchState
) -> tuple[PartVerdict, ...]:
    """By the findings that serve each part: it is answered where one is more than a guess and holds the kind of answer
    that the part expects."""
    of_part: dict[str | None, list[Finding]] = {}
    for finding in findings:
        served = part_of(finding.part_id, finding.sub_query_id, finding.content, parts, state)
        of_part.setdefault(served, []).append(finding)
    every: list[PartVerdict] = []
    for part in parts:
        own = of_part.get(part.id, [])
        sure = any(
            f.confidence is not ConfidenceLevel.SPECULATION and answers(f, part, state.query) for f in own
        )
        verdict = Found.ANSWERED if sure else Found.PARTLY if own else Found.NOT_FOUND
        every.append(PartVerdict(part_id=part.id, verdict=verdict, finding_ids=tuple(f.id for f in own)))
    return tuple(every)


def answers(finding: Finding, part: QuestionPart, question: str) -> bool:
    """Whether a finding holds something of the kind that a part expects, as far as that shows in its form."""
    return _holds(finding, part.expects, standing(part, question).terms, question)


def fills(finding: Finding, gap: Gap, parts: Sequence[QuestionPart], question: str) -> bool:
    """Whether a finding holds something of the kind that a gap asks for: by its own words, else by those of its part."""
    language = read_question(question).language
    asked = read_question(gap.description.partition(": ")[2] or gap.description, language)
    kind = expected(asked.text, asked.words)
    if not kind:
        kind = next((part.expects for part in parts if part.id == gap.part_id), "")
    return _holds(finding, kind, asked.terms, question)


def _holds(finding: Finding, kind: str, terms: Iterable[str], question: str) -> bool:
    told = "\n".join((finding.content, *(quote.quote for quote in finding.quotes)))
    return may_hold(kind, told, read_question(question).words, frozenset(terms))
