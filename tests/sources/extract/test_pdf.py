"""PDFs become text: headings, paragraphs, items, code and rows in the order in which they are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hostile import FONT, pdf, stream
from liteparse.types import LayoutBlock, ParsedPage
from made import Line, column, mapped, numbers, paged, without_map

from deep_research.sources.extract.document import Document, TooLongError
from deep_research.sources.extract.pdf import unread_pages
from deep_research.sources.extract.pdf_blocks import paragraphs
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read

INPUTS = Path(__file__).parents[2] / "data" / "readers"
PROSE = (
    "The harbour of Mole was dredged in 1931 to a depth of nine",
    "metres, and its outer wall was raised by two courses of granite",
    "that came by sea from the quarries of Penryn.",
)
NO_MAP = "its fonts do not say which letters they show; run it through text recognition"
PICTURES = "pictures without a text layer; run it through text recognition"


def document(raw: bytes) -> Document:
    return read(raw, "application/pdf", "mole.pdf", 1_000_000)


def one_page(
    drawn: str, *, font: bytes = FONT, page: bytes = b"", more: tuple[bytes, ...] = (), catalog: bytes = b""
) -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        font,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R %s "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % page,
        stream(drawn.encode("cp1252")),
        *more,
    ]
    return pdf(objects)


def prose(left: float = 50, top: float = 700) -> str:
    return "\n".join(f"BT /F1 10 Tf {left} {top - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE))


def test_pages_begin_where_their_text_does_and_are_read_along_their_lines() -> None:
    found = document((INPUTS / "pdf-running-heads.pdf").read_bytes())
    assert [found.text[page:].split(" ")[0] for page in found.pages] == ["The", "that", "The"]
    drawn = "\n".join(
        f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * n} 50 Tm ({line}) Tj ET" for n, line in enumerate(PROSE)
    )
    assert document(one_page(drawn, page=b"/Rotate 90")).text == " ".join(PROSE)


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("BT /F1 10 Tf 50 700 Td [(The e) 20 (ducation a) -30 (nd pay)] TJ ET", "The education and pay"),
        ("BT /F1 10 Tf 50 700 Td [(Low) -300 (water) -300 (at) -300 (noon)] TJ ET", "Low water at noon"),
        ("BT /F1 10 Tf 50 700 Td (The walls were meas-) Tj 0 -12 Td (ured again.) Tj ET",
         "The walls were measured again."),
        (f"3 Tr\n{prose()}", " ".join(PROSE)),
        (rf"{prose()} BT /F1 10 Tf 50 640 Td (A file tide_*.csv with a \\ in it.) Tj ET",
         " ".join(PROSE) + "\n\nA file tide_*.csv with a \\ in it."),
    ],
    ids=["in pieces", "by its gaps", "broken", "not painted", "signs of Markdown"],
)  # fmt: skip
def test_words_are_read_whole_and_as_they_stand(drawn: str, text: str) -> None:
    assert document(one_page(drawn)).text == text


@pytest.mark.parametrize(
    ("signs", "drawn", "text"),
    [(dict(zip("ABCD", "שלום", strict=True)), "DCBA", "שלום"), ({"A": "ﬁ"}, "Are", "fire")],
)
def test_letters_are_those_of_the_text_in_its_own_order(signs: dict[str, str], drawn: str, text: str) -> None:
    font, more = mapped(signs)
    lines = "\n".join(f"BT /F1 10 Tf 50 {700 - 14 * n} Td ({drawn}) Tj ET" for n in range(3))
    assert document(one_page(lines, font=font, more=more)).text.startswith(text)


def test_columns_of_prose_that_are_drawn_row_by_row_are_read_one_after_the_other() -> None:
    prose_ = "\n".join(PROSE * 3)
    left, right = column(50, 700, prose_, size=7), column(320, 700, prose_.upper(), size=6)
    text = document(paged([[line for pair in zip(left, right, strict=True) for line in pair]])).text
    assert text.index("quarries") < text.index("HARBOUR")


@pytest.mark.parametrize(
    ("entries", "title", "author"),
    [
        ("<dc:title><rdf:Alt><rdf:li>Tides &amp; Walls</rdf:li></rdf:Alt></dc:title>"
         "<dc:creator><rdf:Seq><rdf:li>Ines Okafor</rdf:li><rdf:li>Tom Marsh</rdf:li></rdf:Seq></dc:creator>",
         "Tides & Walls", "Ines Okafor; Tom Marsh"),
        ("<dc:title>report_final_v3.docx</dc:title><dc:creator>admin</dc:creator>", "mole", ""),
        ("<dc:title>" + "<" * 60_000, "mole", ""),
    ],
    ids=["a list of names", "names of files", "never closed"],
)  # fmt: skip
def test_title_and_author_are_those_of_its_metadata_if_they_may_be(
    entries: str, title: str, author: str
) -> None:
    lines = "\n".join(
        f"BT /F1 10 Tf 50 {700 - 12 * n} Td ({' '.join(PROSE * 2)[:170]}) Tj ET" for n in range(2)
    )
    packet = stream(f"<x:xmpmeta>{entries}</x:xmpmeta>".encode(), b"/Type /Metadata /Subtype /XML")
    found = document(one_page(lines, more=(packet,), catalog=b"/Metadata 6 0 R"))
    assert (found.title, found.author) == (title, author)
    assert found.published is None  # when a file was made is no day of publication


def test_pages_whose_letters_nobody_can_read_are_left_out_and_codes_are_read() -> None:
    found = document(without_map(prose(), numbers(), prose(top=500).replace("Mole", "Looe")))
    assert found.unread == f"page 2: {NO_MAP}"
    assert found.text.count("\n\n") == 1
    with pytest.raises(UnreadableError, match="fonts do not say which letters"):
        document(without_map(numbers()))
    codes = [Line(50 + 90 * at, 700 - 14 * row, f"W{row}X{at}") for row in range(40) for at in range(5)]
    assert "W39X4" in document(paged([codes])).text


def small_table(top: float, *, rows: int = 30) -> list[Line]:
    """A table in so small a print that most of the page is in it."""
    return [
        Line(50 + 120 * at, top - 9 * row, text, 7)
        for row in range(rows)
        for at, text in enumerate((str(1850 + row), f"{300 + 7 * row} ships", f"{20 + row},410 tons"))
    ]


@pytest.mark.parametrize(
    ("words", "is_heading"),
    [
        ("The northern mole was finished in 1871. It is 412 metres long.", False),
        ("All sums of this table are told in kronor of the year that they are of.", False),
        ("Its outer wall was raised by two courses of granite. It has been kept ever since by", False),
        ("Annual report of the harbour of Lundby and of the lights along its coast", True),
        ("Ships by year. A table of the harbour board", True),
        ("How many of the ships that called came from abroad?", True),
        ("3.2 Ships of the harbour.", True),
    ],
)
def test_what_is_sentences_is_no_heading_however_large_it_is_set(words: str, is_heading: bool) -> None:
    found = document(paged([[Line(50, 740, words, 10), *small_table(700)]]))
    assert found.text.startswith(f"# {words}" if is_heading else words)
    assert found.title == (words if is_heading else "mole")


def test_the_last_line_of_a_paragraph_is_no_heading_where_it_is_taken_for_one() -> None:
    before = "The harbour was dredged in 1931 by order of the board. Its wall came"
    lines = {"to Penryn in 1814.": 1, "1814.": 1, "Penryn in 1814": 2, "1814": 2, "Lights.": 2}
    for line, count in lines.items():
        page = ParsedPage(1, 600, 800, "", blocks=[LayoutBlock("heading", each) for each in (before, line)])
        assert [each.kind for each in paragraphs(page)] == ["", "heading"][:count], line


PICTURE = stream(
    b"\0", b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
)
SCAN = "q 600 0 0 800 0 0 cm /P Do Q"


def with_pictures(*drawn: str) -> bytes:
    kids = b" ".join(b"%d 0 R" % (5 + 2 * n) for n in range(len(drawn)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(drawn)),
        FONT,
        PICTURE,
    ]
    for number, each in enumerate(drawn):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> /XObject << /P 4 0 R >> >> >>" % (6 + 2 * number),
            stream(each.encode("cp1252")),
        ]
    return pdf(objects)


STAMPED = f"{SCAN} BT /F1 10 Tf 50 400 Td (Scan 7) Tj ET"
PAGES = {
    "scan": (SCAN, f"page 2: {PICTURES}"),
    "scan with a stamp": (STAMPED, f"page 2: {PICTURES}"),
    "with margins": ("q 480 0 0 700 60 50 cm /P Do Q", f"page 2: {PICTURES}"),
    "blank": ("", ""),
    "logo": ("q 200 0 0 100 200 400 cm /P Do Q", ""),
    "with recognised text": (f"{SCAN} {prose(top=300)}", ""),
    "grey": ("0.9 g 0 0 600 800 re f", ""),
}


@pytest.mark.parametrize(("page", "unread"), PAGES.values(), ids=PAGES)
def test_a_page_that_is_nothing_but_a_picture_is_named(page: str, unread: str) -> None:
    assert document(with_pictures(prose(), page, prose(top=500).replace("Mole", "Looe"))).unread == unread


def test_a_document_of_pictures_alone_or_of_too_much_text_is_refused() -> None:
    with pytest.raises(UnreadableError, match="no text layer"):
        document(with_pictures(SCAN, STAMPED))
    with pytest.raises(TooLongError, match="more than 100 bytes of text"):
        read(paged([column(50, 700, "\n".join(PROSE))] * 4), "application/pdf", "mole.pdf", 100)


def test_where_the_library_is_missing_it_is_said_what_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "liteparse.parser", None)
    with pytest.raises(UnreadableError, match=r"LiteParse, which reads PDFs, is not installed .*; Word, web"):
        document(one_page(prose()))


def test_pages_that_were_not_read_are_named_if_they_are_few() -> None:
    named = [unread_pages(pages, 60) for pages in ([3], [3, 4, 5], [1, 3, 4, 9], [*range(1, 40, 2)])]
    assert named == ["page 3", "pages 3 to 5", "pages 1, 3, 4 and 9", "20 of 60 pages"]
