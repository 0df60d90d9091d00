"""Pages of a PDF whose lines fell to pieces are read as they lie."""

import pytest

from deep_research.sources.extract.contents import without_contents
from deep_research.sources.extract.layout import has_columns, is_shattered, with_label
from deep_research.sources.extract.leaders import led, without_dots
from deep_research.sources.extract.margins import without_margins
from deep_research.sources.extract.paragraphs import flowing, joined, setting_of
from deep_research.sources.extract.typeset import Cell, Line

CELLS = ["Year", "Vessels", "Tonnage", "1938", "312", "148,200", "1952", "41", "19,870"]
PROSE = ["The harbour of Mole was dredged in 1931 to a depth of nine metres, and its"] * 9


def test_cells_on_lines_of_their_own_are_a_shattered_page_and_prose_with_headings_is_none():
    assert is_shattered([*PROSE, *CELLS])
    assert not is_shattered([*PROSE, "Contents", "The harbour", "Traffic"])
    assert not is_shattered([])


def cells(*texts: str) -> Line:
    """A line with its cells 300 points apart."""
    found = [Cell(text, 300.0 * place, 300.0 * place + 5 * len(text)) for place, text in enumerate(texts)]
    return Line(" ".join(texts), 10.0, cells=tuple(found))


def test_prose_beside_prose_is_told_from_a_table():
    left, right = "the breakwater was lengthened by two", "called in that year, against three"
    assert has_columns([cells(left, right)] * 8)
    assert not has_columns([cells("Year", "Vessels", "Tonnage"), cells("1938", "312", "148,200")])


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("  1   Open the vent on the lee side.", "1. Open the vent on the lee side."),
        ("12.  Fill the reservoir.", "12. Fill the reservoir."),
        ("•   a pair of scissors", "• a pair of scissors"),
        ("1938     312         148,200", "1938     312         148,200"),
        ("12     store", "12     store"),
        ("1   Wick     store room", "1   Wick     store room"),
        ("An ordinary line", "An ordinary line"),
    ],
)
def test_labels_of_lists_are_written_as_such_and_rows_stay(line, read):
    assert with_label(line) == read


def paragraphs(*texts: str) -> list[str]:
    lines = [Line(text) for text in texts]
    return flowing(lines, setting_of(lines))


def test_laid_out_lines_become_rows_and_items():
    table = ("Year     Vessels     Tonnage", "1938     312         148,200")
    rows = ["Year | Vessels | Tonnage", "1938 | 312 | 148,200"]
    assert paragraphs("Lamps", *table, "Then it was rebuilt.") == ["Lamps", *rows, "Then it was rebuilt."]
    items = ["1. Trim the wick to six millimetres.", "Tools", "- a funnel"]
    assert paragraphs(*items) == items


def test_what_is_broken_at_a_dash_has_no_space_there_and_a_dash_between_spaces_keeps_its_own():
    assert joined("Docket No. FAA–2020–", "0686") == "Docket No. FAA–2020–0686"
    assert joined("the wall—", "which is old") == "the wall—which is old"
    assert joined("the wall –", "which is old") == "the wall – which is old"


def test_a_number_that_says_page_goes_even_below_a_header_and_of_two_pages_both_headers_count():
    pages = [["Harbour Board", "Page 1", "First text."], ["Harbour Board", "Page 2", "Second text."]]
    told = without_margins([[Line(text) for text in page] for page in pages])
    texts = [[line.text for line in page if line.text] for page in told]
    assert texts == [["Harbour Board", "First text."], ["Second text."]]


def test_a_line_that_comes_back_within_pages_is_of_the_text_where_it_begins_one_too():
    asked = ["To all who came:", "Have you seen the lamp?", "Yes, by day", "No, not at all"] * 3
    told = without_margins([[Line(text) for text in ["Harbour Board", *asked]] for _ in range(3)])
    texts = [[line.text for line in page if line.text] for page in told]
    assert texts == [["Harbour Board", *asked], asked, asked]


def test_dots_that_lead_to_a_number_part_a_row_and_an_ellipsis_does_not():
    index = paragraphs(
        "Mole, wall of . . . . . . . . . . . . 9", "Penryn........................ xii", "Quays"
    )
    assert index == ["Mole, wall of | 9", "Penryn | xii", "Quays"]
    assert paragraphs("and the wall of Mole stood for years. . . . 5") == [
        "and the wall of Mole stood for years. . . . 5"
    ]
    assert paragraphs("of the wall of Mole . . . . . . . . . . . . . .") == [
        "of the wall of Mole . . . . . . . . . . . . . ."
    ]


def test_recitals_that_begin_with_the_same_word_in_capitals_are_paragraphs():
    recitals = (
        "WHEREAS the wall of Mole stands open to the sea;",
        "WHEREAS it is to be raised by two courses of stone;",
    )
    assert paragraphs(*recitals) == list(recitals)
    assert (
        len(
            paragraphs(
                "NATO told the harbour of Mole of its plans, and", "NATO ships came in the year after."
            )
        )
        == 1
    )


def test_lines_of_nothing_but_dots_take_linear_time(seconds):
    for dots in ("." * 200_000, ". " * 100_000, " . . " * 40_000):
        assert (
            seconds(
                1, lambda line=f"a{dots}x": (led(line), without_dots(line), without_contents([Line(line)]))
            )
            < 1
        )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tides . . . . 12", ("Tides", "12")),
        ("Tides.....iv ", ("Tides", "iv")),
        (". . . . . 7", ("", "7")),
        ("Tides ....", ("Tides", "")),
        ("Tides ... 7", None),
        ("Civil", None),
        ("", None),
    ],
)
def test_dots_lead_from_a_name_to_a_number(text, found):
    assert led(text) == found
