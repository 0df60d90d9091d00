"""Heads and feet of pages that no other page has."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.margins import without_margins
from deep_research.sources.extract.typeset import Cell, Line

TEXT = [f"The lamp of Orrel was lit for the {n}th time." for n in range(20, 30)]


def page(*, head: Line | None = None, feet: tuple[Line, ...] = (), step: float = 12.5) -> list[Line]:
    body = [
        Line(text, size=10.0, left=70.0, base=700.0 - step * n, right=300.0) for n, text in enumerate(TEXT)
    ]
    return [*([head] if head else []), *body, *feet]


def told(lines: list[Line]) -> list[str]:
    (kept,) = without_margins([lines])
    return [line.text for line in kept if line.text]


def set_at(text: str, base: float, *cells: Cell, size: float = 10.0) -> Line:
    return Line(text, size=size, left=70.0, base=base, right=300.0, cells=cells)


@pytest.mark.parametrize("number", ["7-45", "A.12", "- 3 -", "118"])
def test_a_number_below_the_white_under_a_text_is_that_of_the_page(number):
    assert told(page(feet=(set_at(number, 40.0),))) == TEXT


def test_the_name_of_who_made_the_page_goes_with_the_number_above_it():
    assert told(page(feet=(set_at("1", 60.0), set_at("Harbour Reporting Company", 40.0)))) == TEXT


def test_a_number_right_below_the_text_ends_a_sentence_above_the_foot_that_is_taken_away():
    last = set_at("1997.", 575.0 - 12.5)
    lines = page(feet=(last, set_at("12", 60.0), set_at("Harbour Board Codebook", 40.0)))
    assert told(lines) == [*TEXT, "1997."]


def test_a_name_beside_a_number_in_larger_type_is_a_title():
    cells = (Cell("Lamps", 70.0, 200.0), Cell("7", 290.0, 300.0))
    assert told(page(head=set_at("Lamps 7", 745.0, *cells, size=14.0))) == ["Lamps 7", *TEXT]


def test_a_sentence_below_a_number_is_no_name_of_who_made_the_page():
    lines = page(feet=(set_at("B-12", 60.0), set_at("Keepers left in that year.", 40.0)))
    assert told(lines) == [*TEXT, "B-12", "Keepers left in that year."]


def test_a_number_high_above_the_lower_edge_is_of_the_text():
    assert told(page(feet=(set_at("B-12", 400.0),))) == [*TEXT, "B-12"]


def test_figures_in_the_loose_last_row_of_a_page_stay():
    lines = page(step=30.0, feet=(set_at("7-45", 700.0 - 300.0),))
    assert told(lines) == [*TEXT, "7-45"]


@pytest.mark.parametrize(
    "cells",
    [
        (Cell("A Survey of Lamps", 137.0, 289.0), Cell("5", 295.0, 300.0)),
        (Cell("5", 70.0, 75.0), Cell("A Survey of Lamps", 300.0, 481.0)),
    ],
    ids=["right", "left"],
)
def test_a_name_beside_a_number_above_the_white_over_a_text_is_the_head_of_the_page(cells):
    assert told(page(head=set_at("A Survey of Lamps 5", 740.0, *cells))) == TEXT


@pytest.mark.parametrize(
    ("said", "cells"),
    [
        ("1 Introduction", (Cell("1", 70.0, 75.0), Cell("Introduction", 85.0, 150.0))),
        ("Annual report 2015", (Cell("Annual report", 70.0, 150.0), Cell("2015", 200.0, 220.0))),
        ("Orrel Board", ()),
        ("Lamps of Orrel 7", (Cell("Lamps of Orrel", 120.0, 200.0), Cell("7", 212.0, 217.0))),
    ],
    ids=["section", "year", "name", "number within"],
)
def test_what_a_page_is_called_stays(said, cells):
    assert told(page(head=set_at(said, 740.0, *cells))) == [said, *TEXT]


def test_a_first_row_with_a_number_right_above_the_next_stays():
    row = set_at("Lamps lit 5", 712.5, Cell("Lamps lit", 70.0, 150.0), Cell("5", 200.0, 205.0))
    assert told(page(head=row)) == ["Lamps lit 5", *TEXT]


def test_what_runs_up_the_side_of_a_page_is_no_foot():
    stamp = Line("118", size=10.0, base=-20.0, way=(0.0, 1.0))
    assert told([*page()[:5], stamp, *page()[5:]]) == [*TEXT[:5], "118", *TEXT[5:]]
