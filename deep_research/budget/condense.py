"""A text made shorter by leaving out what matters least: what is kept is kept word for word. Pure.

Whole sentences, headings, rows and list items are chosen by what they matter (`deep_research.retrieval.salience`) for
their length, and stand in their order. What has the words of what is chosen already counts a little less; repeats, and
what belongs to the page and not to its text, are left out. A heading comes with what stands under it, and the first row
of a table with its other rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from deep_research.retrieval.salience import Sentences, salience, sentences_of
from deep_research.state import Span
from deep_research.text.passages import BlockKind

Measure = Callable[[str], int]

JOINT = 3  # characters that a sentence takes beside its own, about
TRIES = 6  # to fill the room; each measures what it made
ENOUGH = 0.95  # of the room
FIRST = 0.985  # of the room that is filled at first: mostly it fits then
LONGER = 1.1  # times what was tried, at most, is tried next
SINGLE = 64  # sentences that are tried where room is for one only
BESIDE = 6  # sentences beside the kept ones that are tried where those do not fill the room
_HARD_TO_CUT = (BlockKind.HEADING, BlockKind.CODE, BlockKind.TABLE)
BY_LENGTH = 0.3  # power of a sentence's length by which its score is divided
SHORT = 20  # characters; what is shorter is not preferred for it
AGAIN = 0.1  # of a score that is lost when all words were said before
WITH_HEADING = 0.3  # of a sentence's length: a longer heading costs more than it explains
SPARE = 1.1  # times the room is chosen from, since only of the whole is it known how characters are counted
GAP = "[…]"  # for what is left out
CUT = "…"  # for the rest of a sentence
_LONG_WORD = 60  # characters; what is longer is no word, or of a script without spaces
_BACK = 8  # words that a piece is made shorter by, where by the last of them it is counted as more
_NEAR = 100  # characters between two sentences that go along when both are kept: marks of lists, code, tables


@dataclass(frozen=True, slots=True)
class SentencePacker:
    """``sentences`` of ``text`` with what each matters, to be put into ``room``, in the units of ``measure``."""

    text: str
    sentences: Sentences
    scores: Sequence[float]
    room: int
    measure: Measure

    def of(self, picks: Sequence[int], limit: float) -> Condensed:
        """As many of the picks (places, in the order of what they matter) as fit, about ``limit`` characters. What they
        leave is filled with what stands beside them; where none fits that says something by itself, with one sentence
        or a piece of it, and where there is little of that, with what announces it."""
        made, kept = self._whole(picks, limit)
        if any(not self._announces(place) for place in kept):
            return self._topped(made, kept)
        one = self._single()
        alone = self._piece() if one is None else self._drawn_alone(one)
        if not self._fills(alone):
            alone = max(alone, self._piece(), key=_length)
        if one is None or self._fills(alone):
            return alone
        made, kept = self._whole([one, *(place for place in picks if place != one)], limit)
        return max(alone, self._topped(made, kept), key=_length) if one in kept else alone

    def _single(self) -> int | None:
        """The place of the sentence that matters most of those that fit; None when none does."""
        told = self._by_score()
        shortest = sorted(told, key=lambda place: (self.sentences.length(place), place))[:1]
        places = (*told[:SINGLE], *shortest)
        return next((place for place in places if self.measure(self._words(place)) <= self.room), None)

    def _drawn_alone(self, place: int) -> Condensed:
        start, end = self.sentences[place]
        return Condensed(self.text[start:end], (Span(start=start, end=end),))

    def _announces(self, place: int) -> bool:
        """Whether it is a heading or the first row of a table, which say nothing alone."""
        blocks = self.sentences.blocks
        kind = blocks[place].kind
        is_first = place == 0 or blocks[place - 1] is not blocks[place]
        return kind is BlockKind.HEADING or (kind is BlockKind.TABLE and is_first)

    def _whole(self, picks: Sequence[int], limit: float) -> tuple[Condensed, set[int]]:
        """The longest that fits of what is drawn with different limits; and the places in it."""
        best, held = Condensed("", ()), set[int]()
        limit *= FIRST
        for _ in range(TRIES):
            made, kept = self._drawn_within(picks, limit)
            used = self.measure(made.text)
            if used <= self.room:
                if len(made.text) > len(best.text):
                    best, held = made, kept
                if used >= ENOUGH * self.room:
                    break
            limit *= min(LONGER, 0.99 * self.room / max(1, used))
        while not held and limit >= 1.0:
            limit /= 2
            made, kept = self._drawn_within(picks, limit)
            if self._fits(made):
                best, held = made, kept
        return best, held

    def _drawn_within(self, picks: Sequence[int], limit: float) -> tuple[Condensed, set[int]]:
        """Those of the picks, in their order, that fit into so many characters."""
        kept: set[int] = set()
        for place in picks:
            length = self.sentences.length(place) + JOINT
            if length <= limit:
                kept.add(place)
                limit -= length
        return self._draw(kept), kept

    def _topped(self, made: Condensed, kept: Collection[int]) -> Condensed:
        """With sentences beside the kept ones, and a piece of one, until the room is filled."""
        held = set(kept)
        for _ in range(BESIDE):
            if self._fills(made):
                return made
            more = next((one for one in self._beside(held) if self._fits(self._draw({*held, one}))), None)
            if more is None:
                break
            held.add(more)
            made = self._draw(held)
        return self._cut_to_fill(made, held, self._beside(held))

    def _cut_to_fill(self, made: Condensed, kept: Collection[int], places: Iterable[int]) -> Condensed:
        """``made`` of the kept places, with a piece of the first of the others that fills the room."""
        for place in places:
            if self._fills(made):
                break
            made = max(made, self._with_piece(kept, place), key=_length)
        return made

    def _with_piece(self, kept: Collection[int], place: int) -> Condensed:
        """The kept places and as much of another as fits; nothing when no word does."""
        start, end = self.sentences[place]
        stop = longest(self.text, start, end, lambda stop: self._fits(self._draw(kept, Piece(place, stop))))
        return self._draw(kept, Piece(place, stop)) if stop > start else Condensed("", ())

    def _beside(self, kept: Collection[int]) -> list[int]:
        """A few places next to kept ones, those first that can best be cut and then those that matter most; else of all
        places. None that says nothing, or what is kept."""
        blocks = self.sentences.blocks
        told = {self._words(place) for place in kept if blocks[place].kind is not BlockKind.CODE}

        def adds(place: int) -> bool:
            words = self._words(place)
            return place not in kept and self.scores[place] > 0.0 and words not in told

        beside = {place + step for place in kept for step in (-1, 1)}.intersection(range(len(self.sentences)))
        in_order = sorted(
            filter(adds, beside),
            key=lambda place: (
                self.sentences.blocks[place].kind in _HARD_TO_CUT,
                -self.scores[place],
                place,
            ),
        )
        return in_order[:BESIDE] or list(islice(filter(adds, self._by_score()), BESIDE))

    def _piece(self) -> Condensed:
        """As much as fits of the sentence that matters most, and of the next one."""
        best = self._by_score()[:1]
        start = self.sentences.starts[best[0]] if best else 0
        end = self.sentences.ends[min(best[0] + 1, len(self.sentences) - 1)] if best else len(self.text)
        return cut(self.text, start, end, self.room, self.measure)

    def _by_score(self) -> list[int]:
        """All places, those that matter most first; what only announces others where there is nothing else."""
        order = sorted(range(len(self.sentences)), key=lambda place: (-self.scores[place], place))
        return [place for place in order if not self._announces(place)] or order

    def _words(self, place: int) -> str:
        return self.text[self.sentences.starts[place] : self.sentences.ends[place]]

    def _draw(self, kept: Collection[int], piece: Piece | None = None) -> Condensed:
        return prose(self.text, self.sentences, kept, piece)

    def _fits(self, made: Condensed) -> bool:
        return self.measure(made.text) <= self.room

    def _fills(self, made: Condensed) -> bool:
        return self.measure(made.text) >= ENOUGH * self.room


def _length(made: Condensed) -> int:
    return len(made.text)


def condense(
    text: str,
    room: int,
    *,
    query: str = "",
    measure: Measure,
    chosen: Sequence[int] = (),
) -> Condensed:
    """``text`` within ``room``, in the units of ``measure`` (characters, tokens): as much as fits of what matters, to
    ``query`` where there is one. What is left out is marked ``[…]``.

    ``chosen`` are places of sentences (of `sentences_of`) that go before all others, the first most.
    A sentence is cut, at a word and with ``…``, only where whole ones do not fill the room. Equal calls have equal
    results. Takes time linear in the text, and measures it once as a whole.
    """
    whole = measure(text)
    if whole <= room:
        return Condensed(text, (Span(start=0, end=len(text)),) if text else ())
    if room <= 0:
        return Condensed("", ())
    sentences = sentences_of(text)
    scores = salience(text, sentences, query)
    filling = SentencePacker(text, sentences, scores, room, measure)
    limit = room * len(text) / whole  # in characters
    first = dict.fromkeys(chosen)
    picks = [*first, *(p for p in _picks(text, sentences, scores, SPARE * limit) if p not in first)]
    return filling.of(picks, limit)


def _picks(text: str, sentences: Sentences, scores: Sequence[float], limit: float) -> Iterator[int]:
    """Places of sentences in the order in which they are to be kept, those that belong to them before them, until they
    have ``limit`` characters. What needs more than half of them and does not fit leaves the room to others."""
    starts, ends, terms, above = sentences.starts, sentences.ends, sentences.terms, sentences.under
    queue = [
        (-score / max(SHORT, end - start) ** BY_LENGTH, place)
        for place, (score, start, end) in enumerate(zip(scores, starts, ends, strict=True))
        if score > 0.0
    ]
    heapq.heapify(queue)
    looked_at: set[int] = set()
    told: set[str] = set()
    taken: set[int] = set()
    said: set[str] = {""}
    half = limit / 2
    while queue and limit > 0.0:
        value, place = heapq.heappop(queue)
        if place in taken:
            continue
        if place not in looked_at:
            looked_at.add(place)
            words = text[starts[place] : ends[place]]
            if words in told:
                continue
            if sentences.blocks[place].kind is not BlockKind.CODE:  # which says the same again to do it again
                told.add(words)
            own = set(terms[place])
            value *= 1.0 - AGAIN * len(own & said) / len(own)  # once: what is said later changes little
            if queue and value > queue[0][0]:
                heapq.heappush(queue, (value, place))
                continue
        under = above[place]
        along = under >= 0 and under not in taken and _explains(sentences, place)
        for needed in (under, place) if along else (place,):
            taken.add(needed)
            length = ends[needed] - starts[needed] + JOINT
            if length <= max(limit, half):
                said.update(terms[needed])
                limit -= length
            yield needed


def _explains(sentences: Sentences, place: int) -> bool:
    """Whether what a sentence stands under is worth its length."""
    above = sentences.under[place]
    return sentences.length(above) <= WITH_HEADING * sentences.length(place) or (
        sentences.blocks[place].kind is BlockKind.TABLE
    )


@dataclass(frozen=True, slots=True)
class Condensed:
    """``spans`` are the kept pieces of the original, in order: each ``original[start:end]`` stands in ``text``."""

    text: str
    spans: tuple[Span, ...]


class Piece(NamedTuple):
    """The beginning of the sentence at ``place``, up to ``end`` in the text."""

    place: int
    end: int


def prose(text: str, sentences: Sentences, kept: Collection[int], piece: Piece | None = None) -> Condensed:
    """The kept sentences (places) as they stand in the text, with marks where something is left out; and, if given,
    a piece of another."""
    parts: list[str] = []
    spans: list[Span] = []
    last = -1
    for first, final in _runs(sentences, kept, piece):
        cut_off = piece is not None and final == piece.place
        start, end = sentences.starts[first], piece.end if piece and cut_off else sentences.ends[final]
        parts += (_between(sentences, last, first), text[start:end], CUT if cut_off else "")
        spans.append(Span(start=start, end=end))
        last = final
    if not spans:
        return Condensed("", ())
    if sentences.starts[0] == spans[0].start:
        parts[0] = ""
    if last + 1 < len(sentences):
        parts.append(f"\n{GAP}")
    return Condensed("".join(parts), tuple(spans))


def cut(text: str, start: int, end: int, room: int, measure: Callable[[str], int]) -> Condensed:
    """``text[start:end]``, or as much of it as fits, up to the end of a word if it has one, and ``…``; nothing when not
    even that mark fits."""
    if measure(text[start:end]) <= room:
        return Condensed(text[start:end], (Span(start=start, end=end),) if end > start else ())
    stop = longest(text, start, end, lambda stop: measure(text[start:stop] + CUT) <= room)
    if stop == start:
        return Condensed("", ())
    return Condensed(text[start:stop] + CUT, (Span(start=start, end=stop),))


def longest(text: str, start: int, end: int, fits: Callable[[int], bool]) -> int:
    """Where the longest piece of ``text[start:end]`` ends that fits: at the end of a word, if one does. ``start`` when
    none does."""
    if not fits(start):
        return start
    fit, over = start, min(end, start + 64)
    while fits(over):
        fit = over
        if over == end:
            break
        over = min(end, start + 2 * (over - start))
    while over - fit > 1:
        middle = (fit + over) // 2
        if fits(middle):
            fit = middle
        else:
            over = middle
    for _ in range(_BACK):
        fit = _end_of_word(text, start, fit, end)
        if fit == start or fits(fit):
            return fit
        fit -= 1
    return start


def _end_of_word(text: str, start: int, stop: int, end: int) -> int:
    """Where the last word ends before ``stop``, or ``stop`` itself within a very long one, or where there are none."""
    if stop < end and not text[stop].isspace():
        space = max(text.rfind(mark, start, stop) for mark in " \n\t")
        if space > start and stop - space <= _LONG_WORD:
            stop = space
    return start + len(text[start:stop].rstrip())


def _runs(sentences: Sentences, kept: Collection[int], piece: Piece | None) -> Iterator[tuple[int, int]]:
    """The first and last place of each row of kept sentences with nothing left out between them."""
    first = last = -1
    part = piece.place if piece else -1
    for place in sorted({*kept, part} if piece else kept):
        if first < 0:
            first = place
        elif place != last + 1 or last == part or sentences.starts[place] - sentences.ends[last] > _NEAR:
            yield first, last
            first = place
        last = place
    if first >= 0:
        yield first, last


def _between(sentences: Sentences, before: int, after: int) -> str:
    if before < 0:
        return f"{GAP}\n"
    block = sentences.blocks[after]
    in_line = block is sentences.blocks[before] and block.kind not in (BlockKind.TABLE, BlockKind.CODE)
    if after == before + 1 and sentences.starts[after] - sentences.ends[before] <= _NEAR:
        return " " if in_line else "\n"  # what is left out is the rest of a sentence, which has its own mark
    return f" {GAP} " if in_line else f"\n{GAP}\n"
