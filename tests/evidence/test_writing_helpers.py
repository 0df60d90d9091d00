"""Themes, tables, and what on a page says nothing."""

import pytest

from deep_research.evidence.contradictions import measures_of, sides
from deep_research.evidence.debris import is_debris, standing_alone, without_marks


@pytest.mark.parametrize(
    "text",
    [
        "Skip to content.",
        "Edit this page on the site.",
        "All rights reserved by the owner.",
        "Figure 3: The tower from the sea.",
        "The code is available at https://x.example/y.",
        "See \\href{x}{this}.",
        "Sign in to continue.",
        "This page was last edited in May.",
        "See https://x.example/y for more.",
        "Read the <a href='x'>note</a> of the keeper.",
        "{{cite web|title=Towers}} on the keepers.",
    ],
)
def test_what_belongs_to_the_page_is_told_from_what_it_says(text):
    assert is_debris(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tower is 35 metres tall.",
        "Users sign in with their e-mail address and a password.",
        "A table of contents is made from the headings of a document.",
        "The lamp was last modified in 1910 by the keepers.",
        "Oil was retrieved from the wreck by divers.",
        "The server listens on http://localhost:8000 unless told otherwise.",
        "Use List<String> to hold the names of all keepers.",
        "Data from the keepers are available to all researchers today.",
        "The figure of the saint stood above the door.",
    ],
)
def test_a_sentence_of_the_text_is_kept(text):
    assert not is_debris(text)


def test_marks_and_linking_words_are_left_out():
    assert without_marks("The tower¶ is old [edit].") == "The tower is old."
    assert standing_alone("However, the tower fell.") == "The tower fell."
    assert standing_alone("However tall it is, it fell.") == "However tall it is, it fell."


@pytest.mark.parametrize(
    ("content", "measures"),
    [
        ("The tower, called 208 feet high, was carried away on rails.", {"height"}),
        ("The tower is 208 feet (63 metres) tall and stands far away.", {"height"}),
        ("The tower stands 2,900 feet away from the sea.", {"distance"}),
    ],
)
def test_a_value_is_the_measure_of_what_the_word_behind_it_says(content, measures):
    (side,) = sides(content)
    assert measures_of(side, side.values[0]) == measures
