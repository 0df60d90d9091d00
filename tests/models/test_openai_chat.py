"""What is the compatible servers' own: who gets which headers, and errors of the services behind a router."""

from __future__ import annotations

import asyncio
import json

import pytest
from servers import ModelServer
from servers.http import Reply as Canned

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, OnText, Reply, StopReason
from deep_research.models.failures import Verdict
from deep_research.models.openai_chat import OpenAIChat

pytestmark = pytest.mark.timed

CALL = ModelCall(messages=(Message(content="How many ships?"),), timeout=120)


def test_a_stranger_gets_no_header_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-0123456789")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "user-agent: secret-of-a-gateway\nAuthorization: Bearer secret"
    )
    with ModelServer() as server:
        _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1"))
        assert "secret" not in str(server.log[0].headers)
        assert server.log[0].headers["authorization"] == "Bearer none"
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        _send(OpenAIChat("model-1"))
        assert server.log[1].headers["user-agent"] == "secret-of-a-gateway"
        assert server.log[1].headers["authorization"] == "Bearer key-0123456789"


def test_an_error_in_the_middle_of_an_answer_may_have_cost_something() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Seven"}}]}
    error = {"error": {"code": 429, "message": "The service behind is busy."}}
    pieces = tuple(f"data: {json.dumps(event)}\n\n".encode() for event in (chunk, error))
    with ModelServer() as server:
        server.canned = Canned(200, pieces, "text/event-stream", chunked=True)
        with pytest.raises(ModelError) as raised:
            _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1"))
    assert raised.value.verdict == Verdict.TRANSIENT
    assert raised.value.data["maybe_billed"]
    assert not raised.value.data["usage"]["is_known"]


def _send(provider: OpenAIChat, on_text: OnText | None = lambda _: None) -> Reply:
    async def run() -> Reply:
        try:
            return await provider.send(CALL, on_text)
        finally:
            await provider.aclose()

    return asyncio.run(run())


END = [{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}, "[DONE]"]


@pytest.mark.parametrize("finish", [{"finish_reason": None}, {"finish_reason": ""}, {}])
@pytest.mark.parametrize(
    ("rest", "stop"),
    [
        (END, StopReason.END),
        (END[1:], StopReason.END),
        (END[:1], StopReason.INCOMPLETE),
        ([], StopReason.INCOMPLETE),
    ],
)
def test_a_stream_that_does_not_say_how_it_ended_is_whole_where_it_says_that_it_did(
    finish, rest, stop
) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Seven"}, **finish}]}
    events = [event if isinstance(event, str) else json.dumps(event) for event in (chunk, *rest)]
    pieces = tuple(f"data: {event}\n\n".encode() for event in events)
    with ModelServer() as server:
        server.canned = Canned(200, pieces, "text/event-stream", chunked=True)
        reply = _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1"))
    assert (reply.text, reply.stop) == ("Seven", stop)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", StopReason.END),
        ("STOP", StopReason.END),
        ("eos_token", StopReason.END),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("model_length", StopReason.LENGTH),
        ("SAFETY", StopReason.REFUSAL),
        ("error", StopReason.INCOMPLETE),
        (None, StopReason.END),
        ("", StopReason.END),
        (7, StopReason.END),
    ],
)
def test_a_whole_answer_ends_as_it_says_and_well_where_it_says_nothing(finish, stop) -> None:
    choice = {"index": 0, "message": {"content": "Seven"}, "finish_reason": finish}
    with ModelServer() as server:
        server.canned = Canned(200, (json.dumps({"choices": [choice]}).encode(),))
        assert _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1")).stop is stop


ERRORS = [
    {"error": "It is too hot."},
    {"error": {"message": "It is too hot."}},
    {"object": "error", "message": "It is too hot.", "code": 500},
    {"detail": "It is too hot."},
]


@pytest.mark.parametrize(
    ("error", "media", "before"),
    [(error, media, 0) for error in ERRORS for media in ("application/json", "text/event-stream")]
    + [(error, "text/event-stream", 1) for error in ERRORS[:3]],
)
def test_an_error_that_comes_as_an_answer_is_told_in_its_words(error, media, before) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Seven"}}]}
    events = [json.dumps(event) for event in (*[chunk] * before, error)]
    pieces = [f"event: error\ndata: {event}\n\n" if "stream" in media else event for event in events]
    with ModelServer() as server:
        server.canned = Canned(200, tuple(piece.encode() for piece in pieces), media)
        with pytest.raises(ModelError, match=r"It is too hot\."):
            _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1"))


def test_a_stream_that_was_not_asked_for_is_read() -> None:
    events = [json.dumps({"choices": [{"delta": {"content": word}}]}) for word in ("Seven", " ships")]
    pieces = tuple(f"data: {event}\n\n".encode() for event in (*events, "[DONE]"))
    with ModelServer() as server:
        server.canned = Canned(200, pieces, "text/event-stream")
        reply = _send(OpenAIChat("model-1", base_url=f"{server.base_url}/v1"), None)
    assert (reply.text, reply.stop) == ("Seven ships", StopReason.END)
