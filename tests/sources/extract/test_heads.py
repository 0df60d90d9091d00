"""Heads of tables in a PDF stand above them, in whatever order the page was drawn."""

from __future__ import annotations

from made import Line, paged

from deep_research.sources.extract.lines import Type, Word, lines_of
from deep_research.sources.extract.readers import read

PLACES = (50.0, 200.0, 300.0, 400.0)
NAMES = ("Harbour", "Ships", "Lamps", "Tonnage")
ROWS = [(f"{name} outer basin", f"{at + 31}2", f"{at}7", f"{at + 1}48,200") for at, name in enumerate(
    ("Mole", "Penryn", "Wick", "Roscoff", "Sein", "Batz", "Ushant"))]  # fmt: skip


def text_of(*lines: Line) -> str:
    return read(paged([lines]), "application/pdf", "ports.pdf", 1_000_000).text


def row(y: float, cells: tuple[str, ...], places: tuple[float, ...] = PLACES) -> list[Line]:
    return [Line(x, y, cell) for x, cell in zip(places, cells, strict=True) if cell]


def table(top: float) -> list[Line]:
    return [line for at, cells in enumerate((NAMES, *ROWS)) for line in row(top - 14 * at, cells)]


def test_a_title_that_was_drawn_after_a_table_stands_before_it() -> None:
    prose = Line(50, 760, "The board of Mole counts the vessels that call in each of its harbours.")
    told = text_of(
        prose, *table(600), Line(150, 640, "Vessels and lamps by harbour"), Line(50, 400, "It ends.")
    )
    assert [line for line in told.split("\n") if line][:3] == [prose.text, "Vessels and lamps by harbour",
                                                               "Harbour | Ships | Lamps | Tonnage"]  # fmt: skip
    assert told.endswith("It ends.")


def test_rows_of_a_head_that_were_drawn_in_another_order_stand_as_they_lie() -> None:
    second, first = row(600, NAMES), row(614, ("", "Counted", "", "Measured"))
    rows = [line for at, cells in enumerate(ROWS) for line in row(586 - 14 * at, cells)]
    told = text_of(*second, *first, *rows).split("\n")
    assert told[-8].startswith("Harbour | Ships")
    assert told.index("| Counted | | Measured") < len(told) - 8


def test_a_title_in_large_type_is_no_part_of_the_small_names_of_columns_below_it() -> None:
    small, large = Type(6.0, 1.0, 0.0, 600.0, b""), Type(15.0, 1.0, 0.0, 611.5, b"")
    said = (("Harbour", 50, small), ("November", 80, large), ("Lamps", 160, small), ("a", 180, large))
    words = [Word(text, start, start + 15.0, type_, False, False) for text, start, type_ in said]
    assert [line.text for line in lines_of(words, ())] == ["Harbour", "November", "Lamps", "a"]
    raised = Word("2", 97.0, 100.0, small._replace(base=618.0), False, False)
    assert [line.text for line in lines_of([words[1], raised], ())] == ["November 2"]


def test_a_column_that_is_empty_but_for_its_name_and_sum_keeps_its_place() -> None:
    places = (50.0, 150.0, 200.0, 250.0, 300.0)
    names, sums = ("Harbour", "Ships", "Rafts", "Lamps", "Tons"), ("All of them", "991", "0", "92", "87")
    rows = [(cells[0], cells[1], "", cells[2], f"{at}1") for at, cells in enumerate(ROWS)]
    told = text_of(
        *(line for at, cells in enumerate((names, *rows, sums)) for line in row(700 - 14 * at, cells, places))
    )
    assert told.split("\n")[0] == " | ".join(names)
    assert told.split("\n")[1] == "Mole outer basin | 312 | | 07 | 01"
    assert told.split("\n")[-1] == " | ".join(sums)


def test_names_that_reach_into_the_white_beside_their_columns_stand_each_over_its_own() -> None:
    names = [("State", 50), ("Permits", 117), ("Admin", 163), ("Rest", 203), ("Totals", 240)]
    rows = [
        [(cells[0].split()[0], 50), (cells[1], 140), ("0", 180), ("1", 215), (cells[1], 250)]
        for cells in ROWS
    ]
    lines = [Line(x, 700 - 14 * at, text) for at, cells in enumerate((names, *rows)) for text, x in cells]
    assert text_of(*lines).split("\n")[0] == "State | Permits | Admin | Rest | Totals"
