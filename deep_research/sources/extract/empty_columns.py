"""Columns of a table that are empty in nearly all rows, told by what their names and sums have in the white there.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from deep_research.sources.extract.naming import NUMBER
from deep_research.sources.extract.typeset import Cell, Line

Border = tuple[float, float]


def with_empty_columns(borders: Sequence[Border], rows: Sequence[Line]) -> list[Border]:
    """The borders, those cut in pieces within which columns of a name and a figure stand."""
    return [piece for border in borders for piece in _pieces(border, rows)]


def _pieces(border: Border, rows: Sequence[Line]) -> Iterator[Border]:
    begun = border[0]
    for start, end in _columns(border, rows):
        yield begun, start
        begun = end
    yield begun, border[1]


def _columns(border: Border, rows: Sequence[Line]) -> list[Border]:
    """From where to where the columns within a border go: a name, and figures below it."""
    within = [
        cells
        for row in rows
        if (cells := [cell for cell in row.cells if border[0] < cell.start and cell.end < border[1]])
    ]
    most = max(map(len, within), default=0)
    # What stands over several columns is the name of none.
    columns = list(zip(*(cells for cells in within if len(cells) == most), strict=True))
    if not all(map(_has_name_and_figure, columns)):
        return []
    ends = [(min(cell.start for cell in column), max(cell.end for cell in column)) for column in columns]
    return ends if all(before[1] < after[0] for before, after in pairwise(ends)) else []


def _has_name_and_figure(column: Sequence[Cell]) -> bool:
    figures = sum(bool(NUMBER.match(cell.text)) for cell in column)
    return 0 < figures < len(column)
