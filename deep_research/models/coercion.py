"""Values that weak models write otherwise than a type has them, made what they plainly mean. Pure.

One table for all types: by what a field is, what is taken for what. Names of fields are never guessed, and a value of
which it is not plain what it means stays as it is, for the type to refuse.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deep_research.patterns import regex

DEEPEST = 20
_NOTHING = frozenset(
    ("", "-", "–", "—", "none", "null", "nil", "n/a", "na", "nothing", "not applicable", "[]", "{}")
)
_THIRDS = {"low": 1 / 6, "medium": 1 / 2, "moderate": 1 / 2, "high": 5 / 6}
_AROUND = " \t\n\r\"'`*_.,;:!()[]<>"
_NUMBER = regex(r"[-+]?\d{1,15}(?:[.,]\d{1,15})?")
_ONE_NUMBER = regex(r"[^\d%/]{0,20}?(-?\d{1,9})(?:\.0{1,9})?[^\d%/]{0,60}")
_NAME = regex(r"\W{0,3}[A-Za-z]{1,12}[ _#-]?\d{1,4}\W{0,3}")
_BETWEEN = regex(r"(?<!\s)\s*(?:[,;/&|\n]|\band\b)\s*")
_LIKELY_SHARE = 11  # of a hundred; from 2 to 10 it may be of ten as well
MANY = (list, tuple, set, frozenset)


@dataclass(frozen=True)
class Named:
    """Beside the type of a number: the words that stand for some, in lower case."""

    words: Mapping[str, int]

    def __hash__(self) -> int:
        return hash(tuple(self.words.items()))


# 1 is what matters most.
Priority = Annotated[int, Named({"critical": 1, "high": 1, "medium": 2, "moderate": 2, "low": 3})]


def coerced(value: Any, answer: type[BaseModel]) -> Any:
    """The value as the type has it, as far as it is plain what is meant."""
    return _object(value, answer, 0)


def _object(value: Any, answer: type[BaseModel], depth: int) -> Any:
    value = _decoded(value, "{")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict) or depth > DEEPEST:
        return value
    made: dict[Any, Any] = {}
    for name, held in value.items():
        field = answer.model_fields.get(name) if isinstance(name, str) else None
        if field is None:
            made[name] = held
        elif held is not None or field.is_required() or _may_be_none(field.annotation):
            made[name] = _value(held, field.annotation, tuple(field.metadata), depth + 1)
    return made  # a field that is null and may be left out was left out


def _value(value: Any, kind: Any, noted: tuple[Any, ...], depth: int) -> Any:
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return _value(value, inner, (*noted, *more), depth)
    if get_origin(kind) in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not type(None)]
        if len(parts) < len(get_args(kind)) and _is_nothing(value):
            return None
        return _value(value, parts[0], noted, depth) if len(parts) == 1 else value
    if get_origin(kind) in MANY or kind in MANY:
        return _list(value, item_of(kind), depth)
    if get_origin(kind) is Literal:
        return _choice(value, {str(choice): choice for choice in get_args(kind)})
    if isinstance(kind, type):
        if issubclass(kind, BaseModel):
            return _object(value, kind, depth)
        if issubclass(kind, Enum):
            return _choice(value, {str(choice.value): choice.value for choice in kind})
    coerce = _SCALARS.get(kind)
    return value if coerce is None else coerce(value, noted)


def _may_be_none(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().strip(".").casefold() in _NOTHING)


def _decoded(value: Any, opens: str) -> Any:
    """What a text holds that is itself written as JSON."""
    if isinstance(value, str) and value.strip()[:1] == opens:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _list(value: Any, item: Any, depth: int) -> Any:
    """None and its words for none, one item for a list of one, names after one another for a list of names."""
    value = _decoded(value, "[")
    if _is_nothing(value):
        return []
    inner = get_origin(item)
    if inner in MANY:
        value = [value] if isinstance(value, str) else value
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            value = [value] if all(map(_NAME.fullmatch, value)) else [_names(one) or one for one in value]
    elif isinstance(value, str) and isinstance(item, type) and issubclass(item, str):
        value = _names(value) or [value]
    elif isinstance(value, (str, int, float, dict)) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list) or depth > DEEPEST:
        return value
    kept = [one for one in value if not (_is_nothing(one) and len(value) > 1)]
    if len(kept) == 1 and _is_nothing(kept[0]):
        return []
    return [_value(one, item, (), depth + 1) for one in kept]


def _names(text: str) -> list[str]:
    """The names of several things, where a text is nothing else."""
    names = [name for name in _BETWEEN.split(text.strip().strip("[]()")) if name]
    return names if len(names) > 1 and all(map(_NAME.fullmatch, names)) else []


def _choice(value: Any, choices: Mapping[str, Any]) -> Any:
    """Letter case and marks around do not matter."""
    folded = {text.casefold(): choice for text, choice in choices.items()}
    if isinstance(value, str):
        wanted = value.strip(_AROUND).casefold()
        if wanted in folded:
            return folded[wanted]
        if "" in folded and wanted in _NOTHING:
            return folded[""]
    return value


def _text(value: Any, _noted: tuple[Any, ...]) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value


def _bool(value: Any, _noted: tuple[Any, ...]) -> Any:
    return value.strip(_AROUND) if isinstance(value, str) else value


def _int(value: Any, noted: tuple[Any, ...]) -> Any:
    if not isinstance(value, str):
        return value
    word = value.strip(_AROUND).casefold()
    for named in noted:
        if isinstance(named, Named) and word in named.words:
            return named.words[word]
    low, high = _bounds(noted)
    if word in _THIRDS and low is not None and high is not None:
        return round(low + _THIRDS[word] * (high - low))
    match = _ONE_NUMBER.fullmatch(value.strip())
    return int(match.group(1)) if match else value


def _float(value: Any, noted: tuple[Any, ...]) -> Any:
    """A share may be told in percent or in a word."""
    low, high = _bounds(noted)
    share = (low, high) == (0, 1)
    if isinstance(value, str):
        text = value.strip().strip("()[]*`\"' ")
        if low is not None and high is not None and text.casefold() in _THIRDS:
            return low + _THIRDS[text.casefold()] * (high - low)
        percent = text.endswith("%")
        number = text.rstrip("% ")
        if _NUMBER.fullmatch(number) is None or (percent and not share):
            return value
        number = number.replace(",", ".")
        return float(number) / 100 if percent else _share(float(number), share, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _share(float(value), share, value)
    return value


def _share(number: float, share: bool, value: Any) -> Any:
    if not share or number <= 1:
        return number
    return number / 100 if _LIKELY_SHARE <= number <= 100 else value


def _bounds(noted: tuple[Any, ...]) -> tuple[float | None, float | None]:
    low = high = None
    for note in noted:
        if isinstance(note, (Ge, Gt)):
            low = float(note.ge if isinstance(note, Ge) else note.gt)  # type: ignore[arg-type]
        elif isinstance(note, (Le, Lt)):
            high = float(note.le if isinstance(note, Le) else note.lt)  # type: ignore[arg-type]
    return low, high


_SCALARS: Mapping[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    str: _text,
    bool: _bool,
    int: _int,
    float: _float,
}


def field_at(answer: type[BaseModel], path: tuple[str | int, ...]) -> FieldInfo | None:
    """The field of a type that a path through a value leads to; None where the path ends at an item, or nowhere."""
    kind: Any = answer
    field: FieldInfo | None = None
    for step in path:
        if isinstance(step, int):
            kind, field = item_of(bare(kind)), None
            continue
        kind = bare(kind)
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return None
        field = kind.model_fields.get(step)
        if field is None:
            return None
        kind = field.annotation
    return field


def bare(kind: Any) -> Any:
    """The first type of a union that is a value, without what is noted beside it."""
    while get_origin(kind) in (Union, types.UnionType, Annotated):
        kind = next((part for part in get_args(kind) if part is not type(None)), str)
    return kind


def item_of(kind: Any) -> Any:
    """The type of the items of a list, a tuple or a set; of text where it does not say."""
    return next((part for part in get_args(kind) if part is not Ellipsis), str)
