"""What a question asks."""

import pytest

from deep_research.evidence.doing import action, done_with
from deep_research.evidence.expecting import TO_DO, YES_OR_NO, expected_answer, fits, wanted
from deep_research.evidence.question import asked_terms, chooses, describes_something


@pytest.mark.parametrize(
    ("question", "doing"),
    [
        ("How do I sort a list of lamps?", "sort"),
        ("how to quickly copy a tree", "copi"),
        ("How do I make a signal with a bell?", "signal"),
        ("How can I make a lamp wait until dawn?", "wait"),
        ("How does a lamp work?", ""),
        ("Who sorts lamps?", ""),
    ],
)
def test_what_somebody_wants_to_do_is_the_verb_or_the_object_of_one_that_says_little(question, doing):
    assert action(question) == doing


def test_what_is_to_be_done_counts_more_than_what_it_is_done_with():
    terms = asked_terms("How do I sort lamps?")
    assert terms["sort"] > terms["lamp"]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the lamp lit?", "date"),
        ("Where is the lamp and when was it lit?", "date"),
        ("Which errors are raised when a lamp is out?", ""),
        ("How do I measure how long a lamp burns?", ""),
        ("How long did it take to build?", "length of time"),
        ("How long is the pier?", "measure"),
        ("How old is the tower?", "date"),
    ],
)
def test_only_what_is_asked_says_what_is_wanted(question, kind):
    assert wanted(question) == kind


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How old is the tower?", "It was built in the first century."),
        ("How old is the tower?", "The tower was founded in 1611."),
        ("How old is the tower?", "Tower: Mole; Year: 1611"),
        ("How long did it take?", "It took fourteen years."),
        ("What is a lamp valve?", "A lamp valve (of brass) is a thing that turns."),
        ("What are lamp valves?", "Lamp valves are things that turn."),
        ("How do I read a lamp?", "The reader returns its light."),
    ],
)
def test_an_answer_holds_what_its_question_expects(question, answer):
    assert fits(expected_answer(question), answer)


def test_an_age_is_no_other_date_and_a_length_of_time_no_length():
    assert not fits(expected_answer("How old is the tower?"), "A king slept in the tower in 1590.")
    assert not fits(expected_answer("How long did it take to build?"), "The rock is 15 metres long.")


def test_how_old_says_what_answer_is_wanted():
    assert asked_terms("How old is the Mole?")["old"] < asked_terms("Is the Mole old?")["old"]


def test_a_thing_that_is_only_named_is_not_defined():
    assert not fits(expected_answer("What is a lamp valve?"), "The keeper had a lamp valve.")


def test_how_to_is_answered_by_what_is_used_for_it_and_a_closed_question_by_yes_or_no():
    assert expected_answer("How do I read a lamp?") is TO_DO
    assert expected_answer("Is the lamp lit?") is YES_OR_NO


def test_a_question_for_one_of_two_chooses():
    assert chooses("Which is taller, Mole or Stoat?")
    assert not chooses("Compare Mole and Stoat")


@pytest.mark.parametrize(
    ("question", "is_described"),
    [
        ("Who was the father of the engineer of Orrel?", True),
        ("Where was the director of the film Harbour born?", True),
        ("In which county is the town where it rains?", True),
        ("Who was Ann Mole's father?", True),
        ("Whose lamp burned?", True),
        ("Who wrote the book by Ann Mole?", True),
        ("What did Ann Mole discover about lime?", False),
        ("Which methods does a route accept by default?", False),
        ("How tall is Orrel?", False),
        ("What's the height?", False),
        ("Who is the man behind the lamp?", True),
    ],
)
def test_a_question_describes_what_it_does_not_name(question, is_described):
    assert describes_something(question) == is_described


@pytest.mark.parametrize(
    ("question", "done"),
    [
        ("How are lamps lit?", "light"),
        ("How is glass made in Kent?", "make"),
        ("How are errors handled?", "handl"),
        ("How is the weather in Kent?", ""),
        ("How are the men?", ""),
        ("How is it important?", ""),
        ("How were lamps lit?", ""),
    ],
)
def test_what_is_done_with_something_is_a_participle(question, done):
    assert done_with(question) == done
