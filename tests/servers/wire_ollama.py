"""Ollama's own format: lines of JSON, streamed unless told otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deep_research.testing.models import as_json, deltas
from servers.openai_common import REFUSAL
from servers.server_exchange import Asked, Said
from servers.wire import Stream, Wire, message, segments

DEFAULT_CONTEXT = 4096

_ERRORS = {
    400: "invalid request",
    401: "unauthorized",
    404: "model not found",
    413: "request body too large",
    429: "too many requests",
    500: "llama runner process has terminated: exit status 2",
    503: "server busy, please try again.  maximum pending requests exceeded",
}


class OllamaChat(Wire):
    """There is no way to force a tool: a single one that is offered is taken as forced.

    A refusal is prose like any other, and there is no content filter.
    """

    stream_media = "application/x-ndjson"

    def read(self, body: Any) -> Asked:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        tools = {function["name"]: function.get("parameters", {}) for function in functions}
        form = body.get("format") or None
        schema = form if isinstance(form, Mapping) else None
        options = body.get("options") or {}
        messages = [message(item["role"], item.get("content")) for item in body["messages"]]
        return Asked(
            model=body["model"],
            messages=messages,
            segments=segments(tools, schema, messages),
            schema=schema,
            tools=tools,
            tool=next(iter(tools)) if len(tools) == 1 else None,
            wants_json=form == "json",
            stream=body.get("stream", True),
            limit=options.get("num_predict"),
            context=options.get("num_ctx", DEFAULT_CONTEXT),
        )

    def reply(self, said: Said) -> dict[str, Any]:
        if said.tool is not None:
            return _line(said, "", said.reasoning, call=True) | _ending(said)
        return _line(said, _text(said), said.reasoning) | _ending(said)

    def stream(self, said: Said) -> Stream:
        lines = [_line(said, "", part) for part in deltas(said.reasoning)]
        if said.tool is not None:
            lines.append(_line(said, "", call=True))
        else:
            lines += [_line(said, part) for part in deltas(_text(said))]
        last = _line(said, "") | _ending(said)
        return Stream([as_json(line).encode() + b"\n" for line in [*lines, last]], closing=1)

    def error(self, status: int, message: str | None = None, code: str | None = None) -> dict[str, Any]:
        return {"error": message or _ERRORS.get(status, "something went wrong")}

    def stream_error(self, message: str | None = None, code: str | None = None) -> bytes:
        return as_json(self.error(500, message, code)).encode() + b"\n"

    def lacks(self, ability: str, model: str) -> str:
        return f"registry.ollama.ai/library/{model} does not support {ability}"


def _text(said: Said) -> str:
    return REFUSAL if said.stop == "refusal" else said.text


def _line(said: Said, text: str, thinking: str = "", *, call: bool = False) -> dict[str, Any]:
    words: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking:
        words["thinking"] = thinking
    if call:
        words["tool_calls"] = [{"function": {"name": said.tool, "arguments": _arguments(said.text)}}]
    return {"model": said.model, "created_at": "2026-01-01T00:00:00Z", "message": words, "done": False}


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _ending(said: Said) -> dict[str, Any]:
    end: dict[str, Any] = {"done": True, "done_reason": "length" if said.stop == "length" else "stop"}
    if said.usage is not None:
        end |= {"prompt_eval_count": said.usage.input, "eval_count": said.usage.output}
    return end | {"total_duration": 2_000_000, "load_duration": 500_000, "eval_duration": 1_000_000}
