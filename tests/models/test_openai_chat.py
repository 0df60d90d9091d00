"""What is the compatible servers' own: who gets which headers, and errors of the services behind a router."""

from __future__ import annotations

import asyncio
import json

import pytest

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall
from deep_research.models.failures import Verdict
from deep_research.models.openai_chat import OpenAIChat
from deep_research.testing.servers import ModelServer
from deep_research.testing.servers.http import Reply as Canned

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
    assert not raised.value.data["usage"]["known"]


def _send(provider: OpenAIChat) -> None:
    async def run() -> None:
        try:
            await provider.send(CALL, lambda _: None)
        finally:
            await provider.aclose()

    asyncio.run(run())
