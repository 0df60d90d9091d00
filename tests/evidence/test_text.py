"""Words, stems, weights, coverage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.evidence.ranking import TermScanner, bm25, rarities, scan
from deep_research.evidence.words import (
    StemFinder,
    beginning,
    content_words,
    coverage,
    distinct_words,
    filed_words,
    question_terms,
    stem,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [("built", "building"), ("Tower's", "towers"), ("tall", "height"), ("cities", "city"), ("Île", "ile")],
)
def test_forms_of_a_word_have_one_stem(one, other):
    assert stem(one) == stem(other)


SAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"


def test_every_word_begins_as_its_stem_says():
    words = {word for file in SAMPLE.iterdir() for word in distinct_words(file.read_text(encoding="utf-8"))}
    assert len(words) > 2_000
    # What stands for another word, such as "lit" for "light", is looked for by itself.
    odd = {word for word in words if not word.startswith(beginning(stem(word)))}
    assert {word for word in odd if StemFinder([stem(word)])(word) != {stem(word)}} <= {
        "lying",
        "dying",
        "tying",
    }


@given(
    st.lists(
        st.sampled_from(["light", "lit", "lamps", "lamp", "died", "tower", "Île", "île", "a"]), max_size=9
    ),
    st.text(max_size=99),
)
def test_stems_are_found_in_filed_words_as_in_the_text(words, more):
    text = f"{' '.join(words)} {more}"
    finder = StemFinder(map(stem, ("lit", "lamp", "death", "ile", "towers", "a")))
    assert finder.among(filed_words(text)) == finder(text)


def test_stop_words_are_left_out_unless_there_is_nothing_else():
    assert content_words("Who was in the tower?") == ["tower"]
    assert content_words("who is it") == ["who", "is", "it"]


def test_names_and_numbers_weigh_more_and_asking_words_less():
    terms = question_terms("In which year was Bell Rock lit in 1811?")
    assert terms[stem("Bell")] == terms["1811"] == 2.0
    assert terms[stem("lit")] == 1.0
    assert terms[stem("year")] < 1.0


def test_the_first_word_is_no_name_for_being_capitalised():
    assert question_terms("Towers of stone")[stem("towers")] == 1.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_coverage_is_a_share_and_full_of_itself(question, text):
    wanted = question_terms(question)
    assert 0.0 <= coverage(wanted, {stem(w) for w in text.split()}) <= 1.0
    if wanted:
        assert coverage(wanted, wanted) == pytest.approx(1.0)


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
