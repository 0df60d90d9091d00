"""Tables of Word whose rows can be read by themselves: groups of columns, boxes and signs that are ticked."""

from __future__ import annotations

import pytest
from test_docx import cell, made, paragraph, text_of

GROUPS = (
    cell("Port", '<w:vMerge w:val="restart"/>')
    + cell("Ships", '<w:gridSpan w:val="2"/>')
    + cell("Crews", '<w:gridSpan w:val="2"/>'),
    cell("", "<w:vMerge/>") + "".join(map(cell, ("2010", "2011", "2010", "2011"))),
)
MOLE = "".join(map(cell, ("Mole", "1", "2", "3", "4")))
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"


def table_of(*rows: str) -> str:
    return text_of(made("<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"))


def test_the_name_of_a_group_of_columns_stands_with_the_name_of_each() -> None:
    joined = "Port | Ships, 2010 | Ships, 2011 | Crews, 2010 | Crews, 2011\nMole | 1 | 2 | 3 | 4"
    title = cell("Fleets", '<w:gridSpan w:val="5"/>')
    assert table_of(*GROUPS, MOLE) == joined
    assert table_of(GROUPS[0], GROUPS[1].replace("<w:vMerge/>", ""), MOLE) == joined
    assert table_of(title, *GROUPS, MOLE) == f"Fleets\n\n{joined}"


@pytest.mark.parametrize(
    "rows",
    [
        (GROUPS[0], MOLE, MOLE.replace("Mole", "Rock")),
        (GROUPS[0].replace("Ships", "Ships that were registered there that year"), GROUPS[1], MOLE),
        (GROUPS[0], GROUPS[1]),
        (GROUPS[0], GROUPS[1], GROUPS[0].replace("Ships", "none")),
        (
            cell("Name:") + cell("Ann Kent", '<w:gridSpan w:val="2"/>'),
            "".join(map(cell, ("Home", "Quay", "Mole"))),
            "".join(map(cell, ("Work", "Dock", "Rock"))),
        ),
    ],
    ids=["figures below", "too long to be said with each", "no facts", "spans below", "a form"],
)
def test_rows_that_name_no_groups_of_columns_stay_as_they_are(rows: tuple[str, ...]) -> None:
    assert ", 20" not in table_of(*rows)
    assert "Kent," not in table_of(*rows)


def run(inside: str, font: str = "") -> str:
    return f"<w:r><w:rPr>{f'<w:rFonts w:ascii={font!r}/>' if font else ''}</w:rPr>{inside}</w:r>"


def box(*said: str) -> str:
    return run(f'<w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox>{"".join(said)}</w:checkBox></w:ffData>'
               '</w:fldChar>') + run("<w:instrText>FORMCHECKBOX</w:instrText>")  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        (box("<w:default w:val='0'/>"), "☐"),
        (box("<w:default w:val='0'/>", "<w:checked/>"), "☒"),
        (box("<w:default w:val='1'/>"), "☒"),
        (box("<w:default w:val='1'/>", "<w:checked w:val='0'/>"), "☐"),
        (run('<w:sym w:font="Wingdings" w:char="F0FC"/>'), "✓"),
        (run('<w:sym w:font="Wingdings" w:char="00FB"/>'), "✗"),
        (run('<w:sym w:font="Wingdings 2" w:char="F052"/>'), "☑"),
        (run('<w:sym w:font="Symbol" w:char="F0B1"/>'), "±"),
        (run("<w:t>\u00fc</w:t>", "Wingdings"), "✓"),
        (run("<w:t>\uf0fc</w:t>", "Wingdings"), "✓"),
        (run("<w:t>\u00fc</w:t>"), "\u00fc"),
        (run('<w:sym w:font="Webdings" w:char="F0FC"/>'), ""),
        (run('<w:sym w:font="Symbol" w:char="x"/>'), ""),
    ],
)
def test_boxes_and_signs_are_read_as_they_are_drawn(inside: str, told: str) -> None:
    rows = (
        "".join(map(cell, ("Port", "Dock", "Crane"))),
        cell("Mole") + cell(f"<w:p>{inside}</w:p>") + cell("2"),
    )
    assert table_of(*rows) == f"Port | Dock | Crane\nMole | {told} | 2".replace("|  |", "| |")


@pytest.mark.parametrize(
    ("called", "told"),
    [("Yes", "Yes"), ("A green tick on a white ground, as in the legend", ""), ("Owner avatar", "")],
)
def test_a_cell_of_nothing_but_a_picture_says_what_it_is_called(called: str, told: str) -> None:
    inside = f'<p:docPr id="1" name="Picture 1" descr="{called}"/>'
    picture = f'<w:drawing><p:inline xmlns:p="{_DRAWING}">{inside}</p:inline></w:drawing>'
    rows = (
        "".join(map(cell, ("Port", "Dock", "Crane"))),
        cell("Mole") + cell(f"<w:p>{run(picture)}</w:p>") + cell("2"),
    )
    assert table_of(*rows) == f"Port | Dock | Crane\nMole | {told} | 2".replace("|  |", "| |")
    assert text_of(made(paragraph("Old."), f"<w:p>{run(picture)}</w:p>")) == "Old."


def lines(*said: str) -> str:
    return cell("".join(map(paragraph, said)))


def test_labels_and_figures_with_blank_lines_between_them_stand_side_by_side() -> None:
    """A figure is brought beside its label by as many blank lines as the label takes where it is drawn."""
    names = "".join(map(cell, ("Costs", "2006", "2007")))
    labels = lines("Sand", "Stone for the whole of the mole", "Crane")
    assert table_of(names, labels + lines("12", "", "", "30", "7") + lines("14", "", "", "31", "8", "")) == (
        "Costs | 2006 | 2007\nSand | 12 | 14\nStone for the whole of the mole | 30 | 31\nCrane | 7 | 8"
    )


def test_what_stands_above_a_line_that_is_blank_in_all_cells_is_read_line_by_line() -> None:
    names = "".join(map(cell, ("Costs", "2006", "2007")))
    labels = lines("", "Sand", "Stone", "", "Gain from dues of the first full year", "", "Total gain")
    rows = (labels, lines("€", "12", "30"), lines("€", "14", "31", "", "", "", "500", "", "545"))
    assert table_of(names, "".join(rows)) == (
        "Costs | 2006 | 2007\n| € | €\nSand | 12 | 14\nStone | 30 | 31\n"
        "Gain from dues of the first full year | | 500\nTotal gain | | 545"
    )


@pytest.mark.parametrize(
    "row",
    [
        lines("Sand", "Stone", "Crane") + lines("12", "", "", "30"),
        lines("Sand", "", "Stone") + lines("from Rook", "from Ellery", "", ""),
        lines("Sand") + lines("", "12"),
        lines("Sand", "Stone", "", "Crane") + lines("12", "", "", "30", "7", "8"),
    ],
    ids=["other numbers", "no figures", "one of each", "more figures"],
)
def test_cells_whose_paragraphs_do_not_fit_stay_one_row(row: str) -> None:
    names = "".join(map(cell, ("Costs", "2006")))
    assert table_of(names, row).count("\n") == 1
