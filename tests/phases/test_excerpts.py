"""The part of a long source that is read: what bears on the question, in whole sentences, with marks where it is cut."""

import pytest

from deep_research.phases.analysis.excerpts import OMITTED, excerpt
from deep_research.state import Span

SENTENCES = [f"Sentence number {n} tells of the tower and of the sea." for n in range(400)]
TEXT = " ".join(SENTENCES)


def span(number):
    start = TEXT.index(SENTENCES[number])
    return Span(start=start, end=start + len(SENTENCES[number]))


def test_a_text_that_fits_is_shown_whole():
    assert excerpt("A short text.", (), 100) == "A short text."


def test_without_matches_the_beginning_is_shown_and_that_more_follows():
    shown = excerpt(TEXT, (), 2_000)
    assert shown.startswith(SENTENCES[0])
    assert shown.endswith(OMITTED)
    assert 1_500 < len(shown) <= 2_010


@pytest.mark.parametrize("numbers", [(200,), (390,), (20, 350), (100, 101, 102), (399,)])
def test_the_opening_and_every_match_are_shown_with_what_stands_around_them(numbers):
    shown = excerpt(TEXT, [span(n) for n in numbers], 6_000)
    assert shown.startswith(SENTENCES[0])
    for number in numbers:
        assert SENTENCES[number] in shown
        assert SENTENCES[number - 1] in shown
    assert OMITTED in shown
    assert len(shown) <= 6_000 + 20


def test_room_that_is_there_is_used_for_what_stands_around_a_match():
    assert len(excerpt(TEXT, [span(200)], 12_000)) > len(excerpt(TEXT, [span(200)], 2_500))


def test_the_best_matches_are_kept_when_there_is_no_room_for_all():
    shown = excerpt(TEXT, [span(n) for n in (300, 100, 200)], 1_600)
    assert SENTENCES[300] in shown
    assert SENTENCES[200] not in shown


def test_each_piece_is_the_text_as_it_stands_so_that_it_can_be_quoted():
    for piece in excerpt(TEXT, [span(50), span(250)], 5_000).split(OMITTED):
        assert piece.strip() in TEXT
        assert piece.strip() == "" or piece.strip().endswith(".")


def test_a_match_in_a_paragraph_without_breaks_is_not_lost():
    text = "word " * 2_000 + "The answer stands here. " + "word " * 2_000
    start = text.index("The answer")
    assert "The answer stands here." in excerpt(text, [Span(start=start, end=start + 23)], 3_000)


def test_a_heading_does_not_end_the_opening():
    text = "# Title\n\n" + "One long paragraph without a break goes on and on. " * 300
    assert len(excerpt(text, (), 2_000)) > 1_500


def test_a_text_whose_end_is_shown_has_no_mark_there():
    assert not excerpt(TEXT, [Span(start=len(TEXT) - 30, end=len(TEXT))], 3_000).endswith(OMITTED)
