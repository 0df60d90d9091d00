from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.presentation import phrases

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bPdevice\x1b\\shown", "shown"),
        ("\x1bcreset", "reset"),
        ("cut \x1b[", "cut "),
        ("over\rwritten\b\x07", "overwritten"),
        ("right\u202e to \u2066left\u200f", "right to left"),
        ("hid\u200bden\U000e0041", "hidden"),
        ("tabs\tand\nlines\r\n", "tabs\tand\nlines\n"),
        ("می‌خواهم 👩‍🔬", "می‌خواهم 👩‍🔬"),
        ("half \ud800 a pair", "half  a pair"),
    ],
)
def test_what_could_act_on_a_terminal_is_taken_out_and_the_rest_stays(dirty: str, clean: str) -> None:
    assert phrases.clean(dirty) == clean


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_that_acts_is_left_of_any_text(anything: str) -> None:
    assert not ACTING.search(phrases.clean(anything))
    assert "\n" not in phrases.line(anything)


@given(st.text(max_size=60), st.integers(0, 50))
def test_a_clipped_text_never_takes_more_columns_than_it_may(anything: str, columns: int) -> None:
    clean = phrases.line(anything)
    clipped = phrases.clip(clean, columns)
    assert phrases.width(clipped) <= columns
    if phrases.width(clean) <= columns:
        assert clipped == clean


def test_wide_characters_count_twice_and_combining_ones_not_at_all() -> None:
    assert phrases.width("灯台") == 4
    assert phrases.width("e\u0301") == 1
    assert phrases.clip("灯台の光", 6) == "灯台…"
    assert phrases.pad("灯", 4) == "灯  "


def test_folding_never_breaks_a_word_that_must_be_copied() -> None:
    command = "deep-research-resume-deepres-0123456789ab"
    assert command in phrases.fold(f"Continue with: {command} now", 30)


@given(st.text(max_size=80), st.integers(1, 60))
def test_a_folded_line_loses_no_word_and_keeps_to_its_columns_where_words_allow(
    anything: str, columns: int
) -> None:
    clean = phrases.line(anything)
    lines = phrases.fold(clean, columns)
    assert " ".join(lines) == clean
    assert all(phrases.width(line) <= columns or " " not in line for line in lines)


def test_counts_agree_with_their_nouns() -> None:
    assert phrases.count(1, "source") == "1 source"
    assert phrases.count(0, "source") == "0 sources"
    assert phrases.count(1200, "sub-query", "sub-queries") == "1,200 sub-queries"


def test_a_table_gives_its_last_column_what_is_left() -> None:
    lines = phrases.table([("A", "B"), ("long", "x" * 50)], 20)
    assert lines == ["A     B", f"long  {'x' * 13}…"]


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (0.5, "$0.50"),
        (0.0123, "$0.0123"),
        (0.000001, "$0.00"),
        (1234.567, "$1,234.57"),
    ],
)
def test_dollars_are_as_fine_as_they_are_small(amount: float | None, shown: str) -> None:
    assert phrases.dollars(amount) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_000_000_000, "2.0 GB")]
)
def test_bytes_come_in_the_unit_that_reads_best(number: int, shown: str) -> None:
    assert phrases.in_bytes(number) == shown


def test_figures_stand_at_the_right_and_a_long_name_is_cut() -> None:
    rows = [("NAME", "N"), ("a" * 30, "1,000"), ("b", "2")]
    assert phrases.figures(rows, 20) == [
        "NAME               N",
        f"{'a' * 12}…  1,000",
        "b                  2",
    ]
