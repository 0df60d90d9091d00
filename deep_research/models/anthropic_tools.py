"""Tools in Anthropic's messages: what a request says of them, and the blocks of an answer that go back as they came.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deep_research.models.characters import whole_characters
from deep_research.models.clients_wire import AnswerText, record, text
from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, ToolSpec, read_call

_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}  # fields that grow by deltas of a kind
_ARGUMENTS = "partial_json"


def tool_params(tools: tuple[ToolSpec, ...], mark: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of a request. ``mark`` goes to the last: all of them are kept by the service then."""
    params: list[dict[str, Any]] = [
        {
            "name": tool.name,
            "input_schema": tool.parameters,
            **({"description": whole_characters(tool.description)} if tool.description else {}),
        }
        for tool in tools
    ]
    params[-1] |= mark
    return params


def result_block(output: ToolOutput) -> dict[str, Any]:
    failed = {"is_error": True} if output.failed else {}
    content = whole_characters(output.text)
    return {"type": "tool_result", "tool_use_id": output.call_id, "content": content, **failed}


class TurnBlocks:
    """The blocks of an answer, whole or as they come in a stream. Thoughts and their signatures are kept as they came:
    the service refuses the outputs of calls without them."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._blocks: dict[Any, dict[str, Any]] = {}
        self._grown: dict[tuple[Any, str], AnswerText] = {}

    def start(self, index: Any, block: Mapping[str, Any]) -> None:
        self._blocks[index] = dict(block)

    def add(self, index: Any, delta: Mapping[str, Any]) -> None:
        kind = text(delta.get("type"))
        if index not in self._blocks:
            return
        if kind == "signature_delta":
            self._blocks[index]["signature"] = text(delta.get("signature"))
        elif kind == "input_json_delta":
            self._grow(index, _ARGUMENTS, text(delta.get("partial_json")))
        elif kind in _GROWING:
            self._grow(index, _GROWING[kind], text(delta.get(_GROWING[kind])))

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            read_call(text(block.get("id")), text(block.get("name")), self._arguments(index))
            for index, block in self._blocks.items()
            if block.get("type") == "tool_use"
        )

    def native(self) -> NativeTurn | None:
        return NativeTurn.of(self._whole())

    def _grow(self, index: Any, name: str, piece: str) -> None:
        self._grown.setdefault((index, name), AnswerText(self._model)).add(piece)

    def _arguments(self, index: Any) -> str | Mapping[str, Any]:
        grown = self._grown.get((index, _ARGUMENTS))
        return str(grown) if grown else record(self._blocks[index].get("input"))

    def _whole(self) -> Iterator[dict[str, Any]]:
        for index, block in self._blocks.items():
            whole = dict(block)
            for name in _GROWING.values():
                if grown := self._grown.get((index, name)):
                    whole[name] = f"{text(whole.get(name))}{grown}"
            if whole.get("type") == "tool_use":
                whole["input"] = read_call("", "", self._arguments(index)).arguments
            if (
                whole.get("type") != "text" or text(whole.get("text")).strip()
            ):  # the service takes no empty ones
                yield whole
