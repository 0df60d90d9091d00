"""Finding the object in what a model wrote."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from deep_research.models.object_parser import Unreadable, read_json, without_thoughts


class Item(BaseModel):
    query: str
    weight: float = 1.0


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    brief: str
    items: list[Item] = Field(default_factory=list)
    tags: tuple[str, ...] = ()
    done: bool = False


GOOD = {"brief": 'a } and a { in "quotes"', "items": [{"query": "why? [x]", "weight": 2.0}], "tags": ["a"]}
PLAN = Plan.model_validate(GOOD)
TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "written",
    [
        TEXT,
        f"\n\n  {TEXT}  \n",
        f"```json\n{TEXT}\n```",
        f"Sure! Here is the plan:\n\n```\n{TEXT}\n```\nAnything else?",
        f'<think>Perhaps {{\'brief\': 1}}? {{"brief": "no"}}</think>\n{TEXT}',
        f"I think so.</think>{TEXT}",
        f"A set {{1, 2}} and a list [3, 4] come first. {TEXT} And {{this}} after.",
        f'First try: {{"brief": 1, "wrong": 2}}. Better: {TEXT}',
        json.dumps(GOOD, indent=4),
        TEXT.replace("why? [x]", "why? [x]"),
        "﻿" + TEXT,
    ],
)
def test_an_object_is_found_in_prose_fences_and_after_thoughts(written):
    assert read_json(written, Plan) == PLAN


def test_tags_inside_the_texts_of_an_object_are_no_thoughts():
    assert read_json('{"brief": "write <think> and </think>"}', Plan).brief == "write <think> and </think>"


def test_a_line_break_inside_a_text_is_no_reason_to_reject_it():
    assert read_json('{"brief": "one\ntwo"}', Plan).brief == "one\ntwo"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "empty"),
        ("<think>only thoughts", "empty"),
        ("I cannot do that.", "no JSON object"),
        (TEXT[:-20], "broken or cut"),
        ('{"brief": "x", "extra": 1}', "extra"),
        ('{"items": []}', "brief: Field required"),
        ("[1, 2]", "of that shape"),
        ("[" * 5000, "nested too deeply"),
        ("null", "no JSON object"),
    ],
)
def test_what_is_no_such_object_is_told_in_words_a_model_can_act_on(written, problem):
    with pytest.raises(Unreadable, match=problem):
        read_json(written, Plan)


def test_a_cut_object_is_never_completed():
    for end in range(1, len(TEXT)):
        with pytest.raises(Unreadable):
            read_json(TEXT[:end], Plan)


def test_a_complaint_holds_no_value_and_is_short():
    with pytest.raises(Unreadable) as caught:
        read_json(json.dumps({"brief": ["secret-canary"] * 900}), Plan)
    assert "canary" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_thoughts_are_cut_out_whole_or_half():
    assert without_thoughts("<think>a</think> b <thinking x=1>c</thinking> d") == "b  d"
    assert without_thoughts("a </reasoning> b") == "b"
    assert without_thoughts("<THINK> a") == ""
    assert without_thoughts("no tags") == "no tags"


@settings(max_examples=400)
@given(st.binary(max_size=400))
def test_no_bytes_can_break_the_reading(raw):
    text = raw.decode("utf-8", "replace")
    with suppress(Unreadable):
        assert isinstance(read_json(text, Plan), Plan)


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ":",
        ",",
        "<think>",
        "</think>",
        "```json\n",
        "```",
        "brief",
        "\n",
        "1e999",
        "null",
    ]
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=80).map("".join))
def test_no_row_of_brackets_quotes_and_tags_can_break_the_reading(text):
    with suppress(Unreadable):
        assert isinstance(read_json(text, Plan), Plan)


TALK = st.text(alphabet=st.characters(exclude_characters="{}[]<>`", exclude_categories=["Cs"]), max_size=200)
NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=300)
@given(before=TALK, after=TALK, brief=NAMES, query=NAMES, fenced=st.booleans())
def test_valid_json_hidden_in_prose_or_fences_is_found_braces_in_texts_included(
    before, after, brief, query, fenced
):
    plan = Plan(brief=brief, items=[Item(query=query)])
    text = plan.model_dump_json()
    hidden = f"{before}\n```json\n{text}\n```\n{after}" if fenced else f"{before}{text}{after}"
    assert read_json(hidden, Plan) == plan


HOSTILE = ("{" * 200_000, "[" * 200_000, '{"a":' * 100_000, "<think>" * 50_000, "```" * 90_000)


@pytest.mark.parametrize("hostile", [*HOSTILE, '["a' * 300_000, '{"a" ' * 300_000], ids=lambda text: text[:7])
def test_long_rows_of_openings_take_no_long_time(hostile):
    with pytest.raises(Unreadable):
        read_json(hostile, Plan)


def test_tags_inside_the_texts_of_an_object_are_no_thoughts_wherever_the_object_stands():
    brief = "write <think> and </think>, or only </think>"
    text = json.dumps({"brief": brief})
    for written in (
        f"Here:\n```json\n{text}\n```",
        f"<think>{{draft}}</think> So: {text}",
        f"I think.</think>{text} Done.",
    ):
        assert read_json(written, Plan).brief == brief


def test_references_and_code_before_an_object_do_not_hide_it():
    many = "".join(f"As [{n}] says, {{x}} is [1, 2]. " for n in range(2_000))
    assert read_json(many + TEXT, Plan) == PLAN


def test_a_draft_is_not_taken_where_the_object_that_follows_is_cut():
    with pytest.raises(Unreadable, match="broken or cut"):
        read_json(f'First: {{"brief": "draft"}}. Better: {TEXT[:-9]}', Plan)


def test_what_lies_inside_a_cut_object_is_not_taken_for_it():
    class Part(BaseModel):
        title: str
        parts: list["Part"] = Field(default_factory=list)

    with pytest.raises(Unreadable):
        read_json('{"title": "whole", "parts": [{"title": "a"}, {"title": "b', Part)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_in_json_is_none(number):
    with pytest.raises(Unreadable):
        read_json(f'{{"query": "x", "weight": {number}}}', Item)


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "<think>[1] {{</think>\n{}", "```\n{}"])
def test_a_cut_answer_that_is_nothing_but_the_object_is_taken(around):
    assert read_json(around.replace("{}", TEXT).replace("{{", "{"), Plan, cut=True) == PLAN


@pytest.mark.parametrize("around", ["Draft: {}", "{} and", "{} {}", "<think>x {}", "{}\n```\nBetter"])
def test_a_cut_answer_in_which_more_may_have_been_meant_is_not(around):
    with pytest.raises(Unreadable):
        read_json(around.replace("{}", TEXT), Plan, cut=True)


def test_a_validator_that_stumbles_makes_an_answer_unreadable_and_no_more():
    class Picky(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def known(cls, name):
            return {}[name]

    with pytest.raises(Unreadable, match="KeyError"):
        read_json('{"name": "x"}', Picky)


def test_a_list_is_read_where_one_is_wanted():
    class Names(RootModel[list[str]]):
        pass

    assert read_json('They are: ["a", "b"].', Names).root == ["a", "b"]


def test_half_a_character_is_replaced_and_two_halves_are_joined():
    written = r'{"brief": "a\ud800b \ud83d\udd14", "items": [{"query": "\udc00"}], "tags": ["\ud800"]}'
    plan = read_json(written, Plan)
    assert plan.brief == "a\ufffdb \U0001f514"
    assert (plan.items[0].query, plan.tags) == ("\ufffd", ("\ufffd",))
    assert plan.model_dump_json()


class Notes(BaseModel):
    by_name: dict[str, str]


def test_half_a_character_in_a_name_is_replaced_as_well():
    assert read_json(r'{"by_name": {"\udfff": "x"}}', Notes).by_name == {"\ufffd": "x"}
