"""How likely sources belong to a request, among all that were found."""

from deep_research.evidence.ranking import TermScanner, scan
from deep_research.evidence.topicality import belonging, ranked
from deep_research.evidence.words import content_words
from deep_research.phases.analysis.broad_requests import joined, pairs, with_pairs

REQUEST = (
    "Whales sing long songs. The songs of whales change each year, and whales learn songs from other whales."
)
WHALES = [
    "Whales sing songs that last for hours.",
    "Songs of humpback whales change from year to year.",
    "Young whales learn songs from older whales.",
]
FILLER = [f"Street number {n} has houses with a door, a wall and a year of its own." for n in range(30)]


def likely(texts, titles=None, request=REQUEST):
    titles = titles or [""] * len(texts)
    scanner = TermScanner(content_words(request))
    found = [p for place, text in enumerate(texts) for p in scan(text, place, scanner)]
    return belonging(ranked(request, found, texts, titles), titles)


def test_those_that_stand_out_belong_and_the_rest_does_not():
    found = likely([*WHALES, *FILLER])
    assert min(found[n] for n in range(3)) > 0.5
    assert max(found[n] for n in range(3, 33)) < 0.2


def test_the_company_that_a_source_keeps_counts():
    streets = [f"Lamps, carts and pavements of street {n} in a year." for n in range(8)]
    of_whales = "Humpback songs."
    of_streets = "Pavement songs."
    found = likely([*WHALES, of_whales, of_streets, *streets, *FILLER])
    assert found[3] > found[4]


def test_a_title_that_names_what_is_asked_counts():
    texts = [*WHALES, "A study of long calls.", "A study of long calls.", *FILLER]
    found = likely(texts, ["", "", "", "Songs of whales", "Songs of doors", *[""] * len(FILLER)])
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
    assert joined("sing", "whale") in found
    assert joined("harbour", "whale") not in found
    assert found[joined("sing", "whale")] == 1.0


def test_a_pair_is_held_by_what_has_both():
    wanted = {joined("sing", "whale"), joined("harbour", "whale")}
    assert with_pairs({"whale", "sing"}, wanted) == {"whale", "sing", "sing whale"}
