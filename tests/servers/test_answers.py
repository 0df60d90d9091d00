"""What good answers look like through the installed SDKs: shapes, usage, caches, abilities."""

import json
import subprocess
import sys
from pathlib import Path

import anthropic
import httpx2
import pytest
from pydantic import BaseModel, Field

from servers import Answer, Fault, ModelServer, Usage
from servers.instances import instance

pytestmark = pytest.mark.timed

WIRES = ["anthropic", "responses", "chat", "ollama"]
DATA = {"name": "keeper", "ids": ["a", "b"]}
MESSAGES = [{"role": "user", "content": "hello"}]

everywhere = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
ENDED = {"anthropic": "end_turn", "responses": "completed", "chat": "stop", "ollama": "stop"}


@everywhere
@both_ways
def test_a_text_comes_back_whole_with_its_usage(desk, wire, stream):
    desk.server.answers = ["Sieben Schiffe — and none was seen again. " * 9]
    outcome = desk.ask(wire, stream=stream)
    (served,) = desk.server.log
    assert outcome.text == "Sieben Schiffe — and none was seen again. " * 9
    assert outcome.stop == ENDED[wire]
    assert (outcome.input, outcome.output) == (served.usage.input, served.usage.output) == (3, 99)
    assert (served.status, served.fault, served.maybe) == (200, None, False)


@everywhere
@both_ways
@pytest.mark.parametrize("how", ["structured", "forced"])
def test_data_comes_back_in_the_shape_that_was_asked_for(desk, how, wire, stream):
    desk.server.answers = [DATA]
    outcome = desk.ask(wire, stream=stream, **{how: True})
    assert json.loads(outcome.text) == DATA
    (served,) = desk.server.log
    assert served.tools == (("note",) if how == "forced" else ())


@both_ways
def test_a_forced_tool_stops_for_the_tool(desk, stream):
    assert desk.ask("anthropic", stream=stream, forced=True).stop == "tool_use"
    assert desk.ask("chat", stream=stream, forced=True).stop == "tool_calls"
    call = desk.ask("responses", stream=stream, forced=True).raw.output[0]
    assert (call.type, call.name, json.loads(call.arguments)) == (
        "function_call",
        "note",
        {"name": "word", "ids": []},
    )


class Note(BaseModel):
    name: str = Field(min_length=6)
    share: float = Field(gt=0, lt=1)
    count: int = Field(ge=3)
    ids: list[str] = Field(min_length=2)
    parent: "Note | None" = None


@both_ways
def test_without_answers_the_sdks_own_parsing_of_a_pydantic_model_succeeds(desk, stream):
    request = {"model": "m", "max_tokens": 500, "messages": MESSAGES, "output_format": Note}
    if stream:

        async def streamed():
            async with desk.anthropic.messages.stream(**request) as stream:
                return await stream.get_final_message()

        parsed = desk.run(streamed()).parsed_output
    else:
        parsed = desk.run(desk.anthropic.messages.parse(**request)).parsed_output
    assert parsed == Note(name="wordwo", share=0.5, count=3, ids=["word", "word"])
    said = desk.run(desk.openai.responses.parse(model="m", input="hello", text_format=Note))
    assert said.output_parsed == parsed
    chat = desk.run(desk.openai.chat.completions.parse(model="m", messages=MESSAGES, response_format=Note))
    assert chat.choices[0].message.parsed == parsed


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        ({"const": 7}, 7),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": ["string", "null"]}, None),
        ({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "integer"}]}, 0),
        ({"allOf": [{"$ref": "#/$defs/N"}], "$defs": {"N": {"type": "number", "minimum": 2.5}}}, 2.5),
        ({"type": "integer", "maximum": -4}, -4),
        ({"type": "array", "minItems": 2, "items": {"type": "boolean"}}, [False, False]),
        ({"type": "string", "maxLength": 2}, "wo"),
    ],
)
def test_the_smallest_instance_of_a_schema(schema, smallest):
    assert instance(schema) == smallest


def test_a_schema_that_needs_itself_has_no_instance():
    with pytest.raises(ValueError, match="needs itself"):
        instance({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})


@both_ways
def test_reasoning_is_shown_and_counted_apart(desk, stream):
    desk.server.answers = [Answer("seven", reasoning="counting " * 4)]
    thought = desk.ask("anthropic", stream=stream).raw
    assert thought.content[0].thinking == "counting " * 4
    assert (thought.usage.output_tokens, thought.usage.output_tokens_details.thinking_tokens) == (11, 9)
    reply = desk.ask("responses", stream=stream).raw
    assert reply.output[0].summary[0].text == "counting " * 4
    assert reply.usage.output_tokens_details.reasoning_tokens == 9
    assert desk.server.billed.reasoning == 18


@everywhere
@both_ways
def test_an_answer_longer_than_the_request_wants_is_cut_with_a_length_stop(desk, wire, stream):
    limit = {
        "anthropic": {"max_tokens": 2},
        "responses": {"max_output_tokens": 2},
        "chat": {"max_completion_tokens": 2},
        "ollama": {"options": {"num_predict": 2}},
    }[wire]
    outcome = desk.ask(wire, stream=stream, **limit)
    assert (outcome.text, outcome.output) == ("The keep", 2)
    assert outcome.stop in ("max_tokens", "incomplete", "length")


def test_a_failed_response_does_not_raise(desk):
    desk.server.answers = [Answer(stop="failed")]
    reply = desk.ask("responses").raw
    assert (reply.status, reply.error.code, reply.output) == ("failed", "server_error", [])
    assert type(desk.ask("responses", stream=True).error) is RuntimeError


def test_usage_can_be_prescribed(desk):
    desk.server.answers = [Answer("x", usage=Usage(input=100, cached=60, output=7, written=10))]
    usage = desk.ask("anthropic").raw.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (
        30,
        60,
        10,
    )
    assert desk.server.billed == Usage(input=100, cached=60, output=7, written=10)


# Caches


def test_a_marked_prefix_is_written_once_and_read_from_then_on(desk):
    prefix = [{"type": "text", "text": "x" * 4000, "cache_control": {"type": "ephemeral"}}]
    first, second = (desk.ask("anthropic", system=prefix, text=text).raw.usage for text in ("one", "two!"))
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (1002, 0)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 1002)
    assert first.input_tokens + 1002 == desk.server.log[0].usage.input
    unmarked = desk.ask("anthropic", system="x" * 4000).raw.usage
    assert (unmarked.cache_creation_input_tokens, unmarked.cache_read_input_tokens) == (0, 0)


def test_a_mark_on_the_whole_request_is_one_at_its_end(desk):
    mark = {"cache_control": {"type": "ephemeral"}}
    first, second = (desk.ask("anthropic", **mark).raw.usage for _ in range(2))
    assert (first.cache_creation_input_tokens, second.cache_read_input_tokens) == (3, 3)


def test_openai_caches_prefixes_unasked_and_apart_for_each_model(desk):
    asked = {"instructions": "x" * 4000}
    first, second = (desk.ask("responses", text=text, **asked).raw.usage for text in ("one", "two"))
    other = desk.ask("responses", model="n", **asked).raw.usage
    assert [u.input_tokens_details.cached_tokens for u in (first, second, other)] == [0, 1002, 0]
    assert desk.server.billed.cached == 1002


def test_what_failed_before_it_was_answered_is_not_cached(desk):
    desk.server.faults = [Fault("500")]
    usages = [desk.ask("chat") for _ in range(2)][1].raw.usage
    assert usages.prompt_tokens_details.cached_tokens == 0


def test_prompts_below_a_size_can_be_left_out_of_the_cache(desk):
    with ModelServer(cache_from=1024) as server:
        asked = {"model": "m", "messages": MESSAGES}
        replies = [
            httpx2.post(server.base_url + "/v1/chat/completions", json=asked, trust_env=False)
            for _ in range(2)
        ]
    assert replies[1].json()["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


# Counting, lists


def test_counting_agrees_with_what_is_charged(desk):
    asked = {"model": "m", "messages": MESSAGES, "system": "Be brief.", "tools": []}
    counted = desk.run(desk.anthropic.messages.count_tokens(**asked)).input_tokens
    desk.run(desk.anthropic.messages.create(max_tokens=10, **asked))
    assert counted == desk.server.log[1].usage.input
    asked = {"model": "m", "input": "hello", "instructions": "Be brief."}
    counted = desk.run(desk.openai.responses.input_tokens.count(**asked)).input_tokens
    desk.run(desk.openai.responses.create(**asked))
    assert counted == desk.server.log[3].usage.input
    assert [served.usage for served in desk.server.log[::2]] == [None, None]


def test_models_are_listed_to_each_client_in_its_format(desk):
    assert [model.id for model in desk.run(desk.openai.models.list()).data] == ["model-1"]
    (model,) = desk.run(desk.anthropic.models.list()).data
    assert (model.id, model.max_input_tokens) == ("model-1", 8192)
    assert desk.run(desk.openai.models.retrieve("model-1")).id == "model-1"
    with pytest.raises(anthropic.NotFoundError):
        desk.run(desk.anthropic.models.retrieve("model-2"))


def test_ollama_lists_its_models_and_says_how_long_a_context_may_be(desk):
    tags = desk.run(desk.plain.get("/api/tags")).json()
    assert [model["name"] for model in tags["models"]] == ["model-1"]
    shown = desk.run(desk.plain.post("/api/show", json={"model": "model-1"})).json()
    assert shown["model_info"]["testing.context_length"] == 8192
    missing = desk.run(desk.plain.post("/api/show", json={"model": "model-2"}))
    assert (missing.status_code, missing.json()) == (404, {"error": "model 'model-2' not found"})


def test_ollama_reads_no_more_than_its_context_and_says_so_only_in_the_count(desk):
    assert desk.ask("ollama", text="x" * 40_000).input == 4096
    assert desk.ask("ollama", text="x" * 40_000, options={"num_ctx": 16_384}).input == 10_002
    assert [served.context for served in desk.server.log] == [4096, 16_384]


def test_the_servers_need_no_sdk():
    code = "import sys, servers as s; print({'anthropic', 'openai'} & set(sys.modules))"
    tests = Path(__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", code], cwd=tests, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
