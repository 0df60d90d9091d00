"""PDF and Word files, made as programs make them, and web pages as they are read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import docx
from hostile import FONT, pdf, stream

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

CODE = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>"


class Line(NamedTuple):
    """Where it stands from the left and the bottom, what it says, and its type."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"  # or F2, whose letters are of one width


def paged(pages: Sequence[Sequence[Line]], *, info: str = "") -> bytes:
    """A PDF with a text layer: each line where it says."""
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        FONT,
        CODE,
    ]
    for number, lines in enumerate(pages):
        drawn = [
            f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({_escaped(text)}) Tj ET"
            for x, y, text, size, font in lines
        ]
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (6 + 2 * number)
        )
        objects.append(stream("\n".join(drawn).encode("cp1252")))
    trailer = b""
    if info:
        objects.append(info.encode("cp1252"))
        trailer = b"/Info %d 0 R" % len(objects)
    return pdf(objects, trailer=trailer)


def web_page(body: str, head: str = "", kind: str = "", title: str = "Mole") -> Document:
    """What is read of a page of the web."""
    head = f"<head><title>{title}</title>{head}</head>"
    html = f"<!doctype html><html>{head}<body class='{kind}'>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


def column(left: float, top: float, text: str, *, size: float = 10, font: str = "F1") -> list[Line]:
    return [
        Line(left, top - 1.2 * size * number, line, size, font)
        for number, line in enumerate(text.strip("\n").split("\n"))
        if line.strip()
    ]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def mapped(signs: dict[str, str]) -> tuple[bytes, tuple[bytes, ...]]:
    """A font whose letters stand for others, and the map that says so."""
    pairs = "\n".join(
        f"<{ord(sign):02X}> <{letters.encode('utf-16-be').hex()}>" for sign, letters in signs.items()
    )
    told = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange <00> <FF> endcodespacerange\n"
        f"{len(signs)} beginbfchar {pairs} endbfchar endcmap end end"
    )
    return FONT.replace(b">>", b"/ToUnicode 6 0 R >>"), (stream(told.encode()),)


def without_map(*drawn: str) -> bytes:
    """A PDF of pages with a font F1, and F2 that does not say which letters its numbers are."""
    kids = b" ".join(b"%d 0 R" % (6 + 2 * number) for number in range(len(drawn)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(drawn)),
        FONT,
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H /DescendantFonts [5 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /DW 1000 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
    ]
    for number, page in enumerate(drawn):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (7 + 2 * number),
            stream(page.encode("cp1252")),
        ]
    return pdf(objects)


def numbers(lines: int = 20) -> str:
    """Lines in a font that says no letters: glyphs by number."""
    return "\n".join(
        f"BT /F2 10 Tf 50 {700 - 14 * line} Td "
        f"<{''.join(f'{3 + (7 * line + 5 * at) % 60:04x}' for at in range(40))}> Tj ET"
        for line in range(lines)
    )


PAPER_LEFT = """
Harbour walls age in ways that are seldom meas-
ured. We describe a survey of forty walls, each of
which was visited twice, and ask which of them will
need repair within ten years. The method is cheap.
Every wall was walked along at low water. Cracks
wider than 2 mm were counted; a re-
cord of tides was kept, which was used to tell how often
"""
PAPER_RIGHT = """
the joints are wet. Two observers worked apart from
each other, and agreed in 91% of cases.
Of the forty walls, nine had more than ten cracks
per metre. All of these were built before 1880. The
mean was 3.4 cracks per metre.
"""


def paper() -> bytes:
    first = [
        Line(150, 760, "A Survey of Forty Harbour Walls", 18),
        Line(220, 740, "Ines Okafor and Tom Marsh"),
        *column(50, 700, PAPER_LEFT),
        *column(320, 700, PAPER_RIGHT),
        Line(298, 30, "1"),
    ]
    return paged(
        [first],
        info="<< /Title (A Survey of Forty Harbour Walls) /Author (Ines Okafor; Tom Marsh) "
        "/CreationDate (D:20240305101500Z) >>",
    )


REPORT = (
    "The port handled 1.2 million tonnes of goods in the\nyear, 4% more than in the one before. Most of the\n"
    "growth came from timber, which is now brought in by\nrail as well, and from the new cold store, which was",
    "opened in May. Fish landings fell for the third year.\nThe board has asked for a study of the causes.",
    "Income rose to 14.1 million. Costs rose less, so that\na surplus of 1.3 million remains. It will be spent on\n"
    "the inner basin, whose floor is to be dredged.",
    "The board thanks all who work in the port, and the\ntown that puts up with its noise.",
)


def report() -> bytes:
    pages = [
        [
            Line(60, 780, "Port of Ellery - Annual Report 2024"),
            *column(60, 740, text),
            Line(280, 25, f"Page {number} of 4"),
        ]
        for number, text in enumerate(REPORT, 1)
    ]
    return paged(pages, info="<< /Title (report_final_v3.docx) /Author (admin) >>")


def document() -> bytes:
    """A Word document with what most of them have."""
    made = docx.Document()
    made.core_properties.title = "Survey of the inner wall"
    made.core_properties.author = "Ines Okafor"
    made.add_heading("Survey of the inner wall", 1)
    made.add_paragraph("The wall was walked along on two days in March, at low water.")
    made.add_heading("Findings", 2)
    made.add_paragraph("Cracks at the east end", style="List Bullet")
    made.add_paragraph("wider than before", style="List Bullet 2")
    made.add_paragraph("A loose block", style="List Bullet")
    table = made.add_table(3, 3)
    for row, cells in enumerate(
        (("Section", "Length", "Cracks"), ("East", "120 m", "31"), ("West", "", "4"))
    ):
        for place, cell in enumerate(cells):
            table.cell(row, place).text = cell
    made.add_paragraph("A third visit is due in June.")
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()
