"""The code right behind a sentence, and how it is shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deep_research.evidence.examples import MAX_LINES, example_behind, is_example, shown

SAID = "Light the lamp:"


def quoted(text):
    span = example_behind(text, len(SAID))
    return text[span.start : span.end] if span else None


@pytest.mark.parametrize("fence", ["```", "~~~"])
@pytest.mark.parametrize("language", ["", "python", "c++"])
def test_code_behind_a_sentence_is_its_example(fence, language):
    code = f"{fence}{language}\nlamp.light(match)\n\nlamp.hang()\n{fence}"
    assert quoted(f"{SAID}\n\n{code}\n\nIt burns.") == code
    assert quoted(f"{SAID}\n{code}") == code
    assert shown(code) == "```\nlamp.light(match)\n\nlamp.hang()\n```"
    assert is_example(code)


@pytest.mark.parametrize(
    "behind",
    [
        " It burns.\n\n```\nlamp.light()\n```\n",
        "\n\n\n```\nlamp.light()\n```\n",
        "\n\n```\n\n```\n",
        "\n\n```\n" + "lamp.light()\n" * (MAX_LINES + 1) + "```\n",
        "\n\n```\n{{#include ../lamps.rs}}\n```\n",
        "\n\n```\nlamp[find-0123456789ab]\n```\n",
        "\n\n```\nprint('```')\n```\n",
        "\n\n```\nlamp.light()\n",
        "\n\n    lamp.light()\n",
    ],
)
def test_what_is_far_empty_long_or_no_code_is_none(behind):
    assert quoted(f"{SAID}{behind}") is None


def test_of_a_session_with_a_long_answer_what_is_typed_is_told():
    session = ">>> lamp = Lamp()\n>>> lamp.light()\n"
    text = f"{SAID}\n\n```pycon\n{session}" + "burning\n" * 40 + "```\n"
    code = quoted(text)
    assert code == f"```pycon\n{session}"
    assert shown(code) == f"```\n{session}```"


def test_whatever_is_found_is_one_block_that_ends_where_it_should(examples):
    pieces = st.sampled_from(
        ["```", "~~~", "\n", "\n\n", "lamp", "    ", ">>> x\n", "$ y\n", "\t", "`", "<b>"]
    )

    @settings(max_examples=examples(800))
    @given(st.lists(pieces, max_size=24).map("".join))
    def check(behind):
        text = f"{SAID}\n\n```\n{behind}\n```\n"
        code = quoted(text)
        if code is not None:
            assert text.startswith(code, text.index("```"))
            tokens = MarkdownIt("commonmark").parse(f"Above.\n\n{shown(code)}\n\nBelow.")
            assert [token.type for token in tokens if token.level == 0] == [
                *("paragraph_open", "paragraph_close", "fence", "paragraph_open", "paragraph_close")
            ]

    check()


def test_a_session_that_goes_on_behind_a_long_answer_is_not_cut_in_half():
    answer = "burning\n" * 40
    assert quoted(f"{SAID}\n\n```\n>>> lamp.light()\n{answer}>>> lamp.hang()\n```\n") is None
    turned = ">>> for lamp in lamps:\n...     lamp.turn()\n...\n"
    assert quoted(f"{SAID}\n\n```\n{turned}{answer}```\n") == f"```\n{turned}"
    assert quoted(f"{SAID}\n\n```tex\n% a comment\n{answer}```\n") is None
