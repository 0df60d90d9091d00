"""A server that refuses a part of a request is asked in another way from then on, whatever words it has for it."""

import asyncio

import pytest
from pydantic import BaseModel
from servers import Fault, ModelServer

from deep_research.models import Message, ModelCall
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.clients_errors import OptionalParams
from deep_research.models.failures import from_status, usage_of
from deep_research.models.language_model import SingleModel
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities, Rung

pytestmark = pytest.mark.timed

KEY = "key-0123456789"
WIRES = {
    "chat": lambda url: OpenAIChat("model-1", api_key=KEY, base_url=f"{url}/v1"),
    "responses": lambda url: OpenAIResponses("model-1", api_key=KEY, base_url=f"{url}/v1"),
    "ollama": lambda url: Ollama("model-1", base_url=url),
    "anthropic": lambda url: AnthropicMessages("model-1", api_key=KEY, base_url=url),
}
FORMS = {  # what a request has that asks for a schema
    "chat": '"response_format"',
    "responses": '"json_schema"',
    "ollama": '"format"',
    "anthropic": '"output_config"',
}
CALL = ModelCall(system="Count well.", messages=(Message(content="How many ships?"),), timeout=300)


class Ships(BaseModel):
    number: int


async def no_sleep(_seconds):
    pass


def text(provider, *, pieces=None, times=1):
    async def ask():
        persistence = Persistence(sleep=no_sleep)
        model = SingleModel(
            provider, Profile(), abilities=Abilities(), persistence=persistence, timeout=300.0
        )
        try:
            return [
                (await model.text(CALL, on_piece=None if pieces is None else pieces.append)).value
                for _ in range(times)
            ]
        finally:
            await provider.aclose()

    return asyncio.run(ask())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("400", "System role not supported"),
        ("500", "Jinja Exception: System role not supported in template"),
        ("400", "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("400", "Only user and assistant roles are supported!"),
        ("400", "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        ("400", "Developer instruction is not enabled for models/gemma-3-27b-it"),
        ("400", "This model doesn't support system messages."),
        ("400", 'Unexpected role "system".'),
        ("400", "messages.0.role: role must be one of user, assistant"),
        ("400", "The system prompt is disabled for this deployment."),
    ],
)
def test_where_there_is_no_role_for_it_the_system_text_heads_the_first_turn(wire, status, words):
    with ModelServer(["Seven."], faults=[Fault(status, message=words)]) as server:
        assert text(WIRES[wire](server.base_url), times=2) == ["Seven.", "Seven."]
        refused, *others = server.log
    assert [served.status for served in others] == [200, 200]
    assert any(message["role"] != "user" for message in refused.messages)
    for served in others:
        (message,) = served.messages
        assert message["role"] == "user"
        assert message["content"] == "Count well.\n\nHow many ships?"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("400", "Streaming is not supported for this deployment"),
        ("400", "stream: must be false"),
        ("400", "'stream' is not permitted"),
        ("500", "stream=true is not implemented"),
    ],
)
def test_a_server_that_does_not_stream_is_asked_for_whole_answers(wire, status, words):
    pieces = []
    with ModelServer(["Seven."], faults=[Fault(status, message=words)]) as server:
        assert text(WIRES[wire](server.base_url), pieces=pieces, times=2) == ["Seven.", "Seven."]
        assert [served.stream for served in server.log] == [True, False, False]
    assert pieces == ["Seven.", "Seven."]


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_a_server_lost_says_nothing_of_what_it_takes(wire):
    words = "stream error: unexpected EOF"
    with ModelServer(["Seven."], faults=[Fault("500", message=words)]) as server:
        assert text(WIRES[wire](server.base_url), pieces=[]) == ["Seven."]
        assert [served.stream for served in server.log] == [True, True]


def test_what_may_be_billed_of_a_refusal_stays_unknown():
    call = CALL.model_copy(update={"max_output": 100})
    for status, maybe_billed in ((400, False), (500, True)):
        error = from_status(status, "stream=true is not implemented", model="m")
        learned = OptionalParams().learned(error, {"stream": True}, call)
        assert learned is not error
        assert usage_of(learned).is_known is not maybe_billed


def test_the_options_of_a_stream_are_refused_by_themselves():
    with ModelServer(["Seven."], dialect="no-stream-options") as server:
        text(WIRES["chat"](server.base_url), pieces=[], times=2)
        assert [(served.stream, served.status) for served in server.log] == [
            (True, 422),
            (True, 200),
            (True, 200),
        ]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "words",
    [
        "Internal error: grammar could not be compiled",
        "failed to parse grammar",
        "Unsupported JSON schema: $defs",
        "response_format is broken here",
        "Internal Server Error",
        "",
    ],
)
def test_a_service_that_fails_over_the_form_is_asked_in_another_way(wire, words):
    with ModelServer([{"number": 7}]) as server:
        provider = WIRES[wire](server.base_url)
        server.faults = [Fault("500", match=FORMS[wire], message=words or None, times=None)]
        abilities = Abilities()

        async def ask():
            try:
                persistence = Persistence(sleep=no_sleep)
                model = SingleModel(
                    provider, Profile(), abilities=abilities, persistence=persistence, timeout=300.0
                )
                return [await model.object(CALL, Ships) for _ in range(2)]
            finally:
                await provider.aclose()

        first, second = asyncio.run(ask())
    assert first.value == second.value == Ships(number=7)
    assert first.rung is second.rung is (Rung.JSON if wire == "ollama" else Rung.TOOL)
    assert first.requests <= 3
    assert second.requests == 1
    assert Rung.SCHEMA not in abilities.rungs(provider.identity, provider.forms)
