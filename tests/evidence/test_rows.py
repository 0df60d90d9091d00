"""A row that is quoted reads with the headers of its columns; what compares statements looks at the cells alone. Whether
the first row of a table names its columns, opens a list of labels and values, or is a row like the others."""

from __future__ import annotations

import pytest

from deep_research.provenance.quotes import readable
from deep_research.text.rows import cells, is_header, is_list, unlabelled
from deep_research.verification.comparison import compared

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


def test_a_header_that_reads_as_a_denial_makes_a_row_none():
    assert compared("No.: Mole tower; Built: of stone at Hare", "Mole tower: of stone at Hare") is None


def rows_of(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.split("/")]


@pytest.mark.parametrize(
    "table",
    [
        "club|2019|2020|2021/Chess|34|28|41/Choir|52|49|47",
        "Item|2023|2021/Heating|3100|1850/Rent|11200|12900",
        "City|Land|2021/Ghent|Flanders|262219",
        "|2021|2022/Chess|34|28",
        "Parish|2005|2006",
        "Stop|51|53/Harbour|7:00|8:00/Market|7:08|-",
        "Line|7|12/Harbour|yes|no",
        "Model|38|39|40/Trail Fox|4|0|7/City Hen|2|9|1",
        "Model|Colour|38|40|42/Trail Fox|red|4|0|7",
    ],
)
def test_numbers_that_count_what_columns_are_for_are_their_names(table: str) -> None:
    assert is_header(rows_of(table))


@pytest.mark.parametrize(
    "table",
    [
        "Trail Fox|4|0|7/City Hen|2|9|1",
        "Trail Fox|4|7/City Hen|2|9",
        "Trail Fox|4|7",
        "Trail Fox|1|2|3/City Hen|4|5|6",
        "Mole|35|1881/Hare|57|1902",
        "Mole|1881|1902/Hare|1902|1950",
        "Mole|stone|1881/Hare|brick|1902",
        "Wool|1.5|800/Cotton|7|1400",
        "2019|2020|2021/3|4|5",
        "Oslo|120|350/Bergen|99.5|310.25/Tromso|80.2|290.1",
        "1|Mole|35/2|Hare|57",
    ],
)
def test_a_first_row_of_facts_names_no_columns(table: str) -> None:
    assert not is_header(rows_of(table))


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("Item | 2021 | 2022\nHeating | 3,100 | 4,250", "Item: Heating; 2021: 3,100; 2022: 4,250"),
        ("Stop | 51 | 53\nMarket | 7:08 | 8:08", "Stop: Market; 51: 7:08; 53: 8:08"),
        ("| 2021/22 | 2022/23\nRent | 3 | 4", "Rent; 2021/22: 3; 2022/23: 4"),
        ("City | Land | 2021\nGhent | Flanders | 262,219", "City: Ghent; Land: Flanders; 2021: 262,219"),
        ("Anna | 12 | 15\nBen | 14 | 17", "Ben, 14, 17"),
        ("Mole | 35 | 35\nHare | 57 | 12", "Hare, 57, 12"),
        ("Mole | 35 | stone\nHare | 57 | brick", "Hare, 57, brick"),
        ("Mole | 35 m | 1881\nHare | 57 m | 1902", "Hare, 57 m, 1902"),
        ("Keys | 5\nRooms | 3", "Rooms, 3"),
        ("12 | 13 | 14\n1 | 2 | 3", "1, 2, 3"),
    ],
)
def test_a_row_reads_with_the_numbers_that_name_its_columns(text: str, reads: str) -> None:
    assert readable(text, text.index("\n") + 1, len(text)) == reads


@pytest.mark.parametrize(
    "table",
    [
        "Date|14 May 2025/Customer|Mrs Crane/Due|28 May 2025/Contact|Sam Ogden",
        "Tenant|Lucia Ferrari/Date|31 May 2024/Keys|5/Gas meter|04418 m3/Deposit|1,350 euros",
        "Size|60 x 85 cm/Weight|68 kg/Load|2100 W/Noise|74 dB",
        "Seat width|41 cm/Seat depth|40 cm/Height|88 cm",
        "Rent|£640/Deposit|£1,280/Heating|£95",
    ],
)
def test_labels_with_values_of_several_kinds_are_a_list(table: str) -> None:
    assert is_list(rows_of(table))


@pytest.mark.parametrize(
    "table",
    [
        "Item|Price/Siphon|£18.90/Travel|£12.00/Hours|£52.00",
        "Group|Fee/Adults|240 euros/Young people|110 euros/Families|420 euros",
        "Room|Beds/East|3/West|4/North|2/South|3/Attic|none",
        "Programme|Duration/Cotton|2 h 50 min/Wool|45 min/Quick|1 h",
        "Event|Time/Talk|9 am/Walk|10 am/Play|3 pm/Ball|7 pm",
        "Station|Opened/Ellery|3 May 1871/Penryn|4 June 1892/Hare|1 July 1901",
        "Code|Meaning/E10|No water/E18|No drain",
        "Tenant|Lucia Ferrari/Keys|5",
        "Item|Price|Sum/Siphon|1|two/Travel|2|5 kg",
    ],
)
def test_two_columns_of_which_the_second_is_of_one_kind_are_no_list(table: str) -> None:
    assert not is_list(rows_of(table))


def test_a_long_cell_takes_no_more_than_its_length() -> None:
    assert not is_list([["a", "b"], ["c", f"1 {'a' * 200_000}!"], ["e", "1 x"]])
    assert is_header([["a", "b"], ["q", f"{'1' * 200_000}x"]])


def test_a_line_that_only_wraps_is_none_of_a_form() -> None:
    told = "It was designed by the engineer\nStevenson: he finished it."
    assert readable(told) == "It was designed by the engineer Stevenson: he finished it."
    assert readable("Place: boathouse\nTime: 8 pm") == "Place: boathouse; Time: 8 pm"
