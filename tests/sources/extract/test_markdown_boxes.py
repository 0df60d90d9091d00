"""Boxes around notes in Markdown: their frames go, what they say stays."""

import pytest

from deep_research.sources.extract.markdown import readable


def test_a_note_of_mkdocs_is_text_like_any_other_and_its_title_stands_before_it():
    text = 'Lamps burn.\n\n!!! note "Of oil"\n    Oil is dear.\n\n    So is glass.\n\nBells ring.'
    assert readable(text) == "Lamps burn.\n\nOf oil\n\nOil is dear.\n\nSo is glass.\n\nBells ring."


@pytest.mark.parametrize("mark", ["!!! hint", "??? warning", "???+ tip inline end"])
def test_a_note_without_a_title_leaves_nothing_of_its_frame(mark):
    assert readable(f"{mark}\n    Oil is dear.\n\nBells ring.") == "Oil is dear.\n\nBells ring."


def test_code_in_a_note_stays_code():
    text = "!!! note\n    Read it:\n\n    ```py\n    if lamp:\n        read()\n    ```\n"
    assert readable(text) == "Read it:\n\n```py\nif lamp:\n    read()\n```"


def test_a_note_within_a_note_ends_where_its_lines_do():
    text = "!!! note\n    Oil.\n\n    !!! tip\n        Wick.\n\n    Glass.\n\nEnd."
    assert readable(text) == "Oil.\n\nWick.\n\nGlass.\n\nEnd."


def test_colons_and_alerts_are_frames_too():
    assert (
        readable(":::note[Of oil]\nOil is dear.\n:::\nBells ring.") == "Of oil\n\nOil is dear.\n\nBells ring."
    )
    assert readable("> [!WARNING]\n> Oil burns.\n") == "Oil burns."


@pytest.mark.parametrize(
    "text",
    [
        "```\n!!! note\n    x\n```",
        "Stop!!! note well.",
        "What??? nothing",
        "A list of ::: colons",
        "a ::: b\n!!!",
    ],
)
def test_what_only_looks_like_a_frame_stays(text):
    assert readable(text) == text


def test_many_frames_take_linear_time():
    text = "!!! note\n    a\n" * 20_000
    assert readable(text).count("a") == 20_000
