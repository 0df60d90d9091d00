"""Tables of web pages with a cell for every column in each row, one row of names above them, and each row in one line.

What spans several columns stands in the first of them, what spans several rows in each, so that a row can be read by
itself. Tables that hold others lay out a page and stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from lxml import etree
from lxml.html import Element, HtmlElement
from lxml.html.builder import TH

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.html_text import BLOCKS
from deep_research.sources.extract.plaintext import whole_number, words
from deep_research.sources.extract.tables import in_one, joined_names

_CELLS = ("td", "th")
_PARTS = ("thead", "tbody", "tfoot")
_MAX_COLUMNS = 100
_MAX_SPAN = 1_000
_MAX_CELLS = 20_000  # of a table, those that are put in included
_REPEATED_CHARS = 200  # characters of a cell that is said again in each of its rows
_MAX_HEADS = 3  # rows of names above each other

_LAYOUT_CELL_CHARS = 200  # characters; without names of columns, a table with such a cell may lay out a page
_APART = ("pre", "form", "h1", "h2", "h3", "h4", "h5", "h6")  # what stays in lines of its own

_Row = list[HtmlElement | None]  # a cell for every column, None where one goes on that began further left
_GoingOn = dict[int, tuple[HtmlElement | None, int]]  # by column: what spans the next rows, and how many
_UNSAID = words("script style template svg noscript textarea select button")
_INLINE = regex(r"display\s*:\s*inline", re.IGNORECASE)
_BREAK = "\n"


def level(tree: HtmlElement) -> None:
    """Gives each row of the tables a cell for every column, and makes one of the rows that name these."""
    for table in list(tree.iter("table")):
        if next(table.iterdescendants("table"), None) is None:
            _level(table)


def _level(table: HtmlElement) -> None:
    rows = list(_rows(table))
    heads = list(takewhile(_is_head, rows))
    _put_in_lines(rows, has_names=any(len(row) > 1 for row in heads))
    has_spans = any(_span(cell, name) > 1 for row in rows for cell in row for name in ("colspan", "rowspan"))
    grid = _grid(rows) if has_spans or len(heads) > 1 else []
    for cell in table.iter(*_CELLS):  # else the other reader would fill the rows once more
        cell.attrib.pop("colspan", None)
        cell.attrib.pop("rowspan", None)
    if not grid:
        return
    width = max(map(len, grid))
    begin = len(list(takewhile(lambda row: _is_across(row, width), grid[: len(heads)])))  # a title
    end = begin + len(list(takewhile(lambda row: not _is_across(row, width), grid[begin : len(heads)])))
    for number, (row, cells) in enumerate(zip(rows, grid, strict=True)):
        if not _is_across(cells, width):
            _write(row, cells)
        elif begin < end <= number:
            _write(row, cells, tag="td")  # the title of a part names no column
    if end < len(rows) and 1 < end - begin <= _MAX_HEADS:
        _join(rows[begin:end], grid[begin:end])


def _put_in_lines(rows: Sequence[HtmlElement], *, has_names: bool) -> None:
    """Makes a line of what a cell says in paragraphs or items, where its table is no layout of a page."""
    cells = [list(row.iterchildren(*_CELLS)) for row in rows]
    cell_texts = {cell: cell_text(cell) for row in cells for cell in row if has_blocks(cell)}
    is_table = len(rows) > 1 and all(len(row) > 1 or _span(row[0], "colspan") > 1 for row in cells if row)
    if not has_names and (
        not is_table or any(len(text) > _LAYOUT_CELL_CHARS for text in cell_texts.values())
    ):
        return
    for cell, text in cell_texts.items():
        if next(cell.iterdescendants(*_APART), None) is None:
            del cell[:]
            cell.text = text


def _rows(table: HtmlElement) -> Iterator[HtmlElement]:
    for part in table:
        if part.tag == "tr":
            yield part
        elif part.tag in _PARTS:
            yield from part.iterchildren("tr")


def _is_head(row: HtmlElement) -> bool:
    """Whether it holds nothing but names of columns; a corner may be empty."""
    part = row.getparent()
    in_head = part is not None and part.tag == "thead"
    cells = list(row.iterchildren(*_CELLS))
    return any(map(cell_text, cells)) and all(
        in_head or cell.tag == "th" or not cell_text(cell) for cell in cells
    )


def _is_across(row: _Row, width: int) -> bool:
    """Whether a single cell spans all columns: the title of the table, or of a part of it."""
    return len(row) == width > 1 and row[0] is not None and not any(cell is not None for cell in row[1:])


def _grid(rows: Sequence[HtmlElement]) -> list[_Row]:
    """The cells of each row by columns; nothing of a table that is too large."""
    grid: list[_Row] = []
    going_on: _GoingOn = {}
    count = 0
    for row in rows:
        row_cells: _Row = []
        for cell in row.iterchildren(*_CELLS):
            _take_down(row_cells, going_on)
            down, right = _span(cell, "rowspan"), _span(cell, "colspan")
            for column, each in enumerate([cell, *[None] * (right - 1)], len(row_cells)):
                if down > 1:
                    going_on[column] = (each, down - 1)
            row_cells += [cell, *[None] * (right - 1)]
            if len(row_cells) > _MAX_COLUMNS:
                return []
        _take_down(row_cells, going_on)
        grid.append(row_cells)
        count += len(row_cells)
        if len(row_cells) > _MAX_COLUMNS or count > _MAX_CELLS:
            return []
    return grid


def _take_down(row_cells: _Row, going_on: _GoingOn) -> None:
    """What stands in the next columns because it began further up."""
    while (column := len(row_cells)) in going_on:
        cell, left = going_on.pop(column)
        row_cells.append(cell)
        if left > 1:
            going_on[column] = (cell, left - 1)


def _span(cell: HtmlElement, name: str) -> int:
    return min(max(whole_number(cell.get(name), 1), 1), _MAX_SPAN)


def _write(row: HtmlElement, cells: _Row, *, tag: str = "") -> None:
    """Puts the cells into the row, as those of a ``tag`` if one is given."""
    own = set(row.iterchildren(*_CELLS))
    new_cells = [_again(cell) if cell is None or cell not in own else cell for cell in cells]
    for cell in own:
        row.remove(cell)
    for cell in new_cells:
        cell.tag = tag or cell.tag
    row.extend(new_cells)


def _again(cell: HtmlElement | None) -> HtmlElement:
    """A cell that goes on from the left, which is empty, or one that goes on from above."""
    other = Element("td" if cell is None else cell.tag)
    words = "" if cell is None else cell_text(cell)
    is_said = len(words) <= _REPEATED_CHARS and any(map(str.isalnum, words))
    other.text = words if is_said else ""
    return other


def _join(rows: Sequence[HtmlElement], names: Sequence[_Row]) -> None:
    """Makes one row of those of the names. The last stays, as it stands next to what it names."""
    labels = joined_names([[None if cell is None else cell_text(cell) for cell in row] for row in names])
    if not labels:
        return
    *above, last = rows
    for row in above:
        row.drop_tree()
    last[:] = [TH(name) for name in labels]


def cell_text(cell: HtmlElement) -> str:
    """Its words. What opens with a bracket goes on with what is before."""
    lines: list[str] = []
    for line in filter(None, map(str.strip, "".join(_pieces(cell)).split(_BREAK))):
        if lines and line.startswith("("):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return in_one(lines)


def has_blocks(cell: HtmlElement) -> bool:
    """Whether it is more than a line."""
    return next(cell.iterdescendants(*BLOCKS), None) is not None


def _pieces(cell: HtmlElement) -> Iterator[str]:
    """Its texts, with a break before and behind each block."""
    walk: Any = etree.iterwalk(cell, events=("start", "end"))
    for event, element in walk:
        is_within = element is not cell
        yield _BREAK if is_within and _is_break(element) else ""
        if event == "end":
            yield _plain(element.tail) if is_within else ""
        elif is_within and (element.tag in _UNSAID or is_hidden(element)):
            walk.skip_subtree()
        else:
            yield _plain(element.text)


def _is_break(element: HtmlElement) -> bool:
    return element.tag in BLOCKS and not _INLINE.search((element.get("style") or "")[:300])


def _plain(text: str | None) -> str:
    """With the space at its ends; the line breaks of the source are none of the text."""
    return " ".join(f"|{text}|".split())[1:-1] if text else ""
