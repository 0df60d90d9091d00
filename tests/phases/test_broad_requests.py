"""Sentences that together cover a subject, sources ranked for a long request, and how likely they belong to it."""

import pytest

from deep_research.phases.analysis.broad_requests import (
    Candidate,
    belonging,
    choose_passages,
    pair_key,
    pairs,
    rank_passages,
    with_pairs,
)
from deep_research.retrieval.ranking import TermScanner, scan
from deep_research.text.words import content_words


def of(terms, source=0, words=10, belongs=1.0):
    return Candidate(source, frozenset(terms.split()), words, belongs)


WEIGHTS = {"a": 0.3, "b": 0.3, "c": 0.2, "d": 0.2}
LITTLE = {"a": 1.0, "b": 0.001}
# Candidates, weights, limits; which of them begin the choice.
CHOICES = {
    "what was said counts little when it is said again": ([of("a b"), of("a b", 1), of("c", 2)], WEIGHTS, {},
        [0, 2, 1]),
    "a short one wins over a long one": ([of("a", words=30), of("a", 1)], WEIGHTS, {}, [1]),
    "a likelier source wins": ([of("a", belongs=0.5), of("a", 1)], WEIGHTS, {}, [1]),
    "an unlikely source is not heard for a little": ([of("a"), of("b", 1, belongs=0.0)], LITTLE, {}, [0]),
    "but once it is heard it costs no more": ([of("b", belongs=0.0), of("a", belongs=0.0)], {"a": 0.1,
        "b": 0.002}, {}, [1, 0]),
    "what stands already is taken into account": ([of("a"), of("c", 1)], WEIGHTS, {"said": {"a": 1}}, [1]),
}  # fmt: skip


@pytest.mark.parametrize(("candidates", "weights", "limits", "first"), CHOICES.values(), ids=CHOICES)
def test_of_sentences_is_chosen_what_says_most(candidates, weights, limits, first):
    places = choose_passages(candidates, weights, **{"room": 100, "per_source": 3, **limits})
    assert places[: len(first)] == first
    assert weights is not LITTLE or places == first


def test_room_and_the_share_of_a_source_are_kept():
    many = [of(t) for t in "abcd"]
    assert len(choose_passages(many, WEIGHTS, room=25, per_source=3)) == 2
    assert len(choose_passages(many, WEIGHTS, room=100, per_source=1)) == 1


def looked(request, texts, titles=None):
    scanner = TermScanner(content_words(request))
    found = [passage for place, text in enumerate(texts) for passage in scan(text, place, scanner)]
    return rank_passages(request, found, texts, titles or [""] * len(texts))


FILLER = [f"Street number {n} has houses with a door and a wall." for n in range(20)]


def order(request, *texts):
    return [passage.source for passage in looked(request, [*texts, *FILLER]).passages]


def test_words_that_a_request_repeats_or_the_best_have_weigh_more():
    request = "Whales sing. The song of whales is long. Whales swim near harbours."
    assert order(request, "Harbours are near towns.", "Whales live in herds.")[0] == 1
    best = "Whales sing with baleen and krill.", "Whales eat krill with baleen."
    places = order(
        "Whales sing. Whales swim.", *best, "Birds sing in the garden.", "Krill and baleen: what swim means."
    )
    assert places.index(3) < places.index(2)


REQUEST = (
    "Whales sing long songs. The songs of whales change each year, and whales learn songs from other whales."
)
WHALES = [
    "Whales sing songs that last for hours.",
    "Songs of humpback whales change from year to year.",
    "Young whales learn songs from older whales.",
]
OTHERS = [f"Street number {n} has houses with a door, a wall and a year of its own." for n in range(30)]


def likely(texts, titles=None):
    return belonging(looked(REQUEST, texts, titles), titles or [""] * len(texts))


def test_those_that_stand_out_belong_and_the_rest_does_not():
    found = likely([*WHALES, *OTHERS])
    assert min(found[n] for n in range(3)) > 0.5
    assert max(found[n] for n in range(3, 33)) < 0.2


def test_the_company_that_a_source_keeps_and_its_title_count():
    streets = [f"Lamps, carts and pavements of street {n} in a year." for n in range(8)]
    found = likely([*WHALES, "Humpback songs.", "Pavement songs.", *streets, *OTHERS])
    assert found[3] > found[4]
    titles = ["", "", "", "Songs of whales", "Songs of doors", *[""] * len(OTHERS)]
    found = likely([*WHALES, *["A study of long calls."] * 2, *OTHERS], titles)
    assert found[3] > found[4]


def test_of_few_sources_more_are_expected_to_belong_alike_ones_equally_and_of_none_none():
    assert min(likely(WHALES).values()) > 0.05
    assert len({round(p, 9) for p in likely([WHALES[0]] * 4).values()}) == 1
    assert likely([]) == {}


def test_words_are_paired_within_a_sentence_and_a_pair_is_held_by_what_has_both():
    found = pairs("Whales sing. Harbours are quiet.", {"whale": 0.5, "sing": 0.25, "harbour": 0.25})
    sing, harbour = pair_key("sing", "whale"), pair_key("harbour", "whale")
    assert found[sing] == 1.0
    assert harbour not in found
    assert with_pairs({"whale", "sing"}, {sing, harbour}) == {"whale", "sing", "sing whale"}
