"""Blocks of a page of a PDF that stand beside each other are read one after the other, and rows across."""

from __future__ import annotations

from made import Line, column, paged

from deep_research.sources.extract import typeset
from deep_research.sources.extract.beside import as_blocks_lie
from deep_research.sources.extract.readers import read

LEFT = (
    "I would like the story of",
    "the wall to be told so",
    "that it has no final end",
    "but goes on with vessels",
    "that call at the wall,",
    "as long as the lamp is lit.",
)
RIGHT = (
    ("Port of Mole is the", 15),
    ("oldest port of the county.", 15),
    ("Built upon the timber trade", 10),
    ("it serves three towns and is", 10),
    ("largest employer of them.", 10),
    ("BY REVENUE", 9),
    ("17,841 crowns", 22),
    ("BY PROFIT", 9),
    ("7,845 crowns", 22),
    ("NEW BERTHS", 9),
    ("2,322", 22),
    ("in the year", 9),
)


def text_of(*lines: Line) -> str:
    return read(paged([lines]), "application/pdf", "mole.pdf", 1_000_000).text


def designed() -> tuple[list[Line], list[Line]]:
    """A quotation in steps of 15 points, and beside it what has steps of its own."""
    left = [Line(50, 600 - 15 * at, text, 12) for at, text in enumerate(LEFT)]
    right, top = [], 640.0
    for text, size in RIGHT:
        top -= 1.4 * size
        right.append(Line(320, round(top, 1), text, size))
    return left, right


def test_blocks_whose_lines_are_not_level_are_read_one_after_the_other() -> None:
    left, right = designed()
    text = text_of(*left, *right)
    assert text.startswith(" ".join(LEFT))
    assert text.index("Port of Mole") < text.index("largest employer") < text.index("17,841 crowns")


def test_a_title_over_both_blocks_and_a_text_below_them_keep_their_places() -> None:
    left, right = designed()
    below = column(50, 300, "The board thanks all who work in the port,\nand the town that bears its noise.")
    text = text_of(*below, *right, *left, Line(230, 720, "What the port has done", 20))
    order = [
        "What the port",
        "I would like",
        "lamp is lit.",
        "Port of Mole",
        "in the year",
        "The board thanks",
    ]
    assert [text.index(told) for told in order] == sorted(text.index(told) for told in order)


def test_cells_that_are_level_stay_rows_however_far_apart_rows_are() -> None:
    rows = [(name, f"{name} quay is old", f"{at}1 m") for at, name in enumerate(
        ("North", "East", "South", "West", "Inner", "Outer", "Upper", "Lower"), 1)]  # fmt: skip
    lines = [Line(x, 700 - 13 * n - (n % 3), cell) for x, place in ((50, 0), (200, 1), (400, 2))
             for n, cell in enumerate(row[place] for row in rows)]  # fmt: skip
    assert "North | North quay is old | 11 m\nEast | East quay is old | 21 m" in text_of(*lines)


def test_cells_of_a_column_that_stand_a_little_higher_are_still_of_their_rows() -> None:
    names = ("Mole harbour", "Penryn quay", "Ellery port", "Looe landing", "Wick basin", "Hayle bar")
    lines = [Line(50, 700 - 14 * n, name) for n, name in enumerate(names)]
    lines += [Line(300, 701.5 - 14 * n, f"under the board of {name}", 9) for n, name in enumerate(names)]
    assert text_of(*lines).startswith("Mole harbour | under the board of Mole harbour\nPenryn quay | under")


def test_the_rest_of_a_cell_that_is_set_loosely_belongs_to_it_where_rows_are_farther_apart() -> None:
    lines, top = [], 700.0
    for number, told in (("2", "Port at a glance"), ("4", "Value of trade"), ("6", "Key figures of trade"),
                         ("8", "Chairman and his\nstatement"), ("14", "Care for those of\nthe coast"),
                         ("16", "Care for timber"), ("18", "Care for fish")):  # fmt: skip
        first, *rest = told.split("\n")
        lines += [Line(50, top, number, 8), Line(90, top, first, 8)]
        for line in rest:
            top -= 12
            lines.append(Line(90, top, line, 8))
        top -= 15
    assert "8 | Chairman and his statement\n14 | Care for those of the coast\n16 |" in text_of(*lines)


def test_a_page_of_thousands_of_columns_is_soon_read(seconds) -> None:
    lines = [
        typeset.Line("of the wall", 0.1, at, 800 - 0.13 * (at % 97) - 0.01 * at, right=at + 0.5)
        for at in range(20_000)
    ]
    assert seconds(1, lambda: as_blocks_lie(lines)) < 2
