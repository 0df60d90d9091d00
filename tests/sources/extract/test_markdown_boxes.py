"""Boxes around notes in Markdown: their frames go, what they say stays."""

import time

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


def test_code_within_a_line_opens_no_block_of_code():
    assert readable("```x``` is code.\n\n!!! note\n    Oil.\n").endswith("is code.\n\nOil.")


def test_frames_of_quarto_go_too():
    assert readable("::: {.callout-note}\nOil is dear.\n:::\n") == "Oil is dear."


@pytest.mark.timed
@pytest.mark.parametrize(
    "line",
    [
        "!!! note\n    a\n",
        "!!!{}!\n".format(" " * 280),
        ":::note{}]]\n".format(" " * 280),
        ":::note [" + "a " * 140 + "\n",
    ],
)
def test_frames_take_linear_time(line):
    def seconds(count):
        started = time.thread_time()
        readable(line * count)
        return time.thread_time() - started

    few = min(seconds(100) for _ in range(3))
    assert min(seconds(800) for _ in range(3)) < 30 * max(few, 0.001)
    assert few < 1
