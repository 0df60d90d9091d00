"""Tables of reStructuredText as rows: one line a row, `` | `` between the cells, the header first.

This module reads the two directives whose body is a list or csv, and writes the rows of all kinds; `rst_drawn` reads
the tables that are drawn with characters. All of it takes linear time, and gives None for what is no table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

Cell = list[str]  # its lines

_BULLET = re.compile(r"[*+-](?=[ ]|\Z)")
_LISTED = re.compile(r"^[ \t]*[*+-][ \t]+", re.MULTILINE)
_OPTION = re.compile(r":([\w-]{1,60}):(?:[ \t]+|\Z)")
_BAR = re.compile(r"(?<!\S)\|(?!\S)")
_DELIMITERS = {"tab": "\t", "space": " "}
_MOST_EMPTY = (
    4  # cells for each character of a table: more is no table, and would make a short text a long one
)


class Table(NamedTuple):
    """``rows`` of as many cells each, of which the first ``headers`` name the columns."""

    rows: Sequence[Sequence[Cell]]
    headers: int


class Directive(NamedTuple):
    """What stands under ``.. list-table::`` and its like: the rest of the title, the options, the body."""

    title: str
    options: dict[str, str]
    body: list[str]


def written(table: Table, cleaned: Callable[[Cell], Iterable[str]]) -> Iterator[str]:
    """The rows as lines. Several rows of headers become one; without any, a row of empty cells stands first, so that
    no reader takes facts for names of columns."""
    rows = [[_one_line(cleaned(cell)) for cell in row] for row in table.rows]
    heads = [
        " ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[: table.headers], strict=True)
    ]
    yield " ".join(" | ".join(heads).split()) if any(heads) else "| " * len(rows[0]) + "|"
    for row in rows[table.headers :]:
        if any(row):
            yield " ".join(" | ".join(row).split())


def directive(argument: str, lines: Sequence[str]) -> Directive:
    """The parts of a table directive; ``argument`` stands behind its ``::``, ``lines`` below it."""
    head = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    first = next((at for at, line in enumerate(lines[:head]) if _OPTION.match(line.strip())), head)
    if first == head == len(lines):  # no blank line, no option: all of it is the body
        return Directive(argument, {}, list(lines))
    options: dict[str, list[str]] = {}
    name = ""
    margin = len(lines[first]) - len(lines[first].lstrip()) if first < head else 0
    at = first
    while at < head:
        line, deeper = lines[at].strip(), len(lines[at]) - len(lines[at].lstrip()) > margin
        option = None if deeper else _OPTION.match(line)
        if option:
            name = option[1].lower()
            options[name] = [line[option.end() :]]
        elif deeper:
            options[name].append(line)
        else:
            break  # the body begins without a blank line
        at += 1
    title = " ".join((argument, *(line.strip() for line in lines[:first]))).strip()
    return Directive(title, {key: "\n".join(value) for key, value in options.items()}, list(lines[at:]))


def listed(given: Directive) -> Table | None:
    """The table of a ``list-table``: a list of rows, each a list of cells."""
    rows: list[list[Cell]] = []
    for row in _items(given.body) or ():
        cells = _items(row)
        if not cells:
            return None
        rows.append(cells)
    return _table(rows, _number(given.options.get("header-rows", "")))


def separated(given: Directive) -> Table | None:
    """The table of a ``csv-table`` whose rows stand in the document; short rows are filled up."""
    options = given.options
    head = options["header"].split("\n") if "header" in options else []
    try:
        named = _csv(head, {})  # always with commas
        rows = named + _csv(_stripped(given.body), options)
    except (csv.Error, TypeError, ValueError):
        return None
    if not named and not rows:
        return None
    wide = max(map(len, rows))
    if wide * len(rows) > _MOST_EMPTY * _size((*head, *given.body)):
        return None
    filled = [[cell.split("\n") for cell in row] + [[""]] * (wide - len(row)) for row in rows]
    return _table(filled, len(named) + _number(options.get("header-rows", "")))


def _table(rows: list[list[Cell]], headers: int) -> Table | None:
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return None
    return Table(rows, min(headers, len(rows)))


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _number(written_so: str) -> int:
    text = written_so.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def _items(lines: Sequence[str]) -> list[list[str]] | None:
    """The items of the bullet list that the lines are, each without its mark; None when they are something else."""
    found: list[list[str]] = []
    margin = -1
    mark = ""
    for line in lines:
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if not body:
            if found:
                found[-1].append("")
            continue
        if margin < 0:
            margin, mark = indent, body[0]
        if indent == margin and body[0] == mark and _BULLET.match(body):
            found.append([f"{' ' * (indent + 1)}{body[1:]}"])
        elif indent > margin and found:
            found[-1].append(line)
        else:
            return None
    return found or None


def _csv(lines: Iterable[str], options: dict[str, str]) -> list[list[str]]:
    delimiter = options.get("delim", ",").strip() or ","
    escape = options.get("escape", "").strip() or None
    reader = csv.reader(
        (f"{line}\n" for line in lines),
        delimiter=_DELIMITERS.get(delimiter.lower(), delimiter),
        quotechar=options.get("quote", "").strip() or '"',
        escapechar=escape,
        doublequote=escape is None,
        skipinitialspace="keepspace" not in options,
        strict=True,
    )
    return [row for row in reader if row]


def _stripped(lines: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _one_line(lines: Iterable[str]) -> str:
    """A cell as words: what looks like the border of a cell is none, a list is told with commas."""
    text = "\n".join(lines).strip()
    items = len(_LISTED.findall(text))
    text = _LISTED.sub("", text, 1) if items else text
    text = re.sub(r"\s*\n[ \t]*[*+-][ \t]+", ", ", text) if items > 1 else text
    line = _BAR.sub("/", " ".join(text.split()))
    return "" if line == "\\" else line
