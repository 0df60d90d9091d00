"""What a PDF or Word file is called, who wrote it and of what day it is: right, or not said."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, date, datetime

import docx
import pytest
from made import Line, column, paged

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read
from deep_research.sources.extract.titling import sane_author, sane_title

PROSE = """
The harbour of Mole was dredged in 1931 to a depth of nine
metres, and its outer wall was raised by two courses of granite
that came by sea from the quarries of Penryn. The board kept a
register of every vessel that called, of its cargo and of the
weather on the day, which is the source of most of what is told
"""


@pytest.mark.parametrize(
    "said",
    ["Normal.dot", "Inhalt", "1 Introduction", "CHAPTER 1 – INTRODUCTION", "905_Precinct_NoOU", "Document1", "10811.exe",
     "Table of Contents", "Untitled", "II. Abstract", "Microsoft Word - agenda"],
)  # fmt: skip
def test_names_of_files_programs_and_parts_are_no_titles(said: str) -> None:
    assert sane_title(said) == ""


@pytest.mark.parametrize(
    "said", ["Free Culture", "Introduction to harbours", "CRC/C/GC/20", "Summary of tides"]
)
def test_other_names_are_titles(said: str) -> None:
    assert sane_title(f" {said} \r\n") == said


@pytest.mark.parametrize(
    "said", ["ARRAY(0x2c7cf020)", "eemiller", "e516160", "Пк01", "admin", "ports\\okafor", "user"]
)
def test_names_by_which_one_logs_in_are_no_authors(said: str) -> None:
    assert sane_author(said) == ""


@pytest.mark.parametrize(
    "said", ["Ines Okafor", "FAA", "Cuellar-Lopez, Monica", "吳麗招", "Najah", "bell hooks"]
)
def test_names_of_people_and_offices_are_authors(said: str) -> None:
    assert sane_author(said) == said


def title_of(lines: Sequence[Line]) -> str:
    return read(paged([[*lines]]), "application/pdf", "wall survey.pdf", 10**6).title


def test_the_title_of_a_paper_is_all_that_stands_in_the_largest_type_at_its_head() -> None:
    head = [
        Line(50, 780, "Working Papers 7", 9),
        Line(50, 740, "A Survey of Forty Harbour Walls with", 18),
        Line(50, 718, "Cheap Instruments", 18),
        Line(50, 690, "Ines Okafor and Tom Marsh", 12),
    ]
    text = column(50, 650, PROSE)
    assert title_of([*head, *text]) == "A Survey of Forty Harbour Walls with Cheap Instruments"


@pytest.mark.parametrize(
    "head",
    [
        [Line(50, 760, "1 Introduction", 14)],
        [Line(50, 760, "Harbour"), Line(250, 760, "Ships"), Line(400, 760, "Tonnage")],
        [],
    ],
)
def test_what_is_no_title_is_none_and_the_name_of_the_file_stands_there(head: list[Line]) -> None:
    assert title_of([*head, *column(50, 700, PROSE)]) == "wall survey"


def test_a_line_that_comes_back_is_no_title() -> None:
    asked = [
        column(50, 760 - 80 * n, f"ASKED OF ALL WHO CAME\n\n{n}. How deep is the harbour now?")
        for n in range(1, 5)
    ]
    assert title_of([line for part in asked for line in part]) == "wall survey"


def word(*lines: str, heading: int = -1, title: str = "", created: date = date(2023, 5, 15)) -> Document:
    made = docx.Document()
    made.core_properties.title = title
    made.core_properties.created = datetime(created.year, created.month, created.day, 9, tzinfo=UTC)
    made.core_properties.modified = datetime(2024, 1, 2, tzinfo=UTC)
    for number, line in enumerate(lines):
        made.add_paragraph(line, style="Heading 1" if number == heading else None)
    out = io.BytesIO()
    made.save(out)
    return read(out.getvalue(), "", "wall survey.docx", 10**6)


def test_the_day_on_which_a_word_file_was_made_is_no_day_of_publication() -> None:
    assert word("Handbook for trustees", "October 1, 2012", "The text.").published is None


@pytest.mark.parametrize("said", ["15 May 2023", "Ellery, May 15, 2023", "Of 2023-05-15", "2 January 2024"])
def test_it_is_where_the_first_lines_say_the_same_day(said: str) -> None:
    found = word("Survey of the wall", said, "It stands.").published
    assert found == (date(2024, 1, 2) if "2024" in said else date(2023, 5, 15))


def test_the_first_heading_of_a_word_file_is_its_title_where_it_begins_the_text() -> None:
    assert word("Survey of the wall", "It stands.", heading=0).title == "Survey of the wall"
    assert (
        word("Survey of the wall", "It stands.", heading=0, title="Normal.dot").title == "Survey of the wall"
    )
    assert word("Chapter 1 - Introduction", "It stands.", heading=0).title == "wall survey"
    assert (
        word("Ministry", "Office", "Of 2012", "Trustees", "Purpose of it", heading=4).title == "wall survey"
    )
