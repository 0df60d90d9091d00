"""Boxes and signs that are ticked in tables of Word."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_docx import cell, made, paragraph, text_of

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"


def table_of(*rows: str) -> str:
    return text_of(made("<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"))


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


VALUES = (("Gas meter", "04418 m3"), ("Deposit", "1,350 euros"), ("Keys", "none"))


def bold(text: str) -> str:
    return cell(f"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{text}</w:t></w:r></w:p>")


@pytest.mark.parametrize(
    ("first", "others", "is_named"),
    [
        (cell("Tenant") + cell("Lucia Ferrari"), cell, False),
        (bold("Tenant") + cell("Lucia Ferrari"), bold, False),
        (bold("Tenant") + bold("Lucia Ferrari"), bold, False),
        (bold("What") + bold("How much"), cell, True),
        ("<w:trPr><w:tblHeader/></w:trPr>" + cell("What") + cell("How much"), cell, True),
        ('<w:trPr><w:tblHeader w:val="0"/></w:trPr>' + cell("Tenant") + cell("Lucia Ferrari"), cell, False),
    ],
    ids=["plain", "bold label", "bold column", "bold row", "row of each page", "row of no page"],
)
def test_a_list_of_labels_and_values_has_no_names_of_columns_that_are_not_marked(
    first: str, others: Callable[[str], str], is_named: bool
) -> None:
    rows = (others(label) + cell(value) for label, value in VALUES)
    assert table_of(first, *rows).startswith("| | |\n") is not is_named
