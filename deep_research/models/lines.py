"""Plain lines in place of JSON, for models that cannot write it: one line a field, ``name: value``. Pure.

A field of several values is written several times. A field of several objects is written as blocks, each opened by a
line with its name in brackets. Bullets, bold names and values over several lines are understood.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deep_research.models.reading import LONGEST, Unreadable, validated, without_thoughts

_T = TypeVar("_T", bound=BaseModel)

LINES = 20_000  # that are looked at
_BLOCK = re.compile(r"^[\s>*_#-]*\[([\w -]{1,60})\][\s*_:]*$")
_FIELD = re.compile(
    r"^[\s>*_#•-]*(?:\d{1,3}[.)]\s+)?[*_`\"]*([A-Za-z][\w -]{0,59}?)[*_`\"]*\s*[:=]\s*[*_`]*\s?(.*)$"
)
_MARKS = ' \t*_`"'


def instructions(answer: type[BaseModel]) -> str:
    """What the model is told, with a line for each field."""
    told = ["Answer in plain lines and nothing else: one line for each field, its name, a colon, its value."]
    inner: list[str] = []
    for name, field in answer.model_fields.items():
        sort = _shape(field)
        if sort.model is not None and sort.many:
            inner.append(f"[{name}]")
            inner += [f"{n}: {_wanted(f)}" for n, f in sort.model.model_fields.items()]
        elif sort.many:
            told.append(f"{name}: {_wanted(field)} (write one such line for each)")
        else:
            told.append(f"{name}: {_wanted(field)}")
    if inner:
        told.append("After these, one block for each item, opened by its name in brackets:")
        told += inner
    return "\n".join(told)


def read(text: str, answer: type[_T]) -> _T:
    """Raises `Unreadable`."""
    plain = without_thoughts(text[:LONGEST])
    if not plain:
        raise Unreadable("it is empty.")
    value = _collected(plain, answer)
    if not value:
        raise Unreadable("no line in it begins with the name of a field and a colon.")
    return validated(value, answer)


def _collected(text: str, answer: type[BaseModel]) -> dict[str, Any]:
    shapes = {name: _shape(field) for name, field in answer.model_fields.items()}
    whole: dict[str, Any] = {}
    into, known = whole, shapes
    last: tuple[dict[str, Any], str] | None = None
    for kind, name, value in _tokens(text):
        if kind == "block":
            block = _named(name, {n for n, s in shapes.items() if s.model is not None and s.many})
            last = None
            if block is not None and (model := shapes[block].model) is not None:
                into, known = {}, {n: _shape(f) for n, f in model.model_fields.items()}
                whole.setdefault(block, []).append(into)
        elif (
            kind == "field"
            and (field := _named(name, known) or _outer(name, into, whole, shapes)) is not None
        ):
            if field not in known:
                into, known = whole, shapes
            if known[field].many:
                into.setdefault(field, []).append(value)
            else:
                into[field] = value
            last = (into, field)
        elif last is not None and value:
            holder, field = last
            held = holder[field]
            if isinstance(held, list):
                held[-1] = f"{held[-1]}\n{value}".strip()
            else:
                holder[field] = f"{held}\n{value}".strip()
    return _without_blanks(whole)


def _outer(name: str, into: dict[str, Any], whole: dict[str, Any], shapes: dict[str, _Shape]) -> str | None:
    """A field of the whole that comes after the blocks."""
    return _named(name, shapes) if into is not whole else None


def _tokens(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.split("\n")[:LINES]:
        if match := _BLOCK.match(line):
            yield "block", match.group(1), ""
        elif match := _FIELD.match(line[:200]):
            start = match.start(2)
            yield "field", match.group(1), line[start:].strip(_MARKS)
            continue
        else:
            yield "more", "", line.strip()


def _named(name: str, known: Any) -> str | None:
    wanted = re.sub(r"[\s-]+", "_", name.strip().lower())
    return next((field for field in known if field.lower() == wanted), None)


def _without_blanks(value: dict[str, Any]) -> dict[str, Any]:
    """Empty values are values that were not given, where a field has a default for that."""
    kept: dict[str, Any] = {}
    for name, held in value.items():
        if isinstance(held, list):
            kept[name] = [
                _without_blanks(item) if isinstance(item, dict) else item for item in held if item != ""
            ]
        elif held != "":
            kept[name] = held
    return kept


class _Shape:
    """Whether a field holds many values, and the type of objects in it, if it holds objects."""

    __slots__ = ("many", "model")

    def __init__(self, many: bool, model: type[BaseModel] | None) -> None:
        self.many = many
        self.model = model


def _shape(field: FieldInfo) -> _Shape:
    kind: Any = field.annotation
    if get_origin(kind) in (Union, types.UnionType):
        kind = next((part for part in get_args(kind) if part is not type(None)), str)
    many = get_origin(kind) in (list, tuple, set, frozenset)
    if many:
        kind = next((part for part in get_args(kind) if part is not Ellipsis), str)
    return _Shape(many, kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None)


def _wanted(field: FieldInfo) -> str:
    """What belongs there, in a few words."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, types.UnionType, list, tuple, set, frozenset):
        kind = next((part for part in get_args(kind) if part not in (type(None), Ellipsis)), str)
    if get_origin(kind) is Literal:
        sort = "one of " + ", ".join(str(choice) for choice in get_args(kind))
    elif isinstance(kind, type) and issubclass(kind, Enum):
        sort = "one of " + ", ".join(str(choice.value) for choice in kind)
    else:
        sort = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")
    return f"<{field.description or sort}{'' if not field.description or sort == 'text' else f', {sort}'}>"
