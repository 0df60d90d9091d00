"""What a server lacks, overhears, or will not take."""

import json

import anthropic
import openai
import pytest

from deep_research.errors import UnknownNameError
from servers import ABILITIES, ModelServer, Usage

pytestmark = pytest.mark.timed

WIRES = ["anthropic", "responses", "chat", "ollama"]
DATA = {"name": "keeper", "ids": ["a", "b"]}
MESSAGES = [{"role": "user", "content": "hello"}]

everywhere = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@everywhere
@pytest.mark.parametrize(("how", "ability"), [("structured", "schema"), ("forced", "tools")])
def test_what_a_server_cannot_do_it_refuses(desk, how, ability, wire):
    desk.server.abilities = ABILITIES - {ability}
    error = desk.ask(wire, **{how: True}).error
    assert error.response.status_code == 400
    assert "support" in error.response.text
    assert desk.ask(wire).error is None


@everywhere
@pytest.mark.parametrize(("how", "ability"), [("structured", "schema"), ("forced", "tools")])
def test_what_a_server_overhears_it_answers_in_prose(desk, how, ability, wire):
    desk.server.answers = [DATA]
    desk.server.ignores = {ability}
    assert desk.ask(wire, **{how: True}).text.startswith("Certainly!")
    assert json.loads(desk.ask(wire).text) == DATA


@pytest.mark.parametrize("wire", ["responses", "chat", "ollama"])
@both_ways
def test_a_server_without_usage_sends_none_but_the_log_has_it(desk, wire, stream):
    desk.server.abilities = ABILITIES - {"usage"}
    outcome = desk.ask(wire, stream=stream)
    assert (outcome.error, outcome.input, outcome.output) == (None, None, None)
    (served,) = desk.server.log
    assert served.usage == Usage(input=3, output=23)
    assert served.maybe


def test_the_anthropic_sdk_cannot_stream_from_a_server_without_usage(desk):
    desk.server.abilities = ABILITIES - {"usage"}
    assert desk.ask("anthropic").raw.usage is None
    assert type(desk.ask("anthropic", stream=True).error) is AttributeError


def test_a_chat_stream_has_usage_only_if_asked_for(desk):
    assert desk.ask("chat", stream=True).output == 23
    assert desk.ask("chat", stream=True, stream_options={}).output is None
    assert [served.maybe for served in desk.server.log] == [False, True]


def test_a_server_that_cannot_count_or_stream_says_so(desk):
    desk.server.abilities = ABILITIES - {"count", "stream"}
    with pytest.raises(anthropic.NotFoundError):
        desk.run(desk.anthropic.messages.count_tokens(model="m", messages=MESSAGES))
    assert desk.ask("chat", stream=True).error.status_code == 400


def test_json_can_be_asked_for_without_a_schema(desk):
    form = {"response_format": {"type": "json_object"}}
    assert desk.ask("chat", **form).text == "{}"
    desk.server.abilities = ABILITIES - {"json"}
    assert desk.ask("chat", **form).error.status_code == 400


def loosened(schema, how):
    if how == "open":
        return {key: value for key, value in schema.items() if key != "additionalProperties"}
    if how == "bounded":
        return schema | {"properties": {"name": {"type": "string", "minLength": 3}}, "required": ["name"]}
    return schema | {"required": ["name"]}


@pytest.mark.parametrize(
    ("loose", "anthropic_says", "openai_says"),
    [
        (
            "open",
            "'additionalProperties' must be explicitly set to false",
            "'additionalProperties' is required",
        ),
        ("bounded", "properties minLength are not supported", None),
        ("optional", None, "Missing 'ids'"),
    ],
)
def test_a_schema_that_the_real_service_refuses_is_refused(desk, loose, anthropic_says, openai_says):
    schema = loosened(desk.schema, loose)
    form = {"type": "json_schema", "schema": schema}
    named = {"name": "note", "strict": True, "schema": schema}
    said = desk.ask("anthropic", output_config={"format": form}).error
    assert (said is None) is (anthropic_says is None)
    assert (anthropic_says or "") in str(said)
    tool = {"name": "note", "strict": True, "input_schema": schema}
    assert (desk.ask("anthropic", tools=[tool]).error is None) is (anthropic_says is None)
    for error in (
        desk.ask("chat", response_format={"type": "json_schema", "json_schema": named}).error,
        desk.run(refused(desk, {"type": "json_schema", **named})),
    ):
        assert (error is None) is (openai_says is None)
        assert (openai_says or "") in str(error)
    lax = {"type": "json_schema", "json_schema": named | {"strict": False}}
    assert desk.ask("chat", response_format=lax).error is None


async def refused(desk, form):
    try:
        await desk.openai.responses.create(model="m", input="hello", text={"format": form})
    except openai.BadRequestError as error:
        return error
    return None


def test_an_unknown_ability_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'tools'"):
        ModelServer(ignores={"tool"})
