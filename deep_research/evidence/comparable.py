"""A sentence as what can be compared with what another says: its values, years, names, subject. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from deep_research.evidence.language import language_of
from deep_research.evidence.passages import sentences
from deep_research.evidence.rows import labels, unlabelled
from deep_research.evidence.statements import Kind, Statement, reader
from deep_research.evidence.units import UNIT_WORDS, Stated, stated
from deep_research.evidence.vocabulary import Marks
from deep_research.evidence.words import STOP_WORDS, stem, words
from deep_research.patterns import regex

YEAR = regex(r"(?<![\d.,-])(?:1\d{3}|20\d\d)(?!s\b|['’]s\b|[\d,.]*\d)")
NAME = regex(r"\b[A-Z](?:(?!['’]s\b)[\w'’-])+")
_BOUND = regex(
    r"\b(?:at least|more than|fewer than|over|under|less than|up to|almost|nearly|at most)\s*$", re.I
)
_RANGE = regex(r"(?:\b(?:from|between)|\d\s?(?:[–−-]|to|and|or))\s*$", re.I)
_BOUND_AFTER = regex(
    r"\s*(?:or (?:more|less|fewer|higher|lower|over|above|below)|and (?:over|above|older))\b", re.I
)
_DENIED = regex(r"(?:\b(?:not|never|no)|n['’]t)\b[^.,;:]*\Z", re.I)
FENCES = ("```", "~~~")
MOST_VALUES = 24  # of a sentence; each is set against each of another
_LOOK_BACK = 24  # characters before a value that say whether it is told as such
# What is measured, and what happened, by the words that say it: the first stands for its row.
_MEASURES = """
    height tall high taller tallest highest height heights elevation
    depth deep depth depths
    width wide width widths broad diameter across
    length long length lengths
    distance away distance distances far offshore
    weight weigh weighs weighed weight weights heavy
    cost cost costs price prices
    range range ranges visible seen
    wave wave waves sea
"""
_EVENTS = """
    built built build building construction constructed erected
    finished finished completed completion
    begun begun began started
    opened opened inaugurated
    lit lit lighted shown
    founded founded established
    died died death
    born born birth
    moved moved relocated
    automated automated automatic automation
    destroyed destroyed collapsed fell
    discovered discovered
    invented invented patented
    published published
"""


def _rows(table: str) -> dict[str, str]:
    return {word: row.split()[0] for row in table.strip().splitlines() for word in row.split()}


_MEASURE = _rows(_MEASURES)
_EVENT = _rows(_EVENTS)
NO_SUBJECT = STOP_WORDS | UNIT_WORDS | _MEASURE.keys()


@dataclass(frozen=True, slots=True)
class Side:
    """One sentence of a statement, by what it is compared by. ``names`` and ``years`` may be those of what it is said
    under, too."""

    text: str
    statement: Statement
    keys: frozenset[str]  # of its words and names, without units
    named: frozenset[str]  # of its names alone
    marks: Marks
    values: tuple[Stated, ...]
    years: frozenset[str]
    names: frozenset[str]
    opening: frozenset[str]  # its first word, where that has a capital: it may be a name
    subject: frozenset[str]
    measures: frozenset[str]
    events: frozenset[str]
    columns: frozenset[str] = frozenset()  # the words of the headers, in a row of a table


@dataclass(frozen=True, slots=True)
class Told:
    """What one sentence says in its own words, in ``start`` to ``end`` of it. What has one ``stance`` says the same, but
    for measured values, which agree by their ``value``."""

    text: str
    start: int
    end: int
    stance: str
    value: Stated | None = None

    def agrees(self, other: Told) -> bool:
        if self.value is not None and other.value is not None:
            return self.value.agrees(other.value)
        return self.stance == other.stance


@lru_cache(maxsize=4096)
def sides(content: str) -> tuple[Side, ...]:
    """The sentences of a statement, each by what it is compared by. Code, and what a program prints, states nothing: of
    two examples neither is wrong."""
    if content.startswith(FENCES):
        return ()
    language = language_of(content)
    return tuple(_side(content[s.start : s.end], language) for s in sentences(content))


def _side(text: str, language: str) -> Side:
    own = unlabelled(text)
    every = words(own)
    lower = [w.casefold() for w in words(text)]
    reads = reader(language)
    statement, marks = reads.read(text), reads.vocabulary.marks
    return Side(
        text=text,
        statement=statement,
        keys=frozenset(
            t.key for t in statement.tokens if t.kind in (Kind.WORD, Kind.NAME) and t.word not in marks.units
        ),
        named=frozenset(
            t.key for t in statement.tokens if t.kind is Kind.NAME and t.word.casefold() not in UNIT_WORDS
        ),
        marks=marks,
        values=tuple(islice((q for q in stated(text) if is_told(text, q.start, q.end)), MOST_VALUES)),
        years=frozenset(YEAR.findall(text)),
        names=_names_in(own, int(own == text)),
        opening=_names_in(own, 0, 1),
        subject=frozenset(stem(w) for w in every if not w[0].isdigit() and w.casefold() not in NO_SUBJECT),
        measures=frozenset(_MEASURE[w] for w in lower if w in _MEASURE),
        events=frozenset(_EVENT[w] for w in lower if w in _EVENT),
        columns=frozenset(stem(w) for label in labels(text) for w in words(label)),
    )


def _names_in(text: str, start: int, stop: int | None = None) -> frozenset[str]:
    """Of what begins from ``start`` and before ``stop``."""
    found = (m.group() for m in NAME.finditer(text, start) if stop is None or m.start() < stop)
    return frozenset(stem(name) for name in found if name.casefold() not in STOP_WORDS | UNIT_WORDS)


def is_told(text: str, start: int, end: int) -> bool:
    """Whether a value is given as such, neither as a bound nor denied."""
    return not (bound(text, start, end) or is_range(text, start))


def bound(text: str, start: int, end: int) -> str:
    """What makes a bound of a value, or denies it."""
    before = text[max(0, start - _LOOK_BACK) : start]
    found = (_BOUND.search(before), _DENIED.search(before), _BOUND_AFTER.match(text, end))
    return next((match.group().split()[0].casefold() for match in found if match), "")


def is_range(text: str, start: int) -> bool:
    """Whether it is one end of a range."""
    return bool(_RANGE.search(text[max(0, start - _LOOK_BACK) : start]))


def denies(side: Side) -> bool:
    """A denial that is denied is none."""
    return sum(mark.denies for mark in side.statement.marks) % 2 == 1
