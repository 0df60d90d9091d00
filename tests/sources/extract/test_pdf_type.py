"""What the type of a PDF tells: footnotes are told from the text, and code from prose."""

from collections.abc import Sequence

import pytest
from hostile import FONT, pdf, stream
from made import Line, column, paged

from deep_research.evidence.passages import BlockKind, blocks
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

BROKEN = """
The harbour of Mole was dredged in 1931 to a depth of nine
metres, and its outer wall was raised by two courses of granite
that came by sea from the quarries of Penryn. The board kept a
register of every vessel that called, of its cargo and of the
weather on the day, which is the source of most of what is told
"""
REST = """
here. In the years after the war the trade in timber fell away.
The railway that had carried it inland was given up soon after,
and of its four bridges only the northern one is still in use.
"""
NOTES = """
1The register is kept in the county archive, and was copied in
1998 for this book.
2 Okafor gives eight metres.
"""
CODE = """
def depth(tide):
    if tide is None:
        return 9.0

    return 9.0 + tide
"""
PROSE = BROKEN.strip().replace("\n", " ")


def document(*pages: Sequence[Line]) -> Document:
    return read(paged(pages), "application/pdf", "mole.pdf", 1_000_000)


def paragraphs(*pages: Sequence[Line]) -> list[str]:
    return document(*pages).text.split("\n\n")


def test_footnotes_stand_behind_the_paragraph_that_the_end_of_their_page_breaks_off() -> None:
    first = [*column(50, 700, BROKEN), *column(50, 100, NOTES, size=8)]
    found = document(first, column(50, 700, REST))
    assert found.text.split("\n\n") == [
        f"{PROSE} {REST.strip()}".replace("\n", " "),
        "1 The register is kept in the county archive, and was copied in 1998 for this book.",
        "2 Okafor gives eight metres.",
    ]
    assert [found.text[start:].split()[0] for start in found.pages] == ["The", "here."]


def test_a_footnote_of_a_column_does_not_break_off_what_goes_on_in_the_next() -> None:
    page = [*column(50, 700, BROKEN), *column(50, 100, NOTES, size=8), *column(320, 700, REST)]
    assert paragraphs(page)[0].endswith("of what is told here. In the years after the war the trade in"
                                        " timber fell away. The railway that had carried it inland was given up"
                                        " soon after, and of its four bridges only the northern one is still"
                                        " in use.")  # fmt: skip


def test_a_list_that_a_page_breaks_off_comes_before_the_footnotes() -> None:
    first = [*column(50, 700, BROKEN), *column(50, 600, "- granite"), *column(50, 100, NOTES, size=8)]
    second = [*column(50, 700, "- timber"), *column(50, 670, BROKEN)]
    assert "- granite\n- timber\n\n1 The register" in document(first, second).text


def test_small_type_without_a_mark_or_above_the_text_is_no_footnote() -> None:
    caption = column(50, 500, "Figure 4. The outer wall in the year after.", size=8)
    assert paragraphs([*column(50, 700, BROKEN), *caption]) == [PROSE, caption[0].text]
    above = column(50, 760, "1 Penryn stone was dear in those years.", size=8)
    assert paragraphs([*above, *column(50, 700, BROKEN)])[0] == above[0].text


def test_code_keeps_its_lines_and_their_indents() -> None:
    page = [*column(50, 700, BROKEN), *column(70, 600, CODE, size=9, font="F2"), *column(50, 500, REST)]
    text = document(page).text
    assert f"```\n{CODE.strip()}\n```" in text
    assert [block.kind for block in blocks(text)] == [
        BlockKind.PARAGRAPH,
        BlockKind.CODE,
        BlockKind.PARAGRAPH,
    ]


def test_indents_that_are_steps_and_no_spaces_are_kept_too() -> None:
    steps = [Line(70 + 5.4 * (len(line) - len(line.lstrip())), y, line.strip(), 9, "F2")
             for _, y, line, *_ in column(70, 600, CODE, size=9)]  # fmt: skip
    assert f"```\n{CODE.strip()}\n```" in document([*column(50, 700, BROKEN), *steps]).text


def test_a_single_line_of_code_is_set_off_and_an_address_within_a_paragraph_is_none() -> None:
    alone = column(50, 620, "pip install mole", size=9, font="F2")
    assert paragraphs([*column(50, 700, BROKEN), *alone])[1] == "```\npip install mole\n```"
    lines = column(50, 700, BROKEN)
    lines[2] = lines[2]._replace(text="https://mole.example.com/register", font="F2")
    assert paragraphs(lines) == [PROSE.replace("that came by sea from the quarries of Penryn. The board kept a",
                                               "https://mole.example.com/register")]  # fmt: skip


def test_a_text_that_is_typewritten_is_no_code() -> None:
    assert paragraphs(column(50, 700, BROKEN, font="F2")) == [PROSE]


def test_room_above_a_line_begins_a_paragraph() -> None:
    page = [
        *column(50, 700, BROKEN.rstrip() + "."),
        *column(50, 632, "Then the war came, and the harbour was closed."),
    ]
    assert len(paragraphs(page)) == 2


def test_a_page_is_read_without_its_drawings_and_with_the_text_in_them() -> None:
    resources = b"/Resources << /Font << /F1 3 0 R >> /XObject << /A 6 0 R /B 7 0 R >> >>"
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 500 500] " + resources
    said = b"BT /F1 10 Tf 1 0 0 1 50 700 Tm (The harbour of Mole is nine metres deep.) Tj ET /A Do /B Do"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        FONT,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R %s >>" % resources,
        stream(said),
        stream(b"0 0 m 9 9 l S\n" * 1000, form),
        stream(b"BT /F1 10 Tf 1 0 0 1 50 500 Tm (Low water) Tj ET", form),
    ]
    text = read(pdf(objects), "application/pdf", "mole.pdf", 1_000_000).text
    assert text.split() == ["The", "harbour", "of", "Mole", "is", "nine", "metres", "deep.", "Low", "water"]


def test_code_and_footnotes_on_a_page_with_a_table_are_told_too() -> None:
    columns = ("Year\n1938\n1952", "Vessels\n312\n41", "Tonnage\n148,200\n19,870")
    cells = [line for place, cell in enumerate(columns) for line in column(50 + 90 * place, 500, cell)]
    page = [
        *column(50, 700, BROKEN.rstrip() + "."),
        *cells,
        *column(70, 400, CODE, size=9, font="F2"),
        *column(50, 300, REST),
        *column(50, 100, NOTES, size=8),
    ]
    found = paragraphs(page)
    assert "Year | Vessels | Tonnage\n1938 | 312 | 148,200\n1952 | 41 | 19,870" in found
    assert f"```\n{CODE.strip()}\n```" in "\n\n".join(found)
    assert found[-1] == "2 Okafor gives eight metres."


def own_font(said: str) -> list[str]:
    """The paragraphs of a page of prose with code below it in a font that says this of itself."""
    code = [line for line in CODE.strip().split("\n") if line]
    drawn = [
        f"BT /F1 10 Tf 50 {700 - 12 * n} Td ({line}) Tj ET"
        for n, line in enumerate(BROKEN.strip().split("\n"))
    ]
    drawn += [f"BT /F2 10 Tf 50 {580 - 12 * n} Td ({_escaped(line)}) Tj ET" for n, line in enumerate(code)]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        FONT,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R /F2 6 0 R >> >> >>",
        stream("\n".join(drawn).encode()),
        f"<< /Type /Font /Subtype /TrueType /Encoding /WinAnsiEncoding /FirstChar 32 {said} >>".encode(),
        b"<< /Type /FontDescriptor /FontName /X /Flags 33 /ItalicAngle 0 /StemV 80 >>",
        b"<< /Type /FontDescriptor /FontName /X /Flags 32 /ItalicAngle 0 /StemV 80 >>",
    ]
    return read(pdf(objects), "application/pdf", "mole.pdf", 1_000_000).text.split("\n\n")


def _escaped(text: str) -> str:
    return text.replace("(", r"\(").replace(")", r"\)")


EVEN = f"/Widths [{'525 ' * 95}]"
UNEVEN = f"/Widths [{'525 480 610 ' * 32}]"


@pytest.mark.parametrize(
    ("font", "is_code"),
    [
        (f"/BaseFont /ABCDEF+NimbusMonL-Regu {UNEVEN}", True),
        (f"/BaseFont /ABCDEF+CMTT10 {UNEVEN}", True),
        (f"/BaseFont /X /FontDescriptor 7 0 R {UNEVEN}", True),
        (f"/BaseFont /X /FontDescriptor 8 0 R {EVEN}", True),
        (f"/BaseFont /X /FontDescriptor 8 0 R {UNEVEN}", False),
        (f"/BaseFont /MonotypeCorsiva /FontDescriptor 8 0 R {UNEVEN}", False),
        (f"/BaseFont /ArialUnicodeMS {UNEVEN}", False),
    ],
)
def test_letters_of_one_width_are_known_by_the_name_the_flag_or_the_widths_of_their_font(
    font: str, is_code: bool
) -> None:
    assert ("```" in "\n".join(own_font(font))) == is_code
