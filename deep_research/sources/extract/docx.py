"""A Word document: its paragraphs, headings, items and tables in order."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date
from typing import Any

from deep_research.evidence.plain import clean
from deep_research.sources.extract import docx_parts, zips
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.docx_numbers import Numbers, numbering
from deep_research.sources.extract.finishing import finished
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.tables import is_figure, written
from deep_research.sources.extract.texts import parse_date
from deep_research.sources.extract.titling import sane_author, sane_title

_HEADING = re.compile(r"heading (\d)\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"List Number(?: \d)?\Z")
_LIST = re.compile(r"list(?: (?:bullet|number|paragraph|continue))?(?: (\d))?\Z", re.IGNORECASE)
_CONTENTS = re.compile(r"toc(?: \d| heading)?\Z|table of figures\Z", re.IGNORECASE)
_EAST_ASIAN = "\u2e80"  # from which letters on a word may be broken anywhere
_CLOSING = ")]%”’\"'"  # what a paragraph without a stop may end in
_MOST_DEPTH = 5  # tables in tables
_MOST_STYLES = 10  # of which each is based on the next
_MOST_ABOVE = 3  # blocks above the heading that is the title
_FIRST = 2_000  # characters, in which a text says of what day it is
_MOST_LINES = 30


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`."""
    _check(raw)
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        opened = docx.Document(io.BytesIO(docx_parts.usual(raw)))
        blocks = list(_Reader(opened).blocks(opened.element.body, 0))
        said = opened.core_properties
        title, author = sane_title(said.title or ""), sane_author(said.author or "")
        days = {day.date() for day in (said.created, said.modified) if day is not None}
    except (OpcError, LxmlError, zipfile.BadZipFile, KeyError, ValueError, AttributeError, OSError) as error:
        raise UnreadableError("a damaged Word document") from error
    text = clean("".join(_spaced(blocks))).strip()
    return finished(
        raw,
        asked.name,
        title=title or _heading(blocks),
        text=text,
        published=_said_again(days, text),
        author=author,
        max_text_bytes=asked.max_text_bytes,
    )


def _check(raw: bytes) -> None:
    """Before anything is parsed: office files declare no types of documents, so one that does is made to do harm."""
    with zips.checked(raw) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith((".xml", ".rels")):
                head = zips.read(archive, entry.filename)[:4096]
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"D\0O\0C\0T\0Y\0P\0E" in head:
                    raise UnreadableError("a Word document with entities of its own")


def _heading(blocks: list[tuple[str, str]]) -> str:
    """The first heading, if it stands at the top; one with a number is one of several."""
    above = [block for block in blocks[: _MOST_ABOVE + 1] if block[0] in ("heading", "part")][:1]
    if above and above[0][0] == "part":
        return ""
    return sane_title(above[0][1].lstrip("# ")) if above else ""


def _said_again(days: set[date], text: str) -> date | None:
    """The day on which the file was made or saved, if its first lines say the same: of an old report that was made
    into a file again it says nothing, and no day is better than a wrong one."""
    lines = text[:_FIRST].splitlines()[:_MOST_LINES]
    return next((day for day in map(parse_date, lines) if day in days), None)


class _Reader:
    """Goes through the blocks of a document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._notes = docx_parts.notes(document)
        self._items = Numbers(document)
        self._numbers: dict[
            tuple[str, str], int
        ] = {}  # of the notes, in the order in which they are referred to

    def blocks(self, container: Any, depth: int) -> Iterator[tuple[str, str]]:
        for block in docx_parts.blocks(container):
            if block.tag == f"{docx_parts.W}p":
                yield from self._paragraph(block)
                yield from self._notes_of(block)
            elif depth < _MOST_DEPTH:
                yield from self._table(block, depth)

    def _paragraph(self, element: Any) -> Iterator[tuple[str, str]]:
        from docx.text.paragraph import Paragraph

        text = docx_parts.says(element)
        paragraph = Paragraph(element, self._document._body)
        style = (paragraph.style.name if paragraph.style is not None else None) or ""
        level = _level(paragraph, style)
        # An empty one, or one of headings, counts all the same.
        heading = _HEADING.match(style)
        label = self._before_heading(paragraph) if heading else ""
        number = self._items.of(_list_of(paragraph), level) if level is not None and not heading else None
        if not text:
            return
        if _CONTENTS.match(style):
            return
        if heading:
            marks, said = "#" * min(6, int(heading[1])), " ".join(text.split())
            yield ("part", f"{marks} {label} {said}") if label else ("heading", f"{marks} {said}")
        elif style == "Title":
            yield "heading", f"# {' '.join(text.split())}"
        elif level is not None:
            label = f"{number}." if number is not None else "#." if _NUMBERED.match(style) else "-"
            yield "item", f"{'  ' * min(level, 5)}{label} {' '.join(text.split())}"
        else:
            yield "", text

    def _before_heading(self, paragraph: Any) -> str:
        """The number of a heading as it is drawn, by what the paragraph says or else its style."""
        own = numbering(paragraph._p.pPr)
        style = paragraph.style
        of_style = [found for found in map(numbering, _properties_of(style)) if found]
        name = next((name for name, _ in filter(None, (own, *of_style)) if name), "")
        linked = self._items.level_of(name, style.style_id)
        levels = (own and own[1], linked, *(level for _, level in of_style), 0)
        return self._items.drawn(name, next(level for level in levels if level is not None))

    def _notes_of(self, block: Any) -> Iterator[tuple[str, str]]:
        """The notes that a block refers to, behind it, as those of other paged texts."""
        for note in docx_parts.notes_of(block):
            if note not in self._numbers and self._notes.get(note):
                self._numbers[note] = len(self._numbers) + 1
                yield "", f"{self._numbers[note]} {self._notes[note]}"

    def _table(self, table: Any, depth: int) -> Iterator[tuple[str, str]]:
        """Rows as the corpus writes them. A table of one cell or one column lays out a page: it is read as such."""
        rows = docx_parts.cells(table)
        if max(map(len, rows), default=0) <= 1:
            for row in rows:
                for cell in row:
                    yield from self.blocks(cell, depth + 1)
            return
        told: dict[Any, list[str]] = {}
        for cell in (cell for row in rows for cell in row if cell is not None):
            if cell not in told:
                told[cell] = list(docx_parts.words_of(cell))
        texts = [
            line for row in rows for line in _lines([told[cell] if cell is not None else [] for cell in row])
        ]
        yield "table", "\n".join(written([row for row in texts if any(row)]))
        yield from self._notes_of(table)


def _lines(row: list[list[str]]) -> list[list[str]]:
    """A row of cells of paragraphs, as several where labels and figures stand beside each other line by line."""
    cells = [_broken(paragraphs) for paragraphs in row]
    longest = max(map(len, cells), default=0)
    long = [cell for cell in cells if len(cell) > 1]
    if len(long) > 1 and all(len(cell) == longest for cell in long) and any(map(_is_of_figures, long)):
        return [[cell[at] if at < len(cell) else "" for cell in cells] for at in range(longest)]
    return [[_in_one(paragraphs) for paragraphs in row]]


def _broken(paragraphs: list[str]) -> list[str]:
    """The lines of a cell; empty ones at its end stand beside nothing."""
    lines = [line for paragraph in paragraphs for line in paragraph.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _is_of_figures(lines: list[str]) -> bool:
    return 2 * sum(map(is_figure, lines)) > len(lines)


def _in_one(paragraphs: list[str]) -> str:
    """The paragraphs of a cell in a line, told apart."""
    text = ""
    for paragraph in filter(None, (" ".join(paragraph.split()) for paragraph in paragraphs)):
        is_open = text[-1:].isalnum() or text[-1:] in _CLOSING
        text += ("; " if text and is_open and text[-1] < _EAST_ASIAN else " ") + paragraph
    return text.strip()


def _level(paragraph: Any, style: str) -> int | None:
    """How far in an item stands, 0 for the outermost; None when it is none."""
    properties = paragraph._p.pPr
    numbered = properties is not None and properties.numPr is not None
    named = _LIST.match(style)
    if numbered and properties.numPr.ilvl is not None:
        return int(properties.numPr.ilvl.val)
    if named:
        return int(named[1] or 1) - 1
    return 0 if numbered else None


def _properties_of(style: Any) -> Iterator[Any]:
    """What a style says of its paragraphs, and what those say on which it is based."""
    for _ in range(_MOST_STYLES):
        if style is None:
            return
        yield style.element.pPr
        style = getattr(style, "base_style", None)  # what is no style of paragraphs has none


def _list_of(paragraph: Any) -> str:
    """The name of the list that an item says it belongs to."""
    properties = paragraph._p.pPr
    number = None if properties is None or properties.numPr is None else properties.numPr.numId
    return "" if number is None else str(number.val)


def _spaced(blocks: list[tuple[str, str]]) -> Iterator[str]:
    before = ""
    number = 0
    for kind, block in blocks:
        number = number + 1 if kind == "item" and block.startswith("#. ") else 0
        block = (
            f"{number}{block[1:]}" if number else block.replace("#. ", "- ", 1) if kind == "item" else block
        )
        yield ("\n" if kind == before == "item" else "\n\n") + block
        before = kind
