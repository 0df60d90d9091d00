"""Documents are read as they were checked by hand: each file of `tests/data/readers` as the text beside it.

Pages of cases have each of them in a paragraph or table of its own, so that a text that changes shows which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read
from deep_research.sources.extract.texts import read_document
from deep_research.text.plain import clean
from deep_research.text.rows import clauses

INPUTS = Path(__file__).parents[2] / "data" / "readers"
SOURCES = sorted(path for path in INPUTS.iterdir() if not path.name.endswith(".expected.txt"))
ABOUT = {
    "news": ("Ines Okafor", date(2025, 3, 14)),
    "manual": ("The Tidequeue authors", None),
    "encyclopedia": ("Contributors to Openpedia", date(2024, 11, 30)),  # of the last change
    "government": ("Ministry of Waters", date(2025, 1, 20)),
    "forum": ("", date(2023, 7, 2)),
}


def document(source: Path) -> Document:
    if source.suffix == ".html":
        return read(source.read_bytes(), "text/html; charset=utf-8", f"https://x.example/{source.stem}")
    return read(source.read_bytes(), name=source.name)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_document_is_read_as_it_was_checked_by_hand(source: Path) -> None:
    text = document(source).text
    assert text == source.with_suffix(".expected.txt").read_text(encoding="utf-8").rstrip("\n")
    assert clean(text) == text
    # What a reader does not see is not in the text.
    assert "canary" not in text
    assert "gone" not in text.replace("b c gone", "")


@pytest.mark.parametrize("name", ABOUT)
def test_a_page_says_who_wrote_it_and_when(name: str) -> None:
    found = document(INPUTS / f"{name}.html")
    assert ((found.author, found.published), found.language) == (ABOUT[name], "en")


def test_formulas_within_formulas_take_linear_time(seconds: Callable[..., float]) -> None:
    page = f"<p>It is so.</p><math>{'<mrow><mi>a</mi>' * 200}{'</mrow>' * 200}</math>" * 60
    raw = f"<html><body>{page}</body></html>".encode()
    assert seconds(1, lambda: read(raw, "text/html", "https://x.example/", 1_000_000)) < 4


ROWS = {
    "md-tables.md": ("Mole | 35 | old tall", "Light: Mole; Height (m): 35; Note: old tall"),
    "rst-tables.rst": ("Mole | 35 | old; tall", "Light: Mole; Height (m): 35; Note: old; tall"),
    "government.html": (
        "Mole | 3.40 | 0.397 | 2",
        "Station: Mole; Highest: 3.40; Mean: 0.397; Days missing: 2",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_of_a_table_find_their_headers(name: str) -> None:
    (row, told), text = ROWS[name], document(INPUTS / name).text
    assert clauses(text, text.index(row), text.index(row) + len(row)) == [told]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", "> " * 500 + "words"),
        ("a.md", "".join(f"{'  ' * depth}- words\n" for depth in range(200))),
        ("a.md", "".join(f"{'    ' * depth}!!! note\n" for depth in range(200))),
        ("a.rst", "\n".join(f"{' ' * 3 * depth}.. note:: words" for depth in range(600))),
        ("a.rst", "".join(f"{'  ' * depth}- words\n\n" for depth in range(600))),
        ("a.rst", "- " * 600 + "words"),
    ],
)
def test_blocks_too_deep_in_one_another_are_refused(name: str, source: str) -> None:
    with pytest.raises(UnreadableError, match="nested too deeply") as caught:
        read_document(source.encode(), name)
    assert caught.value.limit == "size"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", "[" * 2_000 + "words"),
        ("a.md", "*a **b " * 500),
        ("a.md", "<b>" * 1_000 + "words"),
        (
            "a.rst",
            "".join(f".. |s{n}| replace:: |s{n + 1}| |s{n + 1}|\n" for n in range(40)) + "\nwords |s0|",
        ),
        ("a.rst", ".. csv-table::\n\n   " + "a," * 1_000 + "\n" + "   words\n" * 100),
        ("a.rst", ".. list-table::\n   :header-rows: 999\n\n   * - words"),
        ("a.rst", ".. unicode:: 0xFFFFFFFFFF\n.. |x| unicode:: 0xFFFFFFFFFF\n\nwords |x|"),
        ("a.rst", ".. |x| image:: y\n.. |x| replace:: z\n.. |y| include:: z\n\nwords |x| |y|"),
    ],
)
def test_hostile_markup_stays_small_and_readable(name: str, source: str) -> None:
    text = read_document(source.encode(), name).text
    assert "words" in text or "**b" in text
    assert len(text) < 4 * len(source)


def test_a_table_of_empty_cells_makes_no_short_text_a_long_one() -> None:
    rule = "= " * 500 + "=\n"
    with pytest.raises(UnreadableError, match="cells"):
        read_document((rule + "a\n" * 1_000 + rule).encode(), "a.rst")
