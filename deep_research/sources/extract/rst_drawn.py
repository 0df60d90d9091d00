"""Tables that are drawn in reStructuredText, with ``====  ====`` (simple) or ``+----+----+`` (grid).

Both are read by columns of characters, as docutils does; what does not keep to its columns is no table. No line is
read more than a few times, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import east_asian_width

from deep_research.sources.extract.rst_tables import Cell, Table

_SIMPLE = re.compile(r"=+(?: +=+)+ *\Z")
_SPANS = re.compile(r"-+(?: +-+)* *\Z")
_RUN = re.compile(r"[=-]+")
_GRID = re.compile(r"\+-[-+]*-?\+ *\Z")
_CORNER = re.compile(r"\+(?=[-=])|(?<=[-=])\+")
_FILL = "\x02"  # behind a character that takes two columns
_MOST_EMPTY = 4  # cells for each character
_REPEATED = 80  # characters of a cell that is said again in each row beside it
_REPEATED_LINES = 12


def drawn(lines: Sequence[str], at: int) -> tuple[Table | None, int] | None:
    """The table that begins at a line and where it ends; without a table, where to read on. None when the line
    begins none."""
    body = lines[at].lstrip(" ")
    if body.startswith("=") and _SIMPLE.match(body):
        return _simple(lines, at)
    if body.startswith("+-") and _GRID.match(body):
        return _grid(lines, at)
    return None


def _simple(lines: Sequence[str], at: int) -> tuple[Table | None, int]:
    indent = len(lines[at]) - len(lines[at].lstrip())
    top = lines[at].strip()
    rules: list[int] = []
    here = at + 1
    while here < len(lines) and len(rules) < 2:
        line = lines[here]
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        if line[indent : indent + 1] == "=" and _SIMPLE.match(line, indent):
            if len(line.strip()) != len(top):
                break
            rules.append(here)
            if here + 1 == len(lines) or not lines[here + 1].strip():
                break
        here += 1
    if not rules or (len(rules) == 1 and here != rules[0]):
        return None, at + 1
    columns = [match.span() for match in _RUN.finditer(top)]
    inside = [_padded(line[indent:]) for line in lines[at + 1 : rules[-1]]]
    if len(inside) * len(columns) > _MOST_EMPTY * (len(top) + sum(map(len, inside))):
        return None, at + 1
    header = _simple_rows(inside[: rules[0] - at - 1], columns, repeat=True) if len(rules) == 2 else []
    body = _simple_rows(inside[rules[0] - at :] if len(rules) == 2 else inside, columns)
    if header is None or not body:
        return None, at + 1
    return Table((*header, *body), len(header)), rules[-1] + 1


def _simple_rows(
    lines: Sequence[str], columns: Sequence[tuple[int, int]], *, repeat: bool = False
) -> list[list[Cell]] | None:
    """The rows between two rules: a row begins where its first column has text. A line of ``---`` says which columns
    the row above spans; what it spans is repeated in each of them, if wanted."""
    rows: list[list[Cell]] = []
    gathered: list[str] = []
    for line in (*lines, None):
        spans = line is not None and line.startswith("-") and _SPANS.match(line) is not None
        begins = line is None or (line[: columns[0][1]].strip() != "" and gathered)
        if gathered and (spans or begins):
            wide = [match.span() for match in _RUN.finditer(line)] if spans and line is not None else columns
            row = _simple_row(gathered, columns, wide, repeat=repeat)
            if row is None:
                return None
            rows.append(row)
            gathered = []
        if line is not None and not spans and (gathered or line.strip()):
            gathered.append(line)
    return rows


def _simple_row(
    lines: Sequence[str],
    columns: Sequence[tuple[int, int]],
    wide: Sequence[tuple[int, int]],
    *,
    repeat: bool,
) -> list[Cell] | None:
    row: list[Cell] = [[] for _ in columns]
    places = {start: place for place, (start, _) in enumerate(columns)}
    if any(start not in places for start, _ in wide):
        return None
    for line in lines:
        for number, (start, end) in enumerate(wide):
            if start >= len(line):
                break
            following = wide[number + 1][0] if number + 1 < len(wide) else len(line)
            if number + 1 < len(wide) and line[end:following].strip():
                return None  # text between the columns
            row[places[start]].append(_unpadded(line[start:following]))
    if repeat:
        starts = [start for start, _ in wide]
        for place, (start, _) in enumerate(columns):
            if start not in starts and place:
                row[place] = row[place - 1]
    return row


def _grid(lines: Sequence[str], at: int) -> tuple[Table | None, int]:
    indent = len(lines[at]) - len(lines[at].lstrip())
    stop = at
    while (
        stop < len(lines)
        and lines[stop][indent : indent + 1] in ("+", "|")
        and not lines[stop][:indent].strip()
    ):
        stop += 1
    block = [_padded(line[indent:].rstrip()) for line in lines[at:stop]]
    if len(block) < 3 or not _is_rule(block[-1]) or any(len(line) != len(block[0]) for line in block):
        return None, stop
    if any(line[-1] not in "+|" for line in block):
        return None, stop
    return _grid_table(block), stop


def _is_rule(line: str) -> bool:
    return line[0] == "+" and not line.strip("+-=")


def _grid_table(block: Sequence[str]) -> Table | None:
    """The cells of a grid whose lines are of one length. A cell beside several rows is said in each of them, one over
    several columns in the first of them, or in a header in all."""
    edges = sorted({match.start() for line in block for match in _CORNER.finditer(line)})
    columns = list(pairwise(edges))
    if len(columns) < 2 or edges[0] != 0 or edges[-1] != len(block[0]) - 1:
        return None
    rows: list[list[Cell]] = []
    joins: list[set[int]] = []  # of each row, the columns that go on with the one before them
    cells: list[Cell] = [[] for _ in columns]
    headers = 0
    band: list[str] = []
    for line in block:
        ruled = [_ruled(line, column) for column in columns]
        if not any(ruled):
            band.append(line)
            continue
        if band:
            joined = _read(band, columns, cells)
            rows.append(list(cells))
            joins.append(joined)
            band = []
        if "=" in line and all(ruled) and "-" not in line:
            if headers:
                return None
            headers = len(rows)
        for n, (start, end) in enumerate(columns):
            if ruled[n] or _is_long(cells[n]):
                cells[n] = []
            if not ruled[n] and (text := line[start + 1 : end].strip(" ")):
                cells[n].append(_unpadded(text))
    kept = [n for n in range(len(columns)) if not all(n in joined for joined in joins)]
    for place, joined in enumerate(joins[:headers]):
        for n in sorted(joined):
            rows[place][n] = rows[place][n - 1]
    if len(kept) < 2 or len(rows) == headers:
        return None
    return Table([[row[n] for n in kept] for row in rows], headers)


def _is_long(cell: Cell) -> bool:
    return len(cell) > _REPEATED_LINES or sum(map(len, cell)) > _REPEATED


def _ruled(line: str, column: tuple[int, int]) -> bool:
    """Whether a line parts what is above it from what is below it, in a column."""
    start, end = column
    inner = line[start + 1 : end]
    return line[start] in "+-=" and line[end] in "+-=" and (not inner.strip("-") or not inner.strip("="))


def _read(band: Sequence[str], columns: Sequence[tuple[int, int]], cells: list[Cell]) -> set[int]:
    """Adds the lines between two rules to the cells of their columns."""
    joined = {
        n for n, (start, _) in enumerate(columns) if n and any(line[start] not in "|+" for line in band)
    }
    n = 0
    while n < len(columns):
        last = n
        while last + 1 in joined:
            last += 1
        start, end = columns[n][0] + 1, columns[last][1]
        cells[n] += [_unpadded(line[start:end]) for line in band]  # in place: the row above may share it
        n = last + 1
    return joined


def _padded(line: str) -> str:
    """With one more character behind each that is two columns wide."""
    if line.isascii():
        return line
    return "".join(c + _FILL if east_asian_width(c) in "WF" else c for c in line)


def _unpadded(text: str) -> str:
    return text.replace(_FILL, "").rstrip()
