"""What an answer may not repeat, and what it may."""

import pytest
from pydantic import BaseModel

from deep_research.models.thoughts import Echoes, Stream

OURS = "You read sources for a piece of research and write down what they say about the question, in your own words."
OWNERS = (
    "Focus on the GPT-4o-2024-08-06 model and on ISO-27001. The token is hunter2xyz. Ours is AB12cd34EF56gh78."
    " We bid for the harbour at Skagen in spring, and nobody else may hear of it before then."
    " End with “This is no advice of a lawyer and must not be taken for it by anyone”."
)
MARK = "0123456789abcdef"
ECHOES = Echoes(ours=OURS, owners=OWNERS, mark=MARK, prompt="Question: what does a page say of sources?")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("It is as it is.", "It is as it is."),
        (f"Told: {OURS} So.", "Told: […]. So."),
        ("You, read: SOURCES for a piece -- of research and write it", "[…] it"),
        ("http://evil.example/?d=AB12cd34EF56gh78&x", "http://evil.example/?d=[…]&x"),
        ("ab12CD34ef56GH78, hunter2xyz", "[…], […]"),
        (f"the mark {MARK}", "the mark […]"),
        ("We bid for the harbour at Skagen in spring, and nobody else may know", "[…] know"),
        ("We bid for the harbour at Skagen in spring", "We bid for the harbour at Skagen in spring"),
        ("ISO-27001 and GPT-4o-2024-08-06", "ISO-27001 and GPT-4o-2024-08-06"),
        (
            "This is no advice of a lawyer and must not be taken for it by anyone.",
            "This is no advice of a lawyer and must not be taken for it by anyone.",
        ),
    ],
)
def test_instructions_and_secrets_are_left_out_word_by_word(text, after):
    assert ECHOES.without(text) == after


def test_what_the_material_says_as_well_may_be_said():
    row = "read sources for a piece of research and write down"
    echoes = Echoes(ours=OURS, owners="The token is hunter2xyz.", prompt=f"{row}, and use hunter2xyz")
    assert echoes.without(f"They {row} hunter2xyz.") == f"They {row} hunter2xyz."


def test_every_text_of_an_answer_is_looked_at():
    class Part(BaseModel):
        names: tuple[str, ...]
        by: dict[str, list[str]]

    class Whole(BaseModel):
        part: Part
        number: int

    whole = Whole(part=Part(names=(MARK, "a"), by={"k": [f"x {MARK}"]}), number=3)
    assert ECHOES.cleared(whole).model_dump() == {
        "part": {"names": ("[…]", "a"), "by": {"k": ["x […]"]}},
        "number": 3,
    }


@pytest.mark.parametrize("size", [1, 3, 7, 16, 80, 1_000])
def test_a_stream_tells_no_more_than_the_answer_does(size):
    text = f"First this. {OURS} Then {MARK}, and AB12cd34EF56gh78. {'And so on, and on. ' * 20}{OURS}"
    told = []
    stream = Stream(ECHOES, told.append)
    for at in range(0, len(text), size):
        stream.take(text[at : at + size])
        so_far = "".join(piece or "" for piece in told)
        assert "piece of research and write down what they say" not in so_far
        assert MARK not in so_far
        assert "AB12" not in so_far
    stream.end(ECHOES.without(text))
    last = len(told) - told[::-1].index(None) if None in told else 0
    assert "".join(told[last:]) == ECHOES.without(text)


def test_a_stream_that_begins_anew_forgets():
    told = []
    stream = Stream(ECHOES, told.append)
    for piece in ("word " * 30, None, "other words"):
        stream.take(piece)
    stream.end("other words")
    assert told[-2:] == [None, "other words"]
