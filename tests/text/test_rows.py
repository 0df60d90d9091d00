"""A row that is quoted reads with the headers of its columns; what compares statements looks at the cells alone. Whether
the first row of a table names its columns, opens a list of labels and values, or is a row like the others."""

import pytest
from tables import cases

from deep_research.provenance.quotes import readable
from deep_research.text.rows import cells, is_header, is_list, unlabelled
from deep_research.verification.comparison import compared

FAMILY = (
    "Later engineers\n\nName | Dates | Father\nDavid Alan Stevenson | 1854--1938 | David Stevenson\n"
    "D. Alan Stevenson | | Charles Stevenson\n\nAfter the table."
)


def row(table: str, quote: str, reads: str) -> tuple[str, str, str]:
    return table.replace("/", "\n"), quote.replace("/", "\n"), reads


READ = {
    "with its headers": (
        FAMILY, "David Alan Stevenson | 1854--1938 | David Stevenson",
        "Name: David Alan Stevenson; Dates: 1854--1938; Father: David Stevenson",
    ),
    "without empty cells": (
        FAMILY, "D. Alan Stevenson | | Charles Stevenson", "Name: D. Alan Stevenson; Father: Charles Stevenson",
    ),
    "without an empty heading": row("| A | B/Height | | 2", "Height | | 2", "Height; B: 2"),
    "without an empty first cell": row("A | B | C/| 1 | 2", "| 1 | 2", "B: 1; C: 2"),
    "several rows, a clause each": row("A | B/1 | 2/3 | 4", "1 | 2/3 | 4", "A: 1; B: 2. A: 3; B: 4"),
    "the header itself": (FAMILY, "Name | Dates | Father", "Name, Dates, Father"),
    "of another length": row("Name | Dates/a | b | c", "a | b | c", "a, b, c"),
    "apart": row("Name | Dates//a | b", "a | b", "a, b"),
    "under long cells": row(f"{'long ' * 9}| Dates/a | b", "a | b", "a, b"),
    "under a number": row("Mole | 1881/a | b", "a | b", "a, b"),
    "under a value": row("Mole | 57 m/a | b", "a | b", "a, b"),
    "a header that is repeated": row("Name | Dates/a | b/Name | Dates", "Name | Dates/a | b", "Name, Dates a, b"),
    "code": row("```/cat a | wc/ls b | sort/```", "ls b | sort", "ls b, sort"),
    "a piece": row("Name | Dates/a | b", "| b", "| b"),
    "from inside a cell": row("Name | Dates | x/a b | b | c", "b | b", "b, b"),
    "prose": (FAMILY, "After the table.", "After the table."),
    "a row alone": row("Mole | 35 m", "Mole | 35 m", "Mole, 35 m"),
    "an item": row("A term//- what it/means", "A term//- what it/means", "A term: what it means"),
    "a wrapped line": row("Built by/Hare: a hut.", "Built by/Hare: a hut.", "Built by Hare: a hut."),
    "a form": row("Place: hut/Time: 8 pm", "Place: hut/Time: 8 pm", "Place: hut; Time: 8 pm"),
}  # fmt: skip
READ |= {
    rest: (f"{header}\n{rest}", rest, reads)
    for header, rest, reads in cases(
        """
        Item | 2021 | 2022 => Heating | 3,100 | 4,250 => Item: Heating; 2021: 3,100; 2022: 4,250
        Stop | 51 | 53 => Market | 7:08 | 8:08 => Stop: Market; 51: 7:08; 53: 8:08
        | 2021/22 | 2022/23 => Rent | 3 | 4 => Rent; 2021/22: 3; 2022/23: 4
        Anna | 12 | 15 => Ben | 14 | 17 => Ben, 14, 17
        Mole | 35 | 35 => Hare | 57 | 12 => Hare, 57, 12
        Mole | 35 | stone => Hare | 57 | brick => Hare, 57, brick
        Mole | 35 m | 1881 => Hare | 57 m | 1902 => Hare, 57 m, 1902
        Keys | 5 => Rooms | 3 => Rooms, 3
        """,
        bar=" => ",
    )
} | {
    reads: (text.replace("/", "\n"),) * 2 + (reads,)
    for text, reads in cases(
        """
        Posted by Ann Hale//The ferry runs. => Posted by Ann Hale. The ferry runs.
        Item (a)//Next to it. => Item (a). Next to it.
        The length of the//pier. => The length of the pier.
        It runs.//Then it stops. => It runs. Then it stops.
        """,
        bar=" => ",
    )
}


@pytest.mark.parametrize(("text", "quote", "reads"), READ.values(), ids=READ)
def test_what_is_quoted_reads_with_the_headers_that_are_known(text: str, quote: str, reads: str) -> None:
    start = text.index(quote)
    assert readable(text, start, start + len(quote)) == reads


@pytest.mark.parametrize("line", ["a | b\n", " | \n", "| | |\n"])
def test_headers_are_found_in_linear_time(line, seconds):
    text = line * (2_000_000 // len(line))
    starts = (len(text) - len(line), len(text) // 2)
    assert seconds(8, lambda: [readable(text, start, len(text) - 1) for start in starts]) < 8


@pytest.mark.parametrize(
    ("content", "own"),
    cases("""
        Name: Mole; Height: 35 m | Mole; 35 m
        A: 1; B: 2. A: 3; B: 4 | 1; 2. 3; 4
        Note: brick; the park gives less | Note: brick; the park gives less
        It had three parts: a foot; a shaft; a lamp. | It had three parts: a foot; a shaft; a lamp.
    """),
)
def test_a_statement_of_its_own_has_no_headers(content, own):
    assert unlabelled(content) == own


def test_what_stands_under_each_header_is_its_cell():
    ship = {"Name of ship": "Orrel", "Name of port": "Ghent"}
    assert cells("Name of ship: Orrel; Name of port: Ghent") == ship


VIERGE = "Lighthouse: Île Vierge; Country: France; Height: 82.5 m"


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (VIERGE, "Lighthouse: Lanterna of Genoa; Country: Italy; Height: 77 m", False),
        (VIERGE, "Île Vierge in France has a height of 80 m.", True),
        ("Lighthouse: Bell Rock; Distance: 18 km; Owner: NLB", "Bell Rock of the NLB is 35 km tall.", False),
        ("No.: Mole tower; Built: of stone at Hare", "Mole tower: of stone at Hare", False),
    ],
    ids=["rows of one header", "a row and a sentence", "of another measure", "a header like a denial"],
)
def test_a_row_contradicts_what_is_said_of_its_thing_and_column(one, other, differ):
    assert (compared(one, other) is not None) is differ


def rows_of(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.split("/")]


@pytest.mark.parametrize(
    ("table", "is_one"),
    [
        ("club|2019|2020|2021/Chess|34|28|41/Choir|52|49|47", True),
        ("Item|2023|2021/Heating|3100|1850/Rent|11200|12900", True),
        ("City|Land|2021/Ghent|Flanders|262219", True),
        ("Parish|2005|2006", True),
        ("Stop|51|53/Harbour|7:00|8:00/Market|7:08|-", True),
        ("Model|38|39|40/Trail Fox|4|0|7/City Hen|2|9|1", True),
        ("Trail Fox|4|0|7/City Hen|2|9|1", False),
        ("Trail Fox|4|7", False),
        ("Trail Fox|1|2|3/City Hen|4|5|6", False),
        ("Mole|35|1881/Hare|57|1902", False),
        ("Mole|stone|1881/Hare|brick|1902", False),
        ("Wool|1.5|800/Cotton|7|1400", False),
        ("Oslo|120|350/Bergen|99.5|310.25/Tromso|80.2|290.1", False),
        ("1|Mole|35/2|Hare|57", False),
    ],
)
def test_numbers_name_columns_where_they_count_what_these_are_for(table: str, is_one: bool) -> None:
    assert is_header(rows_of(table)) is is_one


@pytest.mark.parametrize(
    ("table", "is_one"),
    [
        ("Date|14 May 2025/Customer|Mrs Crane/Due|28 May 2025/Contact|Sam Ogden", True),
        ("Tenant|Lucia Ferrari/Date|31 May 2024/Keys|5/Gas meter|04418 m3/Deposit|1,350 euros", True),
        ("Size|60 x 85 cm/Weight|68 kg/Load|2100 W/Noise|74 dB", True),
        ("Rent|£640/Deposit|£1,280/Heating|£95", True),
        ("Item|Price/Siphon|£18.90/Travel|£12.00/Hours|£52.00", False),
        ("Group|Fee/Adults|240 euros/Young people|110 euros/Families|420 euros", False),
        ("Station|Opened/Ellery|3 May 1871/Penryn|4 June 1892/Hare|1 July 1901", False),
        ("Code|Meaning/E10|No water/E18|No drain", False),
        ("Tenant|Lucia Ferrari/Keys|5", False),
        ("Item|Price|Sum/Siphon|1|two/Travel|2|5 kg", False),
    ],
)
def test_labels_with_values_of_several_kinds_are_a_list(table: str, is_one: bool) -> None:
    assert is_list(rows_of(table)) is is_one


def test_a_long_cell_takes_no_more_than_its_length() -> None:
    assert not is_list([["a", "b"], ["c", f"1 {'a' * 200_000}!"], ["e", "1 x"]])
    assert is_header([["a", "b"], ["q", f"{'1' * 200_000}x"]])
