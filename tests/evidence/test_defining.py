"""Terms with their descriptions, and what speaks of a kind of things."""

import pytest

from deep_research.evidence.defining import called, speaks_generally, term_of, term_start
from deep_research.evidence.reading import in_its_place

PAGE = (
    "## Reading\n\nclass lamp.Reader(path, mode='r')¶\n\n- Create an object that reads lamps.\n"
    "- With a mode, the oil is burned first.\n- close()¶\n- Put the lamp out.\n\nThe end of it."
)


def at(words):
    start = PAGE.index(words)
    return start, PAGE.index(".", start) + 1


def test_a_term_belongs_to_all_that_describes_it():
    assert term_of(PAGE, *at("With a mode")) == "lamp.Reader()"
    assert term_of(PAGE, *at("Put the lamp")) == "close()"
    assert term_of(PAGE, *at("The end")) == ""


def test_the_first_description_begins_with_its_term():
    start, _ = at("Create an")
    assert PAGE[term_start(PAGE, start) :].startswith("class lamp.Reader(")
    later, _ = at("With a mode")
    assert term_start(PAGE, later) == later


def test_a_description_is_read_after_the_name_of_what_it_describes():
    assert in_its_place(PAGE, *at("With a mode")) == "lamp.Reader(): With a mode, the oil is burned first."
    assert in_its_place(PAGE, *at("The end")) == "The end of it."


@pytest.mark.parametrize(("term", "name"), [("class a.B(c)¶", "a.B()"), ("a.MAX¶", "a.MAX"), ("f()", "f()")])
def test_a_term_is_called_without_what_it_is_called_with(term, name):
    assert called(term) == name


def test_what_names_a_single_one_does_not_speak_of_its_kind():
    assert speaks_generally("In fog lamps are of no use.", "lamps")
    assert speaks_generally("A good lamp needs oil.", "lamp")
    assert not speaks_generally("The lamps of Orrel Harbour are dim.", "lamps")
    assert not speaks_generally("The tallest lamp is green.", "lamp")
