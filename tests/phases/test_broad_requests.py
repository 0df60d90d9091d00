"""Choosing sentences that together cover a subject, and ranking sources for a long request."""

from deep_research.evidence.ranking import TermScanner, scan
from deep_research.evidence.topicality import ranked
from deep_research.evidence.words import content_words
from deep_research.phases.analysis.broad_requests import Candidate, chosen


def candidate(terms, source=0, words=10, belongs=1.0):
    return Candidate(source, frozenset(terms.split()), words, belongs)


def places(candidates, weights, **limits):
    return chosen(candidates, weights, **{"room": 100, "per_source": 3, **limits})


WEIGHTS = {"a": 0.3, "b": 0.3, "c": 0.2, "d": 0.2}


def test_what_was_said_counts_little_when_it_is_said_again():
    assert places([candidate("a b"), candidate("a b", 1), candidate("c", 2)], WEIGHTS) == [0, 2, 1]


def test_a_short_sentence_wins_over_a_long_one_that_says_the_same():
    assert places([candidate("a", words=30), candidate("a", 1)], WEIGHTS)[0] == 1


def test_a_likelier_source_wins_over_another_that_says_the_same():
    assert places([candidate("a", belongs=0.5), candidate("a", 1)], WEIGHTS)[0] == 1


def test_a_source_that_is_likely_of_another_subject_is_not_heard_for_a_little():
    weights = {"a": 1.0, "b": 0.001}
    assert places([candidate("a"), candidate("b", 1, belongs=0.0)], weights) == [0]


def test_a_source_that_is_heard_already_costs_no_more():
    weights = {"a": 0.1, "b": 0.002}
    assert places([candidate("b", belongs=0.0), candidate("a", belongs=0.0)], weights) == [1, 0]


def test_room_and_the_share_of_a_source_are_kept():
    many = [candidate(t) for t in "abcd"]
    assert len(places(many, WEIGHTS, room=25)) == 2
    assert len(places(many, WEIGHTS, per_source=1)) == 1


def test_what_stands_already_is_taken_into_account():
    assert places([candidate("a"), candidate("c", 1)], WEIGHTS, said={"a": 1})[0] == 1


def rank(request, *texts):
    scanner = TermScanner(content_words(request))
    found = [passage for place, text in enumerate(texts) for passage in scan(text, place, scanner)]
    return [p.source for p in ranked(request, found, texts, [""] * len(texts)).passages]


FILLER = [f"Street number {n} has houses with a door and a wall." for n in range(20)]


def test_words_that_a_request_repeats_weigh_more():
    request = "Whales sing. The song of whales is long. Whales swim near harbours."
    order = rank(request, "Harbours are near towns.", "Whales live in herds.", *FILLER)
    assert order[0] == 1


def test_a_text_that_shares_the_words_of_the_best_comes_before_one_that_does_not():
    request = "Whales sing. Whales swim."
    order = rank(
        request,
        "Whales sing with baleen and krill.",
        "Whales eat krill with baleen.",
        "Birds sing in the garden.",
        "Krill and baleen: what swim means.",
        *FILLER,
    )
    assert order.index(3) < order.index(2)
