"""Lines that are rows of a table, told by the white that runs down between their cells. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise, repeat
from statistics import median

from deep_research.sources.extract import tables
from deep_research.sources.extract.empty_columns import with_empty_columns
from deep_research.sources.extract.leaders import led, without_dots
from deep_research.sources.extract.naming import NUMBER, put_under_names
from deep_research.sources.extract.paragraphs import joined
from deep_research.sources.extract.typeset import Cell, Line

_WHITE = 0.3  # of the size: how wide a border between columns is at least
_FEWEST_ROWS = 3  # of two columns; of more, two rows are enough
_SUPPORT = 0.25  # of the rows that have a gap at a border; with fewer it is no border but an accident
_MOST_JOINED = 0.25  # of the rows that may have two cells in one column; with more, columns tell nothing
_ACROSS = 0.2  # of the rows that may cross a border, as heads over several columns do
_FAR = 4.5  # times the size, from one row to the next
_NEAR = 3.0  # the same for a line without a gap, such as the rest of a cell or the name of a part
_LEADING = 1.4  # the same for the rest of a cell
_LOOSE = 1.6  # the same where rows are farther apart than that
_TIGHT = 0.85  # of the usual step from row to row, below which a line is the rest of the row above
_MOST_WAITING = 3  # lines without a gap between two rows
_BESIDE = 28  # characters at each side of a gap, from which on it parts two columns of prose
_MOST_BESIDE = 0.3  # of the rows
_MOST_LABELS = 0.5  # of the rows, from which on they are items of a list
_MOST_LED = 0.3  # of the rows, from which on they are a table of contents
_DENSE = (
    0.7,
    0.5,
    0.4,
    0.3,
)  # of the lines of a table of two, three, four or more columns have gaps at least
_LABEL = re.compile(
    r"(?:[•◦▪‣●–—−*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\w{1,8}\]|\d{1,2}(?:\.\d{1,2}){1,3})\Z"
)


@dataclass(frozen=True, slots=True)
class _Table:
    """Lines below each other, and where the borders of their columns are."""

    lines: Sequence[Line]
    borders: Sequence[tuple[float, float]]


def with_rows(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, those of its tables as rows."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        table = _table(_group(lines, at)) if lines[at].cells and not lines[at].is_mono else None
        if table is None:
            found.append(lines[at])
            at += 1
        else:
            for number, part in enumerate(_parted(table)):
                rows = _rows(part)
                found += [replace(rows[0], row=f"\n{rows[0].row}"), *rows[1:]] if number else rows
            at += len(table.lines)
    return found


def _table(group: Sequence[Line]) -> _Table | None:
    rows = [line for line in group if line.cells]
    borders = with_empty_columns(_borders(rows), rows) if len(rows) > 1 else []
    if not borders or len(rows) < (_FEWEST_ROWS if len(borders) == 1 else 2):
        return None
    dense = _DENSE[min(len(borders), len(_DENSE)) - 1]
    if len(rows) < dense * len(group) or _is_of_contents(rows):
        return None
    if sum(map(_is_beside, rows)) > _MOST_BESIDE * len(rows):
        return None
    labels = sum(bool(_LABEL.match(row.cells[0].text)) for row in rows)
    if len(borders) == 1 and labels > _MOST_LABELS * len(rows):
        return None
    return _Table(group, borders)


def _parted(table: _Table) -> list[_Table]:
    """The tables of which it consists, where rows below each other have columns of their own: in those of the others
    they would have two cells in one."""
    runs: list[tuple[bool, list[Line]]] = []
    for line in table.lines:
        is_odd = _has_joint(line, table.borders) if line.cells or not runs else runs[-1][0]
        if not runs or runs[-1][0] != is_odd:
            runs.append((is_odd, []))
        runs[-1][1].append(line)
    if len(runs) < 2 or not all(_may_be_table(lines) for is_odd, lines in runs if is_odd):
        return [table]
    parts = [_table(lines) for _, lines in runs]
    told = [part for part in parts if part and not any(_has_joint(line, part.borders) for line in part.lines)]
    return told if len(told) == len(runs) else [table]


def _may_be_table(lines: Sequence[Line]) -> bool:
    """Whether there are names of columns and figures, and not only heads that stand over several columns."""
    rows = [line.cells for line in lines if len(line.cells) > 2]
    return len(rows) > 1 and sum(any(NUMBER.match(cell.text) for cell in row) for row in rows) > 1


def _has_joint(line: Line, borders: Sequence[tuple[float, float]]) -> bool:
    """Whether two of its cells stand in one column."""
    return sum(map(bool, _in_columns(line, borders))) < len(line.cells)


def _is_beside(row: Line) -> bool:
    return any(len(a.text) >= _BESIDE and len(b.text) >= _BESIDE for a, b in pairwise(row.cells))


def _is_of_contents(rows: Sequence[Line]) -> bool:
    """Whether dots lead to the numbers of pages, the last cell of each line."""
    dotted = sum(any(led(cell.text) for cell in row.cells[-2:]) for row in rows)
    return dotted > _MOST_LED * len(rows)


def _group(lines: Sequence[Line], at: int) -> list[Line]:
    """The lines from ``at`` on, each of them with white where the row before has some."""
    taken = [lines[at]]
    waiting: list[Line] = []
    row = last = lines[at]
    for line in lines[at + 1 :]:
        size = max(line.size, last.size)
        if line.is_mono or not line.text.strip() or not 0.0 < last.base - line.base <= _far(line) * size:
            break
        if line.cells:
            if not _share(row, line):
                break
            taken += [*waiting, line]
            waiting = []
            row = line
        elif len(waiting) < _MOST_WAITING and not all(
            line.left < gap[0] and line.right > gap[1] for gap in _gaps(row)
        ):
            waiting.append(line)
        else:
            break
        last = line
    return [*taken, *_rest(row, waiting)]


def _rest(row: Line, waiting: Sequence[Line]) -> Iterator[Line]:
    """The lines after the last row that go on in one of its columns, but the first, where text would."""
    above = row
    for line in waiting:
        is_within = line.left >= row.cells[0].end and all(
            line.right < b or line.left >= b for _, b in _gaps(row)
        )
        if not is_within or above.base - line.base > _LEADING * line.size:
            return
        yield line
        above = line


def _far(line: Line) -> float:
    return _FAR if line.cells else _NEAR


def _gaps(line: Line) -> list[tuple[float, float]]:
    return [(before.end, after.start) for before, after in pairwise(line.cells)]


def _share(row: Line, line: Line) -> bool:
    """Whether there is white at the same place between the cells of both."""
    least = _WHITE * line.size
    return any(min(a[1], b[1]) - max(a[0], b[0]) >= least for a in _gaps(row) for b in _gaps(line))


def _borders(rows: Sequence[Line]) -> list[tuple[float, float]]:
    """Where enough rows have white between their cells and next to none has text."""
    edges = sorted({edge for row in rows for cell in row.cells for edge in (cell.start, cell.end)})
    gaps = [gap for row in rows for gap in _gaps(row)]
    cells = [cell for row in rows for cell in row.cells]
    most, least = int(_ACROSS * len(rows)), max(2.0, _SUPPORT * len(rows))
    found: list[tuple[float, float]] = []
    begun, held = 0.0, False
    is_open = False
    for here, there in [*pairwise(edges), (0.0, 0.0)]:
        is_white = here < there and sum(cell.start <= here and there <= cell.end for cell in cells) <= most
        if is_white:
            begun, held = (begun, held) if is_open else (here, False)
            held = held or sum(gap[0] <= here and there <= gap[1] for gap in gaps) >= least
        elif is_open and held and here - begun >= _WHITE * rows[0].size:
            found.append((begun, here))
        is_open = is_white
    return found


def _rows(table: _Table) -> list[Line]:
    """A line of text for each row of the table."""
    lines = table.lines
    joint = sum(_has_joint(line, table.borders) for line in lines)
    if joint > _MOST_JOINED * sum(bool(line.cells) for line in lines):
        return [
            replace(
                line, row=tables.line([cell.text for cell in line.cells] or [line.text.strip(), ""]), cells=()
            )
            for line in lines
        ]
    usual = [
        above.base - line.base for above, line in pairwise(lines) if len(above.cells) > 1 < len(line.cells)
    ]
    usual_step = median(usual) if usual else 0.0
    rows: list[list[str]] = []
    begins: list[Line] = []
    above: Line | None = None
    for line in lines:
        cells = _in_columns(line, table.borders)
        if above is not None and _is_rest(rows[-1], cells, above.base - line.base, line.size, usual_step):
            rows[-1] = [joined(a, b) if a and b else a or b for a, b in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
            begins.append(line)
        above = line
    columns: list[list[Cell]] = [[] for _ in range(len(table.borders) + 1)]
    for line in lines:
        for place, cell in _placed(line, table.borders):
            columns[place].append(cell)
    put_under_names(rows, columns, lines[0].size)
    told = [row.rstrip() for row in tables.written([[without_dots(cell) for cell in row] for row in rows])]
    extra = len(told) - len(rows)  # a row that says that the first is none of names
    return [
        replace(line, row=row, cells=())
        for line, row in zip([*begins[:1] * extra, *begins], told, strict=True)
    ]


def _in_columns(line: Line, borders: Sequence[tuple[float, float]]) -> list[str]:
    cells = [""] * (len(borders) + 1)
    for place, cell in _placed(line, borders):
        cells[place] = f"{cells[place]} {cell.text}" if cells[place] else cell.text
    return cells


def _placed(line: Line, borders: Sequence[tuple[float, float]]) -> Iterator[tuple[int, Cell]]:
    """Its cells, each with the number of the column in which it stands."""
    told = line.cells or (Cell(line.text.strip(), line.left, line.right),)
    places = [_place(cell, borders) for cell in told]
    if len(told) == len(borders) + 1 and all(map(_may_be_at, told, count(), places, repeat(borders))):
        return enumerate(told)
    for at in range(len(told) - 1, 0, -1):
        after = places[at + 1] if at + 1 < len(told) else len(borders) + 1
        # Of two in one column, the right one stands in the next if that is free and not far.
        if (
            places[at] == places[at - 1]
            and _may_be_next(told[at], borders, places[at])
            and places[at] + 1 < after
        ):
            places[at] += 1
    return zip(places, told, strict=True)


def _may_be_at(cell: Cell, place: int, nearest: int, borders: Sequence[tuple[float, float]]) -> bool:
    """Whether a cell may be that of a column, where it stands nearer to another: it may in the white between them."""
    if place == nearest + 1:
        return cell.start >= borders[nearest][0]
    if place == nearest - 1:
        return cell.end <= borders[place][1]
    return place == nearest


def _place(cell: Cell, borders: Sequence[tuple[float, float]]) -> int:
    """The number of the column in which a cell stands."""
    return sum(
        cell.start >= (a + b) / 2 or (cell.start >= a and cell.start + cell.end >= 2 * b) for a, b in borders
    )


def _may_be_next(cell: Cell, borders: Sequence[tuple[float, float]], place: int) -> bool:
    """Whether a cell of one column begins in the white to its right and stands nearer to the next."""
    if place >= len(borders):
        return False
    a, b = borders[place]
    return cell.start >= a and cell.start + cell.end >= a + b


def _is_rest(row: Sequence[str], cells: Sequence[str], step: float, size: float, usual: float) -> bool:
    """Whether a line is what did not fit into the row above."""
    if any(b and NUMBER.match(a) for a, b in zip(row, cells, strict=True)):
        return False  # no number goes on in the next line
    goes_on = not cells[0] and all(a or not b for a, b in zip(row, cells, strict=True))
    is_tight = step < _TIGHT * usual
    if step > (_LOOSE if goes_on and is_tight else _LEADING) * size:
        return False
    return is_tight or goes_on
