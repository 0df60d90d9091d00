"""The kinds of values that settings take besides numbers and texts, and how people may write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from deep_research.errors import UnknownNameError
from deep_research.logs import redact
from deep_research.state import ModelRole
from deep_research.state.phases import EVERY_ROLE

_ROLES = [EVERY_ROLE, *(role.value for role in ModelRole)]
_LONGEST_SHOWN = 80
EVERY_SETTING = "`deep-research doctor` and docs/settings.md name all of them."


def _one_or_many(value: object) -> object:
    """A single text or path stands for a list of one; a list becomes the tuple the model keeps."""
    if isinstance(value, str | Path):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _path(value: object) -> object:
    # An empty path would silently mean the current folder, and no file system takes a NUL.
    if isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    return value


def _by_role(value: object) -> object:
    """A table of models by role; or texts, each ``role=name``, of which those of one role make its chain."""
    if isinstance(value, str | list | tuple):
        table: dict[str, tuple[str, ...]] = {}
        for item in [value] if isinstance(value, str) else value:
            role, equals, name = str(item).partition("=")
            if not equals:
                return value
            table[role.strip()] = (*table.get(role.strip(), ()), name.strip())
        value = table
    for role in value if isinstance(value, Mapping) else ():
        if role not in list(ModelRole):
            raise UnknownNameError.of("model role", plain(str(role)), list(ModelRole))
    return value


def _for_roles(value: object) -> object:
    """A table by role; or texts, each ``role=value``, or one value alone for all roles."""
    items = value if isinstance(value, list | tuple) else (value,)
    if not isinstance(value, Mapping) and all(isinstance(item, str | int) for item in items):
        pairs = [str(item).rpartition("=") for item in items]
        value = {role.strip() or EVERY_ROLE: _number(text.strip()) for role, _, text in pairs}
    for role in value if isinstance(value, Mapping) else ():
        if role not in _ROLES:
            raise UnknownNameError.of("model role", plain(str(role)), _ROLES)
    return value


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _day(value: object) -> object:
    """A day as a date, or as it is written: 2026-01-31."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            return value
    return value


def _addresses(value: object) -> object:
    """A table of addresses by service; or texts, each ``service=address``."""
    if isinstance(value, str | list | tuple):
        pairs = [str(item).partition("=") for item in ([value] if isinstance(value, str) else value)]
        if all(equals for _, equals, _ in pairs):
            return {name.strip(): address.strip() for name, _, address in pairs}
    return value


def _sizes(value: object) -> object:
    """A table of whole numbers by name; or texts, each ``name=number``."""
    if isinstance(value, str | list | tuple):
        pairs = [str(item).rpartition("=") for item in ([value] if isinstance(value, str) else value)]
        if all(
            equals and number.strip().isascii() and number.strip().isdigit() for _, equals, number in pairs
        ):
            return {name.strip(): int(number) for name, _, number in pairs}
    return value


Name = Annotated[str, Field(min_length=1)]
AnyPath = Annotated[Path, BeforeValidator(_path)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_many)]
Paths = Annotated[tuple[AnyPath, ...], BeforeValidator(_one_or_many)]
NamesByRole = Annotated[dict[Name, Names], BeforeValidator(_by_role)]
Day = Annotated[date, BeforeValidator(_day)]
EffortByRole = Annotated[dict[Name, Literal["low", "medium", "high"]], BeforeValidator(_for_roles)]
TokensByRole = Annotated[dict[Name, Annotated[int, Field(ge=0, le=1_000_000)]], BeforeValidator(_for_roles)]
Sizes = Annotated[dict[Name, Annotated[int, Field(ge=1_000)]], BeforeValidator(_sizes)]
NamedPaths = dict[Name, AnyPath]
Addresses = Annotated[dict[Name, Name], BeforeValidator(_addresses)]


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
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
