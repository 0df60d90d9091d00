"""The pages of a text made one text: what the end of a page breaks off goes on. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from deep_research.sources.extract.listings import FENCES
from deep_research.sources.extract.paragraphs import ALONG, gap, is_row, joined
from deep_research.sources.extract.tables import NO_HEADER

_LONG = 100  # characters: longer than headings
_CAPTION = re.compile(r"(?:fig(?:ure)?|tab(?:le|elle)?|abb(?:ildung)?|tableau|figura|tabla)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """The paragraphs of a page, and its footnotes."""

    body: Sequence[str]
    notes: Sequence[str] = ()


def one_text(pages: Sequence[Page]) -> tuple[str, tuple[int, ...]]:
    """The text, and where in it each page begins: an empty one where the next does. Footnotes stand behind the
    paragraph that the end of their page breaks off, and so maybe behind the beginning of the next page."""
    paragraphs: list[str] = []
    waiting: list[str] = []
    places: list[tuple[int, int] | None] = []  # a paragraph, and a place in it
    for page in pages:
        body = deque(page.body)
        place = (len(paragraphs), 0) if body else None
        if body and paragraphs and _goes_on(paragraphs[-1], body[0]):
            rest = body.popleft()
            paragraphs[-1] = joined(paragraphs[-1], rest)
            place = (len(paragraphs) - 1, len(paragraphs[-1]) - len(rest))
        if body and body[0] == NO_HEADER and paragraphs and is_row(paragraphs[-1]):
            body.popleft()  # the header stands on the page before
        while body and paragraphs and gap(paragraphs[-1], body[0]) == ALONG:
            paragraphs.append(body.popleft())  # a list or table that the page's end breaks off
        if body:
            if place == (len(paragraphs), 0):
                place = (len(paragraphs) + len(waiting), 0)
            paragraphs += waiting
            waiting = []
            paragraphs += body
        waiting += page.notes
        places.append(place)
    return _laid_out([*paragraphs, *waiting], places)


def _goes_on(before: str, text: str) -> bool:
    if before[-1] in ".!?:;" or before.endswith(FENCES):
        return False
    return text[:1].islower() or (_is_broken_off(before) and _is_prose(text))


def _is_broken_off(paragraph: str) -> bool:
    """Whether a paragraph, and no heading, ends in a word as no sentence does. The next may be a name."""
    is_long = len(paragraph) >= _LONG and not is_row(paragraph)
    return is_long and (paragraph[-1].islower() or paragraph[-1] == ",")


def _is_prose(text: str) -> bool:
    return len(text) >= _LONG and text[:1].isalpha() and not is_row(text) and not _CAPTION.match(text)


def _laid_out(
    paragraphs: Sequence[str], places: Sequence[tuple[int, int] | None]
) -> tuple[str, tuple[int, ...]]:
    gaps = ["", *(gap(before, text) for before, text in pairwise(paragraphs))]
    pieces = [between + text for between, text in zip(gaps, paragraphs, strict=False)]
    ends = [0, *accumulate(map(len, pieces))]
    starts: list[int] = []
    for place in reversed(places):
        if place is None:
            starts.append(starts[-1] if starts else ends[-1])
        else:
            number, within = place
            starts.append(ends[number] + len(gaps[number]) + within)
    return "".join(pieces), tuple(reversed(starts))
