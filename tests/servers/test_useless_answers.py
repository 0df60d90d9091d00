"""Faults of the answer itself: well sent, and of no use."""

import json

import pytest

from servers import Fault

pytestmark = pytest.mark.timed

WIRES = ["anthropic", "responses", "chat", "ollama"]
DATA = {"name": "x" * 80, "ids": ["a1", "a2"]}

everywhere = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def only(desk):
    (served,) = desk.server.log
    return served


LENGTH = {"anthropic": "max_tokens", "responses": "incomplete", "chat": "length", "ollama": "length"}
ENDED = {"anthropic": "end_turn", "responses": "completed", "chat": "stop", "ollama": "stop"}


@everywhere
@both_ways
def test_too_long_an_answer_ends_with_the_reason_of_its_service(ask_under, wire, stream):
    outcome = ask_under("length", wire, stream=stream)
    assert outcome.stop == LENGTH[wire]
    assert (outcome.error is None) is not (wire == "responses" and stream)


@everywhere
@both_ways
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("truncated-json", json.dumps(DATA)[: len(json.dumps(DATA)) // 2]),
        ("prose", "Certainly!"),
        ("wrong-schema", '{"unexpected": '),
        ("empty", ""),
    ],
)
def test_a_useless_answer_ends_as_a_good_one_does(desk, ask_under, kind, text, wire, stream):
    desk.server.answers = [DATA]
    outcome = ask_under(kind, wire, stream=stream, structured=True)
    assert outcome.stop == ENDED[wire]
    assert outcome.text.startswith(text)
    assert outcome.output == only(desk).usage.output
    if kind == "empty":
        assert outcome.text == ""


@both_ways
def test_a_refusal_is_said_where_each_service_says_it(desk, ask_under, stream):
    refused = ask_under("refusal", "anthropic", stream=stream).raw
    assert (refused.stop_reason, refused.content, refused.stop_details.type) == ("refusal", [], "refusal")
    item = ask_under("refusal", "responses", stream=stream).raw.output[0]
    assert item.content[0].type == "refusal"
    if not stream:
        said = ask_under("refusal", "chat", stream=False).raw.choices[0].message
        assert (said.content, said.refusal[:9]) == (None, "I'm sorry")


@both_ways
def test_a_content_filter_is_a_stop_of_its_own_at_openai_and_a_late_refusal_at_anthropic(ask_under, stream):
    assert ask_under("content-filter", "chat", stream=stream).stop == "content_filter"
    assert ask_under("content-filter", "responses", stream=stream).stop == "incomplete"
    late = ask_under("content-filter", "anthropic", stream=stream)
    assert late.stop == "refusal"
    assert late.text


@everywhere
@both_ways
def test_a_huge_answer_keeps_its_shape_and_is_charged_up_to_the_limit(desk, wire, stream):
    desk.server.answers = [DATA]
    desk.server.faults = [Fault("huge", size=300_000)]
    outcome = desk.ask(wire, stream=stream, structured=True)
    assert len(json.loads(outcome.text)["name"]) > 300_000
    assert outcome.output == (1000 if wire == "anthropic" else only(desk).usage.output)


def test_ids_are_doubled_or_come_in_another_order(desk, ask_under):
    desk.server.answers = [
        {"notes": [{"id": "n1", "x": 1}, {"id": "n2", "x": 2}], "source_ids": ["s1", "s2"]}
    ]
    doubled = json.loads(ask_under("duplicate-ids", "chat", stream=False).text)
    assert doubled == {"notes": [{"id": "n1", "x": 1}, {"id": "n1", "x": 2}], "source_ids": ["s1", "s1"]}
    turned = json.loads(ask_under("out-of-order-ids", "chat", stream=False).text)
    assert turned == {"notes": [{"id": "n2", "x": 2}, {"id": "n1", "x": 1}], "source_ids": ["s2", "s1"]}
