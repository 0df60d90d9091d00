"""Rows of tables: which of them names the columns, and the others as statements, each cell with the header of its
column. Pure.

A row stands on a line of its own with `` | `` between its cells; the unbroken run of such lines is its table, and the
first of them its header, where it may name columns.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from deep_research.patterns import regex
from deep_research.text.units import measured

FAR_CHARS = 50_000  # characters above a row, in which its header is looked for
_FENCE = regex(r"^(?:```|~~~)", re.MULTILINE)
_BAR = regex(r"(?<!\S)\|(?!\S)")
_LABEL = regex(r"(?:\A|(?<=; )|(?<=\. ))(?P<name>[^\s:;|](?:[^:;|]{0,38}[^\s:;|])?): (?=\S)")

NO_HEADER = "| | |"  # what stands above a table whose first row is of facts
MAX_HEADER = 40  # characters of a header's cell
_MAX_NAME_CHARS = 80
_NUMBER = regex(r"[-+]?[\d.,  %€$£]*\d[\d.,  %€$£]*\Z")
_WHOLE = regex(r"\d{1,4}\Z")  # a year, a size, the number of a bus
_RANGE = regex(r"\d{1,4}(?:[/–-]\d{1,4})?\Z")  # or two of them: 2021/22
_UNIT = regex(r"([^\W\d_]+)\d?\Z")
_MIXED_VALUES_COUNT = 4  # of so many values at least one is of words, and one of figures
_MAX_UNITS = 3  # units, more than those of one thing: hours and minutes, am and pm


def is_row(line: str) -> bool:
    return " | " in line


def clauses(text: str, start: int, end: int) -> list[str]:
    """The rows that ``text[start:end]`` consists of, each as ``Name: Mole; Height: 35 m``; empty when it holds
    anything else, or a row whose headers are not known."""
    told: list[str] = []
    here = start
    for line in text[start:end].split("\n"):
        begin, here = here, here + len(line) + 1
        if not line.strip():
            continue
        header = headers(text, begin, begin + len(line))
        if not header:
            return []
        told.append(_labelled(header, split_cells(line)))
    return list(filter(None, told))


def headers(text: str, start: int, end: int) -> list[str]:
    """What names the cells of the row ``text[start:end]``; empty when that is no whole row, or nothing does."""
    line = text[start:end]
    if not is_row(line) or not _is_whole(text, start, end):
        return []
    first = _first_of_table(text, text.rfind("\n", 0, start) + 1)
    named, cells = split_cells(first), split_cells(line)
    if named == cells or len(named) != len(cells) or not _may_name_columns(named, cells):
        return []
    return [] if bisect(_fences(text), start) % 2 else named  # in code a bar is no border


def label_of(content: str, place: int) -> str:
    """The header under which stands what is at a place of a statement that `clauses` made; empty in any other."""
    if unlabelled(content) == content:
        return ""
    return next((m["name"] for m in reversed(list(_LABEL.finditer(content, 0, place + 1)))), "")


def unlabelled(content: str) -> str:
    """A statement without the headers that `clauses` put into it: what it says of its own. The headers of a table
    stand in all its rows and make none of them like another."""
    return _LABEL.sub("", content) if _headed(content) else content


def lower_labels(content: str) -> str:
    """A statement that `clauses` made, with its headers in lower case: a capital there names nothing."""
    return _LABEL.sub(lambda match: match.group().lower(), content)


def _headed(content: str) -> list[re.Match[str]]:
    """The headers in a statement that `clauses` made; none in any other."""
    named = list(_LABEL.finditer(content))
    return named if len(named) > 1 and not named[0].start() else []


def labels(content: str) -> Iterator[str]:
    """The headers in a statement."""
    if unlabelled(content) != content:
        for match in _LABEL.finditer(content):
            yield match["name"]


def cells(content: str) -> dict[str, str]:
    """The cells of a statement that `clauses` made of one row, by their headers; empty for any other."""
    named = _headed(content)
    if not named:
        return {}
    ends = [*(match.start() for match in named[1:]), len(content)]
    return {
        match["name"]: content[match.end() : end].rstrip("; ") for match, end in zip(named, ends, strict=True)
    }


@lru_cache(maxsize=1)  # the rows of one text are looked at one after the other
def _fences(text: str) -> list[int]:
    return [match.start() for match in _FENCE.finditer(text)]


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    stop = text.find("\n", end)
    return not before.strip(" |") and not text[end : len(text) if stop < 0 else stop].strip(" |")


def _first_of_table(text: str, begin: int) -> str:
    """The first line of the run of rows that the line at ``begin`` stands in; empty when it is too far above."""
    first, limit, known = begin, begin - FAR_CHARS, _firsts(text)
    while first > 0 and first not in known:
        above = text.rfind("\n", 0, first - 1) + 1
        if not is_row(text[above : first - 1]):
            break
        if above < limit:
            known[begin] = -1
            return ""
        first = above
    first = known[begin] = known.get(first, first)
    if first < max(0, limit):
        return ""
    stop = text.find("\n", first)
    return text[first : len(text) if stop < 0 else stop]


@lru_cache(maxsize=1)
def _firsts(text: str) -> dict[int, int]:  # noqa: ARG001 - it is what is remembered by
    """Where the tables begin of rows that were looked at, by where these begin; -1 for too far above."""
    return {}


def split_cells(row: str) -> list[str]:
    """The cells of a row, in order."""
    return [" ".join(cell.replace("¶", "").split()) for cell in _BAR.split(row)]


def cell_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the cells of the row ``text[start:end]`` stand, in order, but for what is outside of bars at its ends."""
    bars = [(start, start), *((m.start(), m.end()) for m in _BAR.finditer(text, start, end)), (end, end)]
    found = []
    for (_, low), (high, _) in pairwise(bars):
        cell = text[low:high]
        first = low + len(cell) - len(cell.lstrip())
        found.append((first, max(first, low + len(cell.rstrip()))))
    opens, closes = text.startswith("|", start), text.endswith("|", start, end)
    return found[opens : len(found) - closes]


def _labelled(header: list[str], cells: list[str]) -> str:
    named = ((name.rstrip(": "), cell) for name, cell in zip(header, cells, strict=True) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named)


def _may_name_columns(row: Sequence[str], below: Sequence[str] = ()) -> bool:
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
    if sum(map(bool, first)) < len(first) - 1 or any(len(cell) > _MAX_NAME_CHARS for cell in first):
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
    if min(len(figures), len(told) - len(figures)) * _MIXED_VALUES_COUNT >= len(told):
        return True
    units = Counter(unit[1] if (unit := _UNIT.search(value[-_MAX_NAME_CHARS:])) else "" for value in figures)
    are_various = len(units) >= _MAX_UNITS and 2 * max(units.values()) <= len(told)
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
    return len(cell) <= _MAX_NAME_CHARS and _NUMBER.match(cell) is not None


def _is_of_numbers(row: Sequence[str]) -> bool:
    """Whether all but the first cell, which says of what, are numbers."""
    told = [cell.strip() for cell in row[1:]]
    return len(told) > 1 and all(map(_is_number, told))


def _is_year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdecimal() and cell[:2] in ("17", "18", "19", "20")
