"""Themes, tables, and what on a page says nothing."""

import pytest

from deep_research.evidence.boilerplate import is_debris


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
