"""Files that are made to do harm, of any size: what a reader of each format finds hardest to read.

Each is the same shape at 4 KB as at 9 MB, for what takes quadratic time or memory shows only when both are read. Shapes
of a fixed size, such as bombs and archives that lie, stand in tests/sources/extract/hostile.py.
"""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "extract"))

from hostile import FONT, pdf, stream

SIZES = {"4 KB": 4_096, "190 KB": 190_000, "1 MB": 1_000_000, "9 MB": 9_000_000}


@dataclass(frozen=True)
class Hostile:
    """``make`` gives the bytes of a file that is called ``suffix``, of about so many bytes as it is asked for."""

    name: str
    suffix: str
    make: Callable[[int], bytes]


def row(piece: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """One thing over and over."""
    unit, first, last = piece.encode(), before.encode(), after.encode()

    def make(size: int) -> bytes:
        return first + unit * max(1, (size - len(first) - len(last)) // len(unit)) + last

    return make


def numbered(piece: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """The same with a number each time, so that no two are alike: ``piece`` has a ``%d``, or several."""
    places = piece.count("%d")

    def make(size: int) -> bytes:
        found, length = [before], len(before) + len(after)
        for number in count():
            found.append(piece % ((number,) * places))
            length += len(found[-1].encode())
            if length >= size:
                return "".join([*found, after]).encode()
        raise AssertionError

    return make


def nested(opening: str, closing: str = "", within: str = "word") -> Callable[[int], bytes]:
    """One thing within the other."""

    def make(size: int) -> bytes:
        depth = max(1, (size - len(within)) // (len(opening) + len(closing)))
        return (opening * depth + within + closing * depth).encode()

    return make


def stepped(line: str, step: str = "  ", *, end: str = "\n", deepest: int = 1_000) -> Callable[[int], bytes]:
    """Lines of which each stands further in than the one before, ``deepest`` at most, then all over again."""

    def make(size: int) -> bytes:
        found, length = [], 0
        for number in count():
            found.append(step * (number % deepest) + line + end)
            length += len(found[-1])
            if length >= size:
                return "".join(found).encode()
        raise AssertionError

    return make


def page(make: Callable[[int], bytes], head: str = "") -> Callable[[int], bytes]:
    """The same as the body of a web page."""
    opening = f"<!doctype html><html><head><title>T</title>{head}</head><body>".encode()
    return lambda size: opening + make(max(1, size - len(opening)))


def longer_runs(mark: str) -> Callable[[int], bytes]:
    """Runs of a mark, each longer than the last, so that none is the end of another."""

    def make(size: int) -> bytes:
        found, length = [], 0
        for number in count(1):
            found.append(f"{mark * number} a ")
            length += number + 3
            if length >= size:
                return "".join(found).encode()
        raise AssertionError

    return make


def different_pairs(size: int) -> bytes:
    """A script without spaces, of which each pair of characters, as it is indexed, is another."""
    return "".join(
        chr(0x4E00 + (number * number * 31 + number // 7) % 20_011) for number in range(size // 3)
    ).encode()


def short_words(size: int) -> bytes:
    """As many different words as fit."""
    signs = "abcdefghijklmnopqrstuvwxyz0123456789"
    found = "".join(
        f"{a}{b}{c}{d} " for a in signs for b in signs for c in signs for d in signs[: size // 200_000 + 1]
    )
    return (found[:size] if len(found) >= size else found).encode()


def wide_table(size: int) -> bytes:
    """Half of the file is the names of columns, the other half rows that have none of them."""
    columns = max(1, size // 8)
    return b"|a" * columns + b"|\n" + b"|-" * columns + b"|\n" + b"|a|\n" * max(1, size // 8)


def grid(size: int) -> bytes:
    """A table that is drawn, of so many columns as rows."""
    side = max(2, int((size / 8) ** 0.5))
    rule = b"+" + b"---+" * side + b"\n"
    return rule + (b"|" + b" a |" * side + b"\n" + rule) * side


def uneven_grid(size: int) -> bytes:
    """A table that is drawn, whose cells reach over rows and columns and do not close."""
    side = max(2, int((size / 8) ** 0.5))
    rules = [
        b"+" + b"".join(b"---+" if (column + row) % 3 else b"   |" for column in range(side)) + b"\n"
        for row in range(3)
    ]
    first = b"+" + b"---+" * side + b"\n"
    return first + b"".join(b"|" + b" a  " * side + b"\n" + rules[row % 3] for row in range(side)) + first


def replaced(size: int) -> bytes:
    """Substitutions of which each stands for ten of the next."""
    rows = b"".join(b".. |s%d| replace:: " % n + b"|s%d| " % (n + 1) * 10 + b"\n" for n in range(9))
    return rows + b".. |s9| replace:: lol\n\n" + b"|s0| word\n\n" * max(1, size // 11)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))


def pdf_of(
    content: Callable[[int], bytes], extra: bytes = b"", page_extra: bytes = b""
) -> Callable[[int], bytes]:
    """One page that is drawn so."""

    def make(size: int) -> bytes:
        return pdf(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R %s "
                b"/Resources << /Font << /F1 4 0 R >> /XObject << /X 5 0 R >> >> >>" % page_extra,
                FONT,
                stream(content(max(1, size - 700)), extra),
            ]
        )

    return make


def pdf_of_objects(piece: bytes) -> Callable[[int], bytes]:
    """A page of a word, and objects that nobody asked for."""

    def make(size: int) -> bytes:
        return pdf(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
                b"/Resources << /Font << /F1 4 0 R >> >> >>",
                FONT,
                stream(b"BT /F1 9 Tf 1 0 0 1 50 700 Tm (Hello) Tj ET"),
                *[piece] * max(1, (size - 600) // (len(piece) + 40)),
            ]
        )

    return make


def pdf_pages(size: int) -> bytes:
    """As many pages as fit."""
    pages = max(1, size // 170)
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [%s] /Count %d >>"
            % (b" ".join(b"%d 0 R" % (number + 5) for number in range(pages)), pages),
            FONT,
            stream(b"BT /F1 9 Tf 1 0 0 1 50 700 Tm (Hello) Tj ET"),
            *[
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
                b"/Resources << /Font << /F1 3 0 R >> >> >>"
            ]
            * pages,
        ]
    )


def packed_often(size: int) -> bytes:
    """Streams within streams: packed eight times over, as much as becomes fifty times the size."""
    data = b"BT /F1 9 Tf (x) Tj ET " * (size * 50 // 22)
    for _ in range(8):
        data = zlib.compress(data, 6)
    return pdf_of(lambda _: data, b"/Filter [" + b"/FlateDecode " * 8 + b"]")(size)


WORD = b'<?xml version="1.0"?>%s<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
TYPES = (
    b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    b'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    b'<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    b'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    b'<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    b'officeDocument" Target="word/document.xml"/></Relationships>'
)


def docx(
    body: Callable[[int], bytes], *, closing: str = "", kind: str = "", packing: int = zipfile.ZIP_STORED
) -> Callable[[int], bytes]:
    """A Word document whose body is so; ``packing`` other than none makes the file smaller than it was asked for."""

    def make(size: int) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", packing) as archive:
            archive.writestr("[Content_Types].xml", TYPES)
            archive.writestr("_rels/.rels", RELATIONS)
            said = WORD % kind.encode() + body(max(1, size - 1_500)) + closing.encode()
            archive.writestr("word/document.xml", said + b"</w:body></w:document>")
        return out.getvalue()

    return make


def many_parts(size: int) -> bytes:
    """A Word document of so many parts as fit."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", WORD % b"" + b"<w:p/></w:body></w:document>")
        for number in range(max(1, size // 150)):
            archive.writestr(f"word/part{number}.xml", b"<a/>")
    return out.getvalue()


SAID = "<w:p><w:r><w:t>word </w:t></w:r></w:p>"
RUN = "<w:r><w:t>word</w:t></w:r>"

SHAPES: dict[str, dict[str, Callable[[int], bytes]]] = {
    ".md": {
        "brackets that open": row("["),
        "brackets that open and close": nested("[", "]"),
        "links within links": row("[a](", "b "),
        "pictures that do not end": row("![a "),
        "stars": row("*a **b "),
        "underlines within words": row("_a __b_ "),
        "ticks, each run longer": longer_runs("`"),
        "quotes within quotes": nested(">"),
        "quotes, each line deeper": stepped("a", "> "),
        "lists, each line deeper": stepped("- a"),
        "items on one line": row("- "),
        "pipes": row("|", "|a|\n|-|\n"),
        "a table with more columns than rows have": wide_table,
        "headings": row("# a\n"),
        "underlines": row("a\n=\n"),
        "a paragraph above an underline": row("a\n", after="===\n"),
        "entities": row("&amp;&#x1F600;&lt "),
        "definitions": numbered("[a%d]: /x\n[a%d]\n"),
        "markup that does not close": row("<a b='"),
        "comments that do not close": row("<!-- a\n\n", "a\n\n"),
        "backslashes": row("\\"),
        "addresses": row("<http://a"),
        "lines of code": row("    a\n\n"),
        "fences that open": row("```a\n~~~\n"),
        "titles of links": row('[a]: /x "b\n'),
        "fields above": numbered("a%d: {b: [\n", "---\n", "---\nword\n"),
    },
    ".rst": {
        "underlined headings": row("a\n=\n\n"),
        "quotes, each line deeper": stepped("a", " ", end="\n\n"),
        "stars": row("*a **b "),
        "ticks": row("`a ``b "),
        "bars": row("|a "),
        "roles": row(":a:`b` "),
        "references": row("a_ b__ `c`_ "),
        "a drawn table": grid,
        "a drawn table that does not close": uneven_grid,
        "a simple table": row("a  b\n", "=  =\na  b\n=  =\n", "=  =\n"),
        "rules of a table": row("== ", "word\n\n"),
        "directives, each deeper": stepped(".. note::\n", "   ", deepest=200),
        "directives": row(".. note:: a\n\n"),
        "substitutions within substitutions": replaced,
        "targets of targets": numbered(".. _a%d: b%d_\n.. _b%d: a_\n"),
        "footnotes": row(".. [#] a\n\n[#]_ "),
        "fields": row(":a: b\n"),
        "lines of verse, each deeper": stepped("", "| "),
        "items, each deeper": stepped("* a\n"),
        "numbers in Roman": row("(i) a\n\n(ii) b\n\n"),
        "options": row("-a, --b=c  d\n"),
        "definitions": row("a : b : c\n    d\n"),
        "literal blocks": row("a::\n\n    b\n\n"),
        "tables of values": row(".. csv-table::\n   :header: a\n\n   \"b\",\"c\n\n"),
        "formulas": row(":math:`\\frac{a}{` "),
        "unended quotes": row('"\'`'),
    },
    ".html": {
        "one text": page(row("word ")),
        "divisions within divisions": page(nested("<div>", "</div>")),
        "divisions that do not close": page(row("<div>a")),
        "tables within tables": page(row("<table><tr><td>a")),
        "paragraphs": page(row("<p>word")),
        "attributes": page(numbered("a%d='1' ", "<p ", ">word")),
        "a huge attribute": page(row("x", "<p title='", "'>word")),
        "entities": page(row("&amp;&nbsp;&#65;&#x1F600;&lt")),
        "comments that do not close": page(row("<!-- a")),
        "marks that cross": page(row("<b><i>a</b>")),
        "links that cross": page(row("<a href=x><p>a")),
        "signs of less": page(row("<")),
        "quotes of attributes": page(row("<a b='\"")),
        "scripts": page(row("<script>var a = '</scrip';</script>", "word")),
        "cells that span": page(row("<tr><td rowspan=9999 colspan=1000>x", "<table>")),
        "rows of cells": page(row("<tr><td>a<td>b", "<table>")),
        "lists within lists": page(row("<ul><li>a")),
        "links": page(row("<a href=/x>word</a> ")),
        "choices": page(row("<select><option>a")),
        "formulas": page(row("<math><mfrac><mi>a</mi>")),
        "drawings": page(row("<svg><g>a")),
        "lines broken": page(row("a<br>")),
        "hidden": page(row("<i style='display:none'>a</i>b")),
        "headings": page(row("<h2>word</h2>a")),
        "data of JSON-LD": page(
            row('{"@type":"Article","author":[', '<script type="application/ld+json">', "</script>word")
        ),
        "fields of the head": numbered("<meta name=date%d content='2024-01-01'>", "<html><head>", "<p>word"),
        "XML with names": row(
            "<a:b xmlns:c='x'>a", "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>"
        ),
        "XML whose entities grow": row(
            "&l11; ", f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY l0 "lol">{LAUGHS}]><html><p>word ', "</p></html>"
        ),
        "pieces of CDATA": page(row("<![CDATA[a]]>")),
        "NULs among words": page(row("word word word\0 ")),
    },
    ".txt": {
        "one word": row("a"),
        "one line": row("word "),
        "ends of lines": row("\n", "word"),
        "letters on a line each": row("a\n"),
        "marks over one letter": row("\u0315\u0300", "a"),
        "marks over each letter": row("a\u0323\u0301\u0302 "),
        "pairs that differ": different_pairs,
        "short words that differ": short_words,
        "no spaces between words": row("\u6f22\u5b57"),
        "pictures": row("\U0001f600\U0001f468\u200d\U0001f469 a"),
        "joiners": row("\u0915\u094d\u200d\u0937\u200c"),
        "stops": row("A. "),
        "rows of stops": row(". ", "word"),
        "names": row("Mary of the Anna de la "),
        "bars between": row("a | "),
        "headings": row("# a\n"),
        "headings in headings": stepped("a", "#", deepest=7),
        "quotes": row('"a" \u201cb '),
        "words that differ": numbered("w%dx "),
        "long words that differ": numbered("%d" + "x" * 200 + " "),
        "figures": numbered("%d.%d,%d "),
        "underlines": row("snake_case_"),
        "brackets": row("(["),
        "bytes of no encoding": lambda size: bytes(range(128, 256)) * (size // 128) + b"word",
        "bytes of Latin": lambda size: b"caf\xe9 na\xefve " * (size // 11),
        "NULs": lambda size: b"word\0" * (size // 5),
        "UTF-16": lambda size: b"\xff\xfe" + ("word\u6f22 " * (size // 12)).encode("utf-16-le"),
        "ends of lines of every kind": row("a\r\nb\rc\u2028d\x0be"),
        "controls": row("a\x01\x02\x03" + "b" * 200),
        "letters that are put together": row("\u1112\u1161\u11ab"),
        "letters that grow": row("\ufdfa\u0344"),
    },
    ".csv": {
        "one cell": row("word ", '"', '"'),
        "quotes": row('"'),
        "quotes that do not close": row('"a\n'),
        "commas": row(","),
        "rows of a cell": row("a\n"),
        "rows of a hundred cells": row("a" + ",b" * 99 + "\n"),
        "rows of growing length": longer_runs(","),
        "every mark": row("a,b;c\td|e\n"),
        "numbers between spaces": row("1.5 2.5 3.5\n", "a b c\n"),
    },
    ".tsv": {
        "tabs": row("\t"),
        "rows": numbered("a%d\t%d\n", "name\tvalue\n"),
        "quotes between tabs": row('"\t'),
    },
    ".json": {
        "lists within lists": nested("[", "]", "1"),
        "lists that do not close": row("["),
        "records within records": nested('{"a":', "}", "1"),
        "ones": row("1,", "[", "1]"),
        "one number": row("9"),
        "numbers with fractions": row("0.10,", "[", "1]"),
        "escapes": row("\\u00e9\\n", '{"a": "', '"}'),
        "halves of characters": row("\\ud83d", '{"a": "word', '"}'),
        "one text": row("word ", '{"a": "', '"}'),
        "a table": numbered('{"a": %d, "b": "c"},', "[", '{"a": 0, "b": "c"}]'),
        "names that differ": numbered('"a%d": 1,', "{", '"b": 1}'),
        "records without a thing": row("{},", "[", "{}]"),
        "pieces of pages": row("<p><b>a", '{"a": "<p>', '</p>"}'),
        "quotes": row('"'),
    },
    ".jsonl": {
        "empty records": row("{}\n"),
        "records": numbered('{"a": %d, "b": ["c", {"d": 1}]}\n'),
        "lines that are cut": row('{"a": \n'),
        "deep lines": row("[" * 50 + "1" + "]" * 50 + "\n"),
    },
    ".pdf": {
        "states within states": pdf_of(row("q ", "BT /F1 9 Tf (a) Tj ET ")),
        "words at one place": pdf_of(row("(x) Tj ", "BT /F1 9 Tf 1 0 0 1 50 700 Tm ", "ET")),
        "words everywhere": pdf_of(numbered("1 0 0 1 %d 700 Tm (w%d) Tj ", "BT /F1 4 Tf ", "ET")),
        "lines": pdf_of(row("0 0 m 9 9 l S ", "BT /F1 9 Tf (a) Tj ET ")),
        "rectangles": pdf_of(numbered("%d %d 5 5 re f ", "BT /F1 9 Tf (a) Tj ET ")),
        "lists within lists": pdf_of(row("[", "BT /F1 9 Tf (a) Tj ET ")),
        "brackets within a text": pdf_of(row("(", "BT /F1 9 Tf (a) Tj ")),
        "drawings within themselves": pdf_of(
            row("/X Do ", "BT /F1 9 Tf (a) Tj ET "), b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
        ),
        "operators that are none": pdf_of(row("zz ")),
        "operands without end": pdf_of(row("1 ")),
        "streams within streams": packed_often,
        "pictures in line": pdf_of(row("BI /W 1 /H 1 /BPC 8 /CS /G ID x EI ", "BT /F1 9 Tf (a) Tj ET ")),
        "objects": pdf_of_objects(b"<< >>"),
        "dictionaries within dictionaries": pdf_of_objects(b"<< /A " * 400 + b">> " * 400),
        "pages": pdf_pages,
        "notes on a page": lambda size: pdf_of(
            lambda _: b"BT /F1 9 Tf (a) Tj ET", page_extra=b"/Annots [%s]" % (b"<< /Subtype /Link >> " * (size // 21))
        )(size),
        "remarks": lambda size: pdf_of(row("BT /F1 9 Tf (a) Tj ET "))(100) + b"% a\n" * (size // 4),
        "beginnings of objects": lambda size: b"%PDF-1.7\n" + b"1 0 obj " * (size // 8),
    },
    ".docx": {
        "one text": docx(row("word ", "<w:p><w:r><w:t>", "</w:t></w:r></w:p>")),
        "paragraphs": docx(row(SAID)),
        "paragraphs, packed": docx(lambda size: row(SAID)(10 * size), packing=zipfile.ZIP_DEFLATED),
        "paragraphs of nothing": docx(row("<w:p/>", SAID)),
        "runs": docx(row(RUN, "<w:p>", "</w:p>")),
        "tables within tables": docx(
            nested("<w:tbl><w:tr><w:tc>", "<w:p/></w:tc></w:tr></w:tbl>", SAID)
        ),
        "rows of cells": docx(row(f"<w:tr><w:tc>{SAID}</w:tc></w:tr>", "<w:tbl>", "</w:tbl>")),
        "cells that span": docx(
            row(
                f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="99"/></w:tcPr>{SAID}</w:tc></w:tr>',
                "<w:tbl>",
                "</w:tbl>",
            )
        ),
        "forms within forms": docx(nested("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>", SAID)),
        "boxes within boxes": docx(
            nested("<w:p><w:r><w:txbxContent>", "</w:txbxContent></w:r></w:p>", SAID)
        ),
        "attributes": docx(numbered('w:a%d="1" ', "<w:p ", f"/>{SAID}")),
        "breaks": docx(row("<w:br/>", "<w:p><w:r><w:t>word</w:t>", "</w:r></w:p>")),
        "items": docx(
            row(
                '<w:p><w:pPr><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr>'
                f"{RUN}</w:p>"
            )
        ),
        "entities that grow": docx(
            row("&l11;", "<w:p><w:r><w:t>", "</w:t></w:r></w:p>"),
            kind=f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]>',
        ),
        "parts": many_parts,
    },
}  # fmt: skip

HOSTILE = [Hostile(name, suffix, make) for suffix, shapes in SHAPES.items() for name, make in shapes.items()]
