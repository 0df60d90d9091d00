"""Sentences without bylines, openings and the numbers of their references."""

import pytest

from deep_research.evidence.shortening import breaks_off, marked, shortened, stands_alone, without_byline
from deep_research.state import Span


def whole(text):
    return Span(start=0, end=len(text))


@pytest.mark.parametrize(
    "byline",
    [
        "by J Doe · 2021 · Cited by 16 — ",
        "by J Doe, A Roe · 2021 — ",
        "by J Doe · Cited by 1,204 — ",
        "Mar 3, 2021 — ",
    ],
)
def test_a_byline_is_no_part_of_the_sentence(byline):
    text = f"{byline}We measure tides."
    span = without_byline(text, whole(text))
    assert text[span.start : span.end] == "We measure tides."


@pytest.mark.parametrize("text", ["by the sea — a harbour", "Tides — twice a day — come in.", "by J Doe — "])
def test_other_dashes_stay(text):
    span = without_byline(text, whole(text))
    assert text[span.start :] in (text, "a harbour")


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("In this paper, we measure tides.", "We measure tides."),
        ("In this work we measure tides.", "We measure tides."),
        ("To address this problem, we measure tides.", "We measure tides."),
        ("However, in this paper, we measure tides.", "We measure tides."),
        ("Our results show that tides rise.", "Tides rise."),
        ("We find that tides rise.", "Tides rise."),
        ("Tides rise [3, 4] and fall [12].", "Tides rise and fall."),
    ],
)
def test_openings_and_numbers_of_references_are_left_out(sentence, left):
    assert shortened(sentence) == left


@pytest.mark.parametrize(
    "sentence",
    [
        "Our results suggest that tides rise.",
        "Experiments on two coasts show that tides rise.",
        "In this harbour, tides rise.",
        "To the best of our knowledge, tides rise.",
        "Tides rise at list[3].",
        "We show tides.",
    ],
)
def test_what_tells_how_sure_or_where_stays(sentence):
    assert shortened(sentence) == sentence


def test_a_text_that_ends_within_a_sentence_breaks_off():
    text = "Tides rise. We measure them with a gauge that floats on the"
    assert breaks_off(text, Span(start=12, end=len(text)))
    assert not breaks_off(text, Span(start=0, end=11))
    assert not breaks_off(
        "Tide Gauges and Harbours of the North", whole("Tide Gauges and Harbours of the North")
    )


def test_where_it_breaks_off_is_marked_after_the_last_word_that_says_something():
    assert (
        marked("We measure them with a gauge that floats on the")
        == "We measure them with a gauge that floats …"
    )


def test_sentences_that_point_back_do_not_stand_alone():
    assert not stands_alone("They rise twice a day.")
    assert not stands_alone("This makes harbours dry.")
    assert stands_alone("This paper measures tides.")
    assert stands_alone("Tides rise twice a day.")
    assert not stands_alone("Tide Gauges of the North ...")
