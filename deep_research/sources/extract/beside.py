"""Blocks of text that stand beside each other without being rows: their lines are not level, as each block has a step of
its own from line to line. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import median

from deep_research.sources.extract.layout import as_they_lie
from deep_research.sources.extract.typeset import Line

_GUTTER = 1.0  # times the size: how wide the white between two blocks is
_FEWEST = 5  # lines of a block; fewer may be cells
_WORDS = 2  # in a line, of which the middle one of a block has at least so many: figures are cells
_LEVEL = 0.1  # of the size, by which a line may be off the place where it would be level with its row
_RAISED = 0.4  # of the size, by which all cells of a column may be higher or lower than those beside them
_MOST_LEVEL = 0.5  # of the lines of a block, that are so by accident
_FLOWING = 2.0  # times the size, up to which a line belongs to the one above,
_LEAST_FLOWING = 0.4  # as so many lines of a block do; the names of rows are farther apart
_DEEPEST = 6  # times a page is cut
_TRIED = 8  # whites that run down, the widest of them


def as_blocks_lie(lines: Sequence[Line]) -> list[Line]:
    """The lines as they stand on the page, block by block where blocks stand beside each other, and else from above to
    below and from left to right."""
    told = sorted((line for line in lines if line.text.strip()), key=lambda line: -line.base)
    return [line for block in _blocks(told, _DEEPEST) for line in as_they_lie(block)]


def _blocks(lines: Sequence[Line], deepest: int) -> Iterator[Sequence[Line]]:
    """The blocks in which lines, sorted from above to below, are read. A cut where white goes across the page leaves
    them in this order; it is made to find what stands beside each other within one part alone."""
    if len(lines) < 2 * _FEWEST or not deepest:
        yield lines
        return
    across = _widest_white(lines)
    # A title that all blocks have above them belongs to none.
    border = None if across == 1 else _border(lines)
    if border is not None:
        parts = [[line for line in lines if (line.left < border) == is_left] for is_left in (True, False)]
    elif across:
        parts = [list(lines[:across]), list(lines[across:])]
    else:
        yield lines
        return
    for part in parts:
        yield from _blocks(part, deepest - 1)


def _widest_white(lines: Sequence[Line]) -> int:
    """The number of the line above which the widest white goes across the page; 0 where none does."""
    bottoms = accumulate((line.base for line in lines), min)
    rooms = [bottom - line.base - line.size for bottom, line in zip(bottoms, lines[1:], strict=False)]
    widest = max(range(len(rooms)), key=rooms.__getitem__)
    return widest + 1 if rooms[widest] > 0.0 else 0


def _border(lines: Sequence[Line]) -> float | None:
    """The middle of the widest white that runs down between two blocks that are not level."""
    by_left = sorted(lines, key=lambda line: line.left)
    ends = accumulate((line.right for line in by_left), max)
    gutters = [
        (after.left - end, at)
        for at, (end, after) in enumerate(zip(ends, by_left[1:], strict=False), 1)
        if after.left - end >= _GUTTER * after.size and _FEWEST <= at <= len(lines) - _FEWEST
    ]
    for width, at in sorted(gutters, reverse=True)[:_TRIED]:
        left, right = by_left[:at], by_left[at:]
        if _is_text(left) and _is_text(right) and not _are_level(left, right):
            return right[0].left - width / 2
    return None


def _is_text(block: Sequence[Line]) -> bool:
    """Whether its lines are words and mostly as near to each other as those of a text."""
    flowing = sum(
        above.base - line.base <= _FLOWING * max(above.size, line.size)
        for above, line in pairwise(sorted(block, key=lambda line: -line.base))
    )
    words = median(len(line.text.split()) for line in block)
    return words >= _WORDS and flowing >= _LEAST_FLOWING * len(block)


def _are_level(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Whether so many lines of a block have one beside them, all as much higher or lower, that these are rows."""
    fewer, more = sorted((left, right), key=len)
    bases = sorted(line.base for line in more)
    beside = [line for line in fewer if bases[0] - line.size < line.base < bases[-1] + line.size]
    if not beside:
        return True  # they do not stand beside each other
    off = [_nearest(bases, line.base) - line.base for line in beside]
    usual = median(off)
    if abs(usual) > _RAISED * beside[0].size:
        return False
    level = sum(abs(each - usual) <= _LEVEL * line.size for each, line in zip(off, beside, strict=True))
    return level > _MOST_LEVEL * len(beside)


def _nearest(bases: Sequence[float], base: float) -> float:
    at = bisect_left(bases, base)
    return min(bases[max(0, at - 1) : at + 1], key=lambda each: abs(each - base))
