"""Fidelity as it is measured on what was sent, under the names of the spec; its ladder of levels and its bands."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.fidelity import ContentFidelity, FidelityLevel, RunFidelity, band_of, level_of_size
from deep_research.state import ContextUsage, DeepResearchPhase, SentItem


def item(name, original, current):
    return SentItem(id=name, original_tokens=original, current_tokens=current)


def test_the_json_has_exactly_the_names_of_the_spec():
    made = ContentFidelity.of([item("src-001", 5_000, 3_500), item("src-002", 8_000, 1_600)], available=6_000)
    names = ("original_tokens", "current_tokens", "current_level", "compression_ratio")
    first, second = (5_000, 3_500, "condensed", 0.7), (8_000, 1_600, "key_points", 0.2)
    totals = {"fidelity": 0.3923, "tokens_used": 5_100, "tokens_available": 6_000, "utilization": 0.85}
    assert json.loads(made.model_dump_json()) == {
        "content_fidelity": {
            "src-001": dict(zip(names, first, strict=True)),
            "src-002": dict(zip(names, second, strict=True)),
        },
        "content_allocation_metadata": totals | {"items_dropped": 0, "items_summarized": 2},
    }
    assert ContentFidelity.model_validate_json(made.model_dump_json()) == made


def test_what_lost_anything_never_reads_as_whole():
    made = ContentFidelity.of([item("a", 1_000_000, 999_999)], available=1).content_allocation_metadata
    assert made.fidelity == 0.9999


def test_marks_around_a_text_make_no_more_of_it():
    made = ContentFidelity.of([item("a", 100, 108)], available=200)
    assert made.content_fidelity["a"].compression_ratio == 1.0
    assert made.content_allocation_metadata.tokens_used == 108


def test_nothing_sent_of_nothing_is_whole():
    made = ContentFidelity.of([], available=0).content_allocation_metadata
    assert (made.fidelity, made.utilization, made.band) == (1.0, 0.0, "Full")


def test_an_item_sent_twice_is_refused():
    with pytest.raises(ValueError):
        ContentFidelity.of([item("a", 1, 1), item("a", 1, 1)], available=2)


def test_of_a_run_tokens_are_summed_and_items_are_told_once():
    sent = {
        DeepResearchPhase.ANALYSIS: ContextUsage(
            items=(item("a", 100, 100), item("b", 100, 50), item("c", 100, 0)),
            available=300,
            archived={"c": "sha256:0"},
        ),
        DeepResearchPhase.SYNTHESIS: ContextUsage(
            items=(item("a", 100, 0), item("b", 100, 100), item("c", 100, 0)), available=200
        ),
    }
    made = RunFidelity.of(sent)
    totals = made.content_allocation_metadata
    assert (totals.tokens_used, totals.tokens_available) == (250, 500)
    assert (totals.utilization, totals.fidelity) == (0.5, 0.4166)
    assert (totals.items_dropped, totals.items_summarized, totals.band) == (1, 2, "Compressed")
    assert (made.dropped_content_ids, made.content_archive_hashes) == (("c",), {"c": "sha256:0"})
    assert made.phases[DeepResearchPhase.ANALYSIS].content_fidelity["b"].compression_ratio == 0.5


# The ladder

LEVELS = list(FidelityLevel)


def test_the_ratios_are_those_of_the_spec():
    ratios = {level.value: level.ratio for level in LEVELS}
    assert list(ratios) == ["full", "condensed", "compressed", "key_points", "headline", "dropped"]
    assert list(ratios.values()) == [1.0, 0.7, 0.4, 0.2, 0.1, 0.0]


@pytest.mark.parametrize(
    ("level", "shares"),
    [
        ("full", (1.0, 1.2)),
        ("condensed", (0.9999, 0.71, 0.7, 0.41)),
        ("compressed", (0.4, 0.3)),
        ("key_points", (0.2,)),
        ("headline", (0.1, 0.001)),
        ("dropped", (0.0,)),
    ],
)
def test_a_share_is_at_the_lowest_level_it_fits_and_only_what_is_whole_is_full(level, shares):
    assert {level_of_size(round(10_000 * share), 10_000) for share in shares} == {level}


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
    ("band", "most", "least"),
    [("Full", 1.0, 0.9), ("Condensed", 0.899, 0.6), ("Compressed", 0.599, 0.3), ("Minimal", 0.299, 0.0)],
)
def test_the_bands_begin_where_the_spec_says(band, most, least):
    assert band_of(most) == band_of(least) == band
