"""The text of a PDF flows: sentences go on past what stands between their halves, and what is apart stays apart."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hostile import FONT, pdf, stream
from made import Line, column, paged

from deep_research.sources.extract.readers import read

PROSE = (
    "The harbour of Mole was dredged in 1931 to a depth of nine metres, and the",
    "wall was raised by two courses of granite that came by sea from the quarries",
    "and was set by the men of the town, whose names are on the stone that stands",
    "at the end of it.",
)


def text_of(*pages: Sequence[Line]) -> str:
    return read(paged(pages), "application/pdf", "mole.pdf", 1_000_000).text


def set_as(*texts: str, left: float = 60, top: float = 700, step: float = 13) -> list[Line]:
    return [Line(left, top - step * at, text) for at, text in enumerate(texts)]


def test_a_heading_is_set_off_where_there_is_as_much_room_between_paragraphs_as_within() -> None:
    page, top = [], 700.0
    for at in range(7):
        page += set_as(f"Whereas the wall {at} of Mole stands open to the sea and is", "old;", top=top)
        top -= 40
    page += set_as("4. Request of the owner of the wall at Mole for its being taken down", top=top)
    page += set_as("Resolution 2023-001", left=200, top=top - 27)
    assert text_of(page).endswith("taken down\n\nResolution 2023-001")


def test_entries_whose_rest_is_indented_stay_apart() -> None:
    works = (
        Line(60, 700, "Colas, S. and P. Marcel. Organisation of the harbours of the county and"),
        Line(75, 688, "their walls, with a plan of each of them. In Old Walls, pp. 81-95."),
        Line(60, 676, "Garcia, H. and J. Ullman. Harbours: the complete book of all that is on"),
        Line(75, 664, "the coast. Penryn."),
    )
    assert text_of(works).split("\n\n") == [
        f"{works[0].text} {works[1].text}",
        f"{works[2].text} {works[3].text}",
    ]


def test_a_heading_above_a_paragraph_whose_first_line_is_indented_is_no_entry() -> None:
    lines = [
        Line(60, 700, "Revisions of the book of the harbour of Mole that are to come before use"),
        Line(70, 688, "Before it is used again, the book of the harbour is to be revised as the"),
        Line(60, 676, "Harbour Act says, which is older than the wall and not so old as the town."),
    ]
    assert "revised as the Harbour Act says" in text_of(lines)


def test_a_sentence_that_the_end_of_a_page_breaks_off_goes_on_with_a_name() -> None:
    first = set_as(*PROSE[:3], "and in front of it there is the house of the keeper, whose name was George")
    second = set_as(
        "Eastman, and who lived there until the war came and the harbour was closed to",
        "all that came there by sea.",
    )
    assert "name was George Eastman, and who" in text_of(first, second)


@pytest.mark.parametrize(
    ("last", "begins"),
    [
        (
            "at the end of it.",
            "Harbours of this kind are few, and none of them is as old as the one of Mole, nor",
        ),
        (
            "and so it is to",
            "Figure 4. The harbour of Mole with the keeper, in the year in which the war came to",
        ),
    ],
)
def test_a_sentence_or_a_caption_at_the_head_of_a_page_is_its_own_paragraph(last: str, begins: str) -> None:
    pages = set_as(*PROSE[:3], last), set_as(begins, "the end of the wall, and so to us.")
    assert f"\n\n{begins}" in text_of(*pages)


def test_a_hyphen_at_the_end_of_a_line_stays_where_the_text_has_the_word_with_it() -> None:
    lines = set_as(
        "An open-sea wall is one that bears the open sea, and so it is of the open-",
        "sea kind that the harbour of Mole has, which was built of granite and fine-",
        "ly set by the men of the town, of whom one is known, and the others un-",
        "known.",
    )
    assert text_of(lines).endswith("open-sea kind that the harbour of Mole has, which was built of granite and "
                                   "finely set by the men of the town, of whom one is known, and the others "
                                   "unknown.")  # fmt: skip


def drawn_page(drawn: Sequence[str], font: bytes = FONT) -> str:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        font,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        stream("\n".join(drawn).encode("cp1252")),
    ]
    return read(pdf(objects), "application/pdf", "mole.pdf", 1_000_000).text


def test_an_asterisk_of_formulas_marks_a_footnote_too() -> None:
    drawn = [f"BT /F1 10 Tf 50 {700 - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE)]
    drawn += ["BT /F1 8 Tf 50 100 Td (\\244Both wrote equal shares) Tj ET"]
    drawn += [
        f"BT /F1 10 Tf 320 {700 - 12 * n} Td (and goes on here in the next column) Tj ET" for n in (0, 1)
    ]
    font = FONT.replace(b"/WinAnsiEncoding", b"<< /Type /Encoding /Differences [164 /asteriskmath] >>")
    assert drawn_page(drawn, font).endswith("\n\n∗ Both wrote equal shares")


def upright() -> list[str]:
    return [f"BT /F1 10 Tf 70 {700 - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE * 3)]


def test_a_stamp_that_runs_up_the_margin_stands_behind_the_text() -> None:
    stamp = "BT /F1 20 Tf 0 1 -1 0 32 230 Tm (arXiv:2004.04906v3 30 Sep 2020) Tj ET"
    lines = upright()
    text = drawn_page([*lines[:6], stamp, *lines[6:]])
    assert text.endswith("\n\narXiv:2004.04906v3 30 Sep 2020")
    assert text.count("the quarries and was set by the men") == 3


def test_what_runs_up_beside_a_picture_within_the_text_stays_there() -> None:
    axis = "BT /F1 10 Tf 0 1 -1 0 200 230 Tm (Depth in metres) Tj ET"
    lines = upright()
    assert not drawn_page([*lines[:6], axis, *lines[6:]]).endswith("Depth in metres")


def test_a_fraction_of_raised_and_lowered_figures_is_one_number() -> None:
    fraction = (
        "BT /F1 10 Tf 70 660 Td (Nuts of ) Tj /F1 6 Tf 3 Ts (1 ) Tj /F1 10 Tf 0 Ts (\\244) Tj /F1 6 Tf ( 4) Tj "
        "/F1 10 Tf ( inch are rare.) Tj ET"
    )
    font = FONT.replace(b"/WinAnsiEncoding", b"<< /Type /Encoding /Differences [164 /fraction] >>")
    assert "Nuts of 1⁄4 inch are rare." in drawn_page([fraction, *upright()[4:]], font)


def test_signs_of_code_that_stand_hardly_apart_are_one_word() -> None:
    code: list[Line] = []
    for at in range(3):
        left = 70.0
        for piece, room in (("image", 6), ("=", 6), ("cv2", 1.7), (".", 1.7), ("imread", 1.7), ("(name)", 0)):
            code.append(Line(left, 600 - 12 * at, piece, 10, "F2"))
            left += 6 * len(piece) + room
    told = text_of([*column(60, 700, "\n".join(PROSE)), *code])
    assert "\n".join(["image = cv2.imread(name)"] * 3) in told
