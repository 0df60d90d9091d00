"""How the lines of a page lie: whether they fell to pieces, stand in columns, or begin with the label of a list. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from deep_research.sources.extract.typeset import GAP, NEAR, Cell, Line, Room

_SHORT = 3  # words
_FEWEST = 6  # short lines, below which a page has headings and not tables
_SHATTERED = 0.3  # of the lines
_COLUMN = 28  # characters at each side of a gap, from which on it parts two columns of prose
_COLUMNS = 0.2  # of the lines
_RAISED = 0.4  # of the size, by which what stands in one line may be raised or lowered
_AROUND = 8  # lines, and times the size, in which a border between cells is looked for
_SUPPORT = 2  # lines with white at the same place
_WHITE = 0.25  # of the size: how wide that is at least
_BACK = 0.4
_NOTE = re.compile(r"\(\w{1,3}\)\Z|[%*†‡]")  # what belongs to the number before it
_GAP = re.compile(r"\s{3,}")
_LABEL = re.compile(r"\s*(?:(\d{1,2})[.)]?|([•◦▪‣●]))\s{2,}(?=\S)")


def is_shattered(lines: list[str]) -> bool:
    """Whether so many lines have a word or three that they are cells and labels rather than lines."""
    told = [line for line in lines if line.strip()]
    short = sum(len(line.split()) <= _SHORT for line in told)
    return short >= _FEWEST and short >= _SHATTERED * len(told)


def as_they_lie(lines: Sequence[Line]) -> list[Line]:
    """The lines as they stand on the page, from above to below and from left to right: what was drawn in pieces is one
    line again."""
    pieces = sorted((line for line in lines if line.text.strip()), key=lambda line: -line.base)
    found: list[Line] = []
    here: list[Line] = []
    for piece in pieces:
        if here and here[0].base - piece.base > _RAISED * min(here[0].size, piece.size):
            found.append(_one_line(here))
            here = []
        here.append(piece)
    return [*found, _one_line(here)] if here else found


def _one_line(pieces: Sequence[Line]) -> Line:
    main = max(pieces, key=lambda piece: len(piece.text))
    cells: list[Cell] = []
    for cell in sorted(
        (
            cell
            for piece in pieces
            for cell in piece.cells or (Cell(piece.text.strip(), piece.left, piece.right),)
        ),
        key=lambda cell: cell.start,
    ):
        if cells and cell.start - cells[-1].end <= NEAR * main.size:
            cells.append(_joined(cells.pop(), cell))
        else:
            cells.append(cell)
    if len(pieces) == len(cells) == 1:
        return main if len(main.cells) > 1 else replace(main, cells=())
    text = with_label("   ".join(cell.text for cell in cells))
    return replace(
        main,
        text=" ".join(text.split()),
        left=cells[0].start,
        right=cells[-1].end,
        cells=tuple(cells) if len(cells) > 1 else (),
        spaces=cells[0].rooms if len(cells) == 1 else (),
        is_mono=all(piece.is_mono for piece in pieces),
    )


def _joined(before: Cell, cell: Cell) -> Cell:
    """Both as one cell, with room between them."""
    words = before.text.count(" ") + 1
    rooms = (
        *before.rooms,
        Room(words, before.end, cell.start),
        *(room._replace(words=room.words + words) for room in cell.rooms),
    )
    return Cell(f"{before.text} {cell.text}", before.start, max(before.end, cell.end), rooms)


def with_near_cells(lines: Sequence[Line]) -> list[Line]:
    """The lines with a gap wherever there is more room than a space and the lines around have white there too, and
    without other gaps that are hardly more than spaces."""
    return [
        _cut_at_borders(line, lines[max(0, at - _AROUND) : at + _AROUND + 1])
        if any(cell.rooms for cell in line.cells) or any(_is_near(gap, line) for gap in pairwise(line.cells))
        else line
        for at, line in enumerate(lines)
    ]


def _is_near(gap: tuple[Cell, Cell], line: Line) -> bool:
    return -_BACK * line.size < gap[1].start - gap[0].end <= GAP * line.size


def _cut_at_borders(line: Line, around: Sequence[Line]) -> Line:
    every = [piece for cell in line.cells for piece in _cut(cell, line, around)]
    cells = every[:1]
    for gap in pairwise(every):
        if _is_near(gap, line) and not _is_border(gap, line, around):
            cells.append(_joined(cells.pop(), gap[1]))
        else:
            cells.append(gap[1])
    return replace(line, cells=tuple(cells) if len(cells) > 1 else ())


def _cut(cell: Cell, line: Line, around: Sequence[Line]) -> list[Cell]:
    """The cells that stand so near to each other that they were taken for one: the names of columns may, where what
    stands below them is short."""
    words = cell.text.split(" ")
    pieces: list[Cell] = []
    begun, start = 0, cell.start
    for room in cell.rooms:
        before = Cell(" ".join(words[begun : room.words]), start, room.start)
        after = Cell(words[room.words], room.end, cell.end)
        if _is_border((before, after), line, around):
            pieces.append(before)
            begun, start = room.words, room.end
    rest = Cell(" ".join(words[begun:]), start, cell.end) if pieces else cell
    return [*pieces, rest]


def _is_row(line: Line) -> bool:
    return any(after.start - before.end > GAP * line.size for before, after in pairwise(line.cells))


def _is_border(gap: tuple[Cell, Cell], line: Line, around: Sequence[Line]) -> bool:
    """Whether enough rows have white there, and few lines text. Above the names of columns there may be prose: what lies
    below is enough."""
    if not _is_row(line) or _NOTE.match(gap[1].text):
        return False
    near = [
        other for other in around if other is not line and abs(other.base - line.base) < _AROUND * line.size
    ]
    below = [other for other in near if other.base < line.base]
    return any(_have_white(gap[0].end, gap[1].start, lines, line.size) for lines in (near, below))


def _have_white(start: float, end: float, lines: Sequence[Line], size: float) -> bool:
    white = sum(
        min(end, after.start) - max(start, before.end) > _WHITE * size
        for line in filter(_is_row, lines)
        for before, after in pairwise(line.cells)
    )
    middle = (start + end) / 2
    across = sum(
        any(
            cell.start < middle < cell.end for cell in line.cells or (Cell(line.text, line.left, line.right),)
        )
        for line in lines
    )
    return white >= _SUPPORT and white > across


def has_columns(lines: Sequence[Line]) -> bool:
    """Whether prose stands beside prose, which no one reads across."""
    told = [line for line in lines if line.text.strip()]
    beside = sum(
        any(len(a.text) >= _COLUMN and len(b.text) >= _COLUMN for a, b in pairwise(line.cells))
        for line in told
    )
    return beside > _COLUMNS * len(told)


def with_label(line: str) -> str:
    """A line of a list as lists are written, ``1. …`` or ``• …``; rows and other lines as they are."""
    found = _LABEL.match(line)
    if not found or _GAP.search(line[found.end() :].strip()):
        return line
    rest = line[found.end() :]
    if found[1] and not (rest[:1].isalpha() and " " in rest.strip()):
        return line  # two cells of a table
    return f"{found[1]}. {rest}" if found[1] else f"{found[2]} {rest}"
