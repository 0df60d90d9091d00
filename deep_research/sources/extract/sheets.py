"""Spreadsheets of Excel: each sheet as its tables, with what the cells show as far as their values tell."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract.document import Document, Pages, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.package import Package, confirmed_day
from deep_research.sources.extract.plaintext import UnreadableError, native_code
from deep_research.sources.extract.tables import of_sheet

# A cell that holds something, and where it is: the library makes room for all between the first and the last.
_CELL = regex(rb"<(?:\w{1,20}:)?c\s(?:[^<>]{0,200}?\s)?r=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^<>]{0,200}(?<!/)>")
_ROW = regex(  # one whose first cell does not say where it is
    rb"<(?:\w{1,20}:)?row\s(?:[^<>]{0,200}?\s)?r=[\"'](\d{1,7})[\"'][^<>]{0,200}>\s*<(?:\w{1,20}:)?c(?![^<>]{0,200}\sr=)[\s>]"
)
_MAX_CELLS = 1_000_000
_MAX_WHOLE = 1e15  # from which on a number is no count
_ZIP = b"PK"


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    import python_calamine

    title, author, days, large = "", "", set[date](), set[str]()
    if raw.startswith(_ZIP):
        package = Package(raw, "a spreadsheet")
        title, author, days = package.about("docProps/core.xml")
        large = {name for name, part in _parts(package) if _cells(package.read(part)) > _MAX_CELLS}
    pages, hidden = Pages(), []
    with native_code("spreadsheet"):
        book = python_calamine.load_workbook(io.BytesIO(raw))
        for sheet in book.sheets_metadata:
            label = f"sheet {sheet.name}"
            if sheet.visible is not python_calamine.SheetVisibleEnum.Visible:
                hidden.append(label)  # as hidden text
            elif sheet.typ is python_calamine.SheetTypeEnum.WorkSheet and sheet.name not in large:
                rows = book.get_sheet_by_name(sheet.name).to_python(skip_empty_area=True)
                if lines := list(of_sheet([[_cell_text(cell) for cell in row] for row in rows])):
                    pages.add(label, "\n".join((f"## {' '.join(sheet.name.split())}\n", *lines)))
    unread = [f"{', '.join(hidden)}: hidden"] if hidden else []
    unread += [f"sheet {name}: more than {_MAX_CELLS:,} cells" for name in sorted(large)]
    if not pages.starts and unread:
        raise UnreadableError("; ".join(unread), limit="size" if large else "")
    return finished(
        raw,
        asked.name,
        title=title,
        text=pages.text,
        published=confirmed_day(days, pages.text),
        author=author,
        pages=pages.starts,
        page_labels=pages.labels,
        unread="; ".join(unread),
        max_text_bytes=asked.max_text_bytes,
    )


def _parts(package: Package) -> Iterator[tuple[str, str]]:
    """The name of each sheet that is XML, with that of its part."""
    main = package.main("xl/workbook.xml")
    if not main.endswith(".xml"):
        return
    parts = package.related(main)
    for sheet in package.tree(main).iter("{*}sheet"):
        relation = next((value for name, value in sheet.items() if name.endswith("}id")), "")
        part = parts.get(relation, ("", ""))[1]
        if part in package.names:
            yield sheet.get("name", ""), part


def _cells(sheet: bytes) -> int:
    """How many cells there are between the first and the last that holds something."""
    columns, rows = {b"A"}, {int(match[1]) for match in _ROW.finditer(sheet)}
    for match in _CELL.finditer(sheet):
        columns.add(match[1])
        rows.add(int(match[2]))
    widths = [
        sum((letter - 64) * 26**place for place, letter in enumerate(reversed(name))) for name in columns
    ]
    return (max(rows) - min(rows) + 1) * max(widths) if rows else 0


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _MAX_WHOLE else f"{cell:.15g}"
    if isinstance(cell, datetime):
        return (
            (cell.date() if cell.time() == time() else cell.replace(tzinfo=None))
            .isoformat()
            .replace("T", " ")
        )
    return cell.isoformat() if isinstance(cell, (date, time)) else " ".join(str(cell).split())
