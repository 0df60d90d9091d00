"""Texts that can be encoded, whatever a model or a service wrote. A `str` of Python's may hold half a character, as JSON
can name one; nothing that is kept, sent or printed can. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from operator import is_
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

_T = TypeVar("_T")


_TEXTLESS = frozenset((int, float, bool, type(None), bytes, date, datetime))


def whole_characters(value: str) -> str:
    """A text that can be encoded: halves of characters are joined where both are there, else replaced."""
    if value.isascii():  # known without looking through it
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def whole(value: _T) -> _T:
    """The value with all texts in it, however deep, in `whole_characters`."""
    return in_all_texts(value, whole_characters)


def in_all_texts(value: _T, change: Callable[[str], str]) -> _T:
    """The value with each text in it changed, however deep: in the fields of models and dataclasses, in lists, tuples,
    sets and dictionaries, their keys as well. What has no text that changes is itself, not a copy."""
    changed: _T = _walked(value, change)
    return changed


def text_size(value: Any) -> int:
    """The characters of all texts in a value."""
    size = 0

    def count(text: str) -> str:
        nonlocal size
        size += len(text)
        return text

    in_all_texts(value, count)
    return size


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    kind: Any = type(value)
    if kind in _TEXTLESS:
        return value
    if names := _fields_of(kind):
        changed = {}
        for name in names:
            held = getattr(value, name)
            if (made := _walked(held, change)) is not held:
                changed[name] = made
        if not changed:
            return value
        return value.model_copy(update=changed) if isinstance(value, BaseModel) else replace(value, **changed)
    if isinstance(value, list | tuple):
        items = [_walked(item, change) for item in value]
        if all(map(is_, items, value)):
            return value
        return value._make(items) if hasattr(value, "_make") else kind(items)
    if isinstance(value, dict):
        made = {_walked(key, change): _walked(item, change) for key, item in value.items()}
        same = (
            len(made) == len(value)
            and all(map(is_, made, value))
            and all(map(is_, made.values(), value.values()))
        )
        return value if same else made
    if isinstance(value, set | frozenset):
        return kind(_walked(item, change) for item in value)
    return value


@lru_cache(maxsize=256)
def _fields_of(kind: type) -> tuple[str, ...]:
    """The names of what objects of a class are made of and may have a text in; none for other classes than models and
    dataclasses."""
    if issubclass(kind, BaseModel):
        return tuple(name for name, field in kind.model_fields.items() if not _is_textless(field.annotation))
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


def _is_textless(annotation: Any) -> bool:
    """Whether nothing that fits it is or holds a text of anybody's."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return True
    return annotation in _TEXTLESS or (
        get_origin(annotation) in (Union, UnionType) and all(map(_is_textless, get_args(annotation)))
    )
