"""What the services refuse in a conversation with tools: calls without outputs, outputs without calls, and turns of the
model that lost or changed their thoughts. The ids of calls say which thoughts came before them, so that nothing has to be
remembered from one request to the next."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_MARKS = 4


def seal(thoughts: str) -> str:
    """The signature of thoughts, or what stands for them where they are encrypted."""
    return base64.b64encode(hashlib.sha256(thoughts.encode()).digest()).decode()


def call_id(prefix: str, number: int, place: int, thoughts: str) -> str:
    return f"{prefix}_{number:06}_{place}" + (f"_{_digest(seal(thoughts))}" if thoughts else "")


def _digest(sealed: str) -> str:
    return hashlib.sha256(sealed.encode()).hexdigest()[:12]


def _wanted(given: str) -> str:
    """The digest of the thoughts that came before a call."""
    return given.split("_")[3] if given.count("_") == 3 else ""


def anthropic_conversation_objection(body: Mapping[str, Any]) -> str | None:
    return next(_anthropic_objections(body), None)


def responses_conversation_objection(body: Mapping[str, Any]) -> str | None:
    return next(_responses_objections(body), None)


def _anthropic_objections(body: Mapping[str, Any]) -> Iterator[str]:
    marks = sum(_marks(body.get(part)) for part in ("tools", "system", "messages"))
    if marks > MOST_MARKS:
        yield f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
    for number, tool in enumerate(body.get("tools") or ()):
        if tool["input_schema"].get("type") != "object":
            yield f"tools.{number}.custom.input_schema.type: Input should be 'object'"
    turns = [_blocks(message["content"]) for message in body["messages"]]
    used = [block for blocks in turns for block in blocks if block["type"] in ("tool_use", "tool_result")]
    if used and not body.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
    ids = [block["id"] for block in used if block["type"] == "tool_use"]
    if len(set(ids)) < len(ids):
        yield "messages: `tool_use` ids must be unique"
    before: set[str] = set()
    for number, (message, blocks) in enumerate(zip(body["messages"], turns, strict=True)):
        results = [block["tool_use_id"] for block in _leading(blocks)]
        if message["role"] == "user" and before - set(results):
            yield (
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after:"
                f" {', '.join(sorted(before - set(results)))}."
            )
        for place, block in enumerate(blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in before:
                yield (
                    f"messages.{number}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                    f" {block['tool_use_id']}."
                )
            if block["type"] == "text" and used and not block["text"].strip():
                yield "messages: text content blocks must be non-empty"
        before = {block["id"] for block in blocks if block["type"] == "tool_use"}
        yield from _thought_objections(number, blocks)
    if before:
        yield f"messages: `tool_use` ids were found without `tool_result` blocks: {', '.join(sorted(before))}."


def _thought_objections(number: int, blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sealed = set()
    for place, block in enumerate(blocks):
        if block["type"] == "thinking":
            if block["signature"] != seal(block["thinking"]):
                yield f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block"
            sealed.add(_digest(block["signature"]))
        elif block["type"] == "redacted_thinking":
            sealed.add(_digest(block["data"]))
        elif block["type"] == "tool_use" and (wanted := _wanted(block["id"])) and wanted not in sealed:
            yield (
                f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
                f" `{blocks[0]['type']}`."
            )


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _leading(blocks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Results stand before all else."""
    for block in blocks:
        if block["type"] != "tool_result":
            return
        yield block


def _marks(part: Any) -> int:
    if isinstance(part, Mapping):
        return bool(part.get("cache_control")) + _marks(part.get("content"))
    return sum(map(_marks, part)) if isinstance(part, list) else 0


def _responses_objections(body: Mapping[str, Any]) -> Iterator[str]:
    given = body["input"]
    items = [] if isinstance(given, str) else given
    called: set[str] = set()
    answered: set[str] = set()
    sealed: set[str] = set()
    for item in items:
        kind = item.get("type")
        if kind == "reasoning":
            if not item.get("encrypted_content"):
                yield f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
            else:
                sealed.add(_digest(item["encrypted_content"]))
        elif kind == "function_call":
            called.add(item["call_id"])
            if (wanted := _wanted(item["call_id"])) and wanted not in sealed:
                yield (
                    f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item."
                )
        elif kind == "function_call_output":
            answered.add(item["call_id"])
            if item["call_id"] not in called:
                yield f"No tool call found for function call output with call_id {item['call_id']}."
    for missing in sorted(called - answered):
        yield f"No tool output found for function call {missing}."
