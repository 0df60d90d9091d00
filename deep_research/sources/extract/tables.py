"""The light structure of the corpus: CSV and TSV as rows, the columns' names first, `` | `` between the cells; and the
writer of headings, paragraphs, items, rows and code that readers of markup share."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from deep_research.patterns import regex
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest, Format
from deep_research.sources.extract.plaintext import UnreadableError, decode
from deep_research.text.plain import clean
from deep_research.text.rows import MAX_HEADER, NO_HEADER, is_header, is_list, is_titled

_DELIMITERS = ",;\t|"
_SPACES = " "
_SAMPLE_CHARS = 20_000
_MAX_COLUMNS = 500
_FIELD_CHARS = 100_000
_EAST_ASIAN = "\u2e80"  # from which letters on a word may be broken anywhere
_CLOSING = ")]%”’\"'"  # what a paragraph without a stop may end in
_APART = ", "  # no colon: it would part a name from what stands under it
_MAX_LEVEL = 6
_INDENT = "  "
_WIDEST_CHARS = 4  # characters that the later lines of an item are set in
_RUN = regex(r"`{3,}")


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    text = clean(decode(raw, declared=asked.charset or None)).strip("\n")
    rows = list(_rows(text, "\t" if asked.format is Format.TSV else _delimiter(text)))
    return finished(
        raw, asked.name, title="", text="\n".join(table_lines(rows)), max_text_bytes=asked.max_text_bytes
    )


def table_lines(rows: list[list[str]], *, are_named: bool = True) -> Iterator[str]:
    """The lines of a table. One whose first row is of facts gets an empty row before it, as in web pages, so that
    nobody takes them for names of columns; a title above the names of the columns is none of them. What nothing marks
    as names of columns (``are_named``) may open a list of labels and values."""
    if not rows:
        return
    if is_titled(rows):
        yield " ".join("".join(rows[0]).split()) + "\n"
        rows = rows[1:]
    elif len(rows[0]) > 1 and (not is_header(rows) or (not are_named and is_list(rows))):
        yield NO_HEADER
    for row in rows:
        yield line(row)


def line(cells: list[str]) -> str:
    """One row. An empty cell keeps its place; a bar in a cell is no border."""
    plain = [" ".join(cell.replace("|", "/").split()) for cell in cells]
    return " | ".join(plain).replace("|  |", "| |").replace("|  |", "| |").strip()


def in_one(paragraphs: Iterable[str]) -> str:
    """The paragraphs of a cell in a line, told apart."""
    text = ""
    for paragraph in filter(None, (" ".join(paragraph.split()) for paragraph in paragraphs)):
        is_open = text[-1:].isalnum() or text[-1:] in _CLOSING
        text += ("; " if text and is_open and text[-1] < _EAST_ASIAN else " ") + paragraph
    return text.strip()


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    if delimiter == _SPACES:
        text, delimiter = "\n".join("\t".join(part.split()) for part in text.split("\n")), "\t"
    csv.field_size_limit(_FIELD_CHARS)
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            if len(row) > _MAX_COLUMNS:
                raise UnreadableError(f"a table of more than {_MAX_COLUMNS} columns", limit="size")
            if any(map(str.strip, row)):
                yield row
    except csv.Error as error:
        raise UnreadableError(f"a table that cannot be read: {error}") from error


def _delimiter(text: str) -> str:
    """The mark that most lines have equally often, outside quotes."""
    lines = [re.sub(r'"[^"\n]*"', "", part) for part in text[:_SAMPLE_CHARS].split("\n")[:50] if part.strip()]
    if _is_spaced(lines):
        return _SPACES

    def votes(mark: str) -> float:
        counts = [part.count(mark) for part in lines]
        usual = max(set(counts), key=counts.count, default=0)
        return counts.count(usual) / len(counts) * min(usual, 5) if usual else 0.0

    return max(_DELIMITERS, key=votes)


def _is_spaced(lines: list[str]) -> bool:
    """Whether nothing but spaces stands between numbers, as many in each line."""
    rows = [part.split() for part in lines]
    columns = len(rows[-1]) if rows else 0
    if columns < 2 or len(rows) < 2 or any(len(row) != columns for row in rows):
        return False
    return all(_is_decimal(cell) for row in rows[1:] for cell in row)


def _is_decimal(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def joined_names(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """One name for each column, that of its group before its own. ``rows`` are the rows of names, with None where one
    goes on that began further left, and the same again where it began further up. Nothing where the names of groups
    are too long to be said with each column."""
    width = max(map(len, rows), default=0)
    columns = zip(*(_to_the_right(row, width) for row in rows), strict=True)
    names = [_join_names([name for name, _ in groupby(filter(None, column))]) for column in columns]
    return names if all(len(name) <= MAX_HEADER for name in names) else []


def _to_the_right(row: Sequence[str | None], width: int) -> list[str]:
    labels: list[str] = []
    for name in row:
        labels.append((labels[-1] if labels else "") if name is None else name)
    return labels + [""] * (width - len(labels))


def _join_names(names: Sequence[str]) -> str:
    """A unit in brackets goes on with what it is of."""
    text = ""
    for name in names:
        text += (" " if name[:1] in "([" else _APART) + name if text else name
    return text


def of_sheet(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of the tables of a sheet. Behind an empty row another one begins, where it names columns of its own."""
    table: list[Sequence[str]] = []
    for has_cells, part in groupby(rows, key=any):
        block = list(part) if has_cells else []
        own = _compact(block)
        if table and own and len(own[0]) > 1 and is_header(own):
            yield from _lines(_compact(table))
            table = []
        table += block
    yield from _lines(_compact(table))


def _compact(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Without the columns that are empty in all rows."""
    columns = [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]
    return [[row[place] for place in columns] for row in rows]


def _lines(rows: list[list[str]]) -> Iterator[str]:
    """What stands alone above a table is what it is called."""
    is_named = any(all(row[:2]) for row in rows if len(row) > 1)
    while is_named and sum(map(bool, rows[0])) == 1:
        yield "".join(rows.pop(0)) + "\n"
    if rows:
        yield from table_lines(rows)
        yield ""


@dataclass(slots=True)
class _Item:
    mark: str
    is_begun: bool = False


class Blocks:
    """The blocks of a text in order. A paragraph that is written while an item is open is in that item."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._items: list[_Item] = []
        # The kind of the last block: items, rows and fields follow their like without a blank line.
        self._last = ""

    def __str__(self) -> str:
        return "".join(self._pieces).strip()

    def heading(self, level: int, words: str) -> None:
        if words := " ".join(words.split()):
            self._write("", f"{'#' * min(level, _MAX_LEVEL)} {words}")

    def paragraph(self, words: str) -> None:
        """Its line ends stay: they are where its author broke a line."""
        lines = [each for each in (" ".join(each.split()) for each in words.split("\n")) if each]
        if not lines:
            return
        if not self._items:
            self._write("", "\n".join(lines))
            return
        item, depth = self._items[-1], len(self._items) - 1
        margin = _INDENT * depth + " " * min(len(item.mark) + 1, _WIDEST_CHARS)
        first = margin if item.is_begun else f"{_INDENT * depth}{item.mark} "
        kind = "" if item.is_begun else "item"
        for each in self._items:
            each.is_begun = True
        self._write(kind, first + f"\n{margin}".join(lines))

    def field(self, words: str) -> None:
        """A line of its own, such as one of several that say who wrote a text and when."""
        if words := " ".join(words.split()):
            self._write("field", words)

    def open_list(self) -> None:
        if not self._items:
            self._last = ""

    def open_item(self, mark: str) -> None:
        """``mark`` stands before its first paragraph."""
        self._items.append(_Item(mark))

    def close_item(self) -> None:
        if self._items:
            self._items.pop()

    def rows(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table. Without a ``header``, an empty row stands first: no fact is then the name of a column."""
        lines = [line(list(row)) for row in rows if any(map(str.strip, row))]
        if not lines and not any(header):
            return
        header_line = line(list(header)) if any(header) else NO_HEADER
        self._write("", "\n".join((header_line, *lines)))

    def code(self, code: str, info: str = "") -> None:
        code = code.strip("\n").rstrip()
        if code.strip():
            # Longer than any row of marks in it, so that none of them ends it.
            fence = "`" * max(3, 1 + max(map(len, _RUN.findall(code)), default=0))
            self._write("", f"{fence}{info}\n{code}\n{fence}")

    def verbatim(self, text: str) -> None:
        """Blocks that another reader wrote."""
        if text.strip():
            self._write("", text)

    def _write(self, kind: str, block: str) -> None:
        self._pieces.append(("\n" if kind and kind == self._last else "\n\n") + block)
        self._last = kind
