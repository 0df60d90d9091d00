"""Tables on a page of a PDF, by where its texts lie: LiteParse finds that there are some, but takes their columns apart
where the room between these is wide, and takes the prose between two tables for a row. Pure.

Lengths are in points, from the left and the top of the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

_FAR = 2.0  # times its height: how far below the last line of a table the next may stand
_STEP = 0.2  # times its height: by how much the gaps between rows are wider than those within them
_MOST_LINES = 5  # of a row, on the average
_CELL = 0.7  # times its height: the room between words that may part cells,
_WIDER = 2.0  # if it is so many times what is usual between the words of the line,
_WIDEST = 0.9  # or wider than any prose is set
_PROSE = 0.3  # of the width of a page: how wide a line is in one of two columns
_OFF = 0.05  # of that width: how far their white may lie beside its middle
_ENOUGH = 5  # lines of each
_MOST_COLUMNS = 60
_BROKEN = re.compile(r"[^\W\d_]{2}[-\u2010\u00ad]\Z")
_FIGURE = re.compile(r"[-+(]?[\d.,  %€$£]*\d[\d.,  %€$£)]*\Z")


class Piece(NamedTuple):
    """A text that is drawn at one go: a line of prose, or one of a cell."""

    left: float
    top: float
    right: float
    bottom: float
    text: str

    @property
    def height(self) -> float:
        return self.bottom - self.top


Line = list[Piece]


class Table(NamedTuple):
    lines: list[Line]
    rows: list[list[str]]


@dataclass(slots=True)
class _Column:
    left: float
    right: float
    lines: set[int] = field(default_factory=set)  # in which of them it has a cell

    def meets(self, piece: Piece) -> bool:
        return piece.left < self.right and self.left < piece.right


def pieces_of(words: Sequence[Piece]) -> list[Piece]:
    """The words of a text that is drawn at one go, in one piece, or in several where cells lie near each other."""
    gaps = [after.left - before.right for before, after in pairwise(words)]
    usual = sorted(gaps)[len(gaps) // 4] if len(gaps) > 1 else 0.0
    pieces = list(words[:1])
    for gap, word in zip(gaps, words[1:], strict=True):
        last = pieces[-1]
        if gap > min(max(_CELL * last.height, _WIDER * usual), _WIDEST * last.height):
            pieces.append(word)
        else:
            top, bottom = min(last.top, word.top), max(last.bottom, word.bottom)
            pieces[-1] = Piece(last.left, top, word.right, bottom, f"{last.text} {word.text}")
    return pieces


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """The pieces that stand level with each other, from left to right, in lines from the top."""
    lines: list[Line] = []
    for piece in sorted(pieces, key=lambda piece: (piece.top + piece.bottom, piece.left)):
        first = lines[-1][0] if lines else None
        if first and min(first.bottom, piece.bottom) - max(first.top, piece.top) > 0.5 * min(
            first.height, piece.height
        ):
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return [sorted(line) for line in lines]


def gutter(pieces: Sequence[Piece]) -> float | None:
    """Where the white between two columns of prose is; None on a page that is not set in two columns."""
    left, right = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    width, middle = right - left, (left + right) / 2
    wide = [piece for piece in pieces if piece.right - piece.left > _PROSE * width]
    before = [piece.right for piece in wide if piece.right < middle + _OFF * width]
    behind = [piece.left for piece in wide if piece.left > middle - _OFF * width]
    if min(len(before), len(behind)) < _ENOUGH or max(before) >= min(behind):
        return None
    across = len(wide) - len(before) - len(behind)
    return (max(before) + min(behind)) / 2 if 4 * across <= len(wide) else None


def tables_of(lines: Sequence[Line]) -> list[Table]:
    """The tables among the lines of one column of a page."""
    return [table for run in _runs(lines) if (table := _table(run))]


def _runs(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines below each other that may be those of a table: of several pieces, or of one in the width of a column."""
    runs: list[list[Line]] = []
    run: list[Line] = []
    for line in lines:
        is_near = bool(run) and _gap(run[-1], line) <= _FAR * max(piece.height for piece in line)
        if not is_near or not _fits(run, line):
            runs.append(run)
            run = []
        if run or len(line) > 1:
            run.append(line)
    return [_trimmed(each) for each in [*runs, run] if sum(len(line) > 1 for line in each) > 1]


def _fits(run: Sequence[Line], line: Line) -> bool:
    if len(line) > 1:
        return True
    widest = max(run[-8:], key=len)
    return sum(_overlap(piece, line[0]) for piece in widest) < 2


def _trimmed(run: list[Line]) -> list[Line]:
    """Without the single pieces at its end that are no farther lines of a cell, as they stand apart from it."""
    widest = max((_gap(*pair) for pair in pairwise(run)), default=0.0)
    end = max(at for at, line in enumerate(run) if len(line) > 1) + 1
    while end < len(run) and _gap(run[end - 1], run[end]) < 0.9 * widest:
        end += 1
    return run[:end]


def _gap(above: Line, below: Line) -> float:
    return min(piece.top for piece in below) - max(piece.bottom for piece in above)


def _table(run: list[Line]) -> Table | None:
    columns = _columns(run)
    if not 1 < len(columns) <= _MOST_COLUMNS:
        return None
    grid = [_cells(line, columns) for line in run]
    rows = _rows(run, grid, columns)
    return Table(run, rows) if sum(sum(map(bool, row)) > 1 for row in rows) > 1 else None


def _columns(run: Sequence[Line]) -> list[_Column]:
    """Narrow pieces make columns, wider ones join those that they meet; but what meets two that have cells in one line
    spans them."""
    columns: list[_Column] = []
    pieces = [(piece, number) for number, line in enumerate(run) for piece in line]
    for piece, number in sorted(pieces, key=lambda each: each[0].right - each[0].left):
        met = [column for column in columns if column.meets(piece)]
        if any(not one.lines.isdisjoint(other.lines) for one, other in pairwise(met)):
            continue
        if len(columns) > _MOST_COLUMNS:
            return []
        columns = [column for column in columns if column not in met]
        columns.append(_joined([*met, _Column(piece.left, piece.right, {number})]))
    columns.sort(key=lambda column: column.left)
    apart: list[_Column] = []
    for column in columns:  # the name of a column may stand left of its figures, above none of them
        if apart and apart[-1].lines.isdisjoint(column.lines):
            apart[-1] = _joined([apart[-1], column])
        else:
            apart.append(column)
    return apart


def _joined(columns: Sequence[_Column]) -> _Column:
    return _Column(
        min(column.left for column in columns),
        max(column.right for column in columns),
        set().union(*(column.lines for column in columns)),
    )


def _cells(line: Line, columns: Sequence[_Column]) -> list[str]:
    cells = [""] * len(columns)
    for piece in line:
        middle = (piece.left + piece.right) / 2
        met = [at for at, column in enumerate(columns) if column.meets(piece)]
        at = met[0] if met else min(range(len(columns)), key=lambda at: abs(columns[at].left - middle))
        cells[at] = f"{cells[at]} {piece.text}".strip()
    return cells


def _rows(run: Sequence[Line], grid: Sequence[list[str]], columns: Sequence[_Column]) -> list[list[str]]:
    """The rows, of one line or more each: where some lines stand nearer to each other than the others do, they are of
    one row; else those are that have no first cell, and whose words had no room in the line above."""
    near = _near(run, grid, columns)
    rows: list[list[str]] = []
    for number, cells in enumerate(grid):
        if rows and (
            _gap(run[number - 1], run[number]) < near
            if near
            else not cells[0] and _is_rest(run[number - 1], run[number], columns)
        ):
            rows[-1] = [continued(*pair) for pair in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def _near(run: Sequence[Line], grid: Sequence[list[str]], columns: Sequence[_Column]) -> float:
    """The gap between two lines below which they are of one row; 0 where the gaps do not tell: all are alike, too few
    are wider, or figures and words that had room beside each other would be put together."""
    gaps = sorted(_gap(*pair) for pair in pairwise(run))
    step = _STEP * max(piece.height for piece in run[0])
    wider = next((at for at in range(1, len(gaps)) if gaps[at] - gaps[at - 1] > step), len(gaps))
    if (len(gaps) - wider) * _MOST_LINES < len(gaps):
        return 0.0
    near = (gaps[wider - 1] + gaps[wider]) / 2
    pairs = [at for at in range(len(run) - 1) if _gap(run[at], run[at + 1]) < near]
    if any(
        _FIGURE.match(a) and _FIGURE.match(b) for at in pairs for a, b in zip(*grid[at : at + 2], strict=True)
    ):
        return 0.0
    roomy = sum(_has_room(run[at], run[at + 1], columns) for at in pairs)
    return 0.0 if 3 * roomy > len(pairs) else near


def _is_rest(above: Line, line: Line, columns: Sequence[_Column]) -> bool:
    """Whether all of a line are words that had no room in the line above."""
    is_below = all(any(_overlap(piece, each) for each in above) for piece in line)
    return (
        is_below
        and not any(_FIGURE.match(piece.text) for piece in line)
        and not _has_room(above, line, columns)
    )


def _has_room(above: Line, line: Line, columns: Sequence[_Column]) -> bool:
    """Whether a first word of a line, as wide as others of its letters, had room behind what stands above it."""
    for piece in line:
        column = next((column for column in columns if column.meets(piece)), None)
        over = next((each for each in above if _overlap(piece, each)), None)
        letter = (piece.right - piece.left) / len(piece.text)
        if column and over and over.right + letter * (1 + len(piece.text.split()[0])) < column.right:
            return True
    return False


def _overlap(one: Piece, other: Piece) -> bool:
    return one.left < other.right and other.left < one.right


def continued(text: str, line: str) -> str:
    """A text and its next line: a word that was broken at the end is one again."""
    if _BROKEN.search(text) and line[:1].islower():
        return text[:-1] + line
    return f"{text} {line}".strip()
