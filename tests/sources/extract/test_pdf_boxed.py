"""Texts in a frame that a PDF draws before all else are read where they stand."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.boxed import with_frame_in_place
from deep_research.sources.extract.typeset import Line


def at(base: float, text: str, *, left: float = 50.0, way: tuple[float, float] = (1.0, 0.0)) -> Line:
    return Line(text, size=10.0, left=left, base=base, right=left + 200.0, way=way)


FRAME = [at(500.0, "Welcome to the harbour board."), at(488.0, "Keepers may speak for three minutes.")]
TITLE = [at(700.0, "Harbour Board of Orrel"), at(680.0, "Agenda")]
ITEMS = [at(460.0, "1. The lamps"), at(440.0, "2. The moles"), at(420.0, "3. The end")]


def test_a_frame_that_was_drawn_first_stands_between_the_title_and_the_items() -> None:
    assert with_frame_in_place([*FRAME, *TITLE, *ITEMS]) == [*TITLE, *FRAME, *ITEMS]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        FRAME,
        [*TITLE, *FRAME, *ITEMS],
        [*FRAME, *TITLE],
        [*FRAME, TITLE[0], *ITEMS],
        [*FRAME, *TITLE, at(494.0, "A column beside it", left=300.0), *ITEMS],
        [*FRAME, TITLE[0], *ITEMS, TITLE[1]],
        [*FRAME, *TITLE, *ITEMS, at(100.0, "A stamp", way=(0.0, 1.0))],
    ],
    ids=["nothing", "one run", "in order", "nothing below", "a head", "beside", "another order", "turned"],
)
def test_nothing_moves_where_it_is_not_clear_that_a_frame_was_drawn_first(lines: list[Line]) -> None:
    assert with_frame_in_place(lines) == lines


def test_a_page_of_very_many_lines_takes_linear_time(seconds) -> None:
    frame = [at(-float(line), "Lamp") for line in range(50_000)]
    lines = [*frame, *TITLE, *(at(-60_000.0 - line, "Mole") for line in range(50_000))]
    assert seconds(2.0, lambda: with_frame_in_place(lines)) < 2.0
