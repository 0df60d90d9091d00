"""A list of contents is left out of the text of a PDF."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.contents import without_contents
from deep_research.sources.extract.typeset import Line

ENTRIES = (
    "1 Harbours . . . . . . . 1",
    "1.1 Mole ........ 2",
    "2 Lights .......... 14",
    "A Tides . . . . . 120",
)


def left(*texts: str) -> list[str]:
    return [line.text for line in without_contents([Line(text) for text in texts])]


def test_entries_with_dots_to_their_pages_are_left_out() -> None:
    assert left("Contents", *ENTRIES, "1 Harbours", "The mole is of granite.") == [
        "Contents",
        "1 Harbours",
        "The mole is of granite.",
    ]


def test_so_are_chapters_without_dots_and_the_first_lines_of_long_entries_between_them() -> None:
    told = (
        ENTRIES[0],
        "3 Fog signals 12",
        ENTRIES[2],
        "3.1 How a diaphone is built and what became",
        ENTRIES[3],
        ENTRIES[3],
    )
    assert left(*told) == []  # fmt: skip


def test_roman_numbers_of_pages_come_before_the_others() -> None:
    assert left("Preface ..... iv", "Thanks ..... xii", *ENTRIES) == []


@pytest.mark.parametrize(
    "texts",
    [
        ENTRIES[:3],
        ("Soup ...... 12", "Bread ...... 3", "Fish ...... 25", "Salad ...... 9"),
        (*ENTRIES[:2], *["The mole is of granite."] * 20, *ENTRIES[2:]),
        ("He waited . . . and waited", "Nobody came.", "Wait ...", "It was over....", "The end. 4"),
    ],
    ids=["few", "prices", "far apart", "dots in prose"],
)
def test_other_lines_with_dots_stay(texts: tuple[str, ...]) -> None:
    assert left(*texts) == list(texts)
