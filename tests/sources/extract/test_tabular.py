"""Tables of a PDF whose rows come as whole lines, with nothing but room between their cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hostile import FONT, pdf, stream
from made import Line, column, paged

from deep_research.sources.extract.readers import read

ROWS = (
    ("Harbour and port", "Ships", "Tonnage by register"),
    ("Mole outer basin", "312", "148,200"),
    ("Penryn old quay by the mill", "41", "19,870"),
)
WRITTEN = "Harbour and port | Ships | Tonnage by register\nMole outer basin | 312 | 148,200\n" \
          "Penryn old quay by the mill | 41 | 19,870"  # fmt: skip
PROSE = (
    "The harbour of Mole was dredged in 1931 to a depth of nine",
    "metres, and its outer wall was raised by two courses of granite",
    "that came by sea from the quarries of Penryn.",
)
PLACES = (50.0, 230.0, 300.0)


def text_of(content: str, *, font: bytes = FONT) -> str:
    """What is read of a page that is drawn so."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        font,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        stream(content.encode("cp1252")),
    ]
    return read(pdf(objects), "application/pdf", "ports.pdf", 1_000_000).text


def prose(top: float) -> str:
    return " ".join(f"BT /F1 10 Tf 50 {top - 12 * n} Td ({line}) Tj ET" for n, line in enumerate(PROSE))


def by_steps(rows: Sequence[Sequence[str]]) -> str:
    """As TeX draws a row: one text, with a step to each cell."""
    drawn = []
    for number, row in enumerate(rows):
        drawn.append(f"BT /F1 10 Tf 50 {600 - 14 * number} Td ({row[0]}) Tj")
        drawn += [
            f"{there - here} 0 Td ({cell}) Tj"
            for here, there, cell in zip(PLACES, PLACES[1:], row[1:], strict=False)
        ]
        drawn.append("ET")
    return "\n".join(drawn)


def in_one_array(rows: Sequence[Sequence[str]]) -> str:
    """As others do: a list of texts and of steps between them, in thousandths of the size."""
    drawn = []
    for number, row in enumerate(rows):
        pieces = f"({row[0]})"
        for column_, (before, cell) in enumerate(pairwise(row)):
            step = (PLACES[column_ + 1] - PLACES[column_]) * 100 - 500 * len(before)
            pieces += f" {-step} ({cell})"
        drawn.append(f"BT /F1 10 Tf 50 {600 - 14 * number} Td [{pieces}] TJ ET")
    return "\n".join(drawn)


def by_wide_spaces(rows: Sequence[Sequence[str]]) -> str:
    """With spaces as wide as what is between two cells."""
    drawn = [
        f"BT /F1 10 Tf 50 {600 - 14 * number} Td ({row[0]}) Tj 180 0 Td 40 Tw ({row[1]} {row[2]}) Tj 0 Tw ET"
        for number, row in enumerate(rows)
    ]
    return "\n".join(drawn)


def turned(rows: Sequence[Sequence[str]]) -> str:
    """On a page that is to be turned by a quarter."""
    drawn = [
        f"BT /F1 10 Tf 0 1 -1 0 {100 + 14 * number} {place} Tm ({cell}) Tj ET"
        for number, row in enumerate(rows)
        for place, cell in zip(PLACES, row, strict=True)
    ]
    return "\n".join(drawn)


@pytest.mark.parametrize("draw", [by_steps, in_one_array, turned])
def test_rows_that_are_whole_lines_stay_rows_however_the_room_between_the_cells_is_made(draw) -> None:  # type: ignore[no-untyped-def]
    assert text_of(f"{prose(760)}\n{draw(ROWS)}" if draw is not turned else draw(ROWS)).endswith(WRITTEN)


def test_spaces_that_are_stretched_to_the_next_cell_part_cells() -> None:
    rows = [("Mole outer basin", "312", "148"), ("Penryn old quay", "418", "198"), ("Ellery", "297", "151")]
    found = text_of(prose(760) + "\n" + by_wide_spaces(rows))
    assert found.endswith(
        "| | |\nMole outer basin | 312 | 148\nPenryn old quay | 418 | 198\nEllery | 297 | 151"
    )


def test_the_prose_around_a_table_is_prose() -> None:
    found = text_of(f"{prose(760)}\n{by_steps(ROWS)}\n{prose(400)}").split("\n\n")
    assert found == [" ".join(PROSE), WRITTEN, " ".join(PROSE)]


def test_a_cell_of_two_lines_is_one_cell_and_an_empty_one_keeps_its_place() -> None:
    lines = [
        *(
            Line(x, 600, text)
            for x, text in zip(PLACES, ("Harbour", "Depth in", "Built in the"), strict=True)
        ),
        *(Line(x, 588, text) for x, text in zip(PLACES[1:], ("metres", "years from"), strict=True)),
        *(Line(x, 566, text) for x, text in zip(PLACES, ("Mole", "9.0", "1931"), strict=True)),
        *(Line(x, 548, text) for x, text in zip(PLACES[::2], ("Penryn", "1880"), strict=True)),
        *(Line(x, 530, text) for x, text in zip(PLACES, ("Ellery", "7.5", "1902"), strict=True)),
    ]
    found = read(
        paged([[*column(50, 760, "\n".join(PROSE)), *lines]]), "application/pdf", "x.pdf", 10**6
    ).text
    assert found.split("\n\n")[1] == (
        "Harbour | Depth in metres | Built in the years from\nMole | 9.0 | 1931\nPenryn | | 1880\nEllery | 7.5 | 1902"
    )


def test_a_head_over_several_columns_does_not_join_them() -> None:
    body = [("Mole", "312", "148"), ("Penryn", "41", "19"), ("Ellery", "97", "51"), ("Looe", "12", "7"),
            ("Fowey", "33", "20")]  # fmt: skip
    head = [Line(230, 614, "Ships and their tonnage"), Line(50, 614, "Harbour")]
    lines = [
        Line(x, 600 - 14 * n, text) for n, row in enumerate(body) for x, text in zip(PLACES, row, strict=True)
    ]
    found = read(
        paged([[*column(50, 760, "\n".join(PROSE)), *head, *lines]]), "application/pdf", "x.pdf", 10**6
    )
    assert "Mole | 312 | 148\nPenryn | 41 | 19\n" in found.text


def test_a_table_that_goes_on_on_the_next_page_keeps_its_header() -> None:
    def page(rows: Sequence[Sequence[str]]) -> list[Line]:
        return [Line(x, 700 - 14 * n, text) for n, row in enumerate(rows)
                for x, text in zip(PLACES, row, strict=True)]  # fmt: skip

    more = [("Ellery", "97", "51,300"), ("Looe", "12", "7,040")]
    found = read(paged([page(ROWS), page(more)]), "application/pdf", "x.pdf", 10**6).text
    assert found == f"{WRITTEN}\nEllery | 97 | 51,300\nLooe | 12 | 7,040"


def test_words_of_a_line_that_is_stretched_to_the_margin_are_no_cells() -> None:
    lines = [("when", "walking", "along", "the", "wall"), ("at", "low", "water", "one", "sees", "it")]
    drawn = "\n".join(
        f"BT /F1 10 Tf 50 {600 - 12 * n} Td [{' -1200 '.join(f'({word})' for word in words)}] TJ ET"
        for n, words in enumerate(lines * 2)
    )
    assert "|" not in text_of(prose(640) + "\n" + drawn)


def test_lists_and_contents_are_no_tables() -> None:
    items = [("1.", "Trim the wick to six millimetres"), ("2.", "Fill the vessel"), ("3.", "Light it")]
    drawn = "\n".join(f"BT /F1 10 Tf 50 {600 - 12 * n} Td ({label}) Tj 40 0 Td ({text}) Tj ET"
                      for n, (label, text) in enumerate(items))  # fmt: skip
    assert text_of(prose(760) + "\n" + drawn).endswith(
        "1. Trim the wick to six millimetres\n2. Fill the vessel\n3. Light it"
    )
    contents = "\n".join(
        f"BT /F1 10 Tf 50 {600 - 12 * n} Td ({n + 1}) Tj 20 0 Td ({name} . . . . . . . . . .) Tj 300 0 Td ({n + 3}) Tj ET"
        for n, name in enumerate(("The harbour", "Its walls", "The lamps", "Tides"))
    )
    assert "|" not in text_of(prose(760) + "\n" + contents)


def test_columns_of_prose_drawn_side_by_side_are_no_table() -> None:
    beside = "\n".join(
        f"BT /F1 10 Tf 50 {600 - 12 * n} Td (the breakwater was lengthened by two) Tj"
        f" 240 0 Td (called in that year, against three) Tj ET"
        for n in range(5)
    )
    assert "|" not in text_of(beside)


def test_widths_of_all_kinds_of_fonts_are_known() -> None:
    wide = b"<< /Type /Font /Subtype /TrueType /BaseFont /Own /FirstChar 32 /Widths [%s] /Encoding /WinAnsiEncoding >>"
    font = wide % b" ".join([b"250"] * 90)  # half as wide as usual: what looks near is far
    rows = [
        ("abcdefghijklmnop", "312", "12"),
        ("qrstuvwxyzabcdef", "41", "33"),
        ("klmnopqrstuvwxyz", "8", "4"),
    ]
    drawn = "\n".join(
        f"BT /F1 10 Tf 50 {600 - 14 * n} Td ({a}) Tj 60 0 Td ({b}) Tj 30 0 Td ({c}) Tj ET"
        for n, (a, b, c) in enumerate(rows)
    )
    assert text_of(drawn, font=font).endswith("qrstuvwxyzabcdef | 41 | 33\nklmnopqrstuvwxyz | 8 | 4")


@pytest.mark.parametrize(
    "broken",
    ["/F9 10 Tf", "(x) Td", "Tm", "Q Q Q", "[/Name (text)] TJ", "0 Tf", "Tj"],
)
def test_a_damaged_step_loses_nothing_but_itself(broken: str) -> None:
    found = text_of(f"BT {broken} ET\n{prose(760)}")
    assert "quarries of Penryn." in found


def test_the_last_row_keeps_what_goes_on_below_it() -> None:
    rows = [("Mole", "outer basin", "312"), ("Penryn", "old quay by", "41"), ("Looe", "the inner wall", "97")]
    lines = [
        Line(x, 600 - 28 * n, cell) for n, row in enumerate(rows) for x, cell in zip(PLACES, row, strict=True)
    ]
    lines.append(Line(PLACES[1], 600 - 28 * 2 - 12, "and slip"))
    found = read(
        paged([[*column(50, 760, "\n".join(PROSE)), *lines, *column(50, 480, "\n".join(PROSE))]]),
        "application/pdf",
        "x.pdf",
        10**6,
    )
    assert found.text.split("\n\n")[1].endswith("Looe | the inner wall and slip | 97")


def text_of_page(*lines: Line) -> str:
    return read(paged([lines]), "application/pdf", "x.pdf", 10**6).text


def row(base: float, *cells: str, places: Sequence[float] = PLACES, size: float = 10) -> list[Line]:
    return [Line(x, base, text, size) for x, text in zip(places, cells, strict=True)]


def test_a_table_in_a_text_of_several_sizes_is_one() -> None:
    """Of which none is the usual one, as in a short report with captions and notes."""
    found = text_of_page(
        Line(50, 760, "Ships of the eastern harbours", 16),
        *column(50, 730, "\n".join(PROSE), size=12),
        *(line for n, cells in enumerate(ROWS) for line in row(650 - 14 * n, *cells, size=9)),
        *column(50, 560, "\n".join(PROSE)),
        *column(
            50, 480, "The counts are those of the harbour office.\nThey leave out fishing boats.", size=7
        ),
    )
    assert f"\n\n{WRITTEN}\n\n" in found


def test_in_a_text_in_which_each_line_has_its_own_size_a_larger_line_begins_no_paragraph() -> None:
    """As in the text below pages that were scanned."""
    drawn = column(50, 760, "\n".join(PROSE * 4))
    found = text_of_page(*(line._replace(size=9 + 0.3 * (n * 5 % 12)) for n, line in enumerate(drawn)))
    assert found == "\n\n".join([" ".join(PROSE)] * 4)


def test_a_name_of_a_column_may_stand_to_the_left_of_its_numbers() -> None:
    places = (50.0, 180.0, 250.0)
    found = text_of_page(
        *column(50, 760, "\n".join(PROSE)),
        *row(620, "Harbour", "Ships", "Tonnage of all", places=(50.0, 180.0, 219.0)),
        *(line for n, name in enumerate(("Mole", "Penryn", "Looe", "Fowey"))
          for line in row(606 - 14 * n, name, f"31{n}", f"148,2{n}0", places=places)),
    )  # fmt: skip
    assert "\n\nHarbour | Ships | Tonnage of all\nMole | 310 | 148,200\n" in found


def test_names_of_columns_may_come_again_over_numbers() -> None:
    places = (50.0, 150.0, 250.0, 350.0, 450.0)
    rows = (
        ("", "Ships", "Change", "Tonnage", "Change"),
        ("Mole", "312", "4.1%", "148,200", "2.0%"),
        ("Penryn", "41", "0.3%", "19,870", "-1.2%"),
    )
    found = text_of_page(
        *column(50, 760, "\n".join(PROSE)),
        *(
            line
            for n, cells in enumerate(rows)
            for line in row(620 - 14 * n, *cells, places=places)
            if line.text
        ),
    )
    assert found.endswith(
        "\n\n| Ships | Change | Tonnage | Change\nMole | 312 | 4.1% | 148,200 | 2.0%\nPenryn | 41 | 0.3% | 19,870 | -1.2%"
    )


DATED = [
    (f"0{n}/08/2016", f"1{n}/11/2016", "Harbour works", "Mole", f"{n}93", "Closure") for n in range(1, 7)
]
DATED_PLACES = (30, 97, 234, 431, 523, 555)
SUMMED = [("Month", "Notices", "Workers", "For good", "For now", "Unknown", "Closed"), ("July 2015", "71", "8,574",
          "30", "2", "13", "25"), ("August 2015", "69", "5,890", "28", "2", "7", "31")]  # fmt: skip
SUMMED_PLACES = (30, 136, 192, 258, 331, 410, 497)
FIGURES_PLACES = (30, 160, 215, 300, 385, 478, 520)


def of_two_tables(below: Sequence[Sequence[str]]) -> str:
    above = [
        Line(x, 700 - 14 * n, cell)
        for n, row in enumerate(DATED)
        for x, cell in zip(DATED_PLACES, row, strict=True)
    ]
    sums = [
        Line(x, 600 - 14 * n, cell)
        for n, row in enumerate(below)
        for x, cell in zip(FIGURES_PLACES if n else SUMMED_PLACES, row, strict=True)
    ]
    return read(paged([[*above, *sums]]), "application/pdf", "x.pdf", 10**6).text


def test_of_two_tables_below_each_other_each_has_its_own_columns() -> None:
    above, below = of_two_tables(SUMMED).split("\n\n")
    assert above.endswith("06/08/2016 | 16/11/2016 | Harbour works | Mole | 693 | Closure")
    assert below == "\n".join(" | ".join(row) for row in SUMMED)


def test_figures_at_the_edge_of_a_column_stand_under_its_name_in_the_middle() -> None:
    rows = [
        ("Port", "Ships", "Tonnage"),
        ("Mole", "312", "148"),
        ("Penryn", "418", "198"),
        ("Looe", "9", "1"),
    ]
    lines = [
        Line(x, 600 - 14 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((50, 200, 300) if not n else (50, 250, 360), row, strict=True)
    ]
    found = read(paged([[*column(50, 760, "\n".join(PROSE)), *lines]]), "application/pdf", "x.pdf", 10**6)
    assert found.text.endswith("\n\n" + "\n".join(" | ".join(row) for row in rows))


def test_a_column_of_marks_beside_an_empty_one_keeps_its_place() -> None:
    rows = [
        ("Port", "Open", "Shut"),
        ("Mole", "x", ""),
        ("Penryn", "x", ""),
        ("Looe", "", "x"),
        ("Ellery", "", "x"),
    ]
    lines = [
        Line(x, 600 - 14 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((50, 200, 300), row, strict=True)
        if cell
    ]
    found = read(paged([[*column(50, 760, "\n".join(PROSE)), *lines]]), "application/pdf", "x.pdf", 10**6)
    assert found.text.endswith("Port | Open | Shut\nMole | x |\nPenryn | x |\nLooe | | x\nEllery | | x")


def test_figures_without_a_name_beside_a_named_column_that_is_empty_stay_a_column() -> None:
    """They are not level where they would be at its edge, or it would reach into the column before."""
    rows = [("Mole", "1,312", "Ellery"), ("Penryn", "418", "Rame"), ("Looe", "9", "Rame")]
    for name, right, head in (
        (260, 220, "Port | | Remarks | County"),
        (120, 260, "Port | Remarks | | County"),
    ):
        lines = row(600, "Port", "Remarks", "County", places=(50, name, 350)) + [
            line
            for n, cells in enumerate(rows, 1)
            for line in row(600 - 14 * n, *cells, places=(50, right - 5 * len(cells[1]), 350))
        ]
        found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
        assert head in found.split("\n")


def test_where_names_stand_above_their_figures_none_is_put_above_others() -> None:
    rows = [
        ("Port", "Ships", "Lost"),
        ("Mole", "312", "148"),
        ("Penryn", "418", "198"),
        ("Looe", "409", "100"),
    ]
    lines = [
        line
        for n, cells in enumerate(rows)
        for line in row(600 - 14 * n, *cells, places=(50, 200, 300 if not n else 340))
    ]
    found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
    assert found.split("\n\n")[1].startswith("Port | Ships | Lost |\nMole | 312 | | 148\n")


def test_names_of_columns_that_stand_nearer_to_each_other_than_what_is_below_are_cut_there() -> None:
    """With a space that is wider than those within the names."""
    names = "Harbour", "Old fleet  New fleet", "Notes"
    below = [("Mole", "9", "2", "dredged in 1931"), ("Penryn", "4", "-", "in two parts"), ("Looe", "7", "3", "dries out"),
             ("Fowey", "1", "1", "deep at all tides")]  # fmt: skip
    lines = [
        *row(600, *names, places=(50, 150, 300)),
        *(
            line
            for n, cells in enumerate(below, 1)
            for line in row(600 - 14 * n, *cells, places=(50, 170, 220, 300))
        ),
    ]
    found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
    assert found.split("\n\n")[1].startswith(
        "Harbour | Old fleet | New fleet | Notes\nMole | 9 | 2 | dredged in 1931\n"
    )


def test_near_names_of_columns_are_cut_in_a_column_of_a_page_too() -> None:
    lines = "\n".join(f"{n} the outer wall was raised by two courses" for n in range(20))
    below = [
        ("Mole", "9", "2", "dredged"),
        ("Penryn", "4", "-", "in two"),
        ("Looe", "7", "3", "dries"),
        ("Rame", "1", "1", "deep"),
    ]
    table = [
        *row(640, "Port", "Old fleet  New fleet", "Notes", places=(320, 370, 490)),
        *(
            line
            for n, cells in enumerate(below)
            for line in row(626 - 14 * n, *cells, places=(320, 388, 440, 490))
        ),
    ]
    right = [line for line in column(320, 760, lines) if not 560 < line.y < 660]
    drawn = sorted([*column(50, 760, lines), *right, *table], key=lambda line: (-line.y, line.x))
    found = text_of_page(*drawn)
    assert "Port | Old fleet | New fleet | Notes\nMole | 9 | 2 | dredged\n" in found


# Letters of Helvetica by how wide they are, in thousandths of the size; the others have 556.
WIDTHS = {222: "il", 278: " ft", 333: "r", 500: "ckxy", 611: "T", 722: "H", 778: "O"}


def width(text: str) -> float:
    return sum(next((each for each, of in WIDTHS.items() if letter in of), 556) for letter in text) / 100


def under(names: Sequence[str], rows: Sequence[Sequence[str]], side: float) -> str:
    """What is read of a table whose names of columns have a space between them; ``side`` is 0 where the cells below
    begin as their names do, 1 where they end as they do, and between them else."""
    places = [50 + width(" ".join([*names[:at], ""])) for at in range(len(names))]
    lines = [Line(50, 600, " ".join(names))]
    for number, cells in enumerate(rows, 1):
        lines += [
            Line(place + side * (width(name) - width(cell)), 600 - 14 * number, cell)
            for place, name, cell in zip(places, names, cells, strict=True)
            if cell
        ]
    return text_of_page(*column(50, 760, "\n".join(PROSE)), *lines).split("\n\n", 1)[1]


LOST = [("1931", "9", "148", "7"), ("1932", "12", "96", "6"), ("1933", "8", "102", "11")]


@pytest.mark.parametrize("side", [0.0, 0.5, 1.0])
def test_names_of_columns_with_a_mere_space_between_them_are_cut_over_the_columns_below(side: float) -> None:
    found = under(("Harbour", "Outer basin", "Tonnage", "Lost"), LOST, side)
    assert (
        found
        == "Harbour | Outer basin | Tonnage | Lost\n1931 | 9 | 148 | 7\n1932 | 12 | 96 | 6\n1933 | 8 | 102 | 11"
    )


def test_such_names_are_cut_over_two_columns_and_over_rows_with_empty_cells() -> None:
    ports = ("Mole", "312"), ("Looe", "409"), ("Rame", "77")
    assert under(("Harbour", "Ships of the line"), ports, 0).startswith(
        "Harbour | Ships of the line\nMole | 312\n"
    )
    rows = ("Mole", "9", "148"), ("Looe", "", "96"), ("Rame", "8", "102")
    assert under(("Harbour", "Outer basin", "Tonnage"), rows, 0) == (
        "Harbour | Outer basin | Tonnage\nMole | 9 | 148\nLooe | | 96\nRame | 8 | 102"
    )


def test_the_column_of_the_names_of_rows_may_have_none() -> None:
    rows = [("1931", "9", "148", "7"), ("1932", "12", "96", "6"), ("1933", "8", "102", "11")]
    names = ("Outer basin", "Tonnage", "Lost")
    lines = [Line(150, 600, " ".join(names))]
    for number, (year, *cells) in enumerate(rows, 1):
        places = (150, 150 + width("Outer basin "), 150 + width("Outer basin Tonnage "))
        lines += row(600 - 14 * number, year, *cells, places=(50, *places))
    found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
    assert found.split("\n\n", 1)[1].startswith("| Outer basin | Tonnage | Lost\n1931 | 9 | 148 | 7\n")


@pytest.mark.parametrize(
    "line",
    [
        "The fleets of both basins are these, by year and by tonnage:",
        "Ships and Tonnage of the Outer Basin",
        "Fleets Of Two Ports And Their Losses",
        "Table 2. Fleets Of Cornwall",
        "By Year And Ship",
    ],
)
def test_a_line_above_a_table_that_does_not_stand_as_its_columns_do_is_cut_nowhere(line: str) -> None:
    lines = [Line(50, 600, line)]
    for number, cells in enumerate(LOST, 1):
        lines += row(600 - 14 * number, *cells, places=(50, 110, 160, 210))
    found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
    assert line in found


def test_names_of_which_only_some_stand_near_each_other_are_cut_too() -> None:
    ships, lost = 200.0, 200 + width("Outer basin ")
    lines = [*row(600, "Harbour", "Outer basin Lost", places=(50, ships))]
    for number, cells in enumerate((("Mole", "9", "4"), ("Looe", "12", "1"), ("Rame", "8", "2")), 1):
        lines += row(600 - 14 * number, *cells, places=(50, ships, lost))
    found = text_of_page(*column(50, 760, "\n".join(PROSE)), *lines)
    assert found.endswith("\n\nHarbour | Outer basin | Lost\nMole | 9 | 4\nLooe | 12 | 1\nRame | 8 | 2")
