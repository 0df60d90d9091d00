"""Calls of tools as one object, for models whose service has none: a thought, and the calls with their arguments. Pure.

The arguments of all tools stand side by side in one flat type, so that a model which writes plain lines can give it.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from deep_research.models.base import Message
from deep_research.models.tool_calls import MAX_ARGUMENT_CHARS, ToolCall, ToolSpec
from deep_research.patterns import regex

MAX_CHOICES = 40  # of an argument that is one of several words
_WORD = regex(r"[^a-zA-Z0-9_]+")
_PLAIN: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
_TAKEN = frozenset(("tool", "thought", "calls", *dir(BaseModel)))
_HOW = (
    "You have tools. Answer with your thought, and with calls: uses of tools that do not need each other's results, each"
    " with the arguments of its tool. Without a call, your thought is your answer."
)


@dataclass(frozen=True, slots=True)
class ToolObject:
    """The type for a set of tools. ``fields`` says for each tool which field is which of its arguments."""

    form: type[BaseModel]
    tools: tuple[ToolSpec, ...]
    fields: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, tools: Sequence[ToolSpec]) -> ToolObject:
        return _made(json.dumps([tool.model_dump() for tool in tools]))

    @property
    def instructions(self) -> str:
        lines = (f"- {t.name}({', '.join(self.fields[t.name])}): {t.description}" for t in self.tools)
        return "\n".join([_HOW, *lines])

    def message(self, value: BaseModel, number: int) -> Message:
        """The turn that an object says. The ids of its calls count from ``number``."""
        said = value.model_dump()
        calls = [
            self._call(f"call_{place}", call) for place, call in enumerate(said["calls"] or (), start=number)
        ]
        return Message(role="assistant", content=said["thought"] or "", calls=tuple(calls))

    def text(self, message: Message) -> str:
        """A turn of the model as the object that it is asked for."""
        calls = [
            {"tool": call.name}
            | {
                field: call.arguments[argument]
                for field, argument in self.fields.get(call.name, {}).items()
                if argument in call.arguments
            }
            for call in message.calls
        ]
        return json.dumps({"thought": message.content, "calls": calls}, ensure_ascii=False)

    def _call(self, call_id: str, said: Mapping[str, Any]) -> ToolCall:
        """What a model leaves empty it leaves out."""
        name = str(said["tool"])
        root = next((tool.parameters for tool in self.tools if tool.name == name), {})
        given = {
            argument: _value(said[field], _properties(root).get(argument, {}), root)
            for field, argument in self.fields.get(name, {}).items()
            if said.get(field) is not None
        }
        return ToolCall(id=call_id, name=name, arguments=given)


@lru_cache(maxsize=64)
def _made(text: str) -> ToolObject:
    tools = tuple(ToolSpec.model_validate(item) for item in json.loads(text))
    fields: dict[str, dict[str, str]] = {}
    types: dict[str, Any] = {}
    meanings: dict[str, list[str]] = {}
    for tool in tools:
        fields[tool.name] = {}
        for argument, schema in _properties(tool.parameters).items():
            field = _field_name(argument)
            fields[tool.name][field] = argument
            kind = _type(schema, tool.parameters)
            types[field] = kind if types.setdefault(field, kind) == kind else str
            meaning = str(schema.get("description") or argument)
            meanings.setdefault(field, []).append(f"for {tool.name}: {meaning}")
    names = [tool.name for tool in tools]
    # A schema that binds the model names the tools; what another writes is told back, not refused.
    named: Any = (str, Field(description=f"one of {', '.join(names)}", json_schema_extra={"enum": [*names]}))
    definitions: dict[str, Any] = {
        field: (kind | None, Field(default=None, description="; ".join(dict.fromkeys(meanings[field]))))
        for field, kind in types.items()
    }
    call: Any = create_model("Call", tool=named, **definitions)
    thought: Any = Field(description="what you make of it, in a sentence or two")
    calls: Any = Field(description="what to do now, side by side; none if you are done")
    return ToolObject(
        create_model("ToolUse", thought=(str, thought), calls=(list[call], calls)), tools, fields
    )


def _properties(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {str(name): schema if isinstance(schema, Mapping) else {} for name, schema in properties.items()}


def _field_name(argument: str) -> str:
    name = _WORD.sub("_", argument).strip("_") or "argument"
    bad = name in _TAKEN or keyword.iskeyword(name) or name[0].isdigit() or name.startswith("model_")
    return f"argument_{name}" if bad else name


def _type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Any:
    """The type of an argument; a text where it has parts of its own, which holds JSON then."""
    schema = _resolved(schema, root)
    choices = schema.get("enum")
    if (
        isinstance(choices, list)
        and 0 < len(choices) <= MAX_CHOICES
        and all(isinstance(c, str) for c in choices)
    ):
        return Literal[tuple(choices)]
    if schema.get("type") == "array" and depth == 0:
        items = schema.get("items")
        return list[_type(items if isinstance(items, Mapping) else {}, root, 1)]  # type: ignore[misc]
    return _PLAIN.get(str(schema.get("type")), str)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one schema that is meant where null may stand as well, or another place is pointed to."""
    for _ in range(5):
        options = [o for o in schema.get("anyOf") or () if isinstance(o, Mapping) and o.get("type") != "null"]
        target = re.fullmatch(r"#/(?:\$defs|definitions)/([^/]{1,200})", str(schema.get("$ref", "")))
        if len(options) == 1:
            schema = options[0]
        elif target:
            held = (root.get("$defs") or root.get("definitions") or {}).get(target[1])
            schema = held if isinstance(held, Mapping) else {}
        elif isinstance(kinds := schema.get("type"), list):
            one = [kind for kind in kinds if kind != "null"]
            schema = {**schema, "type": one[0] if len(one) == 1 else "string"}
        else:
            break
    return schema


def _value(said: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Arguments with parts are written as JSON; what is none stays a text, and whoever takes it says what is wrong."""
    is_plain = str(_resolved(schema, root).get("type")) in _PLAIN
    if isinstance(said, str) and not is_plain and said[:1] in ("{", "["):
        try:
            return json.loads(said[:MAX_ARGUMENT_CHARS])
        except (ValueError, RecursionError):
            return said
    return said
