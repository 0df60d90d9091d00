"""Heads of tables that were drawn after them, as office programs draw what is centred over several columns: read before
the table. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deep_research.sources.extract.layout import as_they_lie
from deep_research.sources.extract.typeset import Line

_FEWEST = 6  # rows of a table
_MOST_TABLES = 8  # of a page
_MOST_HEADS = 0.25  # times the rows: with more, the page was drawn in an order of its own
_MOST_EARLY = 6  # lines drawn before a table that may be rows of its head
_ABOVE = 0.5  # of the size
_HEAD = 4.0  # the same


class _Rows(NamedTuple):
    """The rows of a table as they were drawn: which lines, and where they stand."""

    lines: range
    left: float
    right: float
    top: float
    way: tuple[float, float]


def with_heads_first(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, what stands above a table before it, and the rows of heads as they stand."""
    found = list(lines)
    for rows in list(_tables(lines))[-_MOST_TABLES:][::-1]:
        begin, end = rows.lines.start, rows.lines.stop
        early = [at for at in range(max(0, begin - _MOST_EARLY), begin) if _is_early(found[at], rows)]
        late = [at for at in range(end, len(found)) if _is_above(found[at], rows)]
        table = sorted((found[at] for at in [*early, *rows.lines]), key=lambda line: -line.base)
        if table == [found[at] for at in [*early, *rows.lines]]:
            early, table = [], table[len(early) :]
        if (not early and not late) or len(late) > _MOST_HEADS * len(rows.lines):
            continue
        gone = {*early, *late, *rows.lines}
        found = [
            *(line for at, line in enumerate(found[:begin]) if at not in gone),
            *as_they_lie([found[at] for at in late]),
            *table,
            *(line for at, line in enumerate(found) if at >= end and at not in gone),
        ]
    return found


def _is_above(line: Line, rows: _Rows) -> bool:
    return _is_over(line, rows) and line.base > rows.top + _ABOVE * line.size


def _is_early(line: Line, rows: _Rows) -> bool:
    """Whether it is a row, and no farther above than rows of a head are."""
    return _is_row(line) and _is_over(line, rows) and line.base < rows.top + _HEAD * line.size


def _is_over(line: Line, rows: _Rows) -> bool:
    is_there = line.left < rows.right and line.right > rows.left
    return is_there and line.way == rows.way and bool(line.text.strip())


def _tables(lines: Sequence[Line]) -> Iterator[_Rows]:
    begin = 0
    for at in range(1, len(lines) + 1):
        if at < len(lines) and _is_next(lines[at - 1], lines[at]):
            continue
        if at - begin >= _FEWEST:
            rows = lines[begin:at]
            left, right = min(line.left for line in rows), max(line.right for line in rows)
            yield _Rows(range(begin, at), left, right, rows[0].base, rows[0].way)
        begin = at


def _is_next(row: Line, line: Line) -> bool:
    return _is_row(row) and _is_row(line) and line.base < row.base and line.way == row.way


def _is_row(line: Line) -> bool:
    return len(line.cells) > 1 and not line.is_mono
