"""What a reader should know before the first statement: that none is what was asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.conditions import case_asked
from deep_research.evidence.expecting import (
    EFFECT,
    MERITS,
    REASON,
    YES_OR_NO,
    asks_what,
    asks_who,
    expected_answer,
    fits,
    tells_what,
    tells_who,
    wanted,
)
from deep_research.evidence.question import affirmed, chooses, compared, is_broad, singles
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.rows import cells
from deep_research.evidence.text import ASKING_WEIGHT, question_terms
from deep_research.phases.synthesis.comparing import unmeasured
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.markup import escaped


def missing(handoff: SynthesizerInput, told: Sequence[Statement]) -> list[str]:
    """What a reader should know before he takes a statement for the answer: that none is of the kind that is wanted. A
    broad request has many words, and some of them ask for something by chance."""
    if is_broad(handoff.original_query):
        return []
    if told and chooses(handoff.original_query) and (said := _undecided(handoff, told)):
        return [said]
    if told and _apart(handoff, told):
        return ["*No source compares the two outright. What is told of each:*"]
    kind, expected = wanted(handoff.original_query), expected_answer(handoff.original_query)
    if expected is YES_OR_NO and told and not any(decides(handoff.original_query, s) for s in told):
        return ["*No source says yes or no outright. What comes nearest:*"]
    case = case_asked(handoff.original_query)
    if case and told and not any(case.is_told(s.finding.content) for s in told):
        return ["*No source says outright what happens then. What comes nearest:*"]
    if (
        asks_who(expected)
        and told
        and not any(tells_who(handoff.original_query, s.finding.content) for s in told)
    ):
        return ["*No source says outright who. What comes nearest:*"]
    if expected is EFFECT and told and not any(_tells_effect(handoff.original_query, s) for s in told):
        return ["*No source says outright what changed. What comes nearest:*"]
    if told and asks_what(handoff.original_query):
        is_told = any(tells_what(handoff.original_query, s.finding.content) for s in told)
        return [] if is_told else ["*No source says outright what it is. What comes nearest:*"]
    if not told or any(fits(expected, statement.finding.content) for statement in told):
        return []
    if kind:
        return [f"*No {kind} was found, as the question asks for. What comes nearest:*"]
    if expected is not None and expected.pattern == REASON and not all(gap.addressed for gap in handoff.gaps):
        return ["*No source says outright why. What comes nearest:*"]
    if expected is MERITS:
        return ["*No source weighs it outright. What comes nearest:*"]
    return []


def _undecided(handoff: SynthesizerInput, told: Sequence[Statement]) -> str:
    """Of which things the value is not told by which the question chooses one of them."""
    things = compared(handoff.original_query)
    titles = {source.id: source.title for source in handoff.sources}
    by, lacking = unmeasured(handoff.original_query, things, told, titles)
    if not lacking:
        return ""
    return f"*No {by} of {escaped(' or '.join(lacking))} was found, by which to choose. What comes nearest:*"


def _apart(handoff: SynthesizerInput, told: Sequence[Statement]) -> bool:
    """Whether a question asks for the difference between two things, no statement names both, and no row of a table is of
    one of them."""
    things = [stems_of(thing) for thing in compared(handoff.original_query)]
    if not things or chooses(handoff.original_query) or any(cells(s.finding.content) for s in told):
        return False
    titles = {source.id: source.title for source in handoff.sources}
    said = [stems_of(f"{titles.get(s.source, '')} {s.finding.content}") for s in told]
    return not any(all(thing <= stems for thing in things) for stems in said)


def _tells_effect(question: str, statement: Statement) -> bool:
    """Whether a statement says itself of all that is asked about that something is otherwise than before."""
    said = stems_of(statement.finding.content)
    asked = {term for term, weight in question_terms(question).items() if weight > ASKING_WEIGHT}
    return fits(EFFECT, statement.finding.content) and asked <= said


def decides(question: str, statement: Statement) -> bool:
    """Whether a statement says yes or no, or says itself what is asked."""
    said = statement.finding.content
    return (
        fits(YES_OR_NO, said)
        or any(pattern.search(said) for pattern in affirmed(question))
        or singles(question, said)
    )


def no_total(handoff: SynthesizerInput, rows: Sequence[Statement]) -> list[str]:
    """What a reader of a table should know who asked for one number."""
    counted = len(rows) > 1 and wanted(handoff.original_query) == "number"
    return ["*No total was found. The numbers of each:*"] if counted else []
