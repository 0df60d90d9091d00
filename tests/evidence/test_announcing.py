"""Sentences that announce something: a list, a term's description, a quotation, code."""

import time

import pytest

from deep_research.evidence.announcing import units
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.reading import readable
from deep_research.state import Span


def told(text):
    return [text[span.start : span.end] for span in units(text, Span(start=0, end=len(text)))]


def test_what_announces_terms_is_one_with_them_and_their_descriptions():
    text = (
        "Two sons of Orrel became keepers:\n\nAlan Orrel (1807)\n\n- The elder. He kept the mist lamp.\n\n"
        "David Orrel (1815)\n\n- He kept the bell.\n\nThe house is empty now."
    )
    first, last = told(text)
    assert last == "The house is empty now."
    assert readable(first) == (
        "Two sons of Orrel became keepers: Alan Orrel (1807): The elder. He kept the mist lamp. "
        "David Orrel (1815): He kept the bell."
    )


def test_what_announces_a_quotation_is_one_with_it():
    text = "The Act told them to build two lamps:\n\nOrrel, and Ghent.\n\nThey cost little."
    assert told(text)[0] == "The Act told them to build two lamps:\n\nOrrel, and Ghent."


def test_what_announces_a_heading_or_a_long_paragraph_stands_alone():
    long = "The lamp of Orrel is green and it is lit at dusk. " * 6
    assert told("Of the lamps this is told:\n\n## Orrel\n\nIt is green.")[0] == "Of the lamps this is told:"
    assert told(f"Of the lamps this is told:\n\n{long.strip()}")[0] == "Of the lamps this is told:"


def test_a_command_is_told_with_the_sentence_that_announces_it():
    text = "Use this command to install the lamp:\n\n```sh\n$ lamp install\n```\n\nIt is installed now."
    first, *rest = told(text)
    assert readable(first) == "Use this command to install the lamp: `$ lamp install`"
    assert rest == ["It is installed now."]
    assert is_statement(text, Span(start=0, end=len(first)))


@pytest.mark.parametrize(
    "code",
    [
        "lamp = read()\nprint(lamp)",  # a program is no part of a sentence
        "    lamp.light()",
        "lamp[0]",  # would be a link or a reference
        "lamp.get('https://orrel.example')",  # an address is not shown as it is
        "`lamp`",
        "x" * 101,
    ],
)
def test_longer_code_and_code_that_would_be_markup_is_left_out(code):
    assert told(f"Light the lamp in this way:\n\n```\n{code}\n```\n\nDone.") == [
        "Light the lamp in this way:",
        "Done.",
    ]


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("To light the lamp from afar, use the switch of the tower:", True),
        ("By default the lamp burns without end, but you can limit that by setting its time:", True),
        ("Here is an example of how the lamp can be lit from afar:", False),
        ("The folder of the lamp and its parts should then look like this:", False),
        ("If you light the lamp without any oil in it, you'll get this error message:", False),
        ("Light the lamp:", False),
    ],
)
def test_a_sentence_before_code_counts_where_it_says_something_without_the_code(sentence, says):
    text = f"{sentence}\n\n```\nlamp.light()\nlamp.wait()\n```\n"
    assert is_statement(text, Span(start=0, end=len(sentence))) is says


def test_a_name_that_opens_with_a_small_letter_opens_a_sentence():
    text = "uLamp is a fast lamp. and it is green."
    assert is_statement(text, Span(start=0, end=21))
    assert not is_statement(text, Span(start=22, end=len(text)))


def test_a_list_is_told_whole_where_a_passage_ends_within_it():
    text = "The lamp has three parts:\n\n- A wick.\n- A glass.\n- A hook.\n\nIt is green."
    cut = text.index("- A hook")
    first, *rest = [text[s.start : s.end] for s in units(text, Span(start=0, end=cut))]
    assert first.endswith("- A hook.")
    assert rest == []


def test_a_heading_is_no_item_of_the_list_before_it():
    text = "The lamps are lit in two steps:\n1. Open the valve.\n2. Light it.\n## Bees!\nBees make honey."
    assert told(text)[0].endswith("2. Light it.")


def test_what_is_announced_too_long_stands_alone():
    text = "The lamp has many parts:\n\n" + "- A part that has a long name and no use at all.\n" * 20
    assert told(text)[0] == "The lamp has many parts:"


@pytest.mark.parametrize("behind", ["- A wick.\n- A glass.\n", "```\n$ lamp install\n```\n"])
def test_what_is_announced_at_the_end_of_a_passage_is_looked_for_behind_it(behind):
    opening = "This is what the lamp needs:"
    text = f"{opening}\n\n{behind}\nIt is green."
    (only,) = [text[s.start : s.end] for s in units(text, Span(start=0, end=len(opening)))]
    assert len(only) > len(opening)


@pytest.mark.parametrize(
    "code",
    ["$ dmesg | grep lamp", "$ echo a    b", "curl ~/x http://evil.example/x", "open WWW.evil.example"],
)
def test_code_that_would_not_be_shown_as_it_is_is_left_out(code):
    text = f"Use this command to light the lamp:\n\n```\n{code}\n```\n"
    assert told(text) == ["Use this command to light the lamp:"]


@pytest.mark.timed
def test_many_items_that_announce_items_take_linear_time():
    def seconds(count):
        text = "- a lamp here:\n" * count
        started = time.thread_time()
        told(text)
        return time.thread_time() - started

    few = min(seconds(1_000) for _ in range(3))
    assert min(seconds(8_000) for _ in range(3)) < 30 * max(few, 0.001)
