"""Findings that cannot both be right: different values, years, or a yes against a no, for one subject. Pure.

Statements are compared sentence by sentence, and only those of different sources. A false alarm costs the reader
more than a missed one, so what may have been said of different things (another year, another measure, another name)
is let be.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from deep_research.evidence.passages import sentences
from deep_research.evidence.rows import label_of, labels, unlabelled
from deep_research.evidence.units import UNIT_WORDS, Quantity, measured
from deep_research.evidence.words import NEGATIONS, STOP_WORDS, stem, words
from deep_research.patterns import regex
from deep_research.state import Contradiction, Finding
from deep_research.state.identity import contradiction_id

SUBJECT_OVERLAP = 0.5
DENIED_OVERLAP = 0.75
MAX_PER_GROUP = 40
APART = 3.0  # values of one thing differ by no more than this factor
_YEAR = regex(r"(?<![\d.,-])(?:1\d{3}|20\d\d)(?!s\b|['’]s\b|[\d,.]*\d)")
_NAME = regex(r"\b[A-Z][\w'’-]+")
_APPROXIMATE = regex(
    r"\b(?:at least|more than|over|under|less than|up to|almost|nearly|from|between)\s*$|\d\s?(?:[–−-]|to|and|or)\s?$",
    re.I,
)
_DENIED = regex(r"(?:\b(?:not|never|no)|n['’]t)\b[^.,;:]*\Z", re.I)
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
_NO_SUBJECT = STOP_WORDS | UNIT_WORDS | _MEASURE.keys()


@dataclass(frozen=True, slots=True)
class Side:
    """One sentence of a finding, by what it is compared by."""

    text: str
    values: tuple[Quantity, ...]
    years: frozenset[str]
    names: frozenset[str]
    subject: frozenset[str]
    measures: frozenset[str]
    events: frozenset[str]
    denied: bool
    columns: frozenset[str] = frozenset()  # the words of the headers, in a row of a table


@dataclass(frozen=True, slots=True)
class Conflict:
    """What two sentences say differently ``of`` a thing, each in its own words: ``57 metres`` and ``61 m``."""

    about: str
    one: str
    other: str
    of: str = ""


def contradictions(findings: Iterable[Finding]) -> tuple[Contradiction, ...]:
    """Pairs of findings of different sources that give different answers for one subject."""
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        for mark in sorted(_marks(finding.content)):
            groups[mark].append(finding)
    found: dict[str, Contradiction] = {}
    seen: set[tuple[str, str]] = set()
    for group in groups.values():
        for a, b in combinations(group[:MAX_PER_GROUP], 2):
            if (a.id, b.id) in seen:
                continue
            seen.add((a.id, b.id))
            if not set(a.source_ids) & set(b.source_ids) and (conflict := compared(a.content, b.content)):
                key = contradiction_id((a.id, b.id))
                found[key] = Contradiction(
                    id=key,
                    description=f"The sources give different {conflict.about}"
                    f"{f' for {conflict.of}' if conflict.of else ''}: {conflict.one} against {conflict.other}.",
                    finding_ids=(a.id, b.id),
                    source_ids=tuple(dict.fromkeys((*a.source_ids, *b.source_ids))),
                )
    return tuple(found.values())


@lru_cache(maxsize=4096)
def compared(one: str, other: str) -> Conflict | None:
    """What two statements say differently of one subject, or None."""
    ours, theirs = sides(one), sides(other)
    if {q.kind for s in ours for q in s.values if any(q.agrees(r) for t in theirs for r in t.values)}:
        return None  # they agree on a value somewhere: the others are of something else
    for a in ours:
        for b in theirs:
            if conflict := _values(a, b) or _years(a, b) or _denial(a, b):
                return conflict
    return None


def _marks(content: str) -> set[str]:
    """What a statement may be in conflict about."""
    marks = set()
    for side in sides(content):
        marks |= {q.kind for q in side.values}
        marks |= {f"year {event}" for event in side.events if len(side.years) == 1}
        # A denial is looked for among statements about the same names.
        marks |= {f"of {name}" for name in side.names}
    return marks


@lru_cache(maxsize=4096)
def sides(content: str) -> tuple[Side, ...]:
    """The sentences of a statement, each by what it is compared by."""
    return tuple(_side(content[s.start : s.end]) for s in sentences(content))


def _side(text: str) -> Side:
    own = unlabelled(text)
    every = words(own)
    lower = [w.casefold() for w in words(text)]
    return Side(
        text=text,
        values=tuple(q for q in measured(text) if _is_told(text, q)),
        years=frozenset(_YEAR.findall(text)),
        names=frozenset(
            stem(m.group())
            for m in _NAME.finditer(own, own == text)
            if m.group().casefold() not in STOP_WORDS
        ),
        subject=frozenset(stem(w) for w in every if not w[0].isdigit() and w.casefold() not in _NO_SUBJECT),
        measures=frozenset(_MEASURE[w] for w in lower if w in _MEASURE),
        events=frozenset(_EVENT[w] for w in lower if w in _EVENT),
        denied=any(w.casefold() in NEGATIONS for w in every),
        columns=frozenset(stem(w) for label in labels(text) for w in words(label)),
    )


def _is_told(text: str, quantity: Quantity) -> bool:
    """Whether a value is given as such, neither as a bound nor denied."""
    before = text[max(0, quantity.start - _LOOK_BACK) : quantity.start]
    return not (_APPROXIMATE.search(before) or _DENIED.search(before))


def _alike(a: Side, b: Side, overlap: float = SUBJECT_OVERLAP) -> bool:
    """Whether two sentences speak of one thing: most of the shorter's words, and a name if both have any."""
    if (a.names or b.names) and not a.names & b.names:
        return False
    return len(a.subject & b.subject) >= max(1.0, overlap * min(len(a.subject), len(b.subject)))


def _values(a: Side, b: Side) -> Conflict | None:
    if not a.values or not b.values or not _alike(a, b):
        return None
    if a.years and b.years and not a.years & b.years:
        return None  # both may be true, each of its time
    if a.measures and b.measures and not a.measures & b.measures:
        return None
    for kind in dict.fromkeys(q.kind for q in a.values):
        ours = [q for q in a.values if q.kind == kind and _is_of_same(a, q, b)]
        theirs = [q for q in b.values if q.kind == kind and _is_of_same(b, q, a)]
        if ours and theirs and not any(q.agrees(r) for q in ours for r in theirs) and _near(ours, theirs):
            # In one unit if both have it: a reader should not have to convert.
            pair = next(((q, r) for q in ours for r in theirs if q.unit == r.unit), (ours[0], theirs[0]))
            same = pair[0].unit == pair[1].unit
            about = (
                f"values in {pair[0].unit}"
                if same
                else f"values of {min(a.measures & b.measures, default=kind)}"
            )
            return Conflict(about, _written(a.text, pair[0]), _written(b.text, pair[1]), _shared_name(a, b))
    return None


def _is_of_same(side: Side, quantity: Quantity, other: Side) -> bool:
    """Whether the header above a value says no more of what it is than the other side does: the height of the masonry is
    not the height."""
    label = {stem(w) for w in words(label_of(side.text, quantity.start)) if w.casefold() not in _NO_SUBJECT}
    return label <= other.subject | other.columns


def _shared_name(a: Side, b: Side) -> str:
    """What both sides are of, as the first writes it."""
    shared = (m.group() for m in _NAME.finditer(unlabelled(a.text)) if stem(m.group()) in b.names)
    return " ".join(dict.fromkeys(shared))


def _near(ours: Iterable[Quantity], theirs: Iterable[Quantity]) -> bool:
    """Whether any two are of one order: a tower's height is in no conflict with its distance from the shore."""
    return any(q.base <= APART * r.base and r.base <= APART * q.base for q in ours for r in theirs)


def _years(a: Side, b: Side) -> Conflict | None:
    if len(a.years) != 1 or len(b.years) != 1 or a.years == b.years or not a.names & b.names:
        return None
    if not a.events & b.events or a.events ^ b.events or a.denied != b.denied or not _alike(a, b, 0.6):
        return None
    (one,), (other,) = a.years, b.years
    return Conflict("years", one, other, _shared_name(a, b))


def _denial(a: Side, b: Side) -> Conflict | None:
    if a.denied == b.denied or a.years != b.years or not a.names & b.names:
        return None
    shared = a.subject & b.subject
    if len(shared) < 3 or len(shared) < DENIED_OVERLAP * len(a.subject | b.subject):
        return None
    return Conflict("answers", f"“{a.text}”", f"“{b.text}”")


def _written(text: str, quantity: Quantity) -> str:
    return text[quantity.start : quantity.end]
