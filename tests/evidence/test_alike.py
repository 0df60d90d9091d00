"""Items of one list that tell the same of several things are told together."""

from deep_research.evidence.alike import MOST, alike
from deep_research.state import Span


def spans_of(text):
    """The items of a list without their marks."""
    places = [at + 2 for at in range(len(text)) if text.startswith("- ", at)]
    return [Span(start=at, end=text.find("\n", at)) for at in places]


def told(text, place):
    spans = spans_of(text)
    first, last = alike(text, spans, place)
    return [text[s.start : s.end] for s in spans[first : last + 1]]


LIST = "- Height of the tower: 40 m\n- Height of the rock: 9 m\n- Top of the whole: 49 m\n- Height: none\n"


def test_the_neighbours_that_tell_the_same_come_along():
    both = ["Height of the tower: 40 m", "Height of the rock: 9 m"]
    assert told(LIST, 0) == both
    assert told(LIST, 1) == both
    assert told(LIST, 2) == ["Top of the whole: 49 m"]
    assert told(LIST, 3) == ["Height: none"]


def test_a_sentence_that_is_no_item_comes_alone():
    text = "Height of the tower: 40 m\n\nHeight of the rock: 9 m\n"
    spans = [Span(start=0, end=25), Span(start=27, end=len(text) - 1)]
    assert alike(text, spans, 0) == (0, 0)


def test_items_of_another_list_and_of_the_same_name_stay_apart():
    text = "- Height of the tower: 9 m\n\n## Orrel\n\n- Height of the rock: 40 m\n"
    assert told(text, 0) == ["Height of the tower: 9 m"]
    assert told("- Height of the tower: 9 m\n- Height of the tower: 8 m\n", 0) == ["Height of the tower: 9 m"]


def test_of_a_long_list_only_some_are_told():
    text = "".join(f"- Height of tower {n}: {n} m\n" for n in range(30))
    assert len(told(text, 20)) == MOST
