"""A Word document: its paragraphs, headings, items and tables in order."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract import docx_parts
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.docx_numbers import NO_LIST, Numbers, numbering
from deep_research.sources.extract.docx_parts import value
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.package import Package, confirmed_day
from deep_research.sources.extract.pdf_blocks import sane_author, sane_title
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.tables import in_one, table_lines
from deep_research.text.plain import clean

_HEADING = regex(r"heading (\d)\Z", re.IGNORECASE)
_NUMBERED = regex(r"List Number(?: \d)?\Z")
_LIST = regex(r"list(?: (?:bullet|number|paragraph|continue))?(?: (\d))?\Z", re.IGNORECASE)
_CONTENTS = regex(r"toc(?: \d| heading)?\Z|table of figures\Z", re.IGNORECASE)
_PLAIN = regex(r"\(?(\d{1,3})[.)]?")  # a number that stands alone
_MAX_DEPTH = 5  # tables in tables
_MAX_ABOVE = 3  # blocks above the heading that is the title


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    Package(raw, "a Word document").refuse_types()
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        opened = docx.Document(io.BytesIO(docx_parts.usual(raw)))
        blocks = list(_Reader(opened).blocks(opened.element.body, 0))
        properties = opened.core_properties
        title, author = sane_title(properties.title or ""), sane_author(properties.author or "")
        days = {day.date() for day in (properties.created, properties.modified) if day is not None}
    except (OpcError, LxmlError, zipfile.BadZipFile, KeyError, ValueError, AttributeError, OSError) as error:
        raise UnreadableError("a damaged Word document") from error
    text = clean("".join(_spaced(blocks))).strip()
    return finished(
        raw,
        asked.name,
        title=title or _heading(blocks),
        text=text,
        published=confirmed_day(days, text),
        author=author,
        max_text_bytes=asked.max_text_bytes,
    )


def _heading(blocks: list[tuple[str, str]]) -> str:
    """The first heading, if it stands at the top; one with a number is one of several."""
    above = (block for block in blocks[: _MAX_ABOVE + 1] if block[0] in ("heading", "part"))
    kind, text = next(above, ("", ""))
    return sane_title(text.lstrip("# ")) if kind == "heading" else ""


class _Reader:
    """Goes through the blocks of a document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._notes = docx_parts.notes(document)
        self._numbers = Numbers(document)
        self._order: dict[tuple[str, str], int] = {}  # of the notes, as they are referred to
        styles = document.styles.element.findall(f"{docx_parts.W}style")
        self._styles = {each.get(f"{docx_parts.W}styleId"): value(each, "name") for each in styles}

    def blocks(self, container: Any, depth: int) -> Iterator[tuple[str, str]]:
        for block in docx_parts.blocks(container):
            if block.tag == f"{docx_parts.W}p":
                yield from self._paragraph(block)
                yield from self._notes_of(block)
            elif depth < _MAX_DEPTH:
                yield from self._table(block, depth)

    def _paragraph(self, element: Any) -> Iterator[tuple[str, str]]:
        text = docx_parts.says(element)
        style = self._styles.get(element.style, "")
        level = _level(element, style, self._numbers.bullet(element))
        label = self._numbers.before(element)  # an empty one counts all the same
        if not text:
            return
        if _CONTENTS.match(style):
            return
        line = " ".join(text.split())
        if heading := _HEADING.match(style):
            marks = "#" * min(6, int(heading[1]))
            yield ("part", f"{marks} {label} {line}") if label else ("heading", f"{marks} {line}")
        elif style == "Title":
            yield "heading", f"# {line}"
        elif level is not None:
            mark = _mark(label) if label else "#." if _NUMBERED.match(style) else "-"
            yield "item", f"{'  ' * min(level, 5)}{mark} {line}"
        else:
            yield "", f"{label} {text}".lstrip()

    def _labelled(self, paragraph: Any) -> str:
        return f"{self._numbers.before(paragraph)} {docx_parts.says(paragraph)}".strip()

    def _notes_of(self, block: Any) -> Iterator[tuple[str, str]]:
        """The notes that a block refers to, behind it, as those of other paged texts."""
        for note in docx_parts.notes_of(block):
            if note not in self._order and self._notes.get(note):
                self._order[note] = len(self._order) + 1
                yield "", f"{self._order[note]} {self._notes[note]}"

    def _table(self, table: Any, depth: int) -> Iterator[tuple[str, str]]:
        """Rows as the corpus writes them. A table of one cell or one column lays out a page: it is read as such."""
        rows = docx_parts.cells(table)
        if max(map(len, rows), default=0) <= 1:
            for row in rows:
                for cell in row:
                    yield from self.blocks(cell, depth + 1)
            return
        cell_texts: dict[Any, str] = {}
        for cell in (cell for row in rows for cell in row if cell is not None):
            if cell not in cell_texts:
                cell_texts[cell] = in_one(docx_parts.words_of(cell, self._labelled)) or docx_parts.called(
                    cell
                )
        texts = [["" if cell is None else cell_texts[cell] for cell in row] for row in rows]
        are_named = docx_parts.are_named(table)
        yield "table", "\n".join(table_lines([row for row in texts if any(row)], are_named=are_named))
        yield from self._notes_of(table)


def _level(paragraph: Any, style: str, bullet: int | None) -> int | None:
    """How far in an item stands, 0 for the outermost; None when it is none. ``bullet`` is the level of one before which
    a bullet is drawn: in a style without a telling name that makes an item too."""
    numbered = numbering(paragraph)
    if numbered and numbered[0] == NO_LIST:
        return None
    if numbered and numbered[1] is not None:
        return numbered[1]
    if match := _LIST.match(style):
        return int(match[1] or 1) - 1
    return 0 if numbered and bullet is None else bullet


def _mark(label: str) -> str:
    """What an item begins with. A plain number is one of an ordered list; what else is drawn stands behind a bullet, as
    nobody takes ``a)`` or ``1.2`` for the beginning of an item."""
    plain = _PLAIN.fullmatch(label)
    return f"{plain[1]}." if plain else f"- {label}"


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
