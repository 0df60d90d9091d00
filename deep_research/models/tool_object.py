"""Calls of tools as one object, for models whose service has none: a thought, and the calls with their arguments. Pure.

The schema of a call is that of its tool. What a model writes need not fit it: whoever takes the arguments says what is
wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import BaseModel, Field, create_model, model_validator

from deep_research.models.base import Message
from deep_research.models.tool_calls import ToolSpec, read_call

_HOW = (
    "You have tools. Answer with your thought, and with calls: uses of tools that do not need each other's results, each"
    " with the arguments of its tool. Without a call, your thought is your answer."
)


class _Use(BaseModel):
    tool: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, said: Any) -> Any:
        """Some models write the arguments beside the tool."""
        if isinstance(said, dict) and "tool" in said and "arguments" not in said:
            return {"tool": said["tool"], "arguments": {n: v for n, v in said.items() if n != "tool"}}
        return said


class _Turn(BaseModel):
    thought: str = Field(description="what you make of it, in a sentence or two")
    calls: list[_Use] = Field(description="what to do now, side by side; none if you are done")

    uses: ClassVar[list[dict[str, Any]]]  # the schemas of a call of each tool
    definitions: ClassVar[dict[str, Any]]  # what they point to

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        schema = super().model_json_schema(*args, **kwargs)
        schema["properties"]["calls"]["items"] = {"anyOf": deepcopy(cls.uses)}
        return schema | {"$defs": deepcopy(cls.definitions)}


@dataclass(frozen=True, slots=True)
class ToolObject:
    """The type for a set of tools."""

    form: type[_Turn]
    instructions: str

    @classmethod
    def of(cls, tools: Sequence[ToolSpec]) -> ToolObject:
        return _build(json.dumps([tool.model_dump() for tool in tools]))

    def message(self, value: BaseModel, number: int) -> Message:
        """The turn that an object says. The ids of its calls count from ``number``."""
        assert isinstance(value, _Turn)
        calls = []
        for place, use in enumerate(value.calls, start=number):
            given = use.arguments
            if isinstance(given, dict):  # what a model leaves empty it leaves out
                given = {name: argument for name, argument in given.items() if argument is not None}
            calls.append(read_call(f"call_{place}", use.tool, given))
        return Message(role="assistant", content=value.thought, calls=tuple(calls))

    def text(self, message: Message) -> str:
        """A turn of the model as the object that it is asked for."""
        calls = [{"tool": call.name, "arguments": call.arguments} for call in message.calls]
        return json.dumps({"thought": message.content, "calls": calls}, ensure_ascii=False)


@lru_cache(maxsize=64)
def _build(text: str) -> ToolObject:
    uses: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    lines = [_HOW]
    for tool in json.loads(text):
        name, parameters = tool["name"], tool["parameters"]
        properties = parameters.get("properties")
        lines.append(f"- {name}({', '.join(properties or ())}): {tool['description']}")
        # What several parts of the tool share stands at the root, under a name that no other tool has.
        parameters = json.loads(json.dumps(parameters).replace('"#/$defs/', f'"#/$defs/{name}.'))
        definitions |= {f"{name}.{n}": part for n, part in parameters.pop("$defs", {}).items()}
        use = {"tool": {"type": "string", "enum": [name]}, "arguments": parameters}
        uses.append({"type": "object", "properties": use, "required": ["tool", "arguments"]})

    form = create_model("ToolUse", __base__=_Turn)
    form.uses, form.definitions = uses, definitions
    return ToolObject(form, "\n".join(lines))
