"""Words that a question mistypes."""

import pytest

from deep_research.evidence.spelling import mended

TEXTS = [
    "The command line of the lamp. A command is given. Each command has a name. Coats are warm. Coats, coats."
]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("parse comand lines", "parse command lines"),  # left out
        ("parse commandd lines", "parse command lines"),  # struck twice
        ("parse commnad lines", "parse command lines"),  # turned round
        ("wher is the lamp", "where is the lamp"),
    ],
)
def test_a_slip_is_mended_to_the_word_of_the_texts(typed, meant):
    assert mended(typed, {"pars", "line", "lamp"}, TEXTS) == meant


@pytest.mark.parametrize(
    "question",
    [
        "are there any coasts",  # a word of its own
        "are there any boats",  # another letter in place of one is no slip
        "who was Comand",  # nobody knows how a name is spelled
        "what is a comander",
    ],
)
def test_what_is_no_slip_is_let_be(question):
    assert mended(question, {"coast"}, TEXTS) == question


def test_a_word_that_stands_in_what_was_found_is_no_slip():
    assert mended("parse comand lines", {"pars", "comand", "line"}, TEXTS) == "parse comand lines"
