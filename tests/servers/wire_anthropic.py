"""Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deep_research.testing.models import as_json, deltas
from servers.server_exchange import Asked, Said, Segment, Usage
from servers.strictness import anthropic_objection, thinking_objection
from servers.tool_strictness import anthropic_conversation_objection, call_id, seal
from servers.wire import Stream, Wire, content_text, message, sse

_ERRORS = {
    400: ("invalid_request_error", "messages: at least one message is required"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    404: ("not_found_error", "Not Found"),
    408: ("timeout_error", "Request timed out"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    529: ("overloaded_error", "Overloaded"),
}
_STOPS = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal", "content-filter": "refusal"}


class AnthropicMessages(Wire):
    """A content filter is a refusal that keeps what was said until then: the service knows no other."""

    request_id_header = "request-id"

    def read(self, body: Any) -> Asked:
        tools = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or ()}
        choice = body.get("tool_choice") or {}
        form = (body.get("output_config") or {}).get("format") or {}
        schema = form.get("schema")
        system = [message("system", body["system"])] if body.get("system") else []
        return Asked(
            model=body["model"],
            messages=[*system, *(message(item["role"], item["content"]) for item in body["messages"])],
            segments=_segments(body, schema),
            schema=schema,
            tools=tools,
            tool={"tool": choice.get("name"), "any": next(iter(tools), None)}.get(choice.get("type", "")),
            stream=bool(body.get("stream")),
            limit=body.get("max_tokens"),
            objection=_objection(body, schema) or thinking_objection(body),
        )

    def reply(self, said: Said) -> dict[str, Any]:
        whole = _opening(said)
        whole |= {"content": [block for _, block in _blocks(said)], **_ending(said)}
        if said.usage is not None:
            whole["usage"] = _usage(said.usage)
        return whole

    def stream(self, said: Said) -> Stream:
        start = _opening(said)
        if said.usage is not None:
            start["usage"] = _usage(said.usage) | {"output_tokens": 1, "output_tokens_details": None}
        events: list[Mapping[str, Any]] = [{"type": "message_start", "message": start}]
        for index, (parts, block) in enumerate(_blocks(said)):
            events.append({"type": "content_block_start", "index": index, "content_block": _emptied(block)})
            events += [{"type": "ping"}] if index == 0 else []
            events += [{"type": "content_block_delta", "index": index, "delta": part} for part in parts]
            events.append({"type": "content_block_stop", "index": index})
        last: dict[str, Any] = {"type": "message_delta", "delta": _ending(said)}
        if said.usage is not None:
            last["usage"] = _usage(said.usage)
        events += [last, {"type": "message_stop"}]
        return Stream([sse(event, event["type"]) for event in events], closing=2)

    def error(self, status: int, message: str | None = None, code: str | None = None) -> dict[str, Any]:
        kind, words = _ERRORS.get(status, ("api_error", "Something went wrong"))
        error: dict[str, Any] = {"type": kind, "message": message or words}
        if code:
            error["details"] = {"error_code": code}
        return {"type": "error", "error": error, "request_id": "req_000000"}

    def stream_error(self, message: str | None = None, code: str | None = None) -> bytes:
        return sse(self.error(529, message, code), "error")

    def lacks(self, ability: str, model: str) -> str:
        field = {"schema": "output_config.format", "tools": "tools"}.get(ability, ability)
        return f"{field}: '{model}' does not support this feature."


def _objection(body: Any, schema: Any) -> str | None:
    strict = {
        f"tools.{n}": tool["input_schema"]
        for n, tool in enumerate(body.get("tools") or ())
        if tool.get("strict")
    }
    formats = {"output_config.format.schema": schema} if schema is not None else {}
    for place, part in {**formats, **strict}.items():
        if objection := anthropic_objection(part):
            return f"{place}: {objection}"
    return anthropic_conversation_objection(body)


def _segments(body: Any, schema: Any) -> list[Segment]:
    """In the order in which the service caches: tools, system, messages."""
    parts: list[tuple[str, Any]] = [("", tool) for tool in body.get("tools") or ()]
    parts += [("", {"text": as_json(schema)})] if schema is not None else []
    for role, content in [
        ("system", body.get("system") or []),
        *((m["role"], m["content"]) for m in body["messages"]),
    ]:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts += [(f"{role}: ", block) for block in blocks]
    marks = [bool(part.get("cache_control")) for _, part in parts]
    parts = [(lead, {n: v for n, v in part.items() if n != "cache_control"}) for lead, part in parts]
    if body.get("cache_control") and marks:
        marks[-1] = True
    return [
        Segment(lead + content_text([part]), marked)
        for (lead, part), marked in zip(parts, marks, strict=True)
    ]


def _opening(said: Said) -> dict[str, Any]:
    """A message of which nothing has been said yet."""
    return {
        "id": f"msg_{said.number:06}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _blocks(said: Said) -> Iterator[tuple[list[dict[str, str]], dict[str, Any]]]:
    """Each block as its deltas and whole."""
    if said.reasoning and said.redacted:
        yield [], {"type": "redacted_thinking", "data": seal(said.reasoning)}
    elif said.reasoning:
        parts = [{"type": "thinking_delta", "thinking": part} for part in deltas(said.reasoning)]
        signed = {"type": "signature_delta", "signature": seal(said.reasoning)}
        block = {"type": "thinking", "thinking": said.reasoning, "signature": signed["signature"]}
        yield [*parts, signed], block
    if said.stop == "refusal":
        return
    if said.tool is not None:
        parts = [{"type": "input_json_delta", "partial_json": part} for part in deltas(said.text)]
        data = _object(said.text)
        yield parts, {"type": "tool_use", "id": f"toolu_{said.number:06}", "name": said.tool, "input": data}
    elif said.text:
        parts = [{"type": "text_delta", "text": part} for part in deltas(said.text)]
        yield parts, {"type": "text", "text": said.text, "citations": None}
    for place, call in enumerate(said.calls):
        parts = [{"type": "input_json_delta", "partial_json": part} for part in deltas(str(call.arguments))]
        named = call.id or call_id("toolu", said.number, place, said.reasoning)
        yield (
            parts,
            {"type": "tool_use", "id": named, "name": call.name, "input": _object(str(call.arguments))},
        )


def _emptied(block: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {name: empty.get(name, value) for name, value in block.items()}


def _object(arguments: str) -> dict[str, Any]:
    """The service sends arguments as an object: of those that are cut it can send none."""
    try:
        data = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _ending(said: Said) -> dict[str, Any]:
    stop = _STOPS.get(said.stop, "end_turn")
    details = {"type": "refusal", "category": None, "explanation": "The request was refused."}
    if said.stop == "content-filter":
        details["category"] = "general_harms"
    return {
        "stop_reason": "tool_use" if (said.tool is not None or said.calls) and stop == "end_turn" else stop,
        "stop_sequence": None,
        "stop_details": details if stop == "refusal" else None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input - usage.cached - usage.written,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning} if usage.reasoning else None,
        "service_tier": "standard",
    }
