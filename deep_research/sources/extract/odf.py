"""OpenDocument files: texts with their headings, lists, tables, notes and formulas; sheets; slides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from lxml.html import fromstring

from deep_research.sources.extract.document import Document, Pages, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.package import Package, confirmed_day
from deep_research.sources.extract.page_signs import tell_formulas
from deep_research.sources.extract.plaintext import (
    END,
    MARKS,
    UnreadableError,
    resolve_marks,
    whole_number,
    words,
)
from deep_research.sources.extract.tables import Blocks, in_one, of_sheet, table_lines
from deep_research.text.plain import clean

_NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
_DRAW, _OFFICE, _SHOW, _STYLE, _TABLE, _TEXT = (
    f"{{{_NAMES}{name}:1.0}}" for name in ("drawing", "office", "presentation", "style", "table", "text")
)
_MANIFEST = "META-INF/manifest.xml"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SIGNS = {f"{_TEXT}s": " ", f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_HIDING = ((f"{_TEXT}display", "none"), (f"{_TABLE}display", "false"), (f"{_SHOW}visibility", "hidden"))
_OWN_WORDS = (f"{_TEXT}p", f"{_TEXT}h")
_LATER = (f"{_TEXT}note", f"{_DRAW}text-box")  # what stands behind the paragraph that it is in
# What says again what stands elsewhere, and what is no part of the text.
_UNSAID = {
    f"{_TEXT}{name}"
    for name in words(
        "alphabetical-index hidden-paragraph hidden-text illustration-index note-citation object-index table-index "
        "table-of-content tracked-changes user-index"
    )
} | {
    *(f"{_OFFICE}annotation", f"{_OFFICE}forms", f"{_SHOW}notes", f"{_TABLE}shapes"),
    *(f"{{{_NAMES}svg-compatible:1.0}}{name}" for name in ("title", "desc")),
}
_ROW_GROUPS = [f"{_TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group")]
_MAX_REPEATED = 200  # times that a row or cell is said again: empty ones are to the end of a sheet
_MAX_CELLS = 1_000_000
_MAX_CHARS = 20_000_000  # of a table, with what is said again
_MAX_FORMULA_BYTES = 100_000


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    package = Package(raw, "an OpenDocument file")
    if _MANIFEST in package.names and b"encryption-data" in package.read(_MANIFEST):
        raise UnreadableError("encrypted; save it without a password")
    content = package.tree("content.xml")
    body = next(iter(content.iterfind(f"{_OFFICE}body/*")), None)
    if body is None:
        raise UnreadableError("an OpenDocument file without a text")
    styles = _Styles([content, *(package.tree(name) for name in package.names if name == "styles.xml")])
    title, author, days = package.about("meta.xml")
    pages, is_book = Pages(), body.tag == f"{_OFFICE}spreadsheet"
    parts = list(body.iterchildren(f"{_TABLE}table" if is_book else f"{_DRAW}page"))
    hidden: list[str] = []
    for number, part in enumerate(parts, 1):
        label = f"sheet {part.get(f'{_TABLE}name', '')}" if is_book else f"slide {number}"
        if styles.hide(part):
            hidden.append(label)
        else:
            pages.add(label, _Reader(package, styles).page(part, label))
    reader = _Reader(package, styles)
    text = pages.text if parts else clean(reader.whole(body)).strip()
    return finished(
        raw,
        asked.name,
        title=title or reader.title,
        text=text,
        published=confirmed_day(days, text),
        author=author,
        pages=pages.starts,
        page_labels=pages.labels,
        unread=f"{', '.join(hidden)}: hidden" if hidden else "",
        max_text_bytes=asked.max_text_bytes,
    )


class _Styles:
    """What the styles of a file say of the text: which of it is raised or lowered (by `MARKS`), which hidden, and which
    lists are numbered, by style and level."""

    def __init__(self, roots: Sequence[Any]) -> None:
        self.marks: dict[str, str] = {}
        self.numbered: set[tuple[str, str]] = set()
        self._hidden: set[str] = set()
        for style in (style for root in roots for style in root.iter(f"{_STYLE}style")):
            name = style.get(f"{_STYLE}name", "")
            for properties in style:
                if mark := _mark(properties.get(f"{_STYLE}text-position", "")):
                    self.marks[name] = mark
                if any(properties.get(key) == value for key, value in _HIDING):
                    self._hidden.add(name)
        for style in (style for root in roots for style in root.iter(f"{_TEXT}list-style")):
            for level in style.iterfind(f"{_TEXT}list-level-style-number"):
                if level.get(f"{_STYLE}num-format"):
                    self.numbered.add((style.get(f"{_STYLE}name", ""), level.get(f"{_TEXT}level", "")))

    def hide(self, element: Any) -> bool:
        """Whether nobody is to see it: a text, a sheet or a slide."""
        return any(element.get(f"{kind}style-name") in self._hidden for kind in (_TEXT, _TABLE, _DRAW))


class _Reader:
    """Goes through the blocks of a text, a slide or a sheet."""

    def __init__(self, package: Package, styles: _Styles) -> None:
        self.title = ""
        self._package = package
        self._styles = styles
        self._out = Blocks()
        self._notes = 0
        self._items: dict[tuple[str, str], int] = {}  # how many items the last list of a style and level had

    def whole(self, body: Any) -> str:
        self.blocks(body)
        return str(self._out)

    def page(self, part: Any, label: str) -> str:
        """A sheet, or a slide, under its title."""
        if part.tag == f"{_TABLE}table":
            self._table(part, label.removeprefix("sheet "))
            return str(self._out)
        titles = [each for each in part.iterchildren(f"{_DRAW}frame") if each.get(f"{_SHOW}class") == "title"]
        title = " ".join(" ".join(map(self._words, frame.iter(f"{_TEXT}p"))) for frame in titles)
        self._out.heading(2, title.strip() or label.capitalize())
        self.blocks(each for each in part if each not in titles)
        for frame in part.iterfind(f"{_SHOW}notes/{_DRAW}frame[@{_SHOW}class='notes']"):
            for line in filter(None, map(self._words, frame.iter(f"{_TEXT}p"))):
                self._out.paragraph(f"Notes: {line}")
        return str(self._out)

    def blocks(self, container: Iterable[Any], lists: tuple[str, ...] = ()) -> None:
        for child in container:
            if child.tag == f"{_TEXT}h":
                self._heading(child)
            elif child.tag == f"{_TEXT}p":
                self._paragraph(child)
            elif child.tag == f"{_TEXT}list":
                self._list(child, lists)
            elif child.tag == f"{_TABLE}table":
                self._table(child)
            elif child.tag == f"{_DRAW}object":
                for table in self._chart(child):
                    self._table(table)
            elif child.tag not in _UNSAID:
                self.blocks(child, lists)

    def _heading(self, element: Any) -> None:
        words = self._words(element)
        self.title = self.title or words
        self._out.heading(whole_number(element.get(f"{_TEXT}outline-level"), 1), words)
        self._later(element)

    def _paragraph(self, element: Any) -> None:
        if self._styles.hide(element):
            return
        if element.get(f"{_TEXT}style-name") == "Title" and not self.title:
            self.title = self._words(element)
            self._out.heading(1, self.title)
        else:
            self._out.paragraph(self._words(element))
        self._later(element)

    def _later(self, element: Any) -> None:
        """The notes that a paragraph refers to, and the boxes and charts that are fixed to it, behind it."""
        for each in element.iter(f"{_DRAW}object", *_LATER):
            if next(each.iterancestors(*_OWN_WORDS), None) is not element:
                continue  # it is of a paragraph within
            if each.tag == f"{_TEXT}note":
                self._notes += 1
                note = " ".join(map(self._words, each.iterfind(f"{_TEXT}note-body//{_TEXT}p")))
                self._out.paragraph(f"{self._notes} {note}")
            else:
                self.blocks([each])

    def _list(self, element: Any, lists: tuple[str, ...]) -> None:
        """``lists`` are the styles of the lists around it: one without a style has that of the outer one."""
        style = element.get(f"{_TEXT}style-name") or "".join(lists[-1:])
        level = style, str(len(lists) + 1)
        goes_on = element.get(f"{_TEXT}continue-numbering") == "true" or element.get(f"{_TEXT}continue-list")
        number = self._items.get(level, 0) if goes_on else 0
        self._out.open_list()
        for item in element.iterchildren(f"{_TEXT}list-item", f"{_TEXT}list-header"):
            number += any(each.tag in _OWN_WORDS for each in item)  # else it only holds a list
            self._out.open_item(f"{number}." if level in self._styles.numbered else "-")
            self.blocks(item, (*lists, style))
            self._out.close_item()
        self._items[level] = number

    def _chart(self, shape: Any) -> Iterator[Any]:
        """The tables of figures that a chart draws."""
        name = _part_of(shape)
        if name in self._package.names and b"office:chart" in self._package.read(name):
            yield from self._package.tree(name).iter(f"{_TABLE}table")

    def _table(self, table: Any, title: str = "") -> None:
        rows: list[list[str]] = []
        cells = chars = 0
        for row in _rows(table):
            cells_of_row: list[str] = []
            for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                cells_of_row += [self._cell(cell)] * _repeated(cell, "columns")
            times = _repeated(row, "rows") if any(cells_of_row) else 1
            cells += times * len(cells_of_row)
            chars += times * sum(map(len, cells_of_row))
            if cells > _MAX_CELLS or chars > _MAX_CHARS:
                what = f"{_MAX_CELLS:,} cells" if cells > _MAX_CELLS else f"{_MAX_CHARS:,} characters"
                raise UnreadableError(f"a table of more than {what}", limit="size")
            rows += [cells_of_row] * times
        width = max((n for row in rows for n, cell in enumerate(row, 1) if cell), default=0)
        full_rows = [[*row[:width], *[""] * (width - len(row))] for row in rows if title or any(row)]
        is_named = table.find(f"{_TABLE}table-header-rows") is not None
        if any(map(any, full_rows)):
            self._out.heading(2, title)
            lines = of_sheet(full_rows) if title else table_lines(full_rows, are_named=is_named)
            self._out.verbatim("\n".join(lines))

    def _cell(self, cell: Any) -> str:
        """What it shows; a day as a day, whose form in a file is that of its language."""
        day = cell.get(f"{_OFFICE}date-value", "")
        return day.removesuffix("T00:00:00") or in_one(map(self._words, cell.iter(f"{_TEXT}p", f"{_TEXT}h")))

    def _words(self, paragraph: Any) -> str:
        return resolve_marks("".join(self._pieces(paragraph))).strip()

    def _pieces(self, element: Any) -> Iterator[str]:
        yield element.text or ""
        for child in element:
            if child.tag in _SIGNS:
                yield _SIGNS[child.tag]
            elif child.tag == f"{_DRAW}object":
                yield self._formula(child)
            elif child.tag not in _UNSAID and child.tag not in _LATER and not self._styles.hide(child):
                mark = self._styles.marks.get(child.get(f"{_TEXT}style-name", ""), "")
                yield from (mark, *self._pieces(child), END) if mark else self._pieces(child)
            yield child.tail or ""

    def _formula(self, shape: Any) -> str:
        """What an object says that is a formula."""
        name = _part_of(shape)
        raw = self._package.read(name) if name in self._package.names else b""
        if b"MathML" not in raw[:2_000] or len(raw) > _MAX_FORMULA_BYTES:
            return ""
        with suppress(ValueError):
            page = fromstring(b"<div>" + raw[raw.find(b"<math") :] + b"</div>")
            tell_formulas(page)
            return f" {' '.join(page.text_content().split())} "
        return ""


def _rows(table: Any) -> Iterator[Any]:
    """Its own rows, and not those of tables in its cells."""
    for child in table:
        if child.tag == f"{_TABLE}table-row":
            yield child
        elif child.tag in _ROW_GROUPS:
            yield from _rows(child)


def _part_of(shape: Any) -> str:
    link = str(shape.get(_LINK, ""))
    return f"{link.removeprefix('./').rstrip('/')}/content.xml"


def _mark(position: str) -> str:
    """The mark of what is raised or lowered, as a word or in per cent."""
    first = position.partition(" ")[0]
    if first in ("super", "sub"):
        return MARKS[first[:3]]
    shift = first.rstrip("%")
    return "" if not shift.strip("-0").isdecimal() else MARKS["sub" if shift.startswith("-") else "sup"]


def _repeated(element: Any, what: str) -> int:
    return min(max(whole_number(element.get(f"{_TABLE}number-{what}-repeated"), 1), 1), _MAX_REPEATED)
