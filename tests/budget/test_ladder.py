"""The ladder: a level's ratio is the most an item has there, and bands name the fidelity of the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.fidelity import FidelityLevel, band_of, level_of_size

LEVELS = list(FidelityLevel)


def test_the_ratios_are_those_of_the_spec():
    assert [level.ratio for level in LEVELS] == [1.0, 0.7, 0.4, 0.2, 0.1, 0.0]
    assert [str(level) for level in LEVELS] == [
        "full",
        "condensed",
        "compressed",
        "key_points",
        "headline",
        "dropped",
    ]


@pytest.mark.parametrize(
    ("ratio", "level"),
    [
        (1.0, "full"),
        (0.9999, "condensed"),
        (0.71, "condensed"),
        (0.7, "condensed"),
        (0.41, "condensed"),
        (0.4, "compressed"),
        (0.2, "key_points"),
        (0.1, "headline"),
        (0.001, "headline"),
        (0.0, "dropped"),
        (1.2, "full"),
    ],
)
def test_a_share_is_at_the_lowest_level_it_fits_and_only_what_is_whole_is_full(ratio, level):
    assert level_of_size(round(10_000 * ratio), 10_000) == level


@given(st.integers(1, 100_000), st.data())
def test_sizes_are_told_without_rounding(tokens, data):
    size = data.draw(st.integers(0, tokens))
    level = level_of_size(size, tokens)
    below = LEVELS[LEVELS.index(level) + 1 :]
    assert size * 100 <= level.percent * tokens or level is FidelityLevel.CONDENSED
    assert (level is FidelityLevel.FULL) is (size == tokens)
    assert all(size * 100 > lower.percent * tokens for lower in below)


def test_what_never_had_tokens_has_lost_none():
    assert level_of_size(0, 0) is FidelityLevel.FULL


@pytest.mark.parametrize(
    ("fidelity", "band"),
    [
        (1.0, "Full"),
        (0.9, "Full"),
        (0.899, "Condensed"),
        (0.6, "Condensed"),
        (0.599, "Compressed"),
        (0.3, "Compressed"),
        (0.299, "Minimal"),
        (0.0, "Minimal"),
    ],
)
def test_the_bands_begin_where_the_spec_says(fidelity, band):
    assert band_of(fidelity) == band
