"""Calls of tools as one object, for models whose service has none: a thought, and the calls with their arguments. Pure.

The arguments of all tools stand side by side in one flat type, which a weak model can give;
those that are lists of objects stand beside the calls, and are of the first call of their tool.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

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
    """The type for a set of tools. ``fields`` says for each tool which field is which of its arguments; those in
    ``beside`` stand beside the calls."""

    form: type[BaseModel]
    tools: tuple[ToolSpec, ...]
    fields: Mapping[str, Mapping[str, str]]
    beside: frozenset[str]

    @classmethod
    def of(cls, tools: Sequence[ToolSpec]) -> ToolObject:
        return _build(json.dumps([tool.model_dump() for tool in tools]))

    @property
    def instructions(self) -> str:
        lines = (f"- {t.name}({', '.join(self.fields[t.name])}): {t.description}" for t in self.tools)
        return "\n".join([_HOW, *lines])

    def message(self, value: BaseModel, number: int) -> Message:
        """The turn that an object says. The ids of its calls count from ``number``."""
        said = value.model_dump(exclude_none=True)
        lists = {field: said[field] for field in self.beside if said.get(field)}
        calls = []
        for place, call in enumerate(said.get("calls", ()), start=number):
            calls.append(self._call(f"call_{place}", call, lists))
            for field in self.fields.get(calls[-1].name, ()):
                lists.pop(field, None)
        return Message(role="assistant", content=said.get("thought", ""), calls=tuple(calls))

    def text(self, message: Message) -> str:
        """A turn of the model as the object that it is asked for."""
        said: dict[str, Any] = {"thought": message.content, "calls": []}
        for call in message.calls:
            given = {
                field: call.arguments[argument]
                for field, argument in self.fields.get(call.name, {}).items()
                if argument in call.arguments
            }
            said["calls"].append(
                {"tool": call.name} | {field: given[field] for field in given if field not in self.beside}
            )
            for field in given.keys() & self.beside:
                said.setdefault(field, given[field])
        return json.dumps(said, ensure_ascii=False)

    def _call(self, call_id: str, said: Mapping[str, Any], lists: Mapping[str, Any]) -> ToolCall:
        """What a model leaves empty it leaves out."""
        name = str(said["tool"])
        root = next((tool.parameters for tool in self.tools if tool.name == name), {})
        given = {
            argument: _value(value, _properties(root).get(argument, {}), root)
            for field, argument in self.fields.get(name, {}).items()
            if (value := (lists if field in self.beside else said).get(field)) is not None
        }
        return ToolCall(id=call_id, name=name, arguments=given)


@lru_cache(maxsize=64)
def _build(text: str) -> ToolObject:
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
    beside = frozenset(field for field, kind in types.items() if _is_list_of_objects(kind))
    definitions: dict[str, Any] = {
        field: (kind | None, Field(default=None, description="; ".join(dict.fromkeys(meanings[field]))))
        for field, kind in types.items()
    }
    call: Any = create_model(
        "Call", tool=named, **{field: made for field, made in definitions.items() if field not in beside}
    )
    thought: Any = Field(description="what you make of it, in a sentence or two")
    calls: Any = Field(description="what to do now, side by side; none if you are done")
    form: Any = create_model(
        "ToolUse",
        thought=(str, thought),
        calls=(list[call], calls),
        **{field: definitions[field] for field in types if field in beside},
    )
    return ToolObject(form, tools, fields, beside)


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
        items = _resolved(items, root) if isinstance(items, Mapping) else {}
        return list[_item(items, root) or _type(items, root, 1)]  # type: ignore[misc]
    return _PLAIN.get(str(schema.get("type")), str)


def _item(schema: Mapping[str, Any], root: Mapping[str, Any]) -> type[BaseModel] | None:
    """The type of an object in a list, where all its fields can have their own names."""
    properties = _properties(schema)
    if schema.get("type") != "object" or not properties or any(_field_name(n) != n for n in properties):
        return None
    needed = schema.get("required")
    fields: dict[str, Any] = {}
    for name, field in properties.items():
        kind = _type(field, root, 1)
        is_needed = isinstance(needed, list) and name in needed
        given = Field(description=str(field.get("description") or name))
        fields[name] = (
            (kind, given) if is_needed else (kind | None, Field(default=None, description=given.description))
        )
    made: type[BaseModel] = create_model("Item", **fields)
    return made


def _is_list_of_objects(kind: Any) -> bool:
    return any(isinstance(item, type) and issubclass(item, BaseModel) for item in get_args(kind))


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
