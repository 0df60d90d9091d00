"""The formula of the priority, and what its parts are made from."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.allocation import (
    HALF_LIFE,
    priority,
    quality_score,
    recency_score,
    relevance_score,
)
from deep_research.state import SourceQuality

TODAY = date(2026, 5, 1)


def test_the_weights_are_those_of_the_spec():
    assert [priority(*(float(n == part) for n in range(4))) for part in range(4)] == [0.4, 0.3, 0.2, 0.1]
    assert priority(1, 1, 1, 1) == pytest.approx(1.0)


@given(*[st.floats(allow_nan=True, allow_infinity=True)] * 4)
def test_a_priority_lies_between_0_and_1(relevance, recency, quality, user):
    assert 0.0 <= priority(relevance, recency, quality, user) <= 1.0


def test_relevance_is_the_score_of_the_ranking():
    assert [relevance_score(score) for score in (0.3, 1.7, -1.0, None)] == [0.3, 1.0, 0.0, 0.5]


@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_what_is_newer_is_never_worth_less(older, newer):
    older, newer = max(older, newer), min(older, newer)
    assert recency_score(TODAY - timedelta(days=newer), TODAY) >= recency_score(
        TODAY - timedelta(days=older), TODAY
    )


def test_new_and_future_dates_count_fully_and_a_half_life_halves():
    assert recency_score(TODAY, TODAY) == recency_score(date(2030, 1, 1), TODAY) == 1.0
    assert recency_score(TODAY - timedelta(days=round(HALF_LIFE)), TODAY) == pytest.approx(0.5, abs=0.001)
    assert recency_score(None, TODAY) == 0.5


def test_qualities_are_in_their_order_and_every_one_has_a_score():
    order = (SourceQuality.LOW, SourceQuality.UNKNOWN, SourceQuality.MEDIUM, SourceQuality.HIGH)
    scores = [quality_score(quality) for quality in order]
    assert scores == sorted(scores)
    assert set(order) == set(SourceQuality)
    assert (min(scores) >= 0.0, max(scores)) == (True, 1.0)
