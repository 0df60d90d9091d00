"""Plain lines in place of JSON, for models that cannot write it: one line a field, ``name: value``. Pure.

A field of several values is written several times. A field of objects is written as blocks, each opened by a line with
its name in brackets. Bullets, bold names and values over several lines are understood.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deep_research.models.coercion import MANY, bare, item_of
from deep_research.models.object_parser import (
    LONGEST,
    MAX_FIELD_CHARS,
    Unreadable,
    validated,
    without_thoughts,
)
from deep_research.patterns import regex

_T = TypeVar("_T", bound=BaseModel)

LINES = 20_000  # that are looked at
_BLOCK = regex(r"^[\s>*_#-]*\[([\w -]{1,60})\][\s*_:]*$")
_FIELD = regex(
    r"^[\s>*_#•-]*(?:\d{1,3}[.)]\s+)?[*_`\"]*([A-Za-z][\w -]{0,59}?)[*_`\"]*\s*[:=](?:[*_`]+(?=\s|$))?\s*(.*)$"
)
_LINE_END = regex(r"\r\n?|\n")
_PAIRS = ("**", "*", "`", '"')


def instructions(answer: type[BaseModel]) -> str:
    """What the model is told, with a line for each field."""
    told = ["Answer in plain lines and nothing else: one line for each field, its name, a colon, its value."]
    inner: list[str] = []
    for name, field in answer.model_fields.items():
        sort = _shape(field)
        if sort.model is not None:
            inner.append(f"[{name}]")
            inner += [f"{n}: {describe_field(f)}" for n, f in sort.model.model_fields.items()]
        elif sort.many:
            told.append(f"{name}: {describe_field(field)} (write one such line for each)")
        else:
            told.append(f"{name}: {describe_field(field)}")
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


def collected(text: str, answer: type[BaseModel]) -> dict[str, Any]:
    """What the lines give, whether or not it fits."""
    return _collected(without_thoughts(text[:LONGEST]), answer)


def _collected(text: str, answer: type[BaseModel]) -> dict[str, Any]:
    shapes = {name: _shape(field) for name, field in answer.model_fields.items()}
    whole: dict[str, Any] = {}
    into, known = whole, shapes
    last: tuple[dict[str, Any], str] | None = None
    for line in _LINE_END.split(text)[:LINES]:
        block = _block_of(line, shapes)
        if block is not None and (model := shapes[block].model) is not None:
            into, known = {}, {name: _shape(field) for name, field in model.model_fields.items()}
            if shapes[block].many:
                whole.setdefault(block, []).append(into)
            else:
                whole[block] = into
            last = None
        elif (found := _field_of(line, known)) is not None:
            _put(into, known, *found)
            last = into, found[0]
        elif into is not whole and (found := _field_of(line, shapes)) is not None:
            into, known = whole, shapes  # a field of the whole that comes after the blocks
            _put(into, known, *found)
            last = into, found[0]
        elif last is not None and line.strip():
            _add(*last, line.strip())
    return _without_blanks(whole)


def _block_of(line: str, shapes: dict[str, _Shape]) -> str | None:
    match = _BLOCK.match(line[:200])
    return (
        _field_name(match.group(1), {n for n, s in shapes.items() if s.model is not None}) if match else None
    )


def _field_of(line: str, known: dict[str, _Shape]) -> tuple[str, str] | None:
    """The field that a line gives, with its value. Other words before a colon are part of some text."""
    match = _FIELD.match(line[:200])
    name = _field_name(match.group(1), known) if match else None
    return (name, _plain(line[match.start(2) :])) if match and name is not None else None


def _put(into: dict[str, Any], known: dict[str, _Shape], name: str, value: str) -> None:
    if known[name].many:
        into.setdefault(name, []).append(value)
    else:
        into[name] = value


def _add(holder: dict[str, Any], name: str, line: str) -> None:
    """One more line of the last value."""
    held = holder[name]
    if len(held[-1] if isinstance(held, list) else held) > MAX_FIELD_CHARS:
        return
    if isinstance(held, list):
        held[-1] = f"{held[-1]}\n{line}".strip()
    else:
        holder[name] = f"{held}\n{line}".strip()


def _plain(value: str) -> str:
    """Without the marks around it, of which the first may have stood before the name."""
    value = value.strip()
    for mark in _PAIRS:
        if value.endswith(mark) and value.count(mark) == 1:
            value = value.removesuffix(mark).rstrip()
        elif value.startswith(mark) and value.endswith(mark) and value.count(mark) == 2:
            value = value[len(mark) : -len(mark)].strip()
    return value


def _field_name(name: str, known: Any) -> str | None:
    wanted = re.sub(r"[\s-]+", "_", name.strip(" _").lower())
    return next((field for field in known if field.lower() == wanted), None)


def _without_blanks(value: dict[str, Any]) -> dict[str, Any]:
    """Empty values are values that were not given, where a field has a default for that."""
    kept: dict[str, Any] = {}
    for name, held in value.items():
        if isinstance(held, list):
            kept[name] = [
                _without_blanks(item) if isinstance(item, dict) else item for item in held if item != ""
            ]
        elif isinstance(held, dict):
            kept[name] = _without_blanks(held)
        elif held != "":
            kept[name] = held
    return kept


def describe_field(field: FieldInfo) -> str:
    """What belongs there, in a few words."""
    kind = bare(field.annotation)
    if get_origin(kind) in MANY:
        kind = bare(item_of(kind))
    if get_origin(kind) is Literal:
        sort = "one of " + ", ".join(str(choice) for choice in get_args(kind))
    elif isinstance(kind, type) and issubclass(kind, Enum):
        sort = "one of " + ", ".join(str(choice.value) for choice in kind)
    else:
        sort = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")
    return f"<{field.description or sort}{'' if not field.description or sort == 'text' else f', {sort}'}>"


class _Shape(NamedTuple):
    """Whether a field holds many values, and the type of objects in it, if it holds objects."""

    many: bool
    model: type[BaseModel] | None


def _shape(field: FieldInfo) -> _Shape:
    kind = bare(field.annotation)
    many = get_origin(kind) in MANY or kind in MANY
    if many:
        kind = bare(item_of(kind))
    return _Shape(many, kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None)
