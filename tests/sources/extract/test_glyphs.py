"""What stands on a page of a PDF is read as it is seen: whole words, parted cells, each text once."""

from __future__ import annotations

import pytest
from hostile import FONT, pdf, stream
from made import Line, column, mapped, paged, without_capitals

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import TooLongError
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read
from deep_research.sources.extract.unread import unread_pages

PROSE = (
    "The harbour of Mole was dredged in 1931 to a depth of nine",
    "metres, and its outer wall was raised by two courses of granite",
    "that came by sea from the quarries of Penryn.",
)


def text_of(drawn: str, *, font: bytes = FONT, page: bytes = b"", more: tuple[bytes, ...] = ()) -> str:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        font,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R %s "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % page,
        stream(drawn.encode("cp1252")),
        *more,
    ]
    return read(pdf(objects), "application/pdf", "mole.pdf", 1_000_000).text


def prose(top: float = 700, left: float = 50) -> str:
    return "\n".join(f"BT /F1 10 Tf {left} {top - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE))


def test_a_word_drawn_in_pieces_that_are_moved_together_or_apart_stays_whole() -> None:
    drawn = "BT /F1 10 Tf 50 640 Td [(The e) 20 (ducation of pilots a) -30 (nd k) 40 (eepers)] TJ ET"
    pieces = "BT /F1 10 Tf 50 628 Td (began e) Tj ET BT /F1 10 Tf 83.1 628 Td (arly in the year.) Tj ET"
    assert "The education of pilots and keepers began early in the year." in text_of(
        f"{prose()}\n{drawn}\n{pieces}"
    )


def test_words_without_a_space_between_them_are_parted_by_the_room_there() -> None:
    drawn = "BT /F1 10 Tf 50 640 Td [(Low) -300 (water) -300 (at) -300 (noon)] TJ ET"
    assert text_of(f"{prose()}\n{drawn}").endswith("Low water at noon")


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("24 Tc (30)", "3 0"),  # PDFium takes it for a number whose figures are spread
        ("24 Tc (309)", "3 0 9"),
        ("30 Tc (AB)", "A B"),
        ("[(5,31) -4000 (0)]", "5,31 0"),
        ("5 Tc (1,938)", "1,938"),
        ("5 Tc (HARBOUR)", "HARBOUR"),
        ("10 Tc (THE)", "THE"),
        ("[(A) 80 (V) 80 (AST)]", "AVAST"),
    ],
)
def test_a_word_ends_where_more_room_is_left_than_between_its_letters(drawn: str, text: str) -> None:
    drawn = f"BT /F1 10 Tf 50 640 Td {drawn} {'TJ' if drawn[0] == '[' else 'Tj'} ET"
    assert text_of(f"{prose()}\n{drawn}").endswith(f"\n\n{text}")


def test_cells_of_one_figure_that_are_drawn_at_one_go_are_no_number() -> None:
    rows = [("Mole", "30"), ("Penryn", "21"), ("Ellery", "90")]
    drawn = "\n".join(
        f"BT /F1 10 Tf 50 {600 - 14 * n} Td 0 Tc ({name}) Tj 100 0 Td 24 Tc ({figures}) Tj ET"
        for n, (name, figures) in enumerate(rows)
    )
    assert text_of(f"{prose()}\n{drawn}").endswith("Mole | 3 | 0\nPenryn | 2 | 1\nEllery | 9 | 0")


def test_cells_hardly_farther_apart_than_words_are_parted_where_the_rows_have_white_there() -> None:
    rows = [("Mole outer", "1-0173", "CR 3-601", "Felony"), ("Penryn quay", "1-0322", "CR 3-602", "Misd."),
            ("Ellery", "2-1138", "CR 3-604", "Felony"), ("Looe", "1-0466", "CR 3-605", "Misd.")]  # fmt: skip
    near = [Line(x, 600 - 14 * n, cell) for n, row in enumerate(rows)
            for x, cell in zip((50, 200, 238, 380), row, strict=True)]  # fmt: skip
    found = read(paged([[*column(50, 760, "\n".join(PROSE)), *near]]), "application/pdf", "x.pdf", 10**6).text
    assert found.endswith(
        "Mole outer | 1-0173 | CR 3-601 | Felony\nPenryn quay | 1-0322 | CR 3-602 | Misd.\n"
        "Ellery | 2-1138 | CR 3-604 | Felony\nLooe | 1-0466 | CR 3-605 | Misd."
    )


def test_the_wide_spaces_of_justified_prose_part_nothing() -> None:
    words = [line.split() for line in PROSE * 3]
    drawn = "\n".join(
        f"BT /F1 10 Tf 50 {700 - 12 * n} Td [{' -620 '.join(f'({word})' for word in line)}] TJ ET"
        for n, line in enumerate(words)
    )
    assert text_of(drawn).replace("\n\n", " ") == " ".join(PROSE * 3)


@pytest.mark.parametrize("step", [0.0, 0.3, 0.8])
def test_a_text_drawn_again_to_look_bolder_is_read_once(step: float) -> None:
    again = "\n".join(
        f"BT /F1 10 Tf {50 + step} {700 - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE)
    )
    assert text_of(f"{prose()}\n{again}") == " ".join(PROSE)


def test_a_table_drawn_twice_is_read_once() -> None:
    rows = [
        ("Harbour", "Ships", "Tonnage"),
        ("Mole outer basin", "312", "148,200"),
        ("Penryn old quay", "41", "19,870"),
    ]
    cells = [
        Line(x, 600 - 14 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((50, 230, 300), row, strict=True)
    ]
    found = read(
        paged([[*column(50, 760, "\n".join(PROSE)), *cells, *cells]]), "application/pdf", "x.pdf", 10**6
    )
    assert found.text.endswith(
        "Harbour | Ships | Tonnage\nMole outer basin | 312 | 148,200\nPenryn old quay | 41 | 19,870"
    )


def test_a_word_that_comes_back_beside_itself_is_kept() -> None:
    assert text_of(
        "BT /F1 10 Tf 50 700 Td (They said that that was all, all that there was.) Tj ET"
    ).startswith("They said that that was all, all")
    assert ". . . ." in text_of("BT /F1 10 Tf 50 700 Td (The harbours . . . . 12) Tj ET")


def test_text_that_is_not_painted_is_read_as_that_of_a_scanned_page_is() -> None:
    assert text_of(f"3 Tr\n{prose()}") == " ".join(PROSE)


def test_a_page_that_is_turned_is_read_along_its_lines() -> None:
    drawn = "\n".join(
        f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * n} 50 Tm ({line}) Tj ET" for n, line in enumerate(PROSE)
    )
    assert text_of(drawn, page=b"/Rotate 90") == " ".join(PROSE)


def test_a_word_broken_at_the_end_of_a_line_is_joined() -> None:
    drawn = "BT /F1 10 Tf 50 700 Td (The outer walls were meas-) Tj 0 -12 Td (ured, and the inner base\xad) Tj" \
            " 0 -12 Td (ments too.) Tj ET"  # fmt: skip
    assert text_of(drawn) == "The outer walls were measured, and the inner basements too."


def test_ligatures_are_read_as_letters_and_what_has_no_letter_is_marked() -> None:
    font, more = mapped({"A": "ﬁ", "B": "\0"})
    found = text_of("BT /F1 10 Tf 50 700 Td (The Arst of the Ave Bg of it) Tj ET", font=font, more=more)
    assert found == "The first of the five �g of it"


@pytest.mark.parametrize(
    ("signs", "drawn", "text"),
    [
        ({"A": "ש", "B": "ל", "C": "ו", "D": "ם"}, "DCBA", "שלום"),
        ({"A": "س", "B": "لا", "C": "م"}, "CBA", "سلام"),
        ({"A": "ا", "B": "لم", "C": "ر"}, "CBA", "المر"),
    ],
)
def test_words_from_right_to_left_are_read_in_their_own_order(
    signs: dict[str, str], drawn: str, text: str
) -> None:
    font, more = mapped(signs)
    lines = "\n".join(f"BT /F1 10 Tf 50 {700 - 14 * n} Td ({drawn} {drawn}) Tj ET" for n in range(3))
    assert text_of(lines, font=font, more=more).split() == [text] * 6


@pytest.mark.parametrize(
    ("text", "encoding", "order"),
    [
        ("关于浙江菲达环保", "UniGB-UCS2-H", "GB1"),
        ("東京都の天気予報", "UniJIS-UCS2-H", "Japan1"),
        ("한국어문서입니다", "UniKS-UCS2-H", "Korea1"),
    ],
)
def test_letters_of_a_font_that_is_left_to_the_machine_are_read_where_it_has_none(
    text: str, encoding: str, order: str
) -> None:
    font = f"<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /{encoding} /DescendantFonts [6 0 R] >>"
    letters = (
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /DW 1000 "
        f"/CIDSystemInfo << /Registry (Adobe) /Ordering ({order}) /Supplement 2 >> >>"
    )
    drawn = "\n".join(  # letter by letter, as the text below the picture of a page is
        f"BT 3 Tr /F1 12 Tf {50 + 12 * n} 700 Td <{letter.encode('utf-16-be').hex()}> Tj ET"
        for n, letter in enumerate(text)
    )
    assert text_of(drawn, font=font.encode(), more=(letters.encode(),)) == text


def test_more_text_than_there_may_be_is_refused_before_all_of_it_is_read() -> None:
    pages = [column(50, 700, "\n".join(PROSE))] * 4
    with pytest.raises(TooLongError, match="more than 100 bytes of text"):
        read(paged(pages), "application/pdf", "mole.pdf", 100)


def test_a_stamp_on_a_picture_is_no_text_and_a_short_text_without_one_is() -> None:
    picture = (
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> /XObject << /P 6 0 R >> >> >>",
        stream(b"/P Do BT /F1 10 Tf 50 700 Td (Scan 7) Tj ET"),
        FONT,
        stream(b"\0", picture[3:]),
    ]
    with pytest.raises(UnreadableError, match="no text layer"):
        read(pdf(objects), "application/pdf", "scan.pdf", 10**6)
    objects[3] = stream(b"BT /F1 10 Tf 50 700 Td (Scan 7) Tj ET")
    assert read(pdf(objects), "application/pdf", "scan.pdf", 10**6).text == "Scan 7"


LEFT = """
The harbour of Mole was dredged
in 1931 to a depth of nine metres,
and its outer wall was raised by
two courses of granite that came
by sea from the quarries of Penryn
"""
RIGHT = """
and were landed at the inner quay.
The railway that had carried the
timber inland was given up soon
after the war, and of its bridges
only the northern one is in use.
"""


def test_columns_that_are_drawn_row_by_row_are_read_one_after_the_other() -> None:
    rows = zip(column(50, 700, LEFT), column(320, 700, RIGHT), strict=True)
    page = [Line(50, 740, "Two harbours and what became of them"), *(line for row in rows for line in row)]
    found = read(paged([page]), "application/pdf", "x.pdf", 10**6).text
    assert found.endswith(" ".join(f"{LEFT}{RIGHT}".split()))


def test_what_stands_beside_the_part_of_the_page_that_is_shown_is_not_read() -> None:
    beside = (
        "BT /F1 10 Tf 20 700 Td (1) Tj 0 -12 Td (2) Tj 0 -12 Td (3) Tj ET "
        "BT /F1 10 Tf 50 780 Td (mole.qxd 2/10/04) Tj ET BT /F1 10 Tf 450 700 Td (crop mark) Tj ET"
    )
    assert text_of(f"{prose()}\n{beside}", page=b"/CropBox [40 100 420 740]") == " ".join(PROSE)
    assert "mole.qxd" in text_of(f"{prose()}\n{beside}")


def test_what_stands_beside_a_page_that_is_turned_is_not_read() -> None:
    drawn = "\n".join(
        f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * n} 50 Tm ({line}) Tj ET" for n, line in enumerate(PROSE)
    )
    beside = "BT /F1 10 Tf 0 1 -1 0 60 50 Tm (mole.qxd 2/10/04) Tj ET"
    assert text_of(f"{drawn}\n{beside}", page=b"/Rotate 90 /CropBox [80 20 600 800]") == " ".join(PROSE)


@pytest.mark.parametrize("sign", ["\uf0b7", "\uf0a7", "\uf0d8"])
def test_bullets_from_fonts_of_signs_begin_items(sign: str) -> None:
    font, more = mapped({"A": sign})
    items = "\n".join(
        f"BT /F1 10 Tf 50 {640 - 14 * n} Td (A {item}) Tj ET" for n, item in enumerate(("granite", "timber"))
    )
    assert text_of(f"{prose()}\n{items}", font=font, more=more).endswith("\n\n- granite\n- timber")


def of_pages(*drawn: str) -> Document:
    return read(without_capitals(*drawn), "application/pdf", "mole.pdf", 10**6)


def test_a_page_of_letters_that_nobody_can_read_is_left_out() -> None:
    unread = prose().upper().replace("TJ", "Tj").replace("TD", "Td").replace("TF", "Tf")
    found = of_pages(prose(), unread, "BT /F1 10 Tf 50 700 Td (the wall has stood since then.) Tj ET")
    assert found.text.startswith("�he harbour of �ole was dredged in 1931")
    assert found.text.endswith("from the quarries of �enryn.\n\nthe wall has stood since then.")
    assert (
        found.unread
        == "page 2: its fonts do not say which letters they show; run it through text recognition"
    )


def test_a_page_on_which_no_letter_at_all_can_be_read_is_said_to_be_unread() -> None:
    unread = "BT /F1 10 Tf 50 700 Td (THE WALL HAS STOOD SINCE THEN) Tj ET"
    assert of_pages(prose(), unread).unread.startswith("page 2: its fonts do not say")
    with pytest.raises(UnreadableError, match="fonts do not say which letters"):
        of_pages(unread)


def test_ornaments_that_are_no_letters_are_not_missed() -> None:
    assert of_pages(prose(), "BT /F1 10 Tf 50 700 Td (A B C) Tj ET").unread == ""


def test_of_a_document_that_is_read_whole_nothing_is_said_to_be_unread() -> None:
    assert of_pages(prose()).unread == ""


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([3], "page 3"),
        ([3, 4, 5], "pages 3 to 5"),
        ([1, 3, 4, 9], "pages 1, 3 to 4 and 9"),
        (list(range(1, 40, 2)), "20 of 60 pages"),
    ],
)
def test_pages_that_were_not_read_are_named_if_they_are_few(numbers: list[int], said: str) -> None:
    assert unread_pages(numbers, 60) == said


def test_a_document_of_letters_that_nobody_can_read_is_none() -> None:
    unread = prose().upper().replace("TJ", "Tj").replace("TD", "Td").replace("TF", "Tf")
    with pytest.raises(UnreadableError, match="fonts do not say which letters"):
        of_pages(prose(), unread, unread)
