"""A row that is quoted reads with the headers of its columns; what compares statements looks at the cells alone."""

from __future__ import annotations

import pytest

from deep_research.evidence.boilerplate import is_debris
from deep_research.evidence.comparison import compared
from deep_research.evidence.quotation import readable
from deep_research.evidence.rows import cells, unlabelled

FAMILY = (
    "Later engineers\n\nName | Dates | Father\nDavid Alan Stevenson | 1854--1938 | David Stevenson\n"
    "D. Alan Stevenson | | Charles Stevenson\n\nAfter the table."
)


def told(text: str, quote: str) -> str:
    start = text.index(quote)
    return readable(text, start, start + len(quote))


def test_a_row_reads_with_its_headers_in_the_characters_of_the_text():
    quote = "David Alan Stevenson | 1854--1938 | David Stevenson"
    assert told(FAMILY, quote) == "Name: David Alan Stevenson; Dates: 1854--1938; Father: David Stevenson"


def test_empty_cells_are_left_out():
    assert told(FAMILY, "D. Alan Stevenson | | Charles Stevenson") == (
        "Name: D. Alan Stevenson; Father: Charles Stevenson"
    )
    assert told("| A | B\nHeight | | 2", "Height | | 2") == "Height; B: 2"
    assert told("A | B | C\n| 1 | 2", "| 1 | 2") == "B: 1; C: 2"


def test_several_rows_are_a_clause_each():
    assert told("A | B\n1 | 2\n3 | 4", "1 | 2\n3 | 4") == "A: 1; B: 2. A: 3; B: 4"
    assert told("A | B\n1 | It is.\n3 | So.", "1 | It is.\n3 | So.") == "A: 1; B: It is. A: 3; B: So."


@pytest.mark.parametrize(
    ("text", "quote", "reads"),
    [
        (FAMILY, "Name | Dates | Father", "Name, Dates, Father"),
        ("Name | Dates\na | b | c", "a | b | c", "a, b, c"),
        ("Name | Dates\n\na | b", "a | b", "a, b"),
        (f"{'long ' * 9}| Dates\na | b", "a | b", "a, b"),
        ("Mole | 1881\na | b", "a | b", "a, b"),
        ("Mole | 57 m\na | b", "a | b", "a, b"),
        ("| | |\nBuilt | 1881\nLit | 1882", "Lit | 1882", "Lit, 1882"),
        ("Name | Dates\na | b\nName | Dates", "Name | Dates\na | b", "Name, Dates a, b"),
        ("```\ncat a | wc\nls b | sort\n```", "ls b | sort", "ls b, sort"),
        ("Name | Dates\na | b", "| b", "| b"),
        ("Name | Dates | x\na b | b | c", "b | b", "b, b"),
        (FAMILY, "After the table.", "After the table."),
    ],
    ids=[
        "header",
        "length",
        "apart",
        "long",
        "number",
        "value",
        "empty",
        "repeated",
        "code",
        "piece",
        "inside",
        "prose",
    ],
)
def test_a_row_without_known_headers_reads_with_commas(text, quote, reads):
    assert told(text, quote) == reads


def test_a_quote_alone_reads_as_before():
    assert readable("Mole | 35 m") == "Mole, 35 m"
    assert readable("A term\n\n- what it\nmeans") == "A term: what it means"


@pytest.mark.parametrize("line", ["a | b\n", " | \n", "| | |\n"])
def test_headers_are_found_in_linear_time(line, seconds):
    text = line * (2_000_000 // len(line))
    starts = (len(text) - len(line), len(text) // 2)
    assert seconds(8, lambda: [readable(text, start, len(text) - 1) for start in starts]) < 8


@pytest.mark.parametrize(
    ("content", "own"),
    [
        ("Name: Mole; Height: 35 m", "Mole; 35 m"),
        ("A: 1; B: 2. A: 3; B: 4", "1; 2. 3; 4"),
        ("Note: brick; the park gives less", "Note: brick; the park gives less"),
        ("It had three parts: a foot; a shaft; a lamp.", "It had three parts: a foot; a shaft; a lamp."),
    ],
)
def test_a_statement_of_its_own_has_no_headers(content, own):
    assert unlabelled(content) == own


def test_what_stands_under_each_header_is_its_cell():
    assert cells("Name of ship: Orrel; Name of port: Ghent") == {
        "Name of ship": "Orrel",
        "Name of port": "Ghent",
    }


def test_rows_of_one_header_are_no_conflict():
    one = "Lighthouse: Île Vierge; Country: France; Height: 82.5 m"
    other = "Lighthouse: Lanterna of Genoa; Country: Italy; Height: 77 m"
    assert compared(one, other) is None
    assert compared(one, "Île Vierge in France has a height of 80 m.") is not None


def test_what_a_column_measures_tells_its_values_from_others():
    row = "Lighthouse: Bell Rock; Distance: 18 km; Owner: NLB"
    assert compared(row, "Bell Rock of the NLB is 35 km tall.") is None


def test_headers_make_a_row_neither_debris_nor_a_denial():
    assert not is_debris(unlabelled("Photo: Mole tower; Last updated: 2019"))
    assert compared("No.: Mole tower; Built: of stone at Hare", "Mole tower: of stone at Hare") is None
