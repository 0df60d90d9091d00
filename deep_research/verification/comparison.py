"""Comparison of two statements: values, numbers, dates and polarity, and the figures of several sources side by side.
Pure.

Statements are compared sentence by sentence, in two ways. Sentences in nearly the same words are aligned, and what
one has in place of a part of the other is the difference (`deep_research.verification.discrepancies`). Measured
values, and years of events, are compared in sentences of other words too, where both have one subject. A false alarm
costs the reader more than a missed one, so what may have been said of different things (another year, another
measure, another name) is let be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from deep_research.patterns import regex
from deep_research.retrieval.parsed_question import ParsedQuestion
from deep_research.state import Aspect, Discrepancy, Finding
from deep_research.text.rows import label_of, unlabelled
from deep_research.text.statements import (
    MAX_VALUES,
    NAME,
    NO_SUBJECT,
    YEAR,
    ComparedValue,
    Kind,
    StatementView,
    Token,
    bound,
    denies,
    is_range,
    sides,
)
from deep_research.text.units import Quantity, StatedValue, measured, stated_values
from deep_research.text.words import stem, words
from deep_research.verification.discrepancies import discrepancies, matched, stretches

SUBJECT_OVERLAP_SHARE = 0.5  # of the words of the shorter of two sentences that are told of one subject
SAME_SHARE = 0.5  # the least likeness of sentences that are aligned: the words they share, discounted where these are few
OPPOSITE_SHARE = 0.7  # of those that differ in nothing but a word and its opposite
FEW_WORDS = 2  # shared words, of which half may be chance
MAX_REPLACED = 1  # stretches in which both may have other words
MAX_WORDS = 80  # of a sentence that is aligned; longer ones are no sentences
MAX_MEETINGS = 300  # places of one word in both, taken together, which aligning goes through again and again
MAX_VALUE_RATIO = 3.0  # values of one thing differ by no more than this factor
_ORDINAL = regex(r"\d+['’]?(?:st|nd|rd|th|s)")
_COUNTED = regex(r"[ \u00a0-][^\W\d_]{3,}")  # "13 counties"
_TELLING = frozenset((Aspect.NUMBER, Aspect.UNIT, Aspect.DATE, Aspect.POLARITY, Aspect.COMPARISON))
_ABOUT = {Aspect.NUMBER: "numbers", Aspect.UNIT: "units", Aspect.DATE: "dates"}


@dataclass(frozen=True, slots=True)
class Conflict:
    """What two sentences say differently ``of`` a thing: ``57 metres`` and ``61 m``."""

    about: str
    ours: ComparedValue
    theirs: ComparedValue
    of: str = ""

    @property
    def one(self) -> str:
        return self.ours.text

    @property
    def other(self) -> str:
        return self.theirs.text


@lru_cache(maxsize=4096)
def compared(one: str, other: str) -> Conflict | None:
    """The first thing that two statements say differently of one subject, or None."""
    ours, theirs = sides(one), sides(other)
    agreed_kinds = kinds_in_agreement(ours, theirs)
    found = (conflict for a in ours for b in theirs if (conflict := conflict_between(a, b, agreed_kinds)))
    return next(found, None)


def conflict_between(
    a: StatementView, b: StatementView, agreed_kinds: frozenset[str] = frozenset()
) -> Conflict | None:
    """Return the first conflict of two sentences; None if they agree or speak of different things. Skips values of the
    ``agreed_kinds``, on which the statements agree elsewhere."""
    if not share_words(a, b) or _name_others(a, b):
        return None
    return _values(a, b, agreed_kinds) or _years(a, b) or _aligned(a, b)


def share_words(a: StatementView, b: StatementView) -> bool:
    """Whether two sentences may be of one thing at all."""
    return not (a.keys.isdisjoint(b.keys) and a.subject.isdisjoint(b.subject))


def likeness(a: StatementView, b: StatementView) -> float:
    """How much of the words of two sentences both have (0 to 1)."""
    shared = len(a.keys & b.keys)
    return shared / (len(a.keys) + len(b.keys) - shared or 1)


def is_aligned(side: StatementView) -> bool:
    """Whether a sentence is short enough to be set against another word by word."""
    return len(side.statement.tokens) <= MAX_WORDS


def kinds_in_agreement(ours: Iterable[StatementView], theirs: Iterable[StatementView]) -> frozenset[str]:
    """The kinds of measured values on which two statements agree somewhere: their others are of something else. Of each
    the first values are looked at, as many as of a sentence."""
    one, other = (
        list(islice((value for side in said for value in side.values), MAX_VALUES)) for said in (ours, theirs)
    )
    kinds = {value.kind for value in one} & {value.kind for value in other}
    return frozenset(kind for kind in kinds if _agree(_of(kind, one), _of(kind, other)))


def _name_others(a: StatementView, b: StatementView) -> bool:
    """Whether each names something that the other does not: they are of two things."""
    return not (a.name_words <= b.keys or b.name_words <= a.keys)


def _alike(a: StatementView, b: StatementView) -> bool:
    """Whether two sentences speak of one thing: most of the shorter's words, and a name if both have any."""
    if (a.names or b.names) and not (a.names & (b.names | b.opening) or b.names & a.opening):
        return False
    return len(a.subject & b.subject) >= max(1.0, SUBJECT_OVERLAP_SHARE * min(len(a.subject), len(b.subject)))


def _values(a: StatementView, b: StatementView, agreed_kinds: frozenset[str]) -> Conflict | None:
    if not a.values or not b.values or not _alike(a, b):
        return None
    if a.years and b.years and not a.years & b.years:
        return None  # both may be true, each of its time
    if a.measures and b.measures and not a.measures & b.measures:
        return None
    for kind in dict.fromkeys(q.kind for q in a.values if q.kind not in agreed_kinds):
        ours = [q for q in _of(kind, a.values) if _is_of_same(a, q, b)]
        theirs = [q for q in _of(kind, b.values) if _is_of_same(b, q, a)]
        if ours and theirs and not _agree(ours, theirs) and _near(ours, theirs):
            # In one unit if both have it: a reader should not have to convert.
            pair = next(((q, r) for q in ours for r in theirs if q.unit == r.unit), (ours[0], theirs[0]))
            about = _values_about(*pair, a.measures & b.measures)
            return Conflict(
                about, _compared_value(a, pair[0]), _compared_value(b, pair[1]), _shared_name(a, b)
            )
    return None


def _values_about(one: StatedValue, other: StatedValue, measures: frozenset[str]) -> str:
    return (
        f"values in {one.unit}" if one.unit == other.unit else f"values of {min(measures, default=one.kind)}"
    )


def _of(kind: str, values: Iterable[StatedValue]) -> list[StatedValue]:
    return [value for value in values if value.kind == kind]


def _agree(ours: Sequence[StatedValue], theirs: Sequence[StatedValue]) -> bool:
    """Whether values of one kind agree in a unit that both give, or where they give none such, in any: 901 feet are
    about 274 metres, and yet not the 900 feet (274 m) of another."""
    units = {q.unit for q in ours} & {q.unit for q in theirs}
    return any(
        q.agrees(r) for q in ours for r in theirs if not units or (q.unit == r.unit and q.unit in units)
    )


def _is_of_same(side: StatementView, value: StatedValue, other: StatementView) -> bool:
    """Whether the header above a value says no more of what it is than the other side does: the height of the masonry is
    not the height."""
    if not side.columns:
        return True
    label = {stem(w) for w in words(label_of(side.text, value.start)) if w.casefold() not in NO_SUBJECT}
    return label <= other.subject | other.columns


def _shared_name(a: StatementView, b: StatementView) -> str:
    """What both sides are of, as the first writes it."""
    both = a.names & (b.names | b.opening) | b.names & a.opening
    shared = (m.group() for m in NAME.finditer(unlabelled(a.text)) if stem(m.group()) in both)
    return " ".join(dict.fromkeys(shared))


def _near(ours: Iterable[StatedValue], theirs: Iterable[StatedValue]) -> bool:
    """Whether any two are of one order: a tower's height is in no conflict with its distance from the shore."""
    return any(
        abs(q.low.base) <= MAX_VALUE_RATIO * abs(r.high.base)
        and abs(r.low.base) <= MAX_VALUE_RATIO * abs(q.high.base)
        for q in ours
        for r in theirs
    )


def _compared_value(side: StatementView, value: StatedValue) -> ComparedValue:
    return ComparedValue(side.text[value.start : value.end], value.start, value.end, "", value)


def _years(a: StatementView, b: StatementView) -> Conflict | None:
    if len(a.years) != 1 or len(b.years) != 1 or a.years == b.years or not a.names & b.names:
        return None
    if not a.events & b.events or a.events ^ b.events or denies(a) != denies(b) or not _alike(a, b):
        return None
    pairs = [(side, match) for side in (a, b) if (match := YEAR.search(side.text))]
    if len(pairs) < 2:  # a year of what it is said under
        return None
    one, other = (ComparedValue(match.group(), *match.span(), match.group()) for _, match in pairs)
    return Conflict("years", one, other, _shared_name(a, b))


def _aligned(a: StatementView, b: StatementView) -> Conflict | None:
    """What one of two sentences of nearly the same words has in place of a part of the other."""
    if a.marks is not b.marks or not _same_words(a.keys, b.keys, SAME_SHARE) or not _can_align(a, b):
        return None
    if len(a.keys) > len(b.keys):
        flipped = _aligned(b, a)
        return flipped and Conflict(flipped.about, flipped.theirs, flipped.ours, _shared_name(a, b))
    pairs = matched(a.statement, b.statement)
    if _replaced(a, b, pairs) > MAX_REPLACED:
        return None
    found = list(dict.fromkeys(discrepancies(a.statement, b.statement, a.marks, pairs=pairs)))
    first = _only(found)
    if first is None:
        return None
    if first.aspect is Aspect.COMPARISON and not _same_words(a.keys, b.keys, OPPOSITE_SHARE):
        return None
    if first.aspect in (Aspect.POLARITY, Aspect.COMPARISON):
        return _answers(a, b, first)
    if first.aspect is Aspect.DATE and len(found) > 1 and not a.names & b.names:  # of whatever
        return None
    return _replaced_figure(a, b, first)


def _can_align(a: StatementView, b: StatementView) -> bool:
    """Whether aligning them takes little. What repeats a few words over and over says nothing that could differ."""
    if not is_aligned(a) or not is_aligned(b):
        return False
    one, other = (Counter(token.key for token in side.statement.tokens) for side in (a, b))
    return sum(count * other[key] for key, count in one.items()) <= MAX_MEETINGS


def _answers(a: StatementView, b: StatementView, found: Discrepancy) -> Conflict | None:
    """A yes and a no, or a word and its opposite; a row of a table says neither."""
    if a.years != b.years or a.columns or b.columns:
        return None
    answers = found.aspect is Aspect.POLARITY
    stances = (str(denies(a)), str(denies(b))) if answers else (found.claimed, found.in_source)
    if stances[0] == stances[1]:
        return None
    one, other = (
        ComparedValue(f"“{s.text}”", 0, len(s.text), stance)
        for s, stance in zip((a, b), stances, strict=True)
    )
    return Conflict("answers", one, other)


def _same_words(a: frozenset[str], b: frozenset[str], least: float) -> bool:
    shared = len(a & b)
    return shared * shared >= least * len(a | b) * (shared + FEW_WORDS)


def _only(found: Sequence[Discrepancy]) -> Discrepancy | None:
    """The one thing in which sentences differ; None where there are several: then they are of different things, or
    times. A unit that differs does so with its number, a date in several of its parts."""
    aspects = {one.aspect for one in found}
    if not aspects or not aspects <= _TELLING:
        return None
    if Aspect.UNIT in aspects and aspects <= {Aspect.UNIT, Aspect.NUMBER}:
        return next((d for d in found if d.aspect is Aspect.UNIT and any(map(str.isdigit, d.claimed))), None)
    if len(aspects) > 1 or (len(found) > 1 and aspects != {Aspect.DATE}):
        return None
    return found[0]


def _replaced(a: StatementView, b: StatementView, pairs: Sequence[tuple[int, int]]) -> int:
    """How often both have other words in one place, numbers and units aside. ``pairs`` are the places of the shared
    tokens."""
    count = 0
    for stretch in stretches(a.statement, b.statement, pairs):
        ours, theirs = (
            any(
                t.kind is Kind.WORD and t.key not in a.keys & b.keys and t.word not in a.marks.units
                for t in s.tokens
            )
            for s in (stretch.claimed, stretch.in_source)
        )
        count += ours and theirs
    return count


def _replaced_figure(a: StatementView, b: StatementView, found: Discrepancy) -> Conflict | None:
    """A number, unit or date in place of another; None where it says which thing is meant ("the 7th festival", "version
    15"), where it is a bound, or where what is counted differs."""
    spans = _span(a, found.claimed), _span(b, found.in_source)
    if spans[0] is None or spans[1] is None:
        return None
    one, other = _figure(a, *spans[0], found.aspect), _figure(b, *spans[1], found.aspect)
    if _identifies(a, found.claimed) or _identifies(b, found.in_source):
        return None
    if found.aspect is not Aspect.DATE:
        told = ((a.text, one.start, one.end), (b.text, other.start, other.end))
        if bound(*told[0]) != bound(*told[1]) or any(is_range(text, start) for text, start, _ in told):
            return None
        if found.aspect is Aspect.NUMBER and _kind(one) != _kind(other):
            return None
    if one.agrees(other):
        return None
    about = (
        f"values in {one.value.unit}"
        if one.value and other.value and one.value.unit == other.value.unit
        else _ABOUT[found.aspect]
    )
    return Conflict(about, one, other, _shared_name(a, b))


def _kind(told: ComparedValue) -> str:
    return told.value.kind if told.value is not None else ""


def _span(side: StatementView, words_: str) -> tuple[int, int] | None:
    """Where the words stand in a sentence, as they are compared: in lower case, and numbers without more digits."""
    pattern = r"[\s\u00a0-]*".join(map(re.escape, words_.split()))
    match = re.search(rf"(?<![\w])(?<!\d[.,]){pattern}(?!\w|[.,]\d)", side.text, re.I)
    return match.span() if match else None


def _figure(side: StatementView, start: int, end: int, aspect: Aspect) -> ComparedValue:
    """A number with its unit, or with the word that it counts; a whole date."""
    value = next((q for q in stated_values(side.text) if q.start <= start < q.end), None)
    if value is not None:
        return _compared_value(side, value)
    stance = side.text[start:end].casefold()
    if aspect is Aspect.DATE:
        part = rf"(?:\d{{1,4}}|{'|'.join(side.marks.months)})\b"
        dates = re.finditer(rf"\b{part}(?:[ ,.]+{part})*", side.text, re.I)
        start, end = next((m.span() for m in dates if m.start() <= start < m.end()), (start, end))
    elif counted := _COUNTED.match(side.text, end):
        end = counted.end()
    return ComparedValue(side.text[start:end], start, end, stance)


def _identifies(side: StatementView, number: str) -> bool:
    """Whether a number is part of a name, an ordinal or a decade: "Route 7", "the 2018 Festival", "the 7th"."""
    if _ORDINAL.fullmatch(number):
        return True
    tokens = side.statement.tokens
    for before, token, after in zip((None, *tokens), tokens, (*tokens[1:], None), strict=False):
        if token.word == number and (
            _is_name(token, before, after) or (token.kind is Kind.DATE and _names(token, after))
        ):
            return True
    return False


def _is_name(token: Token, before: Token | None, after: Token | None) -> bool:
    """Whether it numbers what stands before it: "Route 7 ends", "of step 2, which"."""
    if before is None or not token.is_joined or token.kind is Kind.DATE:
        return before is not None and token.is_joined and before.kind is Kind.NAME
    return before.kind is Kind.NAME or after is None or not after.is_joined


def _names(token: Token, after: Token | None) -> bool:
    return not token.is_month and after is not None and after.kind is Kind.NAME and after.is_joined


@dataclass(frozen=True, slots=True)
class Figure:
    """What the finding of a source gives, in its words: ``198.49 feet``."""

    source: str
    finding: str
    text: str
    quantity: Quantity


def figures(inquiry: ParsedQuestion, findings: Iterable[Finding], titles: Mapping[str, str]) -> list[Figure]:
    """Of a question that a number may answer the first figure of each source whose passage, with its heading and title,
    has the question's names, or all its terms where it has none; of one kind, which is that of the best source. Before
    the others that of the source whose title has most of this and least else: it is on the thing itself. None where they
    agree, or one alone has one."""
    asked = {measure for side in sides(inquiry.text) for measure in side.measures}
    if inquiry.expects != "number" and (inquiry.expects or not asked):
        return []
    wanted = inquiry.names or frozenset(inquiry.terms)
    found: dict[str, Figure] = {}
    for finding in findings:
        source = finding.source_ids[0] if finding.source_ids else ""
        told = f"{titles.get(source, '')} {finding.heading} {finding.content}"
        if source in found or not wanted <= set(inquiry.words.terms(told)):
            continue
        kind = next(iter(found.values())).quantity.kind if found else ""
        for side in sides(finding.content):
            if asked and side.measures and not asked & side.measures:
                continue  # how far, and not how high
            quantity = next((q for q in measured(side.text) if not kind or q.kind == kind), None)
            if quantity is not None:
                text = side.text[quantity.start : quantity.end]
                found[source] = Figure(source, finding.id, text, quantity)
                break
    every = list(found.values())
    if all(every[0].quantity.agrees(other.quantity) for other in every):
        return []

    def on_it(figure: Figure) -> float:
        title = frozenset(inquiry.words.terms(titles.get(figure.source, "")))
        return len(title & wanted) / len(title | wanted)

    return sorted(every, key=on_it, reverse=True)
