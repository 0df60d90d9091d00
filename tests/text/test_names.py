"""What a document is called, and what a text names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.state import FirstLook, Mention
from deep_research.text.names import (
    asked_names,
    key,
    names_of_document,
    question_names,
    runs,
    spelled,
    telling,
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("The Bell Rock", "the bell rock"),
        ("Dalén's", "dalen"),
        ("U.S.", "u s"),
        ("  ", ""),
        ("L’Île", "l ile"),
    ],
)
def test_a_name_is_compared_without_case_accents_and_marks(name, wanted):
    assert key(name) == wanted


def test_a_document_bears_its_title_its_parts_and_what_it_says_it_is_called():
    found = names_of_document(
        "Lambert, Margrave of Tuscany (died 938)",
        "Lambert II was a count, also known as The Bold One. He ruled.",
    )
    assert found["lambert margrave of tuscany died 938"] == 1.0
    assert found["lambert margrave of tuscany"] == 0.9
    assert found["lambert"] == 0.8
    assert found["lambert ii"] == 0.7
    assert found["the bold one"] == 0.6
    assert found["bold one"] == 0.5


@pytest.mark.parametrize(
    "opening", ["The film is old.", "He was born here.", "It is a town.", "in 1950 is when"]
)
def test_a_sentence_that_opens_without_a_name_defines_none(opening):
    assert names_of_document("", opening) == {}


@pytest.mark.parametrize("name", ["1950", "in the", "march 1950", "x", "", "a b c d e f g h i"])
def test_dates_numbers_and_small_words_name_nothing(name):
    assert not telling(name)


@pytest.mark.parametrize(
    ("text", "names"),
    cases(
        r"""
        In March 1925 Bertha of Arles met Hugh. The King of Italy left. => bertha of arles / hugh / king of italy
        Rain fell.\n\nWood | Oil of Sperm => oil of sperm
        He has an iPhone of Ann\nMole.\n\nHare Rock stands. => ann mole / hare rock
        They met D. Alan Hare, J. R. Mole, J. R. R. Bell there. => d alan hare / j r mole / j r r bell
        It was World War I. Germany lost it. => world war i
        In 1901 he lived in Block C. Alan Hare came. => block c / alan hare
        People of Henry V. Katherine was his wife. => people of henry v
        It was plan B. Hare came later. => ""
        """,
        lambda cell: cell.replace(r"\n", "\n"),
        listed,
        bar=" => ",
    ),
)
def test_runs_of_capitals_are_names_without_what_opens_a_sentence(text, names):
    assert [name for _, name in runs(text)] == names


def test_a_question_names_quotations_runs_and_their_parts():
    names = asked_names('Who sang "when it rains" for the Duke of Saxe in Ghent?')
    assert names[0] == "when it rains"
    assert {"duke of saxe in ghent", "duke", "saxe", "ghent"} <= set(names)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_read_for_names(title, text):
    found = names_of_document(title, text)
    assert all(0.0 < strength <= 1.0 and telling(name) for name, strength in found.items())
    for offset, name in runs(text):
        assert 0 <= offset < len(text)
        assert telling(name)
    assert all(map(telling, asked_names(text)))


def test_white_space_of_a_question_does_not_change_its_names():
    asked = "How tall is the Bell Rock tower, and who built the Old Mole?"
    assert asked_names(asked.replace(" ", "\n  \t")) == asked_names(asked)


def test_the_names_of_a_question_are_those_that_documents_bear_and_those_that_spelling_shows():
    look = FirstLook(names=(Mention(name="night mail", weight=0.9, bearers=1),), words={"mole": 0.8})
    found = question_names("did the makers of night mail know the Mole or Stoat?", look)
    assert [mention.name for mention in found] == ["night mail", "mole", "stoat"]


@pytest.mark.parametrize(
    ("text", "name", "written"),
    [
        ("They saw the Bell Rock's lamp.", "bell rock", "Bell Rock"),
        ("Dalén's lamp", "dalen", "Dalén"),
        ("No such lamp.", "bell rock", "bell rock"),
    ],
)
def test_a_name_is_spelled_as_a_text_writes_it(text, name, written):
    assert spelled(text, name) == [written]


@pytest.mark.parametrize(
    ("before", "piece"), [("A", " "), ("How tall", " "), ("", "The "), ("", "A of "), ("", "Mole, who ")]
)
def test_a_question_is_taken_apart_in_linear_time(before, piece, seconds):
    question = before + piece * (100_000 // len(piece)) + "is the Mole?"
    # Linear: under .5 s; quadratic: a minute and more.
    assert seconds(3, lambda: (asked_names(question), list(runs(question)))) < 3
