"""A cell of a report is held against the column that it stands in."""

from collections import Counter

import pytest
from made_tables import made
from orm_light import finding, source, state

from deep_research.phases.synthesis.repair import repaired_by_code
from deep_research.provenance.quotes import readable
from deep_research.report.cells import Row, misplaced, placed
from deep_research.report.checking import Checker
from deep_research.state import ClaimVerdict, Quote

SUPPORTED, CONTRADICTED = ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED
HEADER = ("Lighthouse", "Height (m)", "Range", "Year", "Builder", "Open", "Note")
ORM = ("Orm", "64", "31 km", "1870", "Ada Brook", "yes", "rebuilt in 1902 by Carl Moor")
HARE = ("Hare", "41", "", "1811", "Carl Moor", "no", "")
QUOTE = Quote(source_id="src-1", quote="row", start=0, end=3, content_hash="0" * 64)


def row(cells):
    return Row(HEADER, cells, QUOTE)


PLACES = {
    "its value": ("64", "Orm", "Height (m)", None),
    "its value with the unit of the heading": ("64 m", "Orm", "Height", None),
    "its value in another unit": ("19 miles", "Orm", "Range", None),
    "its value with a remark": ("1870 (first lit)", "Orm", "Year", None),
    "a piece of it": ("Brook", "Orm", "Builder", None),
    "the value of another column": ("1870", "Orm", "Height (m)", "64"),
    "a name of another column": ("Carl Moor", "Orm", "Builder", "Ada Brook"),
    "the name of the row": ("Orm", "Orm", "Year", "1870"),
    "yes for no, as another column has it": ("no", "Hare", "Open", None),
    "a value where the source has none": ("1811", "Hare", "Range", ""),
    "what no column has": ("1999", "Orm", "Year", None),
    "another column's figure in another unit": ("64 km", "Orm", "Range", "31 km"),
    "a heading that the source does not have": ("1870", "Orm", "Height above the sea", None),
    "a row that the source does not have": ("1870", "Elm", "Height", None),
    "nothing": ("", "Orm", "Height", None),
}


@pytest.mark.parametrize(("cell", "name", "heading", "found"), PLACES.values(), ids=PLACES)
def test_a_cell_is_misplaced_where_its_value_stands_in_another_column_of_its_row(cell, name, heading, found):
    wrong = misplaced(cell, name, heading, [row(ORM), row(HARE)])
    assert (wrong and wrong.reason.in_source) == found
    if wrong:
        assert (wrong.reason.claimed, wrong.quote) == (cell, QUOTE)


def test_of_several_rows_of_one_name_any_may_have_the_value():
    other = row(("Orm", "1870", "", "64", "", "", ""))
    assert misplaced("1870", "Orm", "Height", [row(ORM), other]) is None


def test_a_value_of_another_row_in_the_same_column_is_misplaced_too():
    assert misplaced("41", "Orm", "Height", [row(ORM)], [row(HARE)]).reason.in_source == "64"


PLACED = {
    "its value": ("yes", "Orm", "Open", True),
    "in other marks": ("**31 km**", "Orm", "Range", True),
    "under the heading without its unit": ("64", "Orm", "Height", True),
    "with another unit": ("64 ft", "Orm", "Height", False),
    "another sign": ("<64", "Orm", "Height", False),
    "in another column": ("1870", "Orm", "Height", False),
    "of another row": ("41", "Orm", "Height", False),
    "where the source has none": ("", "Hare", "Range", False),
}


@pytest.mark.parametrize(("cell", "name", "heading", "is_there"), PLACED.values(), ids=PLACED)
def test_a_cell_is_placed_where_the_source_has_the_very_value(cell, name, heading, is_there):
    assert placed(cell, name, heading, [row(HARE), row(ORM)]) == (QUOTE if is_there else None)


# In a report

TEXT = f"""\
# Lighthouses

{" | ".join(HEADER)}
{" | ".join(ORM)}
Hare | 41 | 28 km | 1811 | Carl Moor | no | sold

The tower of Orm was white. The Hare was painted in 1870.
"""
OTHER_TEXT = (
    "# Old towers\n\nThe tower of Orm was lit in 1903, says its keeper. The height of Orm is 1870 inches.\n"
)
LIST, OTHER = source(8, "Lighthouses", TEXT), source(9, "Old towers", OTHER_TEXT)


def _row_of(number, name):
    line = next(line for line in TEXT.split("\n") if line.startswith(f"{name} | "))
    start = TEXT.index(line)
    return finding(number, readable(TEXT, start, start + len(line)), LIST, TEXT, line)


KNOWN = state(
    sources=(LIST, OTHER),
    findings=(
        _row_of(8, "Orm"),
        _row_of(9, "Hare"),
        finding(10, "The tower of Orm was lit in 1903, says its keeper.", OTHER, OTHER_TEXT),
        finding(11, "The height of Orm is 1870 inches.", OTHER, OTHER_TEXT),
    ),
)
F8, F9, F10, _ = (f"[{each.id}]" for each in KNOWN.findings)
TEXTS = {LIST.content_hash: TEXT, OTHER.content_hash: OTHER_TEXT}


def table(header, *rows):
    lines = [header, "---|" * header.count("|") + "---", *rows]
    return "".join(f"| {line} |\n" for line in lines)


SIZE, SIDE = "L | Height (m) | Year", " | Orm | Hare"
REPORTS = {
    "as the source has it": (table(SIZE, f"Orm | 64 | 1870 {F8}"), set()),
    "exchanged, by the reference of the row": (table(SIZE, f"Orm | 1870 | 64 {F8}"), {"1870", "64"}),
    "exchanged, each with its reference": (table(SIZE, f"Orm | 1870 {F8} | 64 {F8}"), {"1870", "64"}),
    "exchanged, without a reference": (
        table("L | Range | Builder", "Orm | Ada Brook | 31 km"), {"Ada Brook", "31 km"},
    ),
    "on its side": (table(SIDE, f"Height (m) | 64 {F8} | 41 {F9}", f"Year | 1870 {F8} | 1811 {F9}"), set()),
    "on its side, exchanged": (table(SIDE, f"Height (m) | 41 {F8} {F9} | 64 {F8} {F9}"), {"41", "64"}),
    "by another source": (table("L | Year", f"Orm | lit in 1903 {F10}"), set()),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "wrong"), REPORTS.values(), ids=REPORTS)
def test_a_cell_in_another_column_than_its_source_has_it_in_is_contradicted(draft, wrong):
    checker = Checker(KNOWN, TEXTS)
    claims = checker.claims(draft, {})
    assert {claim.text for claim in claims if claim.verdict is CONTRADICTED} == wrong
    assert {claim.text for claim in claims if checker.fails(claim)} == wrong
    for claim in claims:
        for quote in claim.evidence:
            text = TEXTS[quote.content_hash]
            assert text[quote.start : quote.end] == quote.quote


def test_a_heading_that_seems_to_deny_says_nothing_against_a_cell_that_stands_under_it():
    text = "# Calls\n\nCall | With a key | Without it\nsearch | all of it | a part of it\nread | none | all\n"
    page = source(12, "Calls", text)
    start = text.index("search |")
    told = finding(12, "search", page, text, text[start : text.index("\n", start)])
    checker = Checker(state(sources=(page,), findings=(told,)), {page.content_hash: text})
    draft = table("Call | Without it", f"search | a part of it [{told.id}]")
    (claim,) = checker.claims(draft, {})
    assert (claim.verdict, claim.evidence[0].quote) == (SUPPORTED, "search | all of it | a part of it")


def test_what_the_row_cites_counts_before_what_another_finding_says():
    """The height of Orm is 1870 inches elsewhere: a reader of this row looks at the list."""
    checker = Checker(KNOWN, TEXTS)
    (height, _) = checker.claims(table("L | Height | Year", f"Orm | 1870 | 1870 {F8}"), {})
    assert (height.verdict, height.reasons[0].in_source) == (CONTRADICTED, "64")
    (height,) = checker.claims(table("L | Height", "Orm | 1870 inches"), {})
    assert height.verdict is SUPPORTED


def test_a_cell_is_repaired_by_no_reference_that_has_its_words_of_something_else():
    draft = table("L | Builder | Year", f"Orm | Carl Moor {F9} | 1870 {F8}")
    checker = Checker(KNOWN, TEXTS)
    text, repairs = repaired_by_code(draft, checker.claims(draft, {}), checker)
    assert (text, repairs) == (draft, ())


@pytest.mark.parametrize("count", [30, pytest.param(600, marks=pytest.mark.sweep)])
def test_exchanged_columns_are_found_and_true_tables_are_kept(count):
    told, right = Counter(), Counter()
    for pair in made(count):
        for table in pair:
            checker = Checker(table.state, table.texts)
            for claim in checker.claims(table.draft, {}):
                name, heading = claim.heading.split(" > ")[-2:]
                is_true = table.true[name, heading, claim.text]
                told[is_true] += 1
                right[is_true] += checker.fails(claim) is not is_true
    assert min(told.values()) > 4 * count
    assert right[False] >= 0.95 * told[False]
    assert right[True] >= 0.985 * told[True]
