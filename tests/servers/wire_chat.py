"""OpenAI chat completions, as OpenAI and the many compatible servers speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deep_research.testing.models import deltas
from servers.openai_common import (
    CREATED,
    REFUSAL,
    error_body,
    forced,
    objection,
    unsupported,
)
from servers.server_exchange import Asked, Said, Usage
from servers.wire import Stream, Wire, message, segments, sse

_STOPS = {"end": "stop", "length": "length", "refusal": "stop", "content-filter": "content_filter"}


class OpenAIChat(Wire):
    """Thoughts are in ``reasoning_content``, where compatible servers put them."""

    implicit_cache = True

    def read(self, body: Any) -> Asked:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        tools = {function["name"]: function.get("parameters", {}) for function in functions}
        form = body.get("response_format") or {}
        schema = form["json_schema"]["schema"] if form.get("type") == "json_schema" else None
        messages = [message(item["role"], item.get("content")) for item in body["messages"]]
        return Asked(
            model=body["model"],
            messages=messages,
            segments=segments(tools, schema, messages),
            schema=schema,
            tools=tools,
            tool=forced(body.get("tool_choice"), tools),
            wants_json=form.get("type") == "json_object",
            stream=bool(body.get("stream")),
            stream_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            limit=body.get("max_completion_tokens") or body.get("max_tokens"),
            objection=objection([form["json_schema"]], "response_format")
            if schema
            else objection(functions, "function"),
        )

    def reply(self, said: Said) -> dict[str, Any]:
        parts: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        if said.reasoning:
            parts["reasoning_content"] = said.reasoning
        if said.stop == "refusal":
            parts["refusal"] = REFUSAL
        elif said.tool is not None:
            parts["tool_calls"] = [_call(said, said.text)]
        else:
            parts["content"] = said.text
        choice = {"index": 0, "message": parts, "logprobs": None, "finish_reason": _finish(said)}
        usage = {"usage": _usage(said.usage)} if said.usage is not None else {}
        return _base(said, "chat.completion") | {"choices": [choice]} | usage

    def stream(self, said: Said) -> Stream:
        parts: list[Mapping[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
        parts += [{"reasoning_content": part} for part in deltas(said.reasoning)]
        if said.stop == "refusal":
            parts += [{"refusal": part} for part in deltas(REFUSAL)]
        elif said.tool is not None:
            parts.append({"tool_calls": [{"index": 0, **_call(said, "")}]})
            calls = [{"index": 0, "function": {"arguments": part}} for part in deltas(said.text)]
            parts += [{"tool_calls": [call]} for call in calls]
        else:
            parts += [{"content": part} for part in deltas(said.text)]
        base = _base(said, "chat.completion.chunk")
        chunks = [base | {"choices": [_piece(part, None)]} for part in parts]
        closing = [base | {"choices": [_piece({}, _finish(said))]}]
        if said.usage is not None:
            closing.append(base | {"choices": [], "usage": _usage(said.usage)})
        events = [*map(sse, [*chunks, *closing]), sse("[DONE]")]
        return Stream(events, closing=len(closing) + 1)

    def error(self, status: int, message: str | None = None, code: str | None = None) -> dict[str, Any]:
        return error_body(status, message, code)

    def stream_error(self, message: str | None = None, code: str | None = None) -> bytes:
        return sse(error_body(500, message, code))

    def lacks(self, ability: str, model: str) -> str:
        return unsupported(ability, "response_format")


def _base(said: Said, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{said.number:06}",
        "object": kind,
        "created": CREATED,
        "model": said.model,
        "system_fingerprint": "fp_000000",
    }


def _piece(delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _call(said: Said, arguments: str) -> dict[str, Any]:
    function = {"name": said.tool, "arguments": arguments}
    return {"id": f"call_{said.number:06}", "type": "function", "function": function}


def _finish(said: Said) -> str:
    finish = _STOPS.get(said.stop, "stop")
    return "tool_calls" if said.tool is not None and finish == "stop" else finish


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
