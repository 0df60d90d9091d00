"""Tools in a conversation: what a model may call, what it calls, and what came of it, whatever the service. Pure.

A model calls several tools in one turn. Each call has an id, under which its output goes back in the next turn::

    conversation = (*conversation, answer.value, Message(outputs=tuple(call.output(text) for call in answer.value.calls)))
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from deep_research.models.characters import whole
from deep_research.state import Record

MAX_NAME_CHARS = 64  # of a tool and of the id of a call, which is what the narrowest service takes
MAX_ARGUMENT_CHARS = 100_000  # of one call
MAX_DEPTH = 40  # of values within values, in arguments and in what goes back to a service
MAX_QUOTED_CHARS = 200  # of arguments that cannot be read, in the problem that says so
_NO_ARGUMENTS = {"type": "object", "properties": {}}


class ToolSpec(Record):
    """What a model is told of a tool. ``parameters`` is a JSON schema of an object, such as `model_json_schema` gives;
    what a model writes need not fit it."""

    name: str = Field(pattern=rf"^[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}$")
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: dict(_NO_ARGUMENTS))


class ToolOutput(Record):
    """What came of a call, for the model to read. ``failed``: it was not made, or gave nothing; the text says why. Text
    from outside stands in fences here as it does in a content."""

    call_id: str
    text: str
    failed: bool = False


class ToolCall(Record):
    """One use of a tool that a model asks for. ``problem`` says why it cannot be made, in words for the model: there is
    no such tool, or the arguments are no JSON object, and then there are none."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    problem: str = ""

    def output(self, text: str, *, failed: bool = False) -> ToolOutput:
        return ToolOutput(call_id=self.id, text=text, failed=failed)


class NativeTurn(Record):
    """A turn of the model as its service gave it, thoughts and signatures included: it goes back to that service
    unchanged, and nobody else reads it. ``origin`` is the identity of the provider, ``tokens`` what the turn takes at
    most in a prompt."""

    blocks: tuple[dict[str, Any], ...]
    origin: str = ""
    tokens: int = 0

    @classmethod
    def of(cls, blocks: Iterable[Mapping[str, Any]]) -> NativeTurn | None:
        """The turn, if there is anything in it and it can be kept."""
        kept = [dict(block) for block in blocks]
        return cls(blocks=tuple(kept)) if kept and is_shallow(kept) else None


def read_call(call_id: str, name: str, arguments: str | Mapping[str, Any]) -> ToolCall:
    """A call as a service gives it, with arguments as JSON text or as data."""
    given: object = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments[: MAX_ARGUMENT_CHARS + 1]) if arguments.strip() else {}
        except (ValueError, RecursionError):
            given = None
    if isinstance(given, dict) and is_shallow(given):
        return ToolCall(id=call_id, name=name, arguments=whole(given))
    quoted = " ".join(str(arguments)[: 2 * MAX_QUOTED_CHARS].split())[:MAX_QUOTED_CHARS]
    problem = f"The arguments of {name} are no JSON object that can be read: {quoted or '(nothing)'}"
    return ToolCall(id=call_id, name=name, problem=problem)


def is_shallow(value: Any) -> bool:
    """Whether values stand no deeper than `MAX_DEPTH` within values: what is deeper cannot be walked safely."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for whole in level
            if isinstance(whole, dict | list | tuple)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not level:
            return True
    return False
