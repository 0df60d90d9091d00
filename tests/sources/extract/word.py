"""Word documents, written as Word does: blocks, lists, styles, and further parts of the package."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import docx
from docx.oxml import parse_xml

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
NAMES = f'xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"

Change = Callable[[str, bytes], bytes]


def run(inside: str, settings: str = "") -> str:
    return f"<w:r><w:rPr>{settings}</w:rPr>{inside}</w:r>"


def said(text: str, settings: str = "") -> str:
    return run(f'<w:t xml:space="preserve">{text}</w:t>', settings)


def paragraph(text: str, settings: str = "") -> str:
    return f"<w:p><w:pPr>{settings}</w:pPr>{text if text.startswith('<') else said(text)}</w:p>"


def cell(text: str, settings: str = "") -> str:
    return f"<w:tc><w:tcPr>{settings}</w:tcPr>{text if text.startswith('<') else paragraph(text)}</w:tc>"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(each if each.startswith('<') else cell(each) for each in cells)}</w:tr>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def styled(name: str, text: str, more: str = "") -> str:
    return paragraph(said(text), f'<w:pStyle w:val="{name}"/>{more}')


def of_list(number: int | str, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def item(text: str, number: int = 3, level: int = 0) -> str:
    return paragraph(said(text), of_list(number, level))


def heading(text: str, level: int, number: int | None = None, at: int = 0) -> str:
    return styled(f"Heading{level}", text, "" if number is None else of_list(number, at))


def style(name: str, inside: str, based_on: str = "Normal") -> Any:
    based = f'<w:basedOn w:val="{based_on}"/>'
    return parse_xml(
        f'<w:style {NAMES} w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/>{based}'
        f"<w:pPr>{inside}</w:pPr></w:style>"
    )


def num(name: int, more: str = "", kind: int = 7) -> str:
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="{kind}"/>{more}</w:num>'


def numbered(*levels: str, nums: str = num(3)) -> bytes:
    """The part that says how lists are numbered; a level is its form and what is drawn, with a colon between."""
    drawn = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, _, text) in enumerate(level.partition(":") for level in levels)
    )
    kinds = f'<w:abstractNum w:abstractNumId="7">{drawn}</w:abstractNum>'
    return f"<w:numbering {NAMES}>{kinds}{nums}</w:numbering>".encode()


def written(
    *blocks: str, styles: tuple[Any, ...] = (), change: Change | None = None, **parts: bytes
) -> Document:
    """What is read of a document of these blocks, with further parts, whose entries are changed before."""
    document, out, copy = docx.Document(), io.BytesIO(), io.BytesIO()
    for piece in blocks:
        block = parse_xml(f"<w:body {NAMES}>{piece}</w:body>")[0]
        document.element.body.insert(len(document.element.body) - 1, block)
    for each in styles:
        document.styles.element.append(each)
    document.save(out)
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(copy, "w") as other:
        for entry in archive.infolist():
            data = parts.pop("numbering", b"") if entry.filename == "word/numbering.xml" else b""
            data = data or archive.read(entry)
            for name in parts:
                relation = f'<Relationship Id="x{name}" Type="{RELATIONS}/{name}" Target="{name}.xml"/>'
                part = f'<Override PartName="/word/{name}.xml" ContentType="{_TYPES}.{name}+xml"/>'
                if name != "numbering" and entry.filename == "word/_rels/document.xml.rels":
                    data = data.replace(b"</Relationships>", relation.encode() + b"</Relationships>")
                if name != "numbering" and entry.filename == "[Content_Types].xml":
                    data = data.replace(b"</Types>", part.encode() + b"</Types>")
            other.writestr(entry.filename, change(entry.filename, data) if change else data)
        for name, data in parts.items():
            other.writestr(f"word/{name}.xml", data)
    return read(copy.getvalue(), "", "survey of 1931.docx", 10**6)
