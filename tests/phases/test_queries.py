"""Whether results are about what was asked, and in what other words to ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.phases.gathering.queries import Match, matched, wordings
from deep_research.state.identity import normalised

QUERY = "How long did it take Robert Stevenson to build the Bell Rock lighthouse?"


def test_no_result_is_an_empty_search():
    assert matched(QUERY, []) is Match.EMPTY


def test_one_result_that_is_about_it_is_enough():
    texts = ["A recipe for bread.", "The Bell Rock Lighthouse was built by Robert Stevenson in four years."]
    assert matched(QUERY, texts) is Match.GOOD


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", Match.FOREIGN),
        ("A recipe for bread and butter.", Match.FOREIGN),
        ("The bell rang for a while and nobody heard it.", Match.OFF_TOPIC),
        ("long build take", Match.OFF_TOPIC),
    ],
)
def test_results_that_share_a_word_by_chance_are_off_topic(text, match):
    assert matched(QUERY, [text]) is match


def test_other_words_are_fewer_each_time_and_keep_the_names():
    first, *rest = wordings(QUERY)
    assert first == "long take Robert Stevenson build Bell Rock lighthouse"
    assert rest[-1] == "Robert Stevenson Bell Rock"
    assert [len(text) for text in wordings(QUERY)] == sorted(map(len, wordings(QUERY)), reverse=True)


def test_words_that_were_tried_are_not_tried_again():
    tried = []
    while found := wordings(QUERY, tried, least=2):
        tried.append(found[0])
    assert len(tried) == len({normalised(text) for text in tried}) <= 3


def test_a_query_of_key_words_has_no_other_wording():
    assert wordings("tide mill") == []


@given(st.text(max_size=200))
def test_any_text_is_worded_in_a_few_ways_or_none(text):
    found = wordings(text)
    assert len(found) <= 3
    assert all(other.strip() and normalised(other) != normalised(text) for other in found)
    assert matched(text, [text, ""]) in Match
