"""The parts of a question, what was found of each, and how far that answers the whole."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from deep_research.state.records import Record


class QuestionPart(Record):
    """One thing that the question asks. ``expects`` is the kind of answer: number, date, person, place, list,
    definition, manner, reason, polar; "" for any. A topic has one part, itself."""

    id: str
    text: str
    expects: str = ""


class AnswerStatus(StrEnum):
    """What was found of a part."""

    ANSWERED = "answered"
    PARTLY = "partly"
    NOT_FOUND = "not_found"


class PartVerdict(Record):
    """How far a part is answered, the findings that do it, best first, and the claims of the report that tell of it, None
    where no report was checked."""

    part_id: str
    verdict: AnswerStatus
    finding_ids: tuple[str, ...] = ()
    claim_ids: tuple[str, ...] | None = None


class AnswerCoverage(StrEnum):
    """How far a question is answered."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


def lacking(parts: Iterable[QuestionPart], verdicts: Iterable[PartVerdict]) -> tuple[QuestionPart, ...]:
    """The parts of which nothing was found."""
    missing = {v.part_id for v in verdicts if v.verdict is AnswerStatus.NOT_FOUND}
    return tuple(part for part in parts if part.id in missing)


def told_lacking(parts: Iterable[QuestionPart]) -> str | None:
    """What a run that completed says of the parts it lacks."""
    texts = "; ".join(part.text.strip().rstrip(".?! ") for part in parts)
    return f"Not found: {texts}." if texts else None


def coverage(verdicts: Iterable[PartVerdict]) -> float | None:
    """The share of the parts (0 to 1) of which the report tells; None where there are no verdicts."""
    is_in_report = [bool(verdict.claim_ids) for verdict in verdicts]
    return round(sum(is_in_report) / len(is_in_report), 4) if is_in_report else None


def untold(parts: Iterable[QuestionPart], verdicts: Iterable[PartVerdict]) -> tuple[str, ...]:
    """What a reader should know of parts of which something was found and the report tells nothing."""
    silent = {v.part_id for v in verdicts if v.finding_ids and not v.claim_ids}
    texts = "; ".join(part.text.strip().rstrip(".?! ") for part in parts if part.id in silent)
    return (f"The report leaves out what was found of: {texts}.",) if texts else ()


def answer_coverage(parts: Iterable[QuestionPart], verdicts: Iterable[PartVerdict]) -> AnswerCoverage | None:
    """By the verdicts on its parts alone; None while one has none."""
    by_part = {each.part_id: each.verdict for each in verdicts}
    kinds = {by_part.get(part.id) for part in parts}
    if not kinds or None in kinds:
        return None
    if kinds == {AnswerStatus.ANSWERED}:
        return AnswerCoverage.YES
    return AnswerCoverage.NO if kinds == {AnswerStatus.NOT_FOUND} else AnswerCoverage.PARTLY
