"""OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from servers.strictness import effort_objection
from servers.tool_strictness import call_id, responses_conversation_objection, seal
from servers.wire import Stream, Wire, message, segments, sse

_STATUSES = {"length": "incomplete", "content-filter": "incomplete", "failed": "failed"}
_REASONS = {"length": "max_output_tokens", "content-filter": "content_filter"}


class OpenAIResponses(Wire):
    implicit_cache = True

    def read(self, body: Any) -> Asked:
        functions = [tool for tool in body.get("tools") or () if tool["type"] == "function"]
        tools = {function["name"]: function.get("parameters") or {} for function in functions}
        form = (body.get("text") or {}).get("format") or {}
        schema = form["schema"] if form.get("type") == "json_schema" else None
        messages = _messages(body)
        return Asked(
            model=body["model"],
            messages=messages,
            segments=segments(tools, schema, messages),
            schema=schema,
            tools=tools,
            tool=forced(body.get("tool_choice"), tools),
            wants_json=form.get("type") == "json_object",
            stream=bool(body.get("stream")),
            limit=body.get("max_output_tokens"),
            objection=(objection([form], "response_format") if schema else objection(functions, "function"))
            or effort_objection((body.get("reasoning") or {}).get("effort"), "reasoning.effort")
            or responses_conversation_objection(body),
            sealed="reasoning.encrypted_content" in (body.get("include") or ()),
        )

    def reply(self, said: Said) -> dict[str, Any]:
        whole = _opening(said)
        whole |= {
            "status": _STATUSES.get(said.stop, "completed"),
            "output": [item for item, _ in _items(said)],
        }
        if said.stop in _REASONS:
            whole["incomplete_details"] = {"reason": _REASONS[said.stop]}
        if said.stop == "failed":
            whole["error"] = {"code": "server_error", "message": "The model failed to answer."}
        if said.usage is not None:
            whole["usage"] = _usage(said.usage)
        return whole

    def stream(self, said: Said) -> Stream:
        opening = _opening(said)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": opening},
            {"type": "response.in_progress", "response": opening},
        ]
        for index, (item, parts) in enumerate(_items(said)):
            place = {"output_index": index}
            events.append({"type": "response.output_item.added", **place, "item": _emptied(item)})
            events += [{**part, **place, "item_id": item["id"]} for part in parts]
            events.append({"type": "response.output_item.done", **place, "item": item})
        whole = self.reply(said)
        events.append({"type": f"response.{whole['status']}", "response": whole})
        numbered = [event | {"sequence_number": number} for number, event in enumerate(events)]
        return Stream([sse(event, event["type"]) for event in numbered], closing=1)

    def error(self, status: int, message: str | None = None, code: str | None = None) -> dict[str, Any]:
        return error_body(status, message, code)

    def stream_error(self, message: str | None = None, code: str | None = None) -> bytes:
        error = error_body(500, message, code or "server_error")["error"]
        event = {"type": "error", "sequence_number": 999_999} | {
            n: error[n] for n in ("code", "message", "param")
        }
        return sse(event, "error")

    def lacks(self, ability: str, model: str) -> str:
        return unsupported(ability, "text.format")

    def count(self, tokens: int) -> dict[str, Any]:
        return {"object": "response.input_tokens", "input_tokens": tokens}


def _messages(body: Any) -> list[dict[str, str]]:
    messages = [message("system", body["instructions"])] if body.get("instructions") else []
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        content = item["content"] if "content" in item else item.get("output", item.get("arguments", ""))
        messages.append(message(item.get("role", "tool"), content))
    return messages


def _opening(said: Said) -> dict[str, Any]:
    """A response of which nothing has been said yet."""
    return {
        "id": f"resp_{said.number:06}",
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": said.model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _items(said: Said) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each item of the output, whole, with the events between its beginning and its end."""
    if said.reasoning:
        item = {"id": f"rs_{said.number:06}", "type": "reasoning"}
        item |= {"encrypted_content": seal(said.reasoning)} if said.sealed else {}
        yield (
            item | {"summary": [{"type": "summary_text", "text": said.reasoning}]},
            _thinking(said.reasoning),
        )
    if said.stop == "failed":
        return
    status = {"status": _STATUSES.get(said.stop, "completed")}
    if said.tool is not None and said.stop != "refusal":
        call = {"id": f"fc_{said.number:06}", "call_id": f"call_{said.number:06}", "type": "function_call"}
        yield call | {"name": said.tool, "arguments": said.text} | status, _writing(said.tool, said.text)
        return
    content, events = _refused() if said.stop == "refusal" else _spoken(said.text)
    item = {"id": f"msg_{said.number:06}", "type": "message", "role": "assistant"}
    if said.text or not said.calls:
        yield item | {"content": [content]} | status, events
    for place, called in enumerate(said.calls):
        named = called.id or call_id("call", said.number, place, said.reasoning)
        call = {"id": f"fc_{said.number:06}_{place}", "call_id": named, "type": "function_call"}
        yield (
            call | {"name": called.name, "arguments": str(called.arguments)} | status,
            _writing(called.name, str(called.arguments)),
        )


def _writing(tool: str, arguments: str) -> list[dict[str, Any]]:
    name = "response.function_call_arguments"
    events: list[dict[str, Any]] = [{"type": f"{name}.delta", "delta": part} for part in deltas(arguments)]
    return [*events, {"type": f"{name}.done", "name": tool, "arguments": arguments}]


def _thinking(text: str) -> list[dict[str, Any]]:
    place, name = {"summary_index": 0}, "response.reasoning_summary"
    part = {"type": "summary_text", "text": text}
    return [
        {"type": f"{name}_part.added", **place, "part": part | {"text": ""}},
        *({"type": f"{name}_text.delta", **place, "delta": piece} for piece in deltas(text)),
        {"type": f"{name}_text.done", **place, "text": text},
        {"type": f"{name}_part.done", **place, "part": part},
    ]


def _spoken(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    extra: dict[str, Any] = {"logprobs": []}
    return part, _part("text", part, "response.output_text", text, extra)


def _refused() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    part = {"type": "refusal", "refusal": REFUSAL}
    return part, _part("refusal", part, "response.refusal", REFUSAL, {})


def _part(
    field: str, part: Mapping[str, Any], name: str, text: str, extra: Mapping[str, Any]
) -> list[dict[str, Any]]:
    place: dict[str, Any] = {"content_index": 0}
    return [
        {"type": "response.content_part.added", **place, "part": {**part, field: ""}},
        *({"type": f"{name}.delta", **place, "delta": piece, **extra} for piece in deltas(text)),
        {"type": f"{name}.done", **place, field: text, **extra},
        {"type": "response.content_part.done", **place, "part": part},
    ]


def _emptied(item: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    return {name: empty.get(name, value) for name, value in item.items()}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
