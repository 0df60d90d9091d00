"""Passages with wanted terms, weighed by rarity; what a sentence matters."""

from hypothesis import given
from hypothesis import strategies as st

from deep_research.retrieval.ranking import TermScanner, rarities, scan
from deep_research.retrieval.salience import salience, sentences_of
from deep_research.text.passages import sentences
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


# What a sentence matters

TEXT = """# Keepers

They lived in the tower. The keepers of Bell Rock wrote down 14 storms in 1823.

- One of them sang.
- Another | did not.

Then they left.
"""


def test_sentences_are_those_of_the_passages_with_the_marks_of_items():
    found = [TEXT[one.start : one.end] for one in sentences_of(TEXT)]
    plain = [TEXT[one.start : one.end] for one in sentences(TEXT)]
    assert [text.removeprefix("- ") for text in found] == plain
    assert "- One of them sang." in found


def test_what_stands_under_a_heading_knows_it():
    assert sentences_of(TEXT).under == [-1, 0, 0, 0, 0, 0]
    assert sentences_of("a | b\n1 | 2\n3 | 4").under == [-1, 0, 0]


def test_the_words_of_the_query_count_most():
    found = sentences_of(TEXT)
    scores = salience(TEXT, found, "When did storms come?")
    best = found[scores.index(max(scores))]
    assert "14 storms" in TEXT[best.start : best.end]


def test_a_sentence_without_words_does_not_count():
    text = "Of the one. Storms came."
    assert salience(text, sentences_of(text))[0] == 0.0
    assert salience("", sentences_of("")) == []
