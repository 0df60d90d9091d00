"""What a sentence matters, and the quick look for what may belong to the page."""

import pytest

from deep_research.evidence.boilerplate import is_debris, may_be_debris
from deep_research.evidence.passages import sentences
from deep_research.evidence.salience import salience, sentences_of

TEXT = """# Keepers

They lived in the tower. The keepers of Bell Rock wrote down 14 storms in 1823.

- One of them sang.
- Another | did not.

Then they left.
"""


def test_sentences_are_those_of_the_passages_with_the_marks_of_items():
    found = [TEXT[one.start : one.end] for one in sentences_of(TEXT)]
    plain = [TEXT[one.start : one.end] for one in sentences(TEXT)]
    assert [text.removeprefix("- ") for text in found] == plain
    assert "- One of them sang." in found


def test_what_stands_under_a_heading_knows_it():
    assert sentences_of(TEXT).under == [-1, 0, 0, 0, 0, 0]
    assert sentences_of("a | b\n1 | 2\n3 | 4").under == [-1, 0, 0]


def test_the_words_of_the_query_count_most():
    found = sentences_of(TEXT)
    scores = salience(TEXT, found, "When did storms come?")
    best = found[scores.index(max(scores))]
    assert "14 storms" in TEXT[best.start : best.end]
    assert found[-2:] == [found[4], found[5]]


def test_a_sentence_without_words_does_not_count():
    text = "Of the one. Storms came."
    assert salience(text, sentences_of(text))[0] == 0.0
    assert salience("", sentences_of("")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Skip to main content",
        "EDIT THIS PAGE",
        "© 2024, all rights reserved.",
        "Click here!",
        "Back to top",
        "This repository holds it.",
        "This is the official implementation of it.",
        "Our code is available at x.",
        "Models will be released here",
        "Data are accessible at y",
        "It is found at https://a.b",
        "found at GitHub",
        "Last modified: today",
        "Retrieved on 3 May",
        "Privacy policy",
        "Log in to see",
        "Subscribe to us",
        "Share this",
        "Next topic",
        "Fig. 3: a tower",
        "[Image: x",
        "Plate 4. The lamp",
        ">>> run",
        "a {{cite | b}}",
        "x &amp; y",
        "see \\cite{a}",
        "a <br> b",
        "www.example.org",
        "View page source",
    ],
)
def test_the_quick_look_passes_over_no_debris(sentence):
    assert is_debris(sentence)
    assert may_be_debris(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Use a lamp ... lens pair of words.",
        "if... elif... else.",
        "Why? ... was it lit by him?",
        "The lamp (1811) ... was lit by oil.",
        "It cost 5% ... of the total.",
    ],
)
def test_dots_between_words_are_no_prompt_of_a_program(sentence):
    assert not is_debris(sentence)


@pytest.mark.parametrize(
    "code", ["... x = 1", "for x in y: ... print(x)", "f(x) ... y = 2", "def f(): ... return 1"]
)
def test_what_a_prompt_of_three_dots_opens_is_code(code):
    assert is_debris(code)
