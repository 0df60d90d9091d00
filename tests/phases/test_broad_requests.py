"""Sentences that together cover a subject, sources ranked for a long request, and how likely they belong to it."""

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


def candidate(terms, source=0, words=10, belongs=1.0):
    return Candidate(source, frozenset(terms.split()), words, belongs)


def places(candidates, weights, **limits):
    return choose_passages(candidates, weights, **{"room": 100, "per_source": 3, **limits})


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
    return [p.source for p in rank_passages(request, found, texts, [""] * len(texts)).passages]


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


REQUEST = (
    "Whales sing long songs. The songs of whales change each year, and whales learn songs from other whales."
)
WHALES = [
    "Whales sing songs that last for hours.",
    "Songs of humpback whales change from year to year.",
    "Young whales learn songs from older whales.",
]
OTHERS = [f"Street number {n} has houses with a door, a wall and a year of its own." for n in range(30)]


def likely(texts, titles=None, request=REQUEST):
    titles = titles or [""] * len(texts)
    scanner = TermScanner(content_words(request))
    found = [p for place, text in enumerate(texts) for p in scan(text, place, scanner)]
    return belonging(rank_passages(request, found, texts, titles), titles)


def test_those_that_stand_out_belong_and_the_rest_does_not():
    found = likely([*WHALES, *OTHERS])
    assert min(found[n] for n in range(3)) > 0.5
    assert max(found[n] for n in range(3, 33)) < 0.2


def test_the_company_that_a_source_keeps_counts():
    streets = [f"Lamps, carts and pavements of street {n} in a year." for n in range(8)]
    of_whales = "Humpback songs."
    of_streets = "Pavement songs."
    found = likely([*WHALES, of_whales, of_streets, *streets, *OTHERS])
    assert found[3] > found[4]


def test_a_title_that_names_what_is_asked_counts():
    texts = [*WHALES, "A study of long calls.", "A study of long calls.", *OTHERS]
    found = likely(texts, ["", "", "", "Songs of whales", "Songs of doors", *[""] * len(OTHERS)])
    assert found[3] > found[4]


def test_of_few_sources_more_are_expected_to_belong():
    assert min(likely(WHALES).values()) > 0.05


def test_nothing_found_is_nothing():
    assert likely([]) == {}


def test_sources_that_are_all_alike_are_equally_likely():
    assert len({round(p, 9) for p in likely([WHALES[0]] * 4).values()}) == 1


def test_words_are_paired_within_a_sentence_and_a_few_words_of_each_other():
    weights = {"whale": 0.5, "sing": 0.25, "harbour": 0.25}
    found = pairs("Whales sing. Harbours are quiet.", weights)
    assert pair_key("sing", "whale") in found
    assert pair_key("harbour", "whale") not in found
    assert found[pair_key("sing", "whale")] == 1.0


def test_a_pair_is_held_by_what_has_both():
    wanted = {pair_key("sing", "whale"), pair_key("harbour", "whale")}
    assert with_pairs({"whale", "sing"}, wanted) == {"whale", "sing", "sing whale"}
