"""What Anthropic's messages look like on the wire: requests from calls, answers from data. Pure.

Nothing that comes in is trusted to have its type: what is not what it should be is passed over, or counts as absent.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from deep_research.errors import ModelError
from deep_research.models.base import Form, Message, ModelCall, OnText, Reply, StopReason, TokenUsage
from deep_research.models.characters import whole_characters
from deep_research.models.clients_errors import refused, unusable
from deep_research.models.clients_wire import AnswerText, count, number, record, text, usage_from
from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, ToolSpec, read_call
from deep_research.unpacking import RefusedBodyError

MAX_CACHE_MARKS = 4  # for the cache, in one request
MAX_BLOCKS = 1_000  # of one answer
MIN_THINKING_TOKENS = 1_024
THINKING, ADAPTIVE = "thinking", "adaptive"  # with a budget, or as much as the model finds right
_MAX_INDEX_CHARS = 20
_THOUGHTS = "thinking_tokens"
_FIGURES = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
    _THOUGHTS,
)

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}
# Errors that came with status 200 and mean one of their own; all others pass.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}  # fields that grow by deltas of a kind
_ARGUMENTS = "partial_json"


def optional_params(call: ModelCall) -> dict[str, Any]:
    """What a request can do without."""
    optional: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
    if call.effort is not None:
        optional["effort"] = call.effort.value
    is_forced = call.form is not None and call.form.by == "tool"
    if call.tools and call.effort is not None:
        optional[ADAPTIVE] = True
    if is_forced:
        optional["strict"] = True
    elif (
        budget := _thinking_budget(call)
    ) >= MIN_THINKING_TOKENS:  # no thinking before a tool that must be called
        optional[THINKING] = budget
    return optional


def _thinking_budget(call: ModelCall) -> int:
    """Less than the cap of the answer, which counts both."""
    return min(call.thinking or 0, call.max_output - min(MIN_THINKING_TOKENS, call.max_output // 2))


def request_of(model: str, call: ModelCall, optional: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``messages.create``; without ``max_tokens``, those of ``messages.count_tokens``."""
    mark = {name: optional[name] for name in ("cache_control",) if name in optional}
    turns = [_marked_blocks(message) for message in call.messages]
    # The last marks count: each keeps all that stands before it.
    left = sum(stable for blocks in turns for _, stable in blocks)
    left -= MAX_CACHE_MARKS - bool(call.system or call.tools)
    contents: list[list[dict[str, Any]]] = []
    for blocks in turns:
        contents.append([])
        for block, stable in blocks:
            left -= stable
            contents[-1].append(block | (mark if stable and left < 0 else {}))
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": call.max_output,
        "messages": [
            {"role": message.role, "content": content}
            for message, content in zip(call.messages, contents, strict=True)
        ],
    }
    if call.system:
        request["system"] = [_block(call.system) | mark]
    if call.tools:
        request["tools"] = tool_params(call.tools, {} if call.system else mark)
    if THINKING in optional:
        request["thinking"] = {"type": "enabled", "budget_tokens": optional[THINKING]}
    elif ADAPTIVE in optional:
        request["thinking"] = {"type": "adaptive"}
    config: dict[str, Any] = {name: optional[name] for name in ("effort",) if name in optional}
    if call.form is not None and call.form.by == "schema":
        config["format"] = {"type": "json_schema", "schema": call.form.json_schema}
    elif call.form is not None:
        request |= _forced(call.form, {name: optional[name] for name in ("strict",) if name in optional})
    return request | ({"output_config": config} if config else {})


def refused_in_stream(event: Mapping[str, Any], *, model: str, request_id: str | None) -> ModelError:
    """An error that came with status 200, within a stream or in place of a message."""
    kind = text(record(event.get("error")).get("type"))
    return refused(_STATUSES.get(kind, 200), event, model=model, request_id=request_id)


class AnswerStream:
    """An answer as it comes. A plain body is taken as a stream that came at once.

    Where a tool was asked for, the text is its arguments, and ``on_text`` gets their JSON as it comes; if it was not
    called, the text is what was said instead, all at the end. With ``tools`` the reply has their calls, and the turn as
    it came.
    """

    def __init__(
        self, model: str, form: Form | None = None, on_text: OnText | None = None, *, tools: bool = False
    ) -> None:
        self._name = model
        self._tool = form_name(form) if form is not None and form.by == "tool" else None
        self._on_text = on_text
        self._turn = TurnBlocks(model) if tools else None
        self._blocks: dict[Any, Mapping[str, Any]] = {}
        self._pieces: defaultdict[Any, AnswerText] = defaultdict(lambda: AnswerText(model))
        self._called: Any = None  # the index of the block that calls the tool
        self._input: Any = None
        self._usage: dict[str, Any] = {}
        self._is_settled = False
        self._model = ""
        self._begun = False
        self._stop: StopReason | None = None
        self.request_id: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it was said how it ended and what it cost."""
        return self._stop is not None and self._is_settled

    def take_whole(self, message: Mapping[str, Any]) -> None:
        self._open(message)
        for index, block in enumerate(message["content"]):
            self._start(index, record(block))
            self._finish(index)
        self._settle(message, message.get("usage"))
        self.close(is_whole=True)

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """One event of a stream."""
        index = str(event.get("index"))[:_MAX_INDEX_CHARS]
        match kind:
            case "message_start":
                self._open(record(event.get("message")))
            case "content_block_start":
                self._start(index, record(event.get("content_block")))
            case "content_block_delta":
                delta = record(event.get("delta"))
                if self._turn is not None:
                    self._turn.add(index, delta)
                self._add(index, text(delta.get("text")) or text(delta.get("partial_json")))
            case "content_block_stop":
                self._finish(index)
            case "message_delta":
                self._settle(record(event.get("delta")), event.get("usage"))

    def close(self, *, is_whole: bool = False) -> None:
        """No more will come; an answer that ``is_whole`` and does not say how it ended, ended well."""
        self._stop = self._stop or (StopReason.END if is_whole else None)
        if self._tool is not None and self._called is None:
            self._say(self._text())

    def usage(self) -> TokenUsage | None:
        """As told so far: what came before the end is a floor, and not known. None if there was no answer at all."""
        if not self._begun:
            return None
        cached, written = (
            number(self._usage.get(f"cache_{kind}_input_tokens")) for kind in ("read", "creation")
        )
        fresh = count(self._usage.get("input_tokens"))
        return usage_from(
            None if fresh is None else fresh + cached + written,
            self._usage.get("output_tokens"),
            cached=cached,
            written=written,
            reasoning=self._usage.get(_THOUGHTS),
            settled=self._is_settled,
        )

    def reply(self) -> Reply:
        return Reply(
            text=self._text(),
            stop=self._stop or StopReason.INCOMPLETE,
            usage=self.usage() or TokenUsage(is_known=False),
            model=self._model,
            request_id=self.request_id,
            calls=self._turn.calls() if self._turn else (),
            native=self._turn.native() if self._turn else None,
        )

    def _open(self, message: Mapping[str, Any]) -> None:
        self._begun = True
        self._model = text(message.get("model"))
        self._note(message.get("usage"))

    def _start(self, index: Any, block: Mapping[str, Any]) -> None:
        if len(self._blocks) >= MAX_BLOCKS:
            raise unusable(RefusedBodyError(f"one of more than {MAX_BLOCKS:,} blocks"), model=self._name)
        # Of many blocks only what will be asked of them.
        self._blocks[index] = {"type": text(block.get("type"))}
        if self._turn is not None:
            self._turn.start(index, block)
        if block.get("type") == "tool_use" and block.get("name") == self._tool and self._called is None:
            self._called = index
            self._input = block.get("input", {})
        elif block.get("type") == "text":
            self._add(index, text(block.get("text")))

    def _add(self, index: Any, piece: str) -> None:
        if not piece:
            return
        self._pieces[index].add(piece)
        if index == self._called or (self._tool is None and self._is_text(index)):
            self._say(piece)

    def _finish(self, index: Any) -> None:
        """The arguments of a tool stand in its block if they did not come in pieces."""
        if index == self._called and not self._pieces[index]:
            arguments = json.dumps(self._input, ensure_ascii=False)
            self._add(index, whole_characters(arguments))

    def _settle(self, ending: Mapping[str, Any], usage: Any) -> None:
        if reason := text(ending.get("stop_reason")):
            self._stop = _STOPS.get(reason, StopReason.INCOMPLETE)
        self._note(usage)
        self._is_settled = count(record(usage).get("output_tokens")) is not None

    def _note(self, usage: Any) -> None:
        """Each report is of all until then; what it leaves out stays."""
        told = record(usage)
        told = {**told, _THOUGHTS: record(told.get("output_tokens_details")).get(_THOUGHTS)}
        self._usage |= {name: told[name] for name in _FIGURES if told.get(name) is not None}

    def _say(self, piece: str) -> None:
        if self._on_text is not None and piece:
            self._on_text(piece)

    def _is_text(self, index: Any) -> bool:
        return self._blocks.get(index, {}).get("type") == "text"

    def _text(self) -> str:
        if self._called is not None:
            return str(self._pieces[self._called])
        return "".join(str(self._pieces[index]) for index in self._blocks if self._is_text(index))


def form_name(form: Form) -> str:
    """The name of a form as the service takes names of tools."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", form.name)[:64]


def _block(content: str) -> dict[str, Any]:
    return {"type": "text", "text": whole_characters(content)}


def _marked_blocks(message: Message) -> list[tuple[dict[str, Any], bool]]:
    """The blocks of a turn, and of each whether a mark for the cache may stand at its end."""
    if message.native is not None:
        return [(dict(block), False) for block in message.native.blocks]
    texts = [(_block(piece), stable and bool(piece)) for piece, stable in message.pieces]
    if not message.outputs:
        return texts
    # What is said beside outputs, such as how many steps are left, may be gone in the next request.
    blocks = [result_block(output) for output in message.outputs]
    said = [(block, False) for block, _ in texts] if message.content else []
    return [*((block, False) for block in blocks[:-1]), (blocks[-1], message.stable), *said]


def _forced(form: Form, strict: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": form.description} if form.description else {}
    tool = {"name": form_name(form), "input_schema": form.json_schema, **described, **strict}
    choice = {"type": "tool", "name": form_name(form), "disable_parallel_tool_use": True}
    return {"tools": [tool], "tool_choice": choice}


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
