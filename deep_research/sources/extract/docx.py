"""A Word document: its paragraphs, headings, items and tables in order."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from deep_research.evidence.plain import clean
from deep_research.sources.extract import zips
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import finished
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.tables import written

_HEADING = re.compile(r"heading (\d)\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"List Number(?: \d)?\Z")
_LIST = re.compile(r"list(?: (?:bullet|number|paragraph|continue))?(?: (\d))?\Z", re.IGNORECASE)
_CONTENTS = re.compile(r"toc(?: \d| heading)?\Z|table of figures\Z", re.IGNORECASE)
_NOT_AN_AUTHOR = re.compile(r"python-docx|^(?:user|admin\w*|author|unknown|owner|\W*)$|\\|@", re.IGNORECASE)
_MOST_DEPTH = 5  # tables in tables


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`."""
    _check(raw)
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        opened = docx.Document(io.BytesIO(raw))
        blocks = list(_blocks(opened, 0))
        said = opened.core_properties
        title, author, day = said.title or "", said.author or "", said.modified or said.created
        created = said.created or day
    except (OpcError, LxmlError, zipfile.BadZipFile, KeyError, ValueError, AttributeError, OSError) as error:
        raise UnreadableError("a damaged Word document") from error
    text = clean("".join(_spaced(blocks))).strip()
    return finished(
        raw,
        asked.name,
        title=title or next((block.lstrip("# ") for kind, block in blocks if kind == "heading"), ""),
        text=text,
        published=_sane(created),
        author="" if _NOT_AN_AUTHOR.search(author) else author,
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


def _sane(day: datetime | None) -> date | None:
    # The template that many programs start from is of 2013.
    if day is None or not 1990 <= day.year <= 2100 or (day.year, day.month, day.day) == (2013, 12, 23):
        return None
    return day.date()


def _blocks(container: Any, depth: int) -> Iterator[tuple[str, str]]:
    from docx.table import Table

    for block in container.iter_inner_content():
        if not isinstance(block, Table):
            yield from _paragraph(block)
        elif depth < _MOST_DEPTH:
            yield from _table(block, depth)


def _paragraph(paragraph: Any) -> Iterator[tuple[str, str]]:
    text = "\n".join(" ".join(line.split()) for line in paragraph.text.split("\n")).strip()
    if not text:
        return
    style = (paragraph.style.name if paragraph.style is not None else None) or ""
    if _CONTENTS.match(style):
        return
    if heading := _HEADING.match(style):
        yield "heading", f"{'#' * min(6, int(heading[1]))} {' '.join(text.split())}"
    elif style == "Title":
        yield "heading", f"# {' '.join(text.split())}"
    elif (level := _level(paragraph, style)) is not None:
        label = "#." if _NUMBERED.match(style) else "-"
        yield "item", f"{'  ' * min(level, 5)}{label} {' '.join(text.split())}"
    else:
        yield "", text


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


def _table(table: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Rows as the corpus writes them. A table of one cell or one column lays out a page: it is read as such."""
    rows: list[list[str]] = []
    for row in table.rows:
        cells, seen = [], set()
        for cell in row.cells:
            first = cell._tc not in seen  # a merged cell comes once for each column that it covers
            seen.add(cell._tc)
            cells.append(" ".join(cell.text.split()) if first else "")
        rows.append(cells)
    if max(map(len, rows), default=0) <= 1:
        for row in table.rows:
            for cell in row.cells:
                yield from _blocks(cell, depth + 1)
        return
    yield "table", "\n".join(written([row for row in rows if any(row)]))


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
