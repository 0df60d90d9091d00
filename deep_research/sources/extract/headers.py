"""Names of columns that stand no farther apart than words, cut where the columns of the rows below them are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from deep_research.sources.extract.typeset import NEAR, Cell, Line, Room

_ROWS = 8  # below the names that are looked at
_FEWEST = 2  # of them, of two columns one more
_FAR = 4.5  # times the size, from one row to the next
_ABOVE = 2.5  # the same from the names to the first row
_TRIED = 4  # ways to cut the names up to a column
_OFF = 0.3  # of the size, by which a name may stand beside its column


class _Cut(NamedTuple):
    """How the names of some columns may be cut: how far their ends are from those of the columns, the room between
    them (less is better, so below 0), and the rooms in which they are cut."""

    off: float
    room: float
    rooms: tuple[Room, ...]


def with_names(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, those above the rows of a table in cells as these are."""
    return [
        _named(line, lines[at + 1 : at + 1 + _ROWS]) if line.spaces else line for at, line in enumerate(lines)
    ]


def _named(line: Line, below: Sequence[Line]) -> Line:
    columns = _columns(line, below)
    if columns and line.left >= columns[0].end:
        columns = columns[1:]  # that of the names of rows seldom has one itself
    words = line.text.split()
    if not len(line.cells) < len(columns) <= len(words) or line.spaces[-1].words >= len(words):
        return line
    cut = _best(line, columns, words)
    if cut is None or not {cell.start for cell in line.cells[1:]} <= {room.end for room in cut.rooms}:
        return line
    edges = [Room(0, line.left, line.left), *cut.rooms, Room(len(words), line.right, line.right)]
    cells = []
    for column, (before, after) in zip(columns, pairwise(edges), strict=True):
        # A space is less than what parts the cells of a row; what counts of a wide name is what stands over its column.
        start = (
            max(before.end, min(column.start, before.end + NEAR * line.size)) if before.words else line.left
        )
        end = min(after.start, max(column.end, after.start - NEAR * line.size))
        cells.append(Cell(" ".join(words[before.words : after.words]), start, max(start, end)))
    return replace(line, cells=tuple(cells))


def _columns(line: Line, below: Sequence[Line]) -> list[Cell]:
    """The columns of the rows right below a line, from where to where they go; none where they are not clear."""
    rows: list[Line] = []
    above, far = line, _ABOVE
    for row in below:
        if len(row.cells) < 2 or not 0.0 < above.base - row.base <= far * line.size:
            break
        rows.append(row)
        above, far = row, _FAR
    columns: list[Cell] = []
    for cell in sorted((cell for row in rows for cell in row.cells), key=lambda cell: cell.start):
        if columns and cell.start < columns[-1].end:
            columns[-1] = columns[-1]._replace(end=max(columns[-1].end, cell.end))
        else:
            columns.append(Cell("", cell.start, cell.end))
    whole = sum(len(row.cells) == len(columns) for row in rows)
    return columns if whole >= _FEWEST + (len(columns) == 2) else []


def _best(line: Line, columns: Sequence[Cell], words: Sequence[str]) -> _Cut | None:
    """How the names are cut so that each begins, ends or has its middle where its column does; None where one does not,
    or where what begins there is no name, but goes on with one."""
    most = _OFF * line.size
    cuts = [_Cut(0.0, 0.0, (Room(0, line.left, line.left),))]
    for column, after in pairwise(columns):
        found: list[_Cut] = []
        for room in line.spaces:
            is_white = room.end > column.end - most and room.start < after.start + most
            if is_white and not words[room.words][:1].islower():
                found += _longer(cuts, column, room, most)[:1]
        cuts = sorted(found, key=_cost)[:_TRIED]
    last = _longer(cuts, columns[-1], Room(len(words), line.right, line.right), most)
    return last[0]._replace(rooms=last[0].rooms[1:-1]) if last else None


def _longer(cuts: Sequence[_Cut], column: Cell, room: Room, most: float) -> list[_Cut]:
    """The cuts with one more name, over this column and up to that room, the best first."""
    found = []
    for cut in cuts:
        begins = cut.rooms[-1]
        off = _off(begins.end, room.start, column)
        if begins.words < room.words and off <= most:
            found.append(_Cut(cut.off + off, cut.room - (room.end - room.start), (*cut.rooms, room)))
    return sorted(found, key=_cost)


def _cost(cut: _Cut) -> tuple[float, float]:
    """Of cuts that lie as well, the one with more room is better."""
    return round(cut.off), cut.room


def _off(start: float, end: float, column: Cell) -> float:
    middle = (start + end - column.start - column.end) / 2
    return min(abs(start - column.start), abs(end - column.end), abs(middle))
