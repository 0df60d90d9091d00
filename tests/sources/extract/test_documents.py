"""Documents are read as they were checked by hand: each file of `documents` as the text beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_research.evidence.plain import clean
from deep_research.evidence.rows import clauses
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import read
from deep_research.sources.extract.texts import read_document

DOCUMENTS = Path(__file__).with_name("documents")
SOURCES = sorted(path for path in DOCUMENTS.glob("*/*") if path.suffix != ".txt")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_document_is_read_as_it_was_checked_by_hand(source: Path) -> None:
    text = read(source.read_bytes(), name=source.name).text
    assert text == source.with_suffix(".txt").read_text(encoding="utf-8").rstrip("\n")
    assert clean(text) == text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_a_reader_does_not_see_is_not_in_the_text(source: Path) -> None:
    text = read(source.read_bytes(), name=source.name).text
    assert "canary" not in text
    assert "gone" not in text.replace("b c gone", "")


@pytest.mark.parametrize(
    ("name", "row"), [("tables.md", "Mole | 35 | old tall"), ("tables.rst", "Mole | 35 | old; tall")]
)
def test_the_rows_of_a_table_find_their_headers(name: str, row: str) -> None:
    source = next(path for path in SOURCES if path.name == name)
    text = read_document(source.read_bytes(), name).text
    start = text.index(row)
    told = clauses(text, start, start + len(row))
    assert told == [f"Light: Mole; Height (m): 35; Note: {row.rpartition('| ')[2]}"]


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
