"""Heads and feet of a page, told by the room around them: the number of the page with white between it and the text, and
the words beside or below it. No other sign of them has a page that is not like others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from statistics import median

from deep_research.sources.extract.typeset import Line

_APART = 1.8  # times the size, and times the usual step from line to line: more than parts two paragraphs
_FEWEST = 6  # lines, to know that step
_LOWEST = 2  # lines of a foot: the number, and a name below it
_LOW = 0.2  # of the height of the first line, below which a foot stands
_NAME = 60  # characters of such a name
_HEAD = 90  # the same of a head
_FLUSH = 2.0  # points by which the number of a head may miss the margin
_UPRIGHT = (1.0, 0.0)
_OF_PAGE = re.compile(r"\W{0,3}(?:\d{1,4}|[A-Z\d]{1,2}[-–.]\d{1,3})\W{0,3}")  # "7-45" is of a chapter
_BESIDE = re.compile(r"\d{1,3}")  # and no year, as in "Annual report 2015"
_FAR = 3.0  # times the size, from a number to the words behind it: the number of a section stands nearer


def edges(lines: Sequence[Line]) -> AbstractSet[int]:
    """The places of the lines of a page that are its head and foot."""
    upwards = sorted(
        (at for at, line in enumerate(lines) if line.text.strip() and line.size and line.way == _UPRIGHT),
        key=lambda at: lines[at].base,
    )
    if len(upwards) < _FEWEST:
        return frozenset()
    steps = [lines[above].base - lines[below].base for below, above in pairwise(upwards)]
    usual = median(filter(None, steps)) if any(steps) else 0.0
    apart = [
        step > _APART * max(usual, lines[below].size, lines[above].size)
        for step, (below, above) in zip(steps, pairwise(upwards), strict=True)
    ]
    return {*_foot(lines, upwards, apart), *_head(lines, upwards, apart)}


def _foot(lines: Sequence[Line], upwards: Sequence[int], apart: Sequence[bool]) -> Iterator[int]:
    low = _LOW * lines[upwards[-1]].base
    for turn, at in enumerate(upwards[:_LOWEST]):
        text = lines[at].text.strip()
        if _OF_PAGE.fullmatch(text):
            if apart[turn] and lines[at].base < low:
                yield from upwards[: turn + 1]
            return
        if len(text) > _NAME or text.endswith((".", "!", "?", ":")):
            return


def _head(lines: Sequence[Line], upwards: Sequence[int], apart: Sequence[bool]) -> Iterator[int]:
    """A number at the margin, with words of no larger type beside it."""
    line, *others = (lines[at] for at in reversed(upwards))
    if not apart[-1] or len(line.text) > _HEAD or len(line.cells) < 2:
        return
    if line.size > median(other.size for other in others):
        return
    first, second, last = *line.cells[:2], line.cells[-1]
    right = _BESIDE.fullmatch(last.text) and last.end >= max(other.right for other in others) - _FLUSH
    left = _BESIDE.fullmatch(first.text) and first.start <= min(other.left for other in others) + _FLUSH
    if right or (left and second.start - first.end > _FAR * line.size):
        yield upwards[-1]
