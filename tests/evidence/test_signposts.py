"""Sentences that point through their text instead of telling something."""

import time

import pytest

from deep_research.evidence.signposts import is_signpost


@pytest.mark.parametrize(
    "sentence",
    [
        "We’ll look at more lamps in Chapter 18.",
        "Next, we'll talk about wicks.",
        "Now we’ll add a wick to the lamp.",
        "You'll also learn about a few new lamps.",
        "Let's first look at how the lamp works.",
        "Refer to Chapter 4 to review the difference.",
        "For more information on using lamps, see Lamps.",
        "For details, refer to the section on the lamps page.",
        "See the lamp manual for more information.",
        "See also: the Orrel mends lamps as well.",
        "This guide goes over ways to light a lamp.",
        "Table B-1 contains the lamps of Orrel.",
        "In the next section the lamp\nis lit.",
    ],
)
def test_what_points_through_the_text_is_told(sentence):
    assert is_signpost(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The lamp is lit with a match.",
        "You will see the lamp go out.",
        "In the last chapter of his life he lit lamps.",
        "The wick is cotton, as we discussed in the first part.",
        "To light a lamp, we take a match (we talked about matches in Chapter 13).",
        "Let's Encrypt is an authority for certificates.",
        "Chapter 11 bankruptcy lets a company go on.",
        "Figure 2 shows that mortality fell by half.",
        "The author of this book was born in 1820.",
        "We will use force, the keeper wrote.",
        "The keeper saw the table.",
        "The company filed for Chapter eleven.",
        "We light the lamp at dusk.",
        "Seen from the sea, the tower is white.",
    ],
)
def test_what_tells_something_is_not(sentence):
    assert not is_signpost(sentence)


@pytest.mark.timed
def test_long_sentences_are_looked_at_in_time():
    began = time.thread_time()
    for piece in ("for more details ", "refer to the a b c ", "we will also now ", "x" * 9 + " "):
        is_signpost(piece * 4_000)
    assert time.thread_time() - began < 3
