"""The four kinds of tables of reStructuredText become rows, with their header first."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deep_research.sources.extract.rst import readable
from deep_research.sources.extract.texts import read_document

CORPUS = Path(__file__).parents[3] / "docs" / "examples" / "corpus"

LIST_TABLE = """
.. list-table:: Towers of the
   north
   :header-rows: 1
   :widths: 10 20

   * - Name
     - Notes
   * - :strong:`Bell Rock`
     - the first paragraph
       over two lines

       and a `second <https://example.org>`_
   * -
     - * low
       * wet
"""
CSV_TABLE = """
.. csv-table:: Fuels
   :header: Fuel, "Good, or not"
   :delim: ;
   :widths: auto

   Tallow; "easy
   to handle"
   Coal
"""
SIMPLE_TABLE = """
==========  =====  ======
      Inputs       Output
-----------------  ------
A           B      A or B
==========  =====  ======
no          no     no
a long one  yes,   ``yes``
            sure

\\                  maybe
==========  =====  ======
"""
GRID_TABLE = """
+---------+----------+--------+
| Light   | Height   | Note   |
|         | (m)      |        |
+=========+==========+========+
| Mole    | 35       | - old  |
+---------+----------+ - tall +
| Hare    | 28       |        |
+---------+----------+--------+
| Stoat   | is not yet built  |
+---------+-------------------+
"""


def rows(source: str) -> list[str]:
    return readable(source).split("\n")


def test_a_list_table_is_told_row_by_row_below_its_title():
    assert rows(LIST_TABLE) == [
        "Towers of the north",
        "",
        "Name | Notes",
        "Bell Rock | the first paragraph over two lines and a second",
        "| low, wet",
    ]


def test_a_csv_table_is_told_row_by_row_and_short_rows_are_filled():
    assert rows(CSV_TABLE) == ["Fuels", "", "Fuel | Good, or not", "Tallow | easy to handle", "Coal |"]


def test_a_simple_table_joins_the_rows_of_its_header_and_the_lines_of_a_row():
    assert rows(SIMPLE_TABLE) == [
        "Inputs A | Inputs B | Output A or B",
        "no | no | no",
        "a long one | yes, sure | yes",
        "| | maybe",
    ]


def test_a_grid_table_says_a_cell_beside_several_rows_in_each_of_them():
    assert rows(GRID_TABLE) == [
        "Light | Height (m) | Note",
        "Mole | 35 | old, tall",
        "Hare | 28 | old, tall",
        "Stoat | is not yet built |",
    ]


@pytest.mark.parametrize("source", [LIST_TABLE, CSV_TABLE, SIMPLE_TABLE, GRID_TABLE])
def test_a_table_stands_apart_from_the_text_around_it_and_inside_other_directives(source):
    inside = "\n".join(f"   {line}" for line in source.split("\n"))
    table = readable(source)
    assert readable(f"Before.\n{source}\nAfter.") == f"Before.\n\n{table}\n\nAfter."
    assert readable(f".. note::\n{inside}\n\nAfter.") == f"{table}\n\nAfter."


def test_the_title_of_a_table_directive_stays():
    assert readable(".. table:: What it was\n\n   === ===\n   a   b\n   === ===\n   1   2\n   === ===\n") == (
        "What it was\n\na | b\n1 | 2"
    )


@pytest.mark.parametrize(
    "source",
    [
        ".. list-table::\n\n   * - a\n     - b\n   * - c\n     - d\n",
        ".. csv-table::\n\n   a,b\n   c,d\n",
        "== ==\na  b\nc  d\n== ==\n",
        "+---+---+\n| a | b |\n+---+---+\n| c | d |\n+---+---+\n",
    ],
)
def test_a_table_without_a_header_has_an_empty_one(source):
    assert rows(source) == ["| | |", "a | b", "c | d"]


def test_wide_characters_take_two_columns():
    assert rows("====  ==\n灯台  年\n====  ==\n長崎  1\n====  ==\n") == ["灯台 | 年", "長崎 | 1"]


def test_a_bar_inside_a_cell_ends_no_cell():
    assert rows(".. csv-table::\n   :header: a, b\n\n   x | y, z\n") == ["a | b", "x / y | z"]


@pytest.mark.parametrize(
    "malformed",
    [
        "* - a\n  - b\n* - c",  # rows of different lengths
        "* - a\n  - b\n\nand text",
        "== ==\na  b\n== ===",
        "== ==\na  b",
        "== ==\nabcde\n== ==",  # text between the columns
        "+--+--+\n|a |b |\n|c |d |",
        "+--+--+\n|a |b |c\n+--+--+",
    ],
)
def test_a_malformed_table_stays_as_it_was(malformed):
    listed = malformed.startswith("*")
    indented = malformed.replace("\n", "\n   ")
    assert readable(f".. list-table::\n\n   {indented}" if listed else malformed) == malformed


def test_csv_that_breaks_its_own_rules_stays_as_it_was():
    assert readable('.. csv-table:: T\n   :header: a, b\n\n   "x, y\n').endswith('"x, y')
    assert readable(".. csv-table::\n   :delim: ab\n\n   1ab2\n") == "1ab2"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "stevenson-family.rst",
            "Name | Dates | Father\nDavid Alan Stevenson | 1854–1938 | David Stevenson\n",
        ),
        (
            "dalen-sun-valve.rst",
            "What it replaced\n\nTask | With a keeper | With Dalén's system\nlighting at dusk |",
        ),
        ("ar-men.rst", "Season | Work done\n1867 | 7 landings, 8 hours of work, 15 holes\n1869 |"),
    ],
)
def test_the_tables_of_the_sample_corpus_are_rows(name, told):
    assert told in read_document((CORPUS / name).read_bytes(), name).text


# Each so large as the size, 1 to 4, says.
HOSTILE = {
    "items": lambda size: ".. list-table::\n\n   " + "* - " * 125_000 * size,
    "rows": lambda size: ".. list-table::\n\n" + "   * - a\n" * 50_000 * size,
    "nested": lambda size: "".join(
        f"{' ' * 3 * n}.. list-table::\n\n{' ' * 3 * n}   * - a\n" for n in range(400 * int(size**0.5))
    ),
    "rules": lambda size: "== ==\n" * 82_500 * size,
    "tables": lambda size: "== ==\na\n" * 62_500 * size,
    "other rules": lambda size: "== ==\n\n== ===\n\n" * 35_000 * size,
    "columns": lambda size: (
        "= " * 75_000 * size + "=\n" + "a\n" * 75_000 * size + "= " * 75_000 * size + "=\n"
    ),
    "corners": lambda size: "+--+" * 125_000 * size,
    "borders": lambda size: "+--+\n" * 100_000 * size,
    "grid": lambda size: "+--+--+\n" + "|a |b |\n|  +--+\n" * 15_000 * size + "+--+--+\n",
    "wide grid": lambda size: (
        f"+{'-+' * 12_500 * size}\n" + f"|{'x|' * 12_500 * size}\n+{'-+' * 12_500 * size}\n" * 9
    ),
    "quotes": lambda size: '.. csv-table::\n\n   "' + '"a,' * 150_000 * size,
    "short rows": lambda size: (
        ".. csv-table::\n\n   " + "a," * 150_000 * size + "\n" + "   a\n" * 50_000 * size
    ),
}


@pytest.mark.parametrize("size", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_tables_take_linear_time_and_little_room(source, size, seconds):
    text = source(size)
    found: list[str] = []
    # Linear: a quarter to half a second each; quadratic: many.
    assert seconds(2 * size, lambda: found.append(readable(text))) < 2 * size
    assert len(found[-1]) < 4 * len(text)


def test_no_text_of_table_marks_raises():
    chance = random.Random(5)
    pieces = ["+--+--+\n", "| a |b |\n", "== ==\n", "== ===\n", "a  b\n", "-----\n", "   * - x\n", "     - y\n", "\n",
              ".. list-table:: t\n", ".. csv-table::\n", "   :header: a, b\n", "   :header-rows: 1\n", '   "1", 2\n',
              "+==+--+\n", "|  +--+\n", "   ", "\\ ", "|", "灯"]  # fmt: skip
    for _ in range(3_000):
        readable("".join(chance.choices(pieces, k=12)))
