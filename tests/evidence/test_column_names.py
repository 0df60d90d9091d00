"""Whether the first row of a table names its columns, opens a list of labels and values, or is a row like the others."""

from __future__ import annotations

import pytest

from deep_research.evidence.column_names import is_header, is_list
from deep_research.evidence.quotation import readable


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
