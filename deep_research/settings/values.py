"""The kinds of values that settings take besides numbers and texts, and how people may write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from deep_research.errors import UnknownNameError
from deep_research.setting_fields import ONE_OR_MANY, Form, Name, Names, plain
from deep_research.state import ModelRole
from deep_research.state.phases import EVERY_ROLE

_ROLES = [EVERY_ROLE, *(role.value for role in ModelRole)]


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


AnyPath = Annotated[Path, BeforeValidator(_path)]
Paths = Annotated[tuple[AnyPath, ...], ONE_OR_MANY]
NamesByRole = Annotated[dict[Name, Names], BeforeValidator(_by_role), Form("a table of model names by role")]
Day = Annotated[date, BeforeValidator(_day)]
EffortByRole = Annotated[
    dict[Name, Literal["low", "medium", "high"]],
    BeforeValidator(_for_roles),
    Form("low, medium or high, or a table of these by role"),
]
TokensByRole = Annotated[
    dict[Name, Annotated[int, Field(ge=0, le=1_000_000)]],
    BeforeValidator(_for_roles),
    Form("a whole number, 0 at least, or a table of these by role"),
]
Sizes = Annotated[
    dict[Name, Annotated[int, Field(ge=1_000)]],
    BeforeValidator(_sizes),
    Form("a table of tokens, 1,000 at least, by model"),
]
NamedPaths = Annotated[dict[Name, AnyPath], Form("a table of paths by name")]
Addresses = Annotated[dict[Name, Name], BeforeValidator(_addresses), Form("a table of addresses by service")]


def user_data_dir() -> Path:
    """Where the platform keeps the data of programs."""
    import platformdirs  # here, because importing the package must stay cheap

    return platformdirs.user_data_path("deep-research", appauthor=False)
