"""Tables of web pages: which row names the columns, and where a table ends."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.html_text import extract

HEADS = "<tr><th>Part<th>Height"
ROWS = "<tr><td>Tower<td>55 m<tr><td>Rock<td>57 m"
TOLD = "Part | Height\nTower | 55 m\nRock | 57 m"


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (f"<table>{HEADS}{ROWS}</table>", TOLD),
        (f"<table><thead><tr><td>Part<td>Height</thead>{ROWS}</table>", TOLD),
        (f"<table><tr><td><table>{HEADS}{ROWS}</table></table>", TOLD),
        (f"<table>{ROWS}</table>", "| | |\nTower | 55 m\nRock | 57 m"),
        ("<table><tr><th>Built<td>1881<tr><th>Lit<td>1882</table>", "| | |\nBuilt | 1881\nLit | 1882"),
        (
            "<table><tr><td><th>Mole<th>Hare<tr><th>Height<td>35<td>28</table>",
            "| Mole | Hare\nHeight | 35 | 28",
        ),
        (f"<table>{ROWS}</table><table>{HEADS}{ROWS}</table>", f"| | |\nTower | 55 m\nRock | 57 m\n\n{TOLD}"),
        (f"<table>{HEADS}{ROWS}{HEADS}{ROWS}</table>", f"{TOLD}\n\n{TOLD}"),
        ("<table><tr><th>A<th>B<tr><td>1<td></table>", "A | B\n1 |"),
    ],
    ids=["th", "thead", "nested", "no header", "header at the side", "corner", "two", "new header", "empty"],
)
def test_a_row_of_headers_opens_a_table_and_an_empty_one_where_there_is_none(table, text):
    assert extract(f"<p>Before.</p>{table}<p>After.</p>") == f"Before.\n\n{text}\n\nAfter."
