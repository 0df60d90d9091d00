"""What a sentence matters, and the quick look for what may belong to the page."""

from deep_research.retrieval.salience import salience, sentences_of
from deep_research.text.passages import sentences

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


def test_a_sentence_without_words_does_not_count():
    text = "Of the one. Storms came."
    assert salience(text, sentences_of(text))[0] == 0.0
    assert salience("", sentences_of("")) == []
