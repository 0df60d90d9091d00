"""Content made to fit: never more than the budget, hardly less, and what is told of it is what was sent; its priority."""

import re
from datetime import date, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deep_research.budget.allocation import (
    HALF_LIFE,
    SENTENCE,
    Item,
    ItemClass,
    Kept,
    Weights,
    priority,
    quality_score,
    recency_score,
    relevance_score,
)
from deep_research.budget.content_budget import Content, ContentRules, fit
from deep_research.errors import WindowError
from deep_research.state import ConfidenceLevel, Finding, SourceQuality

WORDS = ["harbour", "light", "keeper", "1811", "stone", "Bell Rock", "cost", "42,000", "tower", "sea", "reef"]


def count(text):
    """Tokens as a real encoding has them: words, figures and marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


@st.composite
def texts(draw, most_sentences=25):
    length = draw(st.integers(1, most_sentences))
    chance = draw(st.randoms(use_true_random=False))
    sentences = []
    for _ in range(length):
        words = [chance.choice(WORDS) for _ in range(chance.randint(4, 18))]
        words.insert(chance.randrange(len(words)), str(chance.randrange(10_000)))
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


@st.composite
def some_contents(draw):
    kinds = st.sampled_from([ItemClass.REGULAR, ItemClass.REGULAR, ItemClass.PROTECTED])
    return [
        Content(f"src-{n}", (draw(texts()),), draw(st.floats(0, 1)), draw(kinds))
        for n in range(draw(st.integers(1, 8)))
    ]


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.sweep)])
def test_what_is_sent_never_exceeds_the_budget_and_nearly_fills_it(count):
    settings(max_examples=count)(given(some_contents(), st.integers(0, 1_500), st.booleans())(check))()


def check(contents, budget, dropping):
    floors = [Item(c.id, count(c.forms[0]), 0.5, c.klass) for c in contents]
    assume(sum(item.floor(Kept.NOTHING) for item in floors) <= budget)
    rules = ContentRules(allow_dropping=dropping)
    fitted = fit(contents, budget, count=count, query="Bell Rock cost", rules=rules)
    assert sum(map(count, fitted.texts.values())) == fitted.tokens <= budget
    total = sum(count(c.forms[0]) for c in contents)
    if total > budget >= SENTENCE:  # in less, a mark is more than the rest
        assert fitted.tokens >= 0.9 * budget
    # What is told of each item is what was sent of it.
    for content, item in zip(contents, fitted.items, strict=True):
        assert item.current_tokens == count(fitted.texts[content.id])
        assert item.original_tokens == count(content.forms[0])
        if content.klass is ItemClass.PROTECTED:
            # A tenth of its tokens, but for those of a word and a mark.
            assert item.current_tokens * 10 >= min(item.original_tokens, 10 * SENTENCE) - 40


def test_what_fits_is_sent_as_it_is():
    fitted = fit([Content("a", ("A light. A sea.",)), Content("b", ("A reef.",))], 9, count=count)
    assert dict(fitted.texts) == {"a": "A light. A sea.", "b": "A reef."}
    assert (fitted.dropped, fitted.shortened, fitted.gave_way) == (0, 0, None)


def test_a_shorter_form_is_taken_before_a_text_is_condensed():
    forms = ('The tower cost 42,000. "It cost a lot."', "The tower cost 42,000.")
    fitted = fit([Content("a", forms)], 8, count=count)
    assert fitted.texts["a"] == forms[1]
    assert fitted.items[0].original_tokens == count(forms[0])


def test_what_matters_more_keeps_more():
    text = " ".join(f"The light of harbour {n} cost {n * 7} pounds." for n in range(100))
    contents = [Content("low", (text,), 0.1), Content("high", (text.replace("light", "tower"),), 0.9)]
    fitted = fit(contents, 1_000, count=count, top=0)
    low, high = fitted.items
    assert high.current_tokens > 5 * low.current_tokens > 0


def test_what_was_condensed_before_is_told_against_all_there_was_of_it():
    fitted = fit([Content("a", ("A light.",), tokens=300)], 10, count=count)
    assert (fitted.items[0].original_tokens, fitted.items[0].current_tokens) == (300, 3)


LONG = " ".join(f"Harbour {n} has a light." for n in range(300))


def test_what_is_protected_is_never_dropped_in_silence():
    with pytest.raises(WindowError):
        fit([Content("a", (LONG,), klass=ItemClass.PROTECTED)], 20, count=count)


def test_where_nothing_is_managed_all_is_sent_whole():
    fitted = fit([Content("a", (LONG,))], 20, count=count, rules=ContentRules(enabled=False))
    assert fitted.texts["a"] == LONG


def test_the_five_best_keep_three_tenths_at_least():
    made = [" ".join(f"Light {n} of {k} was {n * k} feet." for k in range(50)) for n in range(20)]
    contents = [Content(f"s{n}", (text,), 0.9 - n / 100) for n, text in enumerate(made)]
    fitted = fit(contents, sum(map(count, made)) // 4, count=count)
    assert min(item.current_tokens / item.original_tokens for item in fitted.items[:5]) >= 0.3


# Priority

TODAY = date(2026, 5, 1)


def test_the_weights_are_those_of_the_spec():
    assert [priority(*(float(n == part) for n in range(4))) for part in range(4)] == [0.4, 0.3, 0.2, 0.1]
    assert priority(1, 1, 1, 1) == pytest.approx(1.0)


@given(*[st.floats(allow_nan=True, allow_infinity=True)] * 4)
def test_a_priority_lies_between_0_and_1(relevance, recency, quality, user):
    assert 0.0 <= priority(relevance, recency, quality, user) <= 1.0


def test_relevance_is_the_score_of_the_ranking():
    assert [relevance_score(score) for score in (0.3, 1.7, -1.0, None)] == [0.3, 1.0, 0.0, 0.5]


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


def test_sure_findings_go_before_speculation():
    sure, unsure = (
        Weights().finding(Finding(id="find-1", content="It is so.", confidence=level, source_ids=()), {})[0]
        for level in (ConfidenceLevel.HIGH, ConfidenceLevel.SPECULATION)
    )
    assert sure > unsure
