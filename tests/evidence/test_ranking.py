"""Passages with wanted terms, weighed by rarity."""

from hypothesis import given
from hypothesis import strategies as st

from deep_research.retrieval.ranking import TermScanner, rarities, scan
from deep_research.text.term_weights import bm25
from deep_research.text.words import stem


@given(st.text(alphabet="aAİıßẞ \nétower", max_size=300))
def test_hits_stand_where_they_are_said_to(text):
    scanner = TermScanner(["tower", "été"])
    places = [offset for offset, _ in scanner.hits(text)]
    assert places == sorted(places)
    assert all(text[offset].lower() in "té" for offset in places)


def test_a_long_text_is_scanned_in_turns_without_losing_a_word():
    text = ("x" * 65_530) + " tower tower " + ("y" * 70_000) + " tower"
    assert len(list(TermScanner(["tower"]).hits(text))) == 3


def test_only_passages_with_a_wanted_term_are_kept_and_rare_terms_weigh_more():
    text = "\n\n".join(["The tower stands."] * 9 + ["The tower has a bell." + " It rings." * 120])
    found = scan(text, 0, TermScanner(["tower", "bell"]))
    weights = rarities(found, [stem("tower"), stem("bell"), stem("absent")])
    assert weights[stem("absent")] >= weights[stem("bell")] >= weights[stem("tower")]
    best = max(found, key=lambda p: bm25(p.terms, weights))
    assert stem("bell") in best.terms
