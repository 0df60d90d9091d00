"""Findings beside an answer that say less of what is asked than it does, and nothing else of that. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deep_research.evidence.expecting import asks_who, defined, expected_answer, wanted
from deep_research.evidence.question import QuestionKind, kind_of
from deep_research.evidence.text import coverage

MUCH_LESS = 0.75  # of what the best says of a question, below which another is about something else
_TERM = re.compile(r"(?:class )?(?P<name>[\w.]+)\(")


@dataclass(frozen=True, slots=True)
class Said:
    """What a finding says of a question: the wanted stems that it has, whether it holds what an answer would, what it
    describes as programs call it, "" for nothing, and whether it has a value of the kind that is asked for, if one is."""

    stems: frozenset[str]
    answers: bool
    term: str = ""
    value: bool = True


def term_in(content: str) -> str:
    """What a statement describes as programs call it, where it opens with that; else empty."""
    match = _TERM.match(content)
    return match["name"] if match else ""


def is_narrow(question: str) -> bool:
    """Whether a question has one answer, after which a reader wants no more: how something is done, why it is so, what
    it is, or a date, a measure, a name."""
    return (
        kind_of(question) in (QuestionKind.HOW_TO, QuestionKind.CAUSE)
        or bool(defined(question))
        or wants_a_value(question)
    )


def wants_a_value(question: str) -> bool:
    """Whether the answer is of a kind that a text plainly holds or lacks: a date, a measure, a number, a sum, a name."""
    return bool(wanted(question)) or asks_who(expected_answer(question))


def outdone(said: Said, best: Said, weights: Mapping[str, float], *, by_value: bool) -> bool:
    """Whether a finding says nothing of the question that the best does not, and much less; with ``by_value`` also
    whether it only says less, or as much without any value, and lacks the one that the best holds. More on what the best
    describes is no such finding, nor is the one that alone holds what an answer would."""
    if not said.stems <= best.stems or (said.answers and not best.answers):
        return False
    if said.term and said.term == best.term:
        return False
    mine, its = coverage(weights, said.stems), coverage(weights, best.stems)
    if by_value and best.answers and not said.answers:
        return mine < its or (mine == its and not said.value)
    return mine < MUCH_LESS * its
