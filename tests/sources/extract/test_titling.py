"""What a PDF or Word file is called, who wrote it and of what day it is: right, or not said."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime

import docx
import pytest
from made import Line, column, paged

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.pdf_blocks import sane_author, sane_title
from deep_research.sources.extract.readers import read

PROSE = """
The harbour of Mole was dredged in 1931 to a depth of nine
metres, and its outer wall was raised by two courses of granite
that came by sea from the quarries of Penryn. The board kept a
register of every vessel that called, of its cargo and of the
weather on the day, which is the source of most of what is told
"""
NO_TITLES = (
    "Normal.dot|Inhalt|1 Introduction|CHAPTER 1 – INTRODUCTION|905_Precinct_NoOU|Document1|10811.exe|"
    "Table of Contents|Untitled|II. Abstract|Microsoft Word - agenda"
)
TITLES = "Free Culture|Introduction to harbours|CRC/C/GC/20|Summary of tides"
NO_AUTHORS = "ARRAY(0x2c7cf020)|eemiller|e516160|Пк01|admin|ports\\okafor|user"
AUTHORS = "Ines Okafor|FAA|Cuellar-Lopez, Monica|吳麗招|Najah|bell hooks"


def test_names_of_files_programs_and_parts_are_no_titles_and_those_by_which_one_logs_in_no_authors() -> None:
    assert {said: sane_title(said) for said in NO_TITLES.split("|") if sane_title(said)} == {}
    assert {said: sane_author(said) for said in NO_AUTHORS.split("|") if sane_author(said)} == {}
    assert [sane_title(f" {said} \r\n") for said in TITLES.split("|")] == TITLES.split("|")
    assert [sane_author(said) for said in AUTHORS.split("|")] == AUTHORS.split("|")


TEXT = column(50, 650, PROSE)
PAPER = [
    Line(50, 780, "Working Papers 7", 9),
    Line(50, 740, "A Survey of Forty Harbour Walls with", 18),
    Line(50, 718, "Cheap Instruments", 18),
    Line(50, 690, "Ines Okafor and Tom Marsh", 12),
]
COLUMNS = [Line(50, 760, "Harbour"), Line(250, 760, "Ships"), Line(400, 760, "Tonnage")]
ASKED = "ASKED OF ALL WHO CAME\n\n{}. How deep is the harbour now?"
HEADS = {
    "all in the largest type": ([*PAPER, *TEXT], "A Survey of Forty Harbour Walls with Cheap Instruments"),
    "a heading": ([Line(50, 760, "1 Introduction", 14), *TEXT], "wall survey"),
    "names of columns": ([*COLUMNS, *TEXT], "wall survey"),
    "nothing": (TEXT, "wall survey"),
    "a line that comes back": (
        [line for n in range(1, 5) for line in column(50, 760 - 80 * n, ASKED.format(n))], "wall survey",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "title"), HEADS.values(), ids=HEADS)
def test_the_title_of_a_pdf_is_what_heads_it_or_the_name_of_the_file(lines: list[Line], title: str) -> None:
    assert read(paged([lines]), "application/pdf", "wall survey.pdf", 10**6).title == title


def word(*lines: str, heading: int = -1, title: str = "") -> Document:
    """A Word file that was made on 15 May 2023 and changed on 2 January 2024."""
    made = docx.Document()
    made.core_properties.title = title
    made.core_properties.created = datetime(2023, 5, 15, 9, tzinfo=UTC)
    made.core_properties.modified = datetime(2024, 1, 2, tzinfo=UTC)
    for number, line in enumerate(lines):
        made.add_paragraph(line, style="Heading 1" if number == heading else None)
    out = io.BytesIO()
    made.save(out)
    return read(out.getvalue(), "", "wall survey.docx", 10**6)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        *((said, date(2023, 5, 15)) for said in ("15 May 2023", "Ellery, May 15, 2023", "Of 2023-05-15")),
        ("2 January 2024", date(2024, 1, 2)),
        ("October 1, 2012", None),
    ],
)
def test_the_day_on_which_a_word_file_was_made_is_that_of_publication_where_its_first_lines_say_so(
    said: str, day: date | None
) -> None:
    assert word("Survey of the wall", said, "It stands.").published == day


WALL = "Survey of the wall"


@pytest.mark.parametrize(
    ("lines", "heading", "title", "called"),
    [
        ((WALL, "It stands."), 0, "", WALL),
        ((WALL, "It stands."), 0, "Normal.dot", WALL),
        (("Chapter 1 - Introduction", "It stands."), 0, "", "wall survey"),
        (("Ministry", "Office", "Of 2012", "Trustees", "Purpose of it"), 4, "", "wall survey"),
    ],
)
def test_the_first_heading_of_a_word_file_is_its_title_where_it_begins_the_text(
    lines: tuple[str, ...], heading: int, title: str, called: str
) -> None:
    assert word(*lines, heading=heading, title=title).title == called
