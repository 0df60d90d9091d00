"""A text made shorter by leaving out what matters least: what is kept is kept word for word. Pure.

Whole sentences, headings, rows and list items are chosen by what they matter (`deep_research.evidence.salience`) for
their length, and stand in their order. What has the words of what is chosen already counts a little less; repeats, and
what belongs to the page and not to its text, are left out. A heading comes with what stands under it, and the first row
of a table with its other rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from deep_research.budget.packing import JOINT, Filling, Measure
from deep_research.budget.rendering import Condensed
from deep_research.evidence.passages import BlockKind
from deep_research.evidence.salience import Sentences, salience, sentences_of
from deep_research.state import Span

__all__ = ["Condensed", "condense"]

BY_LENGTH = 0.3  # power of a sentence's length by which its score is divided
SHORT = 20  # characters; what is shorter is not preferred for it
AGAIN = 0.1  # of a score that is lost when all words were said before
WITH_HEADING = 0.3  # of a sentence's length: a longer heading costs more than it explains
SPARE = 1.1  # times the room is chosen from, since only of the whole is it known how characters are counted


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
    filling = Filling(text, sentences, scores, room, measure)
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
