"""One server and one client per wire format for all of these tests; every test finds the server as new."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from servers import ABILITIES, Fault, ModelServer

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ids": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "ids"],
    "additionalProperties": False,
}


@dataclass
class Outcome:
    """What a client saw. ``error`` is what the SDK raised; ``raw`` what it returned, ``events`` what it streamed."""

    text: str | None = None
    stop: Any = None
    input: int | None = None
    output: int | None = None
    raw: Any = None
    events: int = 0
    error: BaseException | None = None


class Desk:
    """Asks the server through real clients, all on one loop."""

    schema = SCHEMA

    def __init__(self, server: ModelServer, runner: asyncio.Runner) -> None:
        self.server = server
        self._runner = runner
        limits = {"api_key": "key-1", "max_retries": 0, "timeout": 300.0}
        self.anthropic = anthropic.AsyncAnthropic(base_url=server.base_url, **limits)
        self.openai = openai.AsyncOpenAI(base_url=server.base_url + "/v1", **limits)
        self.plain = httpx2.AsyncClient(base_url=server.base_url, timeout=300.0)

    def run(self, work: Awaitable[Any], seconds: float = 300.0) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(seconds):
                return await work

        return self._runner.run(bounded())

    def ask(self, wire: str, *, stream: bool = False, seconds: float = 300.0, **request: Any) -> Outcome:
        """One request; nothing is raised."""
        asked = getattr(self, f"_{wire}_{'streamed' if stream else 'plain'}")
        outcome = Outcome()
        try:
            self.run(asked(outcome, **request), seconds)
        except Exception as error:
            outcome.error = error
        return outcome

    def close(self) -> None:
        for client in (self.anthropic, self.openai):
            self._runner.run(client.close())
        self._runner.run(self.plain.aclose())

    async def _anthropic_plain(self, outcome: Outcome, **more: Any) -> None:
        outcome.raw = reply = await self.anthropic.messages.create(**_anthropic_request(more))
        _anthropic_outcome(outcome, reply)

    async def _anthropic_streamed(self, outcome: Outcome, **more: Any) -> None:
        async with self.anthropic.messages.stream(**_anthropic_request(more)) as stream:
            async for _ in stream:
                outcome.events += 1
            outcome.raw = reply = await stream.get_final_message()
        _anthropic_outcome(outcome, reply)

    async def _responses_plain(self, outcome: Outcome, **more: Any) -> None:
        outcome.raw = reply = await self.openai.responses.create(**_responses_request(more))
        _responses_outcome(outcome, reply)

    async def _responses_streamed(self, outcome: Outcome, **more: Any) -> None:
        async with self.openai.responses.stream(**_responses_request(more)) as stream:
            async for event in stream:
                outcome.events += 1
                if event.type in ("response.incomplete", "response.failed"):
                    _responses_outcome(outcome, event.response)
            outcome.raw = reply = await stream.get_final_response()
        _responses_outcome(outcome, reply)

    async def _chat_plain(self, outcome: Outcome, **more: Any) -> None:
        outcome.raw = reply = await self.openai.chat.completions.create(**_chat_request(more))
        if isinstance(reply, openai.types.chat.ChatCompletion) and reply.choices:
            said = reply.choices[0].message
            calls = [call.function.arguments for call in said.tool_calls or ()]
            outcome.text, outcome.stop = said.content or "".join(calls), reply.choices[0].finish_reason
            if reply.usage:
                outcome.input, outcome.output = reply.usage.prompt_tokens, reply.usage.completion_tokens

    async def _chat_streamed(self, outcome: Outcome, **more: Any) -> None:
        more.setdefault("stream_options", {"include_usage": True})
        outcome.text = ""
        stream = await self.openai.chat.completions.create(**_chat_request(more), stream=True)
        async for chunk in stream:
            outcome.events += 1
            for choice in chunk.choices:
                calls = [call.function.arguments or "" for call in choice.delta.tool_calls or ()]
                outcome.text += (choice.delta.content or "") + "".join(calls)
                outcome.stop = choice.finish_reason or outcome.stop
            if chunk.usage:
                outcome.input, outcome.output = chunk.usage.prompt_tokens, chunk.usage.completion_tokens

    async def _ollama_plain(self, outcome: Outcome, **more: Any) -> None:
        reply = await self.plain.post("/api/chat", json=_ollama_request(more) | {"stream": False})
        reply.raise_for_status()
        outcome.raw = reply.json()
        if isinstance(outcome.raw, dict) and "message" in outcome.raw:
            _ollama_outcome(outcome, [outcome.raw])

    async def _ollama_streamed(self, outcome: Outcome, **more: Any) -> None:
        lines: list[dict[str, Any]] = []
        async with self.plain.stream("POST", "/api/chat", json=_ollama_request(more)) as reply:
            reply.raise_for_status()
            async for line in reply.aiter_lines():
                outcome.events += 1
                lines.append(json.loads(line))
                _ollama_outcome(outcome, lines)


def _anthropic_request(more: dict[str, Any]) -> dict[str, Any]:
    if more.pop("structured", False):
        more["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
    if more.pop("forced", False):
        more["tools"] = [{"name": "note", "description": "Note it.", "input_schema": SCHEMA}]
        more["tool_choice"] = {"type": "tool", "name": "note"}
    text = more.pop("text", "hello")
    return {"model": "m", "max_tokens": 1000, "messages": [{"role": "user", "content": text}], **more}


def _anthropic_outcome(outcome: Outcome, reply: Any) -> None:
    if isinstance(reply, anthropic.types.Message) and reply.content is not None:
        texts = [block.text for block in reply.content if block.type == "text"]
        texts += [json.dumps(block.input) for block in reply.content if block.type == "tool_use"]
        outcome.text, outcome.stop = "".join(texts), reply.stop_reason
        if reply.usage:
            outcome.input, outcome.output = reply.usage.input_tokens, reply.usage.output_tokens


def _responses_request(more: dict[str, Any]) -> dict[str, Any]:
    text = more.pop("text", "hello")
    if more.pop("structured", False):
        more["text"] = {"format": {"type": "json_schema", "name": "note", "strict": True, "schema": SCHEMA}}
    if more.pop("forced", False):
        more["tools"] = [{"type": "function", "name": "note", "parameters": SCHEMA, "strict": True}]
        more["tool_choice"] = {"type": "function", "name": "note"}
    return {"model": "m", "input": text, **more}


def _responses_outcome(outcome: Outcome, reply: Any) -> None:
    if isinstance(reply, openai.types.responses.Response) and reply.output is not None:
        calls = [item.arguments for item in reply.output if item.type == "function_call"]
        outcome.text, outcome.stop = reply.output_text or "".join(calls), reply.status
        if reply.usage:
            outcome.input, outcome.output = reply.usage.input_tokens, reply.usage.output_tokens


def _chat_request(more: dict[str, Any]) -> dict[str, Any]:
    text = more.pop("text", "hello")
    if more.pop("structured", False):
        form = {"name": "note", "strict": True, "schema": SCHEMA}
        more["response_format"] = {"type": "json_schema", "json_schema": form}
    if more.pop("forced", False):
        more["tools"] = [{"type": "function", "function": {"name": "note", "parameters": SCHEMA}}]
        more["tool_choice"] = {"type": "function", "function": {"name": "note"}}
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def _ollama_request(more: dict[str, Any]) -> dict[str, Any]:
    text = more.pop("text", "hello")
    if more.pop("structured", False):
        more["format"] = SCHEMA
    if more.pop("forced", False):
        more["tools"] = [{"type": "function", "function": {"name": "note", "parameters": SCHEMA}}]
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def _ollama_outcome(outcome: Outcome, lines: list[dict[str, Any]]) -> None:
    said = [line["message"] for line in lines if "message" in line]
    calls = [json.dumps(call["function"]["arguments"]) for m in said for call in m.get("tool_calls", ())]
    outcome.text = "".join(message["content"] for message in said) or "".join(calls)
    outcome.stop, outcome.raw = lines[-1].get("done_reason"), lines[-1]
    outcome.input, outcome.output = lines[-1].get("prompt_eval_count"), lines[-1].get("eval_count")


@pytest.fixture(scope="session")
def shared_desk() -> Iterator[Desk]:
    with ModelServer() as server, asyncio.Runner() as runner:
        desk = Desk(server, runner)
        yield desk
        desk.close()


@pytest.fixture
def desk(shared_desk: Desk) -> Desk:
    shared_desk.server.clear()
    shared_desk.server.answers = None
    shared_desk.server.abilities, shared_desk.server.ignores = ABILITIES, ()
    return shared_desk


@pytest.fixture
def ask_under(desk: Desk) -> Callable[..., Outcome]:
    """Ask once while a fault strikes. Pauses are short, and what hangs is cut after 20 ms."""

    def asked(kind: str, wire: str, *, stream: bool, **more: Any) -> Outcome:
        desk.server.faults = [Fault(kind, times=None, interval=0.0005, patience=0.02, size=50_000)]
        return desk.ask(wire, stream=stream, **more)

    return asked
