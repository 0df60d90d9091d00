"""Choosing the words of a finding: which run of sentences of a passage answers best, and how it reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from deep_research.evidence.alike import alike
from deep_research.evidence.announcing import units
from deep_research.evidence.dates import MONTHS
from deep_research.evidence.defining import LINK, term_start
from deep_research.evidence.expecting import (
    EXPLAINED,
    HAPPENED,
    HOW_IT_WORKS,
    REASON,
    TELLS_HOW,
    TO_DO,
    WORKING,
    YES_OR_NO,
    expected_answer,
    fits,
    is_count,
    same_kind,
    stands_apart,
    wanted,
)
from deep_research.evidence.fragments import (
    flows,
    follows,
    is_enough,
    is_list,
    is_scrap,
    is_statement,
)
from deep_research.evidence.leaning import goes_on_only, leans_back
from deep_research.evidence.passages import sentences
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.relations import related
from deep_research.evidence.rows import headers
from deep_research.evidence.saying import said_by, weight_of
from deep_research.evidence.signposts import only_points
from deep_research.evidence.text import content_words, stem
from deep_research.state import Span

MAX_SENTENCES = 3
MAX_QUOTE_CHARS = 480
MAX_OPENING_CHARS = 360
MIN_OPENING_WORDS = 8
FAR_IN = 4_000  # characters in which the opening of a text is looked for
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
EXPLAINING_SENTENCES = 6  # of a quote that explains
MOST_BEFORE = 2  # sentences that a quote takes along for what it points back to
ANSWERS = 0.15  # for holding what is expected of an answer, beside a word of the question
# "This can be done by registering a handler."
_DOES_IT = re.compile(
    r"(?:this|that|it) (?:can|may|could|is|should)(?: easily| best)? (?:be )?(?:done|achieved|accomplished|solved)\b"
    r"|to do (?:so|this|that)\b|for (?:this|that),? (?:you|use|call)\b|to (?:achieve|accomplish) this\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?P<name>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){0,3}): ")  # "Bell Rock: dovetails again."
_PRONOUN = re.compile(r"\b(?:it|they|them|he|she|her|him|their|its)\b", re.IGNORECASE)
_HAPPEN = stem("happened")
_MONTHS = frozenset(map(stem, MONTHS))  # of a day that is asked for by its year
MAX_HEADING = 200  # characters of one that asks something
LEANS = 0.15  # what it costs to point back to what cannot be taken along
SCRAP = 0.3  # what it costs to be a heading, a fragment, a name and no more
LONGER = 0.03  # what a further sentence of a quote costs
POINTS = 0.1  # what a sentence of it costs that points through the text


class Quoted(NamedTuple):
    """``text[start:end]``, and the stems of the heading or question that it stands under: what that asks, it answers
    without saying it again. ``brought`` sentences are in it for what it points back to; ``leans``: not all of that is.
    ``announced``: what it stands under asks what was asked."""

    start: int
    end: int
    under: frozenset[str]
    leans: bool = False
    brought: int = 0
    announced: bool = False


def best_quote(
    text: str,
    passage: Passage,
    weights: Mapping[str, float],
    context: set[str],
    expected: re.Pattern[str] | None,
    done: str = "",
) -> Quoted | None:
    """The run of up to three sentences that covers most of the weight, the shortest of equals. One that leans on
    the sentence before takes it along. ``done`` is what it is asked of when that was done."""
    told = _Told.of(text, passage.span, weights, expected)
    chosen = told.best(weights, context, expected, done)
    if chosen is None:
        return None
    first, last = chosen
    dated = {word for word in told.under[first] - context - weights.keys() if _YEAR.fullmatch(word)}
    chosen_first = first
    first = told.with_what_it_leans_on(first, last, dated)
    if expected is TO_DO:
        first = told.whole_description(first, last)
        last = told.with_how_it_is_done(first, last)
    if (expected is EXPLAINED and not WORKING.isdisjoint(weights)) or _HAPPEN in weights:
        last = told.whole_paragraph(first, last, weights.keys() - WORKING - {_HAPPEN})
    if first == last and expected is not TO_DO:
        first, last = alike(text, told.spans, first)
    start, end = term_start(text, told.spans[first].start), told.spans[last].end
    if start in told.asked and fits(YES_OR_NO, text[start:end]):
        start = told.with_its_question(first)  # "No." says nothing without its question
    good = _is_enough(text, start, end) and not is_scrap(text, told.spans[first], told.spans[last])
    brought = max(0, chosen_first - first)
    under, announced = told.under[first], told.announced[first]
    return Quoted(start, end, under, told.leans(first), brought, announced) if good else None


@dataclass(frozen=True, slots=True)
class _Told:
    """What a passage says: ``spans`` are its sentences, ``under`` the stems of what each stands under, ``announced``
    whether that asks what was asked, ``asked`` where the question begins that the sentence at a place is the first to
    answer, ``elsewhere`` the places of those that so answer another question of the same kind."""

    text: str
    spans: list[Span]
    under: list[frozenset[str]]
    announced: list[bool]
    asked: dict[int, int]
    elsewhere: set[int]

    @classmethod
    def of(
        cls, text: str, span: Span, weights: Mapping[str, float], expected: re.Pattern[str] | None
    ) -> _Told:
        told = cls(text, [], [], [], {}, set())
        above, announced = frozenset[str](), False
        question = -1
        within: Span | None = None  # the last sentence of a paragraph in whose midst something was asked
        before: Span | None = None
        for unit in units(text, span):
            if within is not None and not flows(text, within, unit):
                above, announced, within = frozenset(), False, None
            if text[unit.start] == "#" or text[unit.end - 1] == "?":
                above, announced = _above(text[unit.start : unit.end], weights, expected)
                question = unit.start if text[unit.start] != "#" else -1
                within = unit if before is not None and flows(text, before, unit) else None
                before = unit
                continue
            within, before = unit if within is not None else None, unit
            if question >= 0:
                told.asked[unit.start] = question
                if not announced and asks_the_same_kind(text[question : unit.start], expected):
                    told.elsewhere.add(unit.start)
                question = -1
            told.spans.append(unit)
            named = headers(text, unit.start, unit.end) if " | " in text[unit.start : unit.end] else ()
            explained = expected is EXPLAINED and any(map(HOW_IT_WORKS.search, named))
            told.announced.append(announced or explained)
            told.under.append(above | stems_of(" ".join(named)) if named else above)
        return told

    def best(
        self, weights: Mapping[str, float], context: set[str], expected: re.Pattern[str] | None, done: str
    ) -> tuple[int, int] | None:
        """The first and the last sentence of the best run."""
        text, spans, under = self.text, self.spans, self.under
        held = [said_by(text[s.start : s.end], weights, done=done) for s in spans]
        fitting = [self._fits(place, expected) for place in range(len(spans))]
        if is_count(expected):
            own_words = weights.keys() - context
            fitting = [
                fit and not own_words.isdisjoint(said) for fit, said in zip(fitting, held, strict=True)
            ]
        apart = stands_apart(expected)
        total = sum(weights.values())
        reasons = expected is not None and expected.pattern == REASON
        of_others = self._of_others(weights.keys())
        points = [only_points(text[span.start : span.end]) for span in spans]
        best: tuple[float, int, int] | None = None
        for first in range(len(spans)):
            explains = expected in TELLS_HOW and under[first] >= weights.keys()
            most = EXPLAINING_SENTENCES if explains or reasons else MAX_SENTENCES
            loose = LEANS * (self.leans(first) and self._before(first) is None)
            # What "You use them in these cases: …" is about stands before it.
            lists = is_list(text[spans[first].start : spans[first].end])
            begin = self.with_what_it_leans_on(first, first, set()) if lists else first
            present = set().union(*held[begin:first])
            for last in range(first, min(first + most, len(spans))):
                if last > first and not self._goes_on(first, last):
                    break
                length = spans[last].end - spans[first].start
                present |= held[last]
                # What the title says need not be said again; what the sentences say themselves counts a little more.
                said = present | context | under[first]
                itself = total if explains else weight_of(weights, present)
                value = (weight_of(weights, said) + 0.2 * itself) / total - loose
                own = present | under[first] if expected is YES_OR_NO else present
                answers = any(fitting[first : last + 1]) and (apart or not own.isdisjoint(weights))
                announced = self.announced[first]
                # An explanation takes its time, and a reason stands beside what it is the reason of.
                takes_time = under[first] >= weights.keys() or announced or (reasons and not answers)
                longer = LONGER if takes_time else -LONGER
                value += longer * (last - first) - LONGER * (first - begin) - 0.0001 * length
                value += ANSWERS * (answers or announced)
                value -= SCRAP * (
                    is_scrap(text, spans[first], spans[last]) or spans[first].start in self.elsewhere
                )
                value -= SCRAP * (first in of_others)
                value -= POINTS * sum(points[first : last + 1])
                value -= SCRAP * (not _is_enough(text, spans[first].start, spans[last].end))
                if best is None or value > best[0] + 1e-9:
                    best = value, first, last
        return best[1:] if best else None

    def _of_others(self, wanted: Set[str]) -> set[int]:
        """The sentences that open with the name of something else, where another opens with what is wanted."""
        labels = {
            place: stems_of(match["name"])
            for place, span in enumerate(self.spans)
            if (match := _LABEL.match(self.text, span.start, span.end))
        }
        return (
            {place for place, name in labels.items() if name.isdisjoint(wanted)}
            if any(name <= wanted for name in labels.values())
            else set()
        )

    def _fits(self, place: int, expected: re.Pattern[str] | None) -> bool:
        """Whether a sentence holds what is expected of an answer."""
        span = self.spans[place]
        if span.start in self.elsewhere:
            return False
        described = expected is TO_DO and term_start(self.text, span.start) < span.start
        return described or fits(expected, self.text[span.start : span.end])

    def _goes_on(self, first: int, last: int) -> bool:
        """Whether the run from ``first`` may take in the sentence at ``last``."""
        spans = self.spans
        return (
            flows(self.text, spans[last - 1], spans[last])
            and self.under[last] == self.under[first]
            and spans[last].end - spans[first].start <= MAX_QUOTE_CHARS
        )

    def leans(self, place: int) -> bool:
        span = self.spans[place]
        return leans_back(self.text[span.start : span.end])

    def with_what_it_leans_on(self, first: int, last: int, dated: set[str]) -> int:
        """Where a quote begins that takes along what it points back to."""
        for _ in range(MOST_BEFORE):
            leans = self.leans(first) or _is_undated(self.text, self.spans[first], self.spans[last], dated)
            before = self._before(first) if leans else None
            if before is None:
                break
            first = before
        return first

    def with_its_question(self, first: int) -> int:
        """Where the question begins that a sentence is the first to answer, with what that points back to."""
        start = self.asked[self.spans[first].start]
        for place in range(first - 1, max(-1, first - 1 - MOST_BEFORE), -1):
            asks = Span(start=start, end=self.spans[place + 1].start)
            if not _PRONOUN.search(self.text, start, self.text.find("?", start)):
                break
            if not flows(self.text, self.spans[place], asks):
                break
            start = self.spans[place].start
        return start

    def whole_paragraph(self, first: int, last: int, wanted: Set[str]) -> int:
        """Where the account of a thing ends that names it, how it works or what happened: with its paragraph, if that is
        near."""
        if wanted - stems_of(self.text[self.spans[first].start : self.spans[last].end]):
            return last
        for place in range(last + 1, min(first + EXPLAINING_SENTENCES, len(self.spans))):
            if not self._goes_on(first, place):
                break
            last = place
        return last

    def whole_description(self, first: int, last: int) -> int:
        """Where the description of a term begins that a quote is of, if that is near: what something does is said
        first."""
        for place in range(first, -1, -1):
            begin = self.spans[place].start
            if self.spans[last].end - begin > MAX_QUOTE_CHARS or self.under[place] != self.under[first]:
                break
            if term_start(self.text, begin) < begin:
                return place
            if place and not self._is_next(place):
                break
        return first

    def with_how_it_is_done(self, first: int, last: int) -> int:
        """Where a quote ends that says what somebody wants: with the sentence that then says how."""
        following = last + 1
        if following == len(self.spans) or not flows(self.text, self.spans[last], self.spans[following]):
            return last
        span = self.spans[following]
        fits_in = span.end - self.spans[first].start <= MAX_QUOTE_CHARS
        return following if fits_in and _DOES_IT.match(self.text, span.start, span.end) else last

    def _is_next(self, place: int) -> bool:
        one, other = self.spans[place - 1], self.spans[place]
        return flows(self.text, one, other) or follows(self.text, one, other)

    def _before(self, place: int) -> int | None:
        """The sentence before one, which it may lean on: of the same paragraph, or of the one before under the same
        heading unless it only goes on from there."""
        if not place or self.under[place - 1] != self.under[place]:
            return None
        one, other = self.spans[place - 1], self.spans[place]
        if flows(self.text, one, other):
            return place - 1
        only_goes_on = goes_on_only(self.text[other.start : other.end])
        return place - 1 if not only_goes_on and follows(self.text, one, other) else None


def fits_beside(expected: re.Pattern[str] | None, text: str, wanted: Set[str]) -> bool:
    """Whether a quote holds what is expected; a number of things only in a sentence with one of the ``wanted`` stems."""
    if not is_count(expected):
        return fits(expected, text)
    told = (text[span.start : span.end] for span in sentences(text))
    return any(fits(expected, said) and not wanted.isdisjoint(stems_of(said)) for said in told)


def _is_enough(text: str, start: int, end: int) -> bool:
    """Whether a quote says something by itself, a row of a table with the names of its cells."""
    piece = text[start:end]
    return is_enough(piece) or (" | " in piece and is_enough(" ".join((*headers(text, start, end), piece))))


def _above(
    heading: str, weights: Mapping[str, float], expected: re.Pattern[str] | None
) -> tuple[frozenset[str], bool]:
    """What a heading or question spares the sentences under it, and whether it asks what was asked: its own words, and
    of a question that asks how something goes all words, where it announces just that of nothing else. "Who designed
    it" spares that somebody built it; "Why it was built" does not, where it was asked who did."""
    said = stems_of(heading)
    about = {stem(w) for w in content_words(heading)} - WORKING
    if expected in TELLS_HOW and EXPLAINED.search(heading) and about and about <= weights.keys():
        return frozenset(said | weights.keys()), True
    if HAPPENED.search(heading) and _HAPPEN in weights and (told := about - {_HAPPEN} - _MONTHS):
        # "What happened in 1900?", of what the document is about, where no year is asked for.
        dated = all(map(_YEAR.fullmatch, told)) and not any(map(_YEAR.fullmatch, weights))
        return frozenset(said), dated or told <= weights.keys()
    if expected is YES_OR_NO and heading.rstrip(LINK).endswith("?") and about and weights.keys() <= said:
        return frozenset(said), True  # "Why is there no lamp?" tells whether there is one
    # A title counts as such: a page is no better for being called like the question.
    asks = None if heading.startswith("# ") or len(heading) > MAX_HEADING else expected_answer(heading)
    if asks is None or expected is None or not about:
        return frozenset(said), False
    meant = {term for term in weights if not about.isdisjoint(related(term))}
    if not same_kind(asks, expected):
        return frozenset(said - {stem(w) for w in content_words(heading) if w.islower()}), False
    announces = bool(meant) and about <= {other for term in meant for other in related(term)}
    return frozenset(said | meant) if announces else frozenset(said), announces


def asks_the_same_kind(question: str, expected: re.Pattern[str] | None) -> bool:
    """Whether what is asked in a text wants a date or a figure, and the same as is expected."""
    return bool(wanted(question)) and expected_answer(question.strip()) is expected


def _is_undated(text: str, first: Span, last: Span, years: set[str]) -> bool:
    """Whether a quote speaks of a thing that its heading dates, in ``years`` that it does not tell."""
    return bool(years) and years.isdisjoint(_YEAR.findall(text, first.start, last.end))


def opening(text: str, span: Span, *, alone: bool = False) -> Span | None:
    """How a passage begins: its first sentences that say something by themselves and follow each other. The opening of a
    text stands ``alone``: "This module" points at nothing before it."""
    told = sentences(text, span.start, min(span.end, span.start + FAR_IN))
    for first, sentence in enumerate(told):
        if not is_statement(text, sentence):
            continue
        if leans_back(text[sentence.start : sentence.end]) and not alone:
            continue
        last = first
        while (
            last + 1 < min(len(told), first + MAX_SENTENCES)
            and flows(text, told[last], told[last + 1])
            and is_statement(text, told[last + 1])
            and told[last + 1].end - sentence.start <= MAX_OPENING_CHARS
        ):
            last += 1
        found = Span(start=sentence.start, end=told[last].end)
        if len(text[found.start : found.end].split()) >= MIN_OPENING_WORDS:
            return found
    return None
