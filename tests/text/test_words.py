"""Words, stems, weights, coverage; which asked terms a word speaks of: abbreviations, plurals of names, compounds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.retrieval.candidates import Pool, read_document
from deep_research.retrieval.parsed_question import parse_question
from deep_research.retrieval.ranker import View
from deep_research.text.language import vocabulary
from deep_research.text.term_weights import coverage
from deep_research.text.words import (
    AskedWords,
    StemFinder,
    beginning,
    content_words,
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


def asked_in(question: str, text: str, language: str) -> set[str]:
    """The asked terms that a text speaks of."""
    inquiry = parse_question(question, language)
    document = read_document("src", "T", text)
    words = AskedWords(frozenset(inquiry.terms), inquiry.names, inquiry.words, inquiry.text, [document.words])
    return set(words.of(text))


# Plurals of acronyms, abbreviations, compounds and their ends, short words by chance, identifiers.
SPOKEN = cases("""
    en | How long may I keep a DVD? | DVDs 1 week | dvd
    en | How much are the CDs? | A CD is 3 euros | cds
    de | Wo ist die DVD? | Alle DVDs stehen oben | dvd
    en | Which stick fits the Pi? | Two Pis and a case | pi
    en | Is it open on Thursdays? | Thu 9 to 5 | thursday
    en | Is it open on Thu? | Thursday 9 to 5 | thursday
    en | What is the maximum length? | Max. length | maximum / length
    en | Is it open on Thursday? | Thumb | ""
    de | Gilt es am Samstag? | Sa 10-14 Uhr | samstag
    fr | Est-ce que c'est ouvert le samedi ? | sam. 9 h | samed
    de | Was macht die Bücherei? | Stadtbücherei Lindenau | bucherei
    de | Was macht die Bücherei? | Der Büchereiausweis | bucherei
    nl | Wat doet de bibliotheek? | De stadsbibliotheek | bibliotheek
    de | Wo steht der Rückgabekasten? | Ein Kasten am Eingang | ruckgabekast
    de | Wo ist die Mitgliederversammlung? | Die Versammlung | mitgliederversamml
    de | Was macht der Sand? | Der Versand | ""
    de | Was macht die Karte? | Die Kartoffel | ""
    en | What deposit is asked? | deposit_eur: 40 | deposit
    en | Who distributed it? | distributedBy: MGM | distribut
    en | What is tabWidth? | tab_width: 4 | tabwidth
    en | What is tab_width? | tabWidth: 4 | tab_width
    en | Which width is parsed? | _tabWidth, parseHTTPWidth | width / pars
    en | What is a script? | JavaScript is a language | ""
    en | What is plan B? | 20 dB and n_b | ""
    en | Where is the board? | The boardwalk and the keyboard | ""
""")


@pytest.mark.parametrize(("language", "question", "text", "spoken"), SPOKEN)
def test_a_word_speaks_of_what_is_asked(language: str, question: str, text: str, spoken: str) -> None:
    assert asked_in(question, text, language) == set(listed(spoken))


def test_the_end_of_a_compound_stands_for_it_only_where_the_whole_is_nowhere_said() -> None:
    text = "Die Mitgliederversammlung wählt. Eine Versammlung tagt."
    assert asked_in("Wo ist die Mitgliederversammlung?", text, "de") == {"mitgliederversamml"}
    inquiry = parse_question("Wo ist die Mitgliederversammlung?", "de")
    document = read_document("src", "T", text)
    view = View(inquiry, Pool([document]))
    by_text = {view.text(c): view.asked_in(c) for c in view.candidates}
    assert by_text["Eine Versammlung tagt."] == frozenset()


def test_a_word_is_shortened_whatever_its_form() -> None:
    assert vocabulary("en").shortened("Thursdays") == ["thu", "thur", "thurs"]
    assert vocabulary("en").shortened("garden") == []
