"""What the blocks of a PDF's page lack of its text is put back where it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, ParsedPage, TextItem

from deep_research.sources.extract.pdf_blocks import paragraphs

WIDE = 5.0  # points, of a letter
HIGH = 10.0


def item(x: float, y: float, text: str) -> TextItem:
    return TextItem(text, x, y, WIDE * len(text), HIGH)


def block(x: float, y: float, *lines: str, kind: str = "paragraph") -> LayoutBlock:
    around = AnnotationRect(x, y, WIDE * max(map(len, lines)), HIGH + 12 * (len(lines) - 1))
    return LayoutBlock(kind, " ".join(lines), bbox=around)


def table(y: float, *rows: str) -> LayoutBlock:
    cells = [[LayoutCell(cell) for cell in row.split(" | ")] for row in rows]
    return LayoutBlock("table", rows=cells, bbox=AnnotationRect(50, y, 300, 12.0 * len(rows)))


def read(items: list[TextItem], *blocks: LayoutBlock) -> list[str]:
    """The paragraphs of a page of these pieces, of which LiteParse made these blocks."""
    cells = [cell.text for each in blocks for row in each.rows or () for cell in row]
    text = "\n".join([*(each.text for each in items), *cells])
    page = ParsedPage(1, 600, 800, text, text_items=items, blocks=list(blocks))
    return [each.text for each in paragraphs(page)]


NAMES = [item(50, 100, "Parish"), item(150, 100, "2005"), item(250, 100, "2006")]
TABLE = table(112, "Iron island | 98,510 | 5,086", "Oak tower | 98,903 | 78,171")
ROWS = "Parish | 2005 | 2006\nIron island | 98,510 | 5,086\nOak tower | 98,903 | 78,171"
PROSE = (
    "The wall was raised by two courses of granite. Look for",
    "its plan at http://www.mole.org/plans and in the hall",
    "of the board.",
)


def test_a_paragraph_in_the_empty_cells_of_a_table_is_read_in_its_rows() -> None:
    rows = ("Code", "Meaning", ""), ("E10", "No water", ""), ("E18", "No drain", "")
    cells = [
        [
            LayoutCell(text, AnnotationRect(50 + 100 * at, 100 + 12 * row, 100, 12))
            for at, text in enumerate(told)
        ]
        for row, told in enumerate(rows)
    ]
    grid = LayoutBlock("table", rows=cells, bbox=AnnotationRect(50, 100, 300, 36))
    items = [item(252, 101 + 12 * row, text) for row, text in enumerate(("What to do", "Open it", "Call us"))]
    beside = block(252, 101, "What to do Open it Call us")
    beside = replace(beside, bbox=AnnotationRect(252, 101, 90, 34))
    told = "Code | Meaning | What to do\nE10 | No water | Open it\nE18 | No drain | Call us"
    assert read(items, grid, block(50, 150, "6 Data"), beside) == [told, "6 Data"]


def test_a_table_of_labels_and_values_has_no_names_of_columns() -> None:
    rows = "Date | 14 May 2025", "Customer | Edith Crane", "Due | 28 May 2025"
    assert read([], table(112, *rows)) == ["\n".join(("| | |", *rows))]
    rows = "Item | Price", "Siphon | £18.90", "Travel | £12.00"
    assert read([], table(112, *rows)) == ["\n".join(rows)]


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([block(50, 100, "Parish", kind="heading"), TABLE], [ROWS]),
        ([block(50, 80, "Sums by year", kind="heading"), TABLE], ["# Sums by year", ROWS]),
        ([block(50, 100, "Parish"), block(50, 112, "It is old.")], ["Parish | 2005 | 2006", "It is old."]),
    ],
    ids=["all but the first", "all of them", "above no table"],
)
def test_the_names_of_columns_are_not_lost(blocks: list[LayoutBlock], text: list[str]) -> None:
    assert read(NAMES, *blocks) == text


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([block(50, 100, PROSE[0]), block(50, 140, "It is old.")], [" ".join(PROSE), "It is old."]),
        ([block(50, 80, "The plans are kept."), block(50, 140, "It is old.")],
         ["The plans are kept.", " ".join(PROSE), "It is old."]),
        ([block(50, 100, PROSE[0]), block(50, 112, PROSE[1]), block(50, 124, PROSE[2])], [*PROSE]),
        ([block(50, 100, *PROSE)], [" ".join(PROSE)]),
    ],
    ids=["within a paragraph", "behind one", "nothing lost", "nothing lost of one"],
)  # fmt: skip
def test_lines_of_prose_are_not_lost(blocks: list[LayoutBlock], text: list[str]) -> None:
    assert read([item(50, 100 + 12 * n, line) for n, line in enumerate(PROSE)], *blocks) == text


def test_a_word_that_is_broken_at_the_end_of_a_lost_line_is_not_taken_for_lost() -> None:
    lines = ["The wall was meas-", "ured in 1831 and in", "the year after"]
    found = read(
        [item(50, 100 + 12 * n, line) for n, line in enumerate(lines)],
        block(50, 100, "The wall was measured in 1831 and in"),
        block(50, 124, "the year after"),
    )
    assert found == ["The wall was measured in 1831 and in", "the year after"]


def test_a_line_of_one_column_is_put_back_into_it() -> None:
    left = [item(50, 100 + 12 * n, f"left {n}") for n in range(3)]
    right = [item(320, 100 + 12 * n, f"right {n}") for n in range(3)]
    blocks = (
        block(50, 100, "left 0."),
        block(50, 124, "left 2"),
        block(320, 100, "right 0", "right 1", "right 2"),
    )
    assert read([*left, *right], *blocks) == ["left 0.", "left 1", "left 2", "right 0 right 1 right 2"]


def test_running_heads_and_numbers_of_pages_stay_out() -> None:
    items = [item(50, 40, "Port of Ellery"), item(50, 100, PROSE[0]), item(300, 760, "Page 7")]
    assert read(items, block(50, 100, PROSE[0])) == [PROSE[0]]


def test_a_page_of_very_many_pieces_takes_no_time(seconds) -> None:
    items = [item(10 * (n % 50), n // 50, f"a{n}") for n in range(100_000)]
    blocks = [block(5, y, "a1") for y in range(0, 2_000, 5)]
    assert seconds(1.0, lambda: read(items, *blocks)) < 1.0
    assert seconds(2.0, lambda: read(items[:1_000], *blocks[:50])) < 2.0
