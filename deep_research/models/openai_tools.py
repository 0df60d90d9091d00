"""Tools in OpenAI's responses: what a request says of them, and the items of an answer that go back as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deep_research.models.base import Message, ModelCall
from deep_research.models.characters import whole_characters
from deep_research.models.clients_wire import text
from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, read_call

# What an answer must hold so that its thoughts can go back, since nothing is stored at the service.
_THOUGHTS = "reasoning.encrypted_content"


def tool_params(call: ModelCall) -> dict[str, Any]:
    """What a request says of tools; nothing where there are none. Schemas are not strict: they are the caller's own,
    and arguments that do not fit are told back."""
    if not call.tools:
        return {}
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": whole_characters(tool.description),
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in call.tools
    ]
    return {"tools": tools, "parallel_tool_calls": True, "include": [_THOUGHTS]}


def input_items(message: Message) -> Iterator[Mapping[str, Any]]:
    """A turn as items of a request."""
    if message.native is not None:
        yield from message.native.blocks
        return
    for output in message.outputs:
        yield {"type": "function_call_output", "call_id": output.call_id, "output": _output_text(output)}
    if message.content or not message.outputs:
        yield {"role": message.role, "content": whole_characters(message.content)}


def _output_text(output: ToolOutput) -> str:
    """There is no mark for outputs of calls that failed."""
    return whole_characters(f"Failed: {output.text}" if output.failed else output.text)


def read_calls(output: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        read_call(text(item.get("call_id")), text(item.get("name")), text(item.get("arguments")))
        for item in output
        if item.get("type") == "function_call"
    )


def native_turn(output: Sequence[Mapping[str, Any]]) -> NativeTurn | None:
    """The items as they came; None where thoughts cannot go back, since the service would look for them in its store."""
    is_sealed = all(item.get("encrypted_content") for item in output if item.get("type") == "reasoning")
    return NativeTurn.of(output) if is_sealed else None
