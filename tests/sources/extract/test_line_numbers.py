"""Numbers that count the lines of a page in its margin are no part of the text; other numbers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from made import Line, paged

from deep_research.sources.extract.line_numbers import without_line_numbers
from deep_research.sources.extract.lines import Type, Word
from deep_research.sources.extract.readers import read

SAID = (
    "THE HARBOUR BOARD OF MOLE",
    "The clerk was heard on the depth of",
    "the outer basin, which he gave as nine",
    "metres at low water, and on the lamp that",
    "stands at its end.",
    "",
)
PAGE = SAID * 4
TELLING = " ".join(PAGE).split()


def text_of(*lines: Line) -> str:
    return read(paged([lines]), "application/pdf", "hearing.pdf", 1_000_000).text


def beside(texts: Sequence[str], left: float, step: float) -> list[Line]:
    return [Line(left, 740 - step * at, text) for at, text in enumerate(texts) if text]


def counted(count: int, right: float, step: float, by: int = 1) -> list[Line]:
    """Numbers whose right edges are below each other: a figure of this font is half its size wide."""
    return [
        Line(right - 5.0 * len(str(number)), 740 - step * (number - 1), str(number))
        for number in range(by, by * count + 1, by)
    ]


@pytest.mark.parametrize("right", [40.0, 560.0])
def test_numbers_of_lines_in_the_margin_go(right: float) -> None:
    before, after = counted(24, right, 28), beside(PAGE, 90, 28)
    for drawn in ([*before, *after], [*after, *before]):
        told = text_of(*drawn).split()
        assert told == TELLING


def test_numbers_that_count_each_fifth_line_between_two_columns_go() -> None:
    left, right = beside(PAGE * 2, 50, 14), beside(PAGE * 2, 340, 14)
    told = text_of(*left, *counted(9, 310, 14, by=5), *right)
    assert not any(map(str.isdecimal, told.split()))
    assert sorted(told.split()) == sorted(TELLING * 4)


@pytest.mark.parametrize(
    "texts",
    [
        ["Mole and its quay"] * 24,  # a list
        ["1938", "41", "19"] * 8,  # a table
        PAGE[:11],  # too few to know
    ],
)
def test_numbers_of_items_and_rows_stay(texts: Sequence[str]) -> None:
    told = text_of(*counted(len(texts), 40, 28), *beside(texts, 90, 28)).split()
    assert all(str(number) in told for number in range(2, len(texts) + 1))


def test_numbers_that_stand_unevenly_or_in_the_text_stay() -> None:
    uneven = [line._replace(y=line.y - 10 * (at % 3)) for at, line in enumerate(counted(24, 40, 28))]
    within = counted(24, 120, 28)
    for numbers in (uneven, within):
        assert "17" in text_of(*numbers, *beside(PAGE, 90, 28)).split()


def test_a_page_full_of_numbers_takes_linear_time(seconds: Callable[..., float]) -> None:
    words = []
    for at in range(100_000):
        column, line = divmod(at, 25)
        type_ = Type(10.0, 1.0, 0.0, -12.0 * line, b"")
        words.append(Word(str(line + 1), 10.0 * column, 10.0 * column + 5, type_, True, False))
    assert seconds(2, lambda: without_line_numbers(words)) < 2
