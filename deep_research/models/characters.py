"""Texts that can be encoded, whatever a model or a service wrote. A `str` of Python's may hold half a character, as JSON
can name one; nothing that is kept, sent or printed can. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

_T = TypeVar("_T")


def whole_characters(value: str) -> str:
    """A text that can be encoded: halves of characters are joined where both are there, else replaced."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def whole(value: _T) -> _T:
    """The value with all texts in it, however deep, in `whole_characters`."""
    return in_all_texts(value, whole_characters)


def in_all_texts(value: _T, change: Callable[[str], str]) -> _T:
    """The value with each text in it changed, however deep: in objects, lists and mappings, their keys as well."""
    changed: _T = _walked(value, change)
    return changed


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, BaseModel):
        changed = {name: _walked(getattr(value, name), change) for name in type(value).model_fields}
        return value.model_copy(update=changed)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _walked(getattr(value, f.name), change) for f in fields(value)})
    if isinstance(value, list | tuple):
        return type(value)(_walked(item, change) for item in value)
    if isinstance(value, dict):
        return {_walked(key, change): _walked(item, change) for key, item in value.items()}
    return value
