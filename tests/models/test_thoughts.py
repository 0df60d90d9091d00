"""Thoughts and control tokens are no part of an answer, whole or in pieces."""

import time

import pytest

from deep_research.models.thoughts import AnswerStream, answer_text

TEXT = "# Ships\n\nSeven ships passed. See [1] and <b>x</b>.\n\n```\ncode <think>\n```\n"

FINAL = "<|start|>assistant<|channel|>final<|message|>"
FORMATS = {  # what stands around the text
    "harmony": (f'<|channel|>analysis<|message|>We need JSON {{"a":1}}.<|end|>{FINAL}', ""),
    "harmony, ended": (f"<|channel|>analysis<|message|>We need.<|end|>{FINAL}", "<|return|>"),
    "harmony, begun": (
        f"<|start|>assistant<|channel|>analysis<|message|>We need.<|end|>\n{FINAL}",
        "<|end|>",
    ),
    "harmony, preamble": (f"<|channel|>commentary<|message|>First.<|end|>{FINAL}", ""),
    "harmony, begun in the prompt": (f"We need.<|end|>{FINAL}", ""),
    "harmony, no header": ("<|channel|>analysis<|message|>We need.<|end|>", ""),
    "harmony, no thoughts": ("<|channel|>final<|message|>", ""),
    "harmony without its tokens": ("analysisWe need it short.assistantfinal", ""),
    "mistral": ("[THINK]We need it short.[/THINK]", ""),
    "mistral, begun in the prompt": ("We need it short.[/THINK]", ""),
    "gemma": ("<|channel>thought\nWe need it short.\n<channel|>", ""),
    "tags": ("<think>\nhm\n</think>\n\n", ""),
    "tags, begun in the prompt": ("hm\n</think>\n\n", ""),
    "tags, twice": ("<think>a</think>\n<think>b</think>\n", ""),
    "seed": ("<seed:think>x</seed:think>", ""),
    "kimi": ("◁think▷x◁/think▷", ""),
    "medgemma": ("<unused94>thought\nx<unused95>", ""),
    "openthinker": (
        "<|begin_of_thought|>\nx\n<|end_of_thought|>\n\n<|begin_of_solution|>\n",
        "\n<|end_of_solution|>",
    ),
    "cohere": ("<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "end of a turn": ("", "<|im_end|>"),
    "end of a turn, alone": ("", "\n<|eot_id|>\n"),
    "sentence": ("<s>", "</s>"),
    "deepseek": ("", "<｜end▁of▁sentence｜>"),
    "header": ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    "turn": ("<start_of_turn>model\n", "<end_of_turn>"),
    "a turn of another": ("<|im_start|>assistant\n", "<|im_end|>\n<|im_start|>user\nAnd more?<|im_end|>"),
}
PLAIN = [
    TEXT,
    'A turn begins with `<|im_start|>` and ends with "<|im_end|>".',
    "Thoughts are in <think> and </think>, or [THINK] and [/THINK] tags.",
    "ChatML uses <|im_start|> and <|im_end|> to delimit turns; close with </think>.",
    "Harmony has <|channel|>analysis<|message|> headers.",
    "So:\n\n```\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\nx\n</think>\n```\n\nThat is all.",
    '{"brief": "write <think>.</think> x"}',
    *(
        "a\n\n[1] x\n[2] y\n",
        "analysis of the data",
        "assistants are here",
        "a",
        "[",
        "x < 3 and y > 4",
        "\n ok \n",
    ),
]
HOSTILE = (
    *("<" * 50_000, "[" * 50_000, "`" * 50_000, " \n" * 25_000, "<|im_end|>" * 5_000, "<think>" * 5_000),
    *(
        "\n<think>" * 5_000,
        "</think>" * 5_000,
        "x.</think>\n" * 5_000,
        "<|channel|>" * 5_000,
        "analysis" * 5_000,
    ),
    *("<|channel|>" + "</s>" * 20_000 + "x", "<|im_start|>" + "\n" * 100_000),
    *("<|end|><|start|>" * 5_000, "a<|im_end|>\n<|im_start|>assistant\n" * 2_000),
)


def in_pieces(text, size):
    """Returns the text that stays of one in pieces of so many characters, and all that was ever handed on."""
    told, ever = [], []

    def tell(piece):
        told.append(piece)
        ever.append(piece)

    stream = AnswerStream(tell, told.clear)
    for start in range(0, len(text), size):
        stream.take(text[start : start + size])
    stream.end()
    return "".join(told), "".join(ever)


@pytest.mark.parametrize("around", FORMATS.values(), ids=FORMATS)
def test_thoughts_and_control_tokens_are_no_part_of_a_text(around):
    assert answer_text(TEXT.join(around)).strip() == TEXT.strip()


def test_an_answer_of_thoughts_alone_is_empty_and_thoughts_between_lines_are_left_out():
    assert answer_text("<think>\nhm") == ""
    assert answer_text("One.\n<think>hm</think>\nTwo.") == "One.\n\nTwo."


@pytest.mark.parametrize("text", PLAIN)
def test_what_a_text_is_about_stays_in_it(text):
    assert answer_text(text) == text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_a_text_in_pieces_is_the_same(size):
    for text in (*map(TEXT.join, FORMATS.values()), *PLAIN):
        told, _ = in_pieces(text, size)
        assert told == answer_text(text)


@pytest.mark.parametrize("around", FORMATS.values(), ids=FORMATS)
def test_no_piece_is_a_control_token(around):
    _, ever = in_pieces(TEXT.join(around), 3)
    rest = ever.replace("code <think>", "")
    assert not any(token in rest for token in ("<|", "|>", "[THINK]", "[/THINK]", "think>", "</s>", "<s>"))


@pytest.mark.timed
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_the_time_grows_with_the_length_alone(text):
    began = time.perf_counter()
    answer_text(text)
    in_pieces(text, 16)
    assert time.perf_counter() - began < 60
