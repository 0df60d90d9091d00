"""Footnotes: lines in smaller type at the foot of a page or column, the first of them with a mark. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from deep_research.sources.extract.paragraphs import joined
from deep_research.sources.extract.typeset import Line

_SMALLER = 0.93  # of the usual size, at most
_MOST = 0.6  # of a page's lines; more is a text in small type
_COLUMN = 80.0  # points; what begins farther from a line to its left or right is not in its column
_MARK = re.compile(r"(?:\(?(\d{1,3})[.):]?\s*(?=[^\W\d_]|[\"'“‘(\[]|\Z)|[*∗†‡§¶‖]+\s*|[¹²³⁰⁴-⁹]+\s*)")


def without_footnotes(lines: Sequence[Line], usual: float) -> tuple[list[Line], list[str]]:
    """The lines of a page without its footnotes, and those, a paragraph each; ``usual`` is the size of the text."""
    told = sum(bool(line.text.strip()) for line in lines)
    body: list[Line] = []
    notes: list[str] = []
    for is_low, group in groupby(_told_low(lines, usual), lambda pair: pair[0]):
        found = [line for _, line in group]
        texts = [text for line in found if (text := line.text.strip())]
        if is_low and _MARK.match(texts[0]) and len(texts) <= _MOST * told:
            notes += _paragraphs(texts)
        else:
            body += found
    return body, notes


def _told_low(lines: Sequence[Line], usual: float) -> Iterator[tuple[bool, Line]]:
    """Whether each line is smaller than the text and below all of it in its column; empty ones go with those before."""
    floor: dict[int, float] = {}
    for line in lines:
        if line.text.strip() and line.size > _SMALLER * usual:
            place = int(line.left // _COLUMN)
            floor[place] = min(line.base, floor.get(place, line.base))
    is_low = False
    for line in lines:
        if line.text.strip():
            place = int(line.left // _COLUMN)
            above = [floor[near] for near in (place - 1, place, place + 1) if near in floor]
            is_small = 0.0 < line.size <= _SMALLER * usual and not line.is_mono
            is_low = is_small and bool(above) and line.base < min(above)
        yield is_low, line


def _paragraphs(texts: Sequence[str]) -> list[str]:
    """A note begins at each mark; a number is one if it is the next."""
    notes: list[str] = []
    number = 0
    for text in texts:
        mark = _MARK.match(text)
        if mark and (not notes or not mark[1] or int(mark[1]) == number + 1):
            number = int(mark[1] or 0)
            notes.append(f"{mark[0].strip()} {text[mark.end() :]}".rstrip())
        else:
            notes[-1] = joined(notes[-1], text)
    return notes
