"""Fields of settings and options: groups of them, the paths that name them, and plain error messages for wrong names
and values.

The path of a member joins group and member with a dot, as in ``fetch.timeout``; that of any other field is its name.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.logs import redact

ARGUMENT, DEFAULT = "argument", "default"  # origins of values
EVERY_SETTING = "`deep-research doctor` and docs/settings.md name all of them."
_MAX_SHOWN_CHARS = 80
_Model = TypeVar("_Model", bound=BaseModel)

# As an argument: takes a cap away, where None would mean that nothing was given.
UNSET: Any = object()
Name = Annotated[str, Field(min_length=1)]
_WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Path: "a path",
    date: "a day such as 2026-01-31",
}


class SettingGroup(BaseModel):
    """Base of settings that belong together: frozen and strict. A wrong name raises `UnknownNameError`, a wrong value
    `SettingsError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
    group_name: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise explain(error, type(self), {}, f"{self.group_name}.") from None

    # Inside of another model, errors stay those of pydantic, which that model explains with the origins of its values.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Form:
    """Beside a type: what its values look like, in words."""

    text: str


def _one_or_many(value: object) -> object:
    """A single text or path stands for a list of one; a list becomes the tuple the model keeps."""
    if isinstance(value, str | Path):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


ONE_OR_MANY = BeforeValidator(_one_or_many)
Names = Annotated[tuple[Name, ...], ONE_OR_MANY]


# --- paths -------------------------------------------------------------------------------------------------


def group_of(field: FieldInfo) -> type[SettingGroup] | None:
    """The group that a field holds, if it holds one."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, SettingGroup) else None


@cache
def fields_by_path(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """The fields of a model that hold a value, those of groups among them."""
    fields: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        group = group_of(field)
        fields |= (
            {name: field} if group is None else {f"{name}.{m}": f for m, f in group.model_fields.items()}
        )
    return fields


def value_at(model: BaseModel, path: str) -> Any:
    return reduce(getattr, path.split("."), model)


def flatten(
    model: type[BaseModel], values: Mapping[str, Any], origin: str = ARGUMENT, *, kind: str = "setting"
) -> dict[str, Any]:
    """Values by path. A group is a dict or an object; of an object only the members count that its maker set.
    None counts as not given, `UNSET` as None.

    Raises `UnknownNameError` for names that the model does not have, and `SettingsError` for what is no group. ``origin``
    is where the values come from, ``kind`` what they are.
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        field = model.model_fields.get(name)
        group = group_of(field) if field is not None else None
        if value is None:
            _check_name(model, name, origin, kind)
        elif group is None:
            _check_name(model, name, origin, kind)
            flat[name] = None if value is UNSET else value
        elif isinstance(value, group):
            flat |= {f"{name}.{member}": getattr(value, member) for member in value.model_fields_set}
        elif isinstance(value, Mapping):
            for member, each in value.items():
                _check_name(model, f"{name}.{member}", origin, kind)
                if each is not None:
                    flat[f"{name}.{member}"] = None if each is UNSET else each
        else:
            raise SettingsError(
                f"{name} must be a table of settings, got {display_value(value)} (from {origin}).",
                setting=name,
            )
    return flat


def _check_name(model: type[BaseModel], path: str, origin: str, kind: str) -> None:
    if path not in fields_by_path(model) and path not in model.model_fields:
        where = "" if origin == ARGUMENT else origin
        listed = EVERY_SETTING if kind == "setting" else ""
        raise UnknownNameError.of(kind, plain(path), fields_by_path(model), where=where, listed=listed)


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, of groups as dicts, from values by path."""
    nested: dict[str, Any] = {}
    for path, value in values.items():
        name, _, member = path.partition(".")
        if member:
            nested.setdefault(name, {})[member] = value
        else:
            nested[name] = value
    return nested


def with_values(model: _Model, values: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> _Model:
    """The model with other ``values``, by path."""
    flat_values = flatten(type(model), dict(model)) | dict(values)
    return type(model).model_validate(nest(flat_values), context=context)


# --- types and bounds --------------------------------------------------------------------------------------


def kind_of(field: FieldInfo) -> object:
    """The type of a field without None and annotations: ``int``, ``float``, ``str``, ``Path``, ``date``, a Literal,
    or ``tuple[item, ...]``."""
    annotation: object = field.annotation
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def is_optional(field: FieldInfo) -> bool:
    return type(None) in get_args(field.annotation)


def holds_paths(field: FieldInfo) -> bool:
    sort = kind_of(field)
    return Path in (sort, *_leaves(sort))


def _leaves(sort: object) -> Iterator[object]:
    for part in get_args(sort):
        yield part
        yield from _leaves(part)


def bounds(field: FieldInfo) -> str:
    """The limits of a field in words, such as «between 1 and 10», «one of 'text', 'json'» or «between 2 and 20 or
    'auto'»; "" without."""
    sort = kind_of(field)
    if get_origin(sort) is Literal:
        return "one of " + ", ".join(f"'{choice}'" for choice in get_args(sort))
    parts = get_args(field.annotation) if get_origin(field.annotation) in (Union, types.UnionType) else ()
    inner = [each for part in parts for info in get_args(part)[1:] for each in getattr(info, "metadata", ())]
    words = [f" or '{word}'" for part in parts if get_origin(part) is Literal for word in get_args(part)]
    limits: dict[str, float] = {}
    for constraint in (*field.metadata, *inner):
        for key in ("ge", "gt", "le"):
            if (limit := getattr(constraint, key, None)) is not None:
                limits[key] = limit
    low = f"above {limits['gt']}" if "gt" in limits else f"at least {limits['ge']}" if "ge" in limits else ""
    if "ge" in limits and "le" in limits:
        return f"between {limits['ge']} and {limits['le']}{''.join(words)}"
    return " and ".join(part for part in (low, f"at most {limits['le']}" if "le" in limits else "") if part)


# --- errors ------------------------------------------------------------------------------------------------


def explain(
    error: ValidationError, model: type[BaseModel], origins: Mapping[str, str], prefix: str = ""
) -> SettingsError | UnknownNameError:
    """Pydantic's first complaint in one line of ours. ``origins`` says where each value came from, ``prefix`` begins
    the paths of the fields of a group."""
    details = error.errors(include_url=False)[0]
    places = [str(place) for place in details["loc"][:2]]
    group = group_of(model.model_fields[places[0]]) if places and places[0] in model.model_fields else None
    path = ".".join(places if group is not None else places[:1])
    fields = fields_by_path(model)
    if details["type"] == "extra_forbidden":
        paths = [prefix + each for each in fields]
        return UnknownNameError.of("setting", plain(prefix + path), paths, listed=EVERY_SETTING)
    expected = _expectation(details, fields[path]) if path in fields else "a table of settings"
    name = prefix + path
    return SettingsError(
        f"{name} must be {expected}, got {display_value(details['input'])}{origin_note(origins, name)}.",
        setting=name,
    )


def _expectation(details: ErrorDetails, field: FieldInfo) -> str:
    limits = bounds(field)
    if limits and details["type"].startswith(("greater_than", "less_than", "literal")):
        return limits
    sort = kind_of(field)
    if form := next((each for each in field.metadata if isinstance(each, Form)), None):
        return form.text
    if get_origin(sort) is tuple:
        return "a list of paths" if holds_paths(field) else "a list of names"
    return " ".join(part for part in (_WORDS.get(sort, ""), limits) if part) or "of its type"


def origin_note(origins: Mapping[str, str], *paths: str) -> str:
    """« (from X)» for the first of the fields that was set by someone."""
    for path in paths:
        if origins.get(path, DEFAULT) != DEFAULT:
            return f" (from {origins[path]})"
    return ""


def display_value(value: object) -> str:
    """A value for an error line: short, and nothing in it that looks like a secret."""
    return _cut(redact(repr(value)))


def plain(name: str) -> str:
    """A name for an error line. Names come from files too, so one may hold anything."""
    return _cut(one_line(name))


def one_line(text: str) -> str:
    text = redact(text)
    return text if text.isprintable() else ascii(text)[1:-1]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
