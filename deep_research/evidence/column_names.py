"""Whether the first row of a table names its columns. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from deep_research.evidence.units import measured
from deep_research.patterns import regex

NO_HEADER = "| | |"  # what stands above a table whose first row is of facts
MAX_HEADER = 40  # characters of a header's cell
_LONGEST_NAME = 80  # characters
_NUMBER = regex(r"[-+]?[\d.,  %€$£]*\d[\d.,  %€$£]*\Z")
_WHOLE = regex(r"\d{1,4}\Z")  # a year, a size, the number of a bus
_RANGE = regex(r"\d{1,4}(?:[/–-]\d{1,4})?\Z")  # or two of them: 2021/22

_UNIT = regex(r"([^\W\d_]+)\d?\Z")
_MIXED = 4  # of so many values at least one is of words, and one of figures
_VARIOUS = 3  # units, more than those of one thing: hours and minutes, am and pm


def may_name_columns(row: Sequence[str], below: Sequence[str] = ()) -> bool:
    """Whether the cells of a row can be the names of columns: neither long nor values. Numbers that are all different
    can, of several columns behind one that has a word for its name, or none: years, and others where what stands
    ``below`` them, in another row, is none."""
    numbers = [cell for cell in row if _RANGE.match(cell)]
    if not any(row) or row[0] in numbers or len(set(numbers)) < len(numbers):
        return False
    if numbers and (len(row) < 3 or not (len(numbers) > 1 or _is_year(numbers[0]))):
        return False
    under = [told for cell, told in zip(row, below, strict=False) if cell in numbers and told]
    if not all(_is_year(cell[:4]) for cell in numbers) and (not under or any(map(_is_number, under))):
        return False
    return all(cell in numbers or _may_name(cell) for cell in row)


def _may_name(header: str) -> bool:
    """Whether a cell can be the name of a column: neither long nor a value. An empty one names nothing."""
    if not header:
        return True
    values = any(q.start == 0 and q.end == len(header) for q in measured(header))
    return len(header) <= MAX_HEADER and any(map(str.isalpha, header)) and not values


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: all named, none with a value or a long text, and no name twice but over
    numbers, as "change" beside each sum is."""
    first = [cell.strip() for cell in rows[0]]
    if sum(map(bool, first)) < len(first) - 1 or any(len(cell) > _LONGEST_NAME for cell in first):
        return False
    if any(map(_is_number, first)) and not _is_scale(rows):
        return False
    return len(set(first)) == len(first) or (len(rows) > 1 and _is_of_numbers(rows[1]))


def is_titled(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is the title of the table: words that stand alone above the names of several columns."""
    told = [cell for cell in map(str.strip, rows[0]) if cell]
    return (
        len(rows) > 2
        and len(rows[0]) > 1 == len(told)
        and not _is_number(told[0])
        and all(map(str.strip, rows[1]))
        and len(rows[1]) == len(rows[0])
        and is_header(rows[1:])
        and not is_header(rows)
    )


def is_list(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows of a table of two columns are each a label and its value, the first too: it has a figure as those
    below have, or these are of different kinds: some of words and some of figures, or of several units."""
    if len(rows) < 3 or max(map(len, rows)) != 2:
        return False
    first, *values = [_opening(row[1]) if len(row) > 1 else "" for row in rows]
    told = [value for value in values if value]
    figures = [value for value in told if value[0].isdecimal()]
    if min(len(figures), len(told) - len(figures)) * _MIXED >= len(told):
        return True
    units = Counter(unit[1] if (unit := _UNIT.search(value[-_LONGEST_NAME:])) else "" for value in figures)
    are_various = len(units) >= _VARIOUS and 2 * max(units.values()) <= len(told)
    return are_various or (first[:1].isdecimal() and 2 * len(figures) > len(told))


def _opening(cell: str) -> str:
    """A cell from its first letter or figure on."""
    return cell[next((at for at, sign in enumerate(cell) if sign.isalnum()), len(cell)) :]


def _is_scale(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers of the first row, behind words, count up or down what the columns are for: years, sizes,
    buses. Most values below are of another kind, or these alone are all as far from each other."""
    at = [place for place, cell in enumerate(rows[0]) if _is_number(cell.strip())]
    kinds = {_kind(rows[0][place]) for place in at}
    if len(kinds) > 1 or "" in kinds or 0 in at:
        return False
    steps = _steps(rows[0], at)
    if steps and min(steps) <= 0 <= max(steps):
        return False
    below = [_kind(row[place]) for row in rows[1:] for place in at if place < len(row) and row[place].strip()]
    if not below:
        return kinds == {"year"}
    if 2 * sum(kind in kinds for kind in below) < len(below):
        return len(at) > 1 or kinds == {"year"}
    return len(steps) > 1 and len(set(steps)) == 1 and not any(_steps(row, at) == steps for row in rows[1:])


def _steps(row: Sequence[str], at: Sequence[int]) -> list[int]:
    """From each of the whole numbers to the next; none where something else stands among them."""
    told = [row[place].strip() for place in at if place < len(row)]
    return (
        [int(after) - int(before) for before, after in pairwise(told)] if all(map(_WHOLE.match, told)) else []
    )


def _kind(cell: str) -> str:
    told = cell.strip()
    return "year" if _is_year(told) else "number" if _is_number(told) else ""


def _is_number(cell: str) -> bool:
    return len(cell) <= _LONGEST_NAME and _NUMBER.match(cell) is not None


def _is_of_numbers(row: Sequence[str]) -> bool:
    """Whether all but the first cell, which says of what, are numbers."""
    told = [cell.strip() for cell in row[1:]]
    return len(told) > 1 and all(map(_is_number, told))


def _is_year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdecimal() and cell[:2] in ("17", "18", "19", "20")
