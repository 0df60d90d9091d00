"""After an answer come no findings that say less of what was asked and nothing else of it."""

import pytest

from deep_research.phases.analysis.outdone import Said, is_narrow, outdone, term_in

WEIGHTS = {"copi": 1.5, "lamp": 1.0, "tree": 1.0}
BEST = Said(frozenset(WEIGHTS), answers=True)


@pytest.mark.parametrize(
    ("said", "by_value", "gone"),
    [
        (Said(frozenset({"copi"}), answers=True), False, True),
        (Said(frozenset({"copi", "lamp", "tree"}), answers=False), True, False),
        (Said(frozenset({"copi", "lamp"}), answers=False), False, True),
        (Said(frozenset({"copi", "lamp"}), answers=False), True, True),
    ],
)
def test_what_says_much_less_than_the_best_is_outdone(said, by_value, gone):
    assert outdone(said, BEST, WEIGHTS, by_value=by_value) == gone


def test_what_alone_holds_the_answer_or_another_word_of_the_question_stays():
    best = Said(frozenset({"copi", "lamp"}), answers=False)
    assert not outdone(Said(frozenset({"lamp"}), answers=True), best, WEIGHTS, by_value=True)
    assert not outdone(Said(frozenset({"tree"}), answers=False), best, WEIGHTS, by_value=True)


def test_more_on_what_the_best_describes_stays():
    best = Said(frozenset(WEIGHTS), answers=True, term="lamp.copytree")
    assert not outdone(
        Said(frozenset({"copi"}), answers=True, term="lamp.copytree"), best, WEIGHTS, by_value=False
    )


def test_a_value_that_is_lacking_is_missed_however_little_less_is_said():
    weights = {"lamp": 1.0, "tree": 5.0}
    little_less = Said(frozenset({"tree"}), answers=False)
    assert outdone(little_less, Said(frozenset(weights), answers=True), weights, by_value=True)
    assert not outdone(little_less, Said(frozenset(weights), answers=True), weights, by_value=False)


def test_a_term_opens_its_statement():
    assert term_in("class lamp.Tree(root, *, deep=True): A tree.") == "lamp.Tree"
    assert term_in("It is done (by hand).") == ""


@pytest.mark.parametrize(
    ("question", "narrow"),
    [
        ("How do I copy a tree?", True),
        ("Why was the lamp moved?", True),
        ("What is a lamp valve?", True),
        ("How high is the lamp?", True),
        ("Which lamps are described?", False),
        ("Lamps reduce wrecks in winter", False),
    ],
)
def test_one_answer_is_wanted_of_how_why_what_and_values(question, narrow):
    assert is_narrow(question) == narrow


def test_what_says_as_much_without_the_value_that_is_asked_for_is_outdone():
    best = Said(frozenset(WEIGHTS), answers=True)
    as_much = Said(frozenset(WEIGHTS), answers=False, value=False)
    assert outdone(as_much, best, WEIGHTS, by_value=True)
    assert not outdone(as_much, best, WEIGHTS, by_value=False)
    assert not outdone(Said(frozenset(WEIGHTS), answers=False), best, WEIGHTS, by_value=True)
