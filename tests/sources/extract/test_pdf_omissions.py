"""What the blocks of a PDF's page lack of its text is put back where it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, ParsedPage, TextItem

from deep_research.sources.extract.pdf_blocks import paragraphs

WIDE, HIGH = 5.0, 10.0  # points, of a letter


def item(x: float, y: float, text: str) -> TextItem:
    return TextItem(text, x, y, WIDE * len(text), HIGH)


def items(y: float, *lines: str, x: float = 50) -> list[TextItem]:
    return [item(x, y + 12 * n, line) for n, line in enumerate(lines)]


def block(x: float, y: float, *lines: str, kind: str = "paragraph") -> LayoutBlock:
    around = AnnotationRect(x, y, WIDE * max(map(len, lines)), HIGH + 12 * (len(lines) - 1))
    return LayoutBlock(kind, " ".join(lines), bbox=around)


def table(y: float, *rows: str) -> LayoutBlock:
    cells = [
        [
            LayoutCell(cell.strip(), AnnotationRect(50 + 100 * at, y + 12 * n, 100, 12))
            for at, cell in enumerate(row.split("|"))
        ]
        for n, row in enumerate(rows)
    ]
    return LayoutBlock("table", rows=cells, bbox=AnnotationRect(50, y, 300, 12.0 * len(rows)))


def read(pieces: list[TextItem], *blocks: LayoutBlock) -> list[str]:
    """The paragraphs of a page of these pieces, of which LiteParse made these blocks."""
    cells = [cell.text for each in blocks for row in each.rows or () for cell in row]
    text = "\n".join([*(each.text for each in pieces), *cells])
    page = ParsedPage(1, 600, 800, text, text_items=pieces, blocks=list(blocks))
    return [each.text for each in paragraphs(page)]


def test_a_paragraph_in_the_empty_cells_of_a_table_is_read_in_its_rows() -> None:
    grid = table(100, "Code | Meaning |", "E10 | No water |", "E18 | No drain |")
    told = "What to do", "Open it", "Call us"
    beside = replace(block(252, 101, " ".join(told)), bbox=AnnotationRect(252, 101, 90, 34))
    rows = "Code | Meaning | What to do\nE10 | No water | Open it\nE18 | No drain | Call us"
    assert read(items(101, *told, x=252), grid, block(50, 150, "6 Data"), beside) == [rows, "6 Data"]


def test_a_table_of_labels_and_values_has_no_names_of_columns() -> None:
    rows = "Date | 14 May 2025", "Customer | Edith Crane", "Due | 28 May 2025"
    assert read([], table(112, *rows)) == ["\n".join(("| | |", *rows))]
    rows = "Item | Price", "Siphon | £18.90", "Travel | £12.00"
    assert read([], table(112, *rows)) == ["\n".join(rows)]


HEAD = [item(x, 100, name) for x, name in ((50, "Parish"), (150, "2005"), (250, "2006"))]
LINES = "Iron island | 98,510 | 5,086", "Oak tower | 98,903 | 78,171"
TABLE, ROWS = table(112, *LINES), "\n".join(("Parish | 2005 | 2006", *LINES))
PROSE = (
    "The wall was raised by two courses of granite. Look for",
    "its plan at http://www.mole.org/plans and in the hall",
    "of the board.",
)
SAID, OLD = items(100, *PROSE), block(50, 140, "It is old.")
BROKEN = "The wall was measured in 1831 and in"
LEFT, RIGHT = (
    items(100, *(f"{side} {n}" for n in range(3)), x=x) for side, x in (("left", 50), ("right", 320))
)
HEADS = [item(50, 40, "Port of Ellery"), item(50, 100, PROSE[0]), item(300, 760, "Page 7")]
# The pieces of a page, its blocks, and its paragraphs.
LOST = {
    "all names of columns but the first": (HEAD, [block(50, 100, "Parish", kind="heading"), TABLE], [ROWS]),
    "all of them": (HEAD, [block(50, 80, "Sums by year", kind="heading"), TABLE], ["# Sums by year", ROWS]),
    "names above no table": (HEAD, [block(50, 100, "Parish"), block(50, 112, "It is old.")],
        ["Parish | 2005 | 2006", "It is old."]),
    "lines within a paragraph": (SAID, [block(50, 100, PROSE[0]), OLD], [" ".join(PROSE), "It is old."]),
    "lines behind one": (SAID, [block(50, 80, "The plans are kept."), OLD],
        ["The plans are kept.", " ".join(PROSE), "It is old."]),
    "nothing": (SAID, [block(50, 100 + 12 * n, line) for n, line in enumerate(PROSE)], [*PROSE]),
    "nothing of one": (SAID, [block(50, 100, *PROSE)], [" ".join(PROSE)]),
    "nothing where a word is broken": (items(100, "The wall was meas-", "ured in 1831 and in", "the year after"),
        [block(50, 100, BROKEN), block(50, 124, "the year after")], [BROKEN, "the year after"]),
    "a line of one column": ([*LEFT, *RIGHT],
        [block(50, 100, "left 0."), block(50, 124, "left 2"), block(320, 100, "right 0", "right 1", "right 2")],
        ["left 0.", "left 1", "left 2", "right 0 right 1 right 2"]),
    "no running head and number of a page": (HEADS, [block(50, 100, PROSE[0])], [PROSE[0]]),
}  # fmt: skip


@pytest.mark.parametrize(("pieces", "blocks", "text"), LOST.values(), ids=LOST)
def test_what_was_lost_of_a_page_is_put_back(
    pieces: list[TextItem], blocks: list[LayoutBlock], text: list[str]
) -> None:
    assert read(pieces, *blocks) == text


def test_a_page_of_very_many_pieces_takes_no_time(seconds) -> None:
    pieces = [item(10 * (n % 50), n // 50, f"a{n}") for n in range(100_000)]
    blocks = [block(5, y, "a1") for y in range(0, 2_000, 5)]
    assert seconds(1.0, lambda: read(pieces, *blocks)) < 1.0
    assert seconds(2.0, lambda: read(pieces[:1_000], *blocks[:50])) < 2.0
