"""Numbers of lines in the margin of a page, as in the records of courts, bills and manuscripts: what everybody cites by,
but no part of the text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from deep_research.sources.extract.lines import Word

_NUMBER = re.compile(r"\d{1,4}\Z", re.ASCII)
_FEWEST = {1: 15, 5: 4}  # of numbers below each other, by how much each is more than the one above
_APART = 4.0  # times the size: how far numbers are apart that stand beside each fifth line
_EDGE = 1.5  # points by which their right edges may differ
_EVEN = 0.25  # of the usual step, by which others may differ
_SAME_LINE = 0.5  # of the size, by which a number may stand higher or lower than its line
# Of the lines, that are empty or go on with a sentence: those of a list or table are seldom so.
_GOING_ON = 0.2
_WORDS = 20  # for each number that counts five lines
_MOST_TRIED = 4  # columns of numbers


class _Strip(NamedTuple):
    """What a column of numbers takes of the page."""

    left: float
    right: float
    bottom: float
    top: float


def without_line_numbers(words: Sequence[Word]) -> list[Word]:
    """The words of a page without the numbers that count its lines."""
    numbers = sorted(
        (word for word in words if _NUMBER.match(word.text)), key=lambda word: (word.end, -word.type_.base)
    )
    columns = [column for column in _columns(numbers) if len(column) >= min(_FEWEST.values())]
    gone = {
        id(number)
        for column in sorted(columns, key=len, reverse=True)[:_MOST_TRIED]
        for run in _runs(column)
        if _count_lines(run, words)
        for number in run
    }
    return [word for word in words if id(word) not in gone]


def _columns(numbers: Sequence[Word]) -> Iterator[list[Word]]:
    """The numbers whose right edges are below each other."""
    column: list[Word] = []
    for number in numbers:
        if column and number.end - column[-1].end > _EDGE:
            yield column
            column = []
        column.append(number)
    yield column


def _runs(column: Sequence[Word]) -> Iterator[list[Word]]:
    """Those of them that count by ones or fives from above to below."""
    run: list[Word] = []
    for number in sorted(column, key=lambda number: -number.type_.base):
        step = int(number.text) - int(run[-1].text) if run else 0
        usual = int(run[1].text) - int(run[0].text) if len(run) > 1 else step
        if run and (step not in _FEWEST or step != usual):
            yield run
            run = []
        run.append(number)
    yield run


def _count_lines(run: Sequence[Word], words: Sequence[Word]) -> bool:
    """Whether they stand evenly in white, beside lines that are no items of a list and no rows."""
    by = int(run[1].text) - int(run[0].text) if len(run) > 1 else 0
    if by not in _FEWEST or len(run) < _FEWEST[by]:
        return False
    steps = [above.type_.base - number.type_.base for above, number in pairwise(run)]
    usual, size = median(steps), run[0].type_.size
    if any(abs(step - usual) > _EVEN * usual for step in steps) or (by > 1 and usual < _APART * size):
        return False
    slack = _SAME_LINE * size
    strip = _Strip(
        left=min(number.start for number in run),
        right=max(number.end for number in run),
        bottom=run[-1].type_.base - slack,
        top=run[0].type_.base + slack,
    )
    own = set(map(id, run))
    beside = [word for word in words if id(word) not in own and strip.bottom < word.type_.base < strip.top]
    if any(word.start < strip.right and word.end > strip.left for word in beside):
        return False
    if by > 1:
        return len(beside) >= _WORDS * len(run)
    return _going_on(run, beside, strip) >= _GOING_ON * len(run)


def _going_on(run: Sequence[Word], beside: Sequence[Word], strip: _Strip) -> int:
    """How many of the numbered lines are empty or begin in the middle of a sentence."""
    is_left = sum(word.start >= strip.right for word in beside) >= 0.5 * len(beside)
    first: dict[int, Word] = {}
    step = (strip.top - strip.bottom) / len(run)
    for word in beside:
        if is_left == (word.start >= strip.right):
            line = int((strip.top - word.type_.base) // step)
            if line not in first or word.start < first[line].start:
                first[line] = word
    return sum(line not in first or first[line].text[0].islower() for line in range(len(run)))
