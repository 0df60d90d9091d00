"""Directory of users and their permissions; by default a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research.errors import RightError, SettingsError
from deep_research.files import read_regular
from deep_research.setting_fields import value_at
from deep_research.settings import Settings
from deep_research.state import Budget, Permissions, RunOptions, UserContext

ANYBODY = "*"  # the entry of users that have none of their own
MAX_FILE_BYTES = 1 << 20


@runtime_checkable
class UserDirectory(Protocol):
    """Knows users. Every run asks it once, before it begins."""

    def context(self, user_id: str | None) -> UserContext | Awaitable[UserContext | None] | None:
        """Who a user is and what they may; None for one that it does not know, whose runs are refused. ``user_id`` is
        None for a run that names no user."""
        ...


class _Entry(BaseModel):
    """A table of the file; caps stand beside the rest."""

    model_config = ConfigDict(extra="forbid", strict=True)

    language: str | None = None
    role: str | None = None
    sources: list[str] | None = None
    kinds: list[str] | None = None
    corpora: list[str] | None = None
    tools: list[str] | None = None
    budget: dict[str, Any] | None = None


class UserFile:
    """A TOML file with a table for each user, read again when it changes. The table ``"*"`` is of all others.

    Example:
        [users.ann]
        language = "German"
        sources = ["corpus"]
        budget = { max_usd = 2.0 }
    """

    def __init__(self, path: Path) -> None:
        """Raises `SettingsError` where the file cannot be read."""
        self._path = path
        self._version: tuple[int, ...] = ()
        self._users: Mapping[str, UserContext] = {}
        self._load()

    def context(self, user_id: str | None) -> UserContext | None:
        self._load()
        context = self._users.get(user_id or ANYBODY) or self._users.get(ANYBODY)
        return context and context.model_copy(update={"name": user_id})

    def _load(self) -> None:
        try:
            status = os.stat(self._path)
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if version != self._version:
                body = tomllib.loads(read_regular(self._path, MAX_FILE_BYTES).decode())
                self._users, self._version = _users_in(body, self._path), version
        except (OSError, ValueError) as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f"The users of {self._path} cannot be read: {error}.") from None


def _users_in(body: Mapping[str, Any], path: Path) -> dict[str, UserContext]:
    users = body.get("users", {})
    if set(body) - {"users"} or not isinstance(users, dict):
        raise SettingsError(
            f"{path} has something other than tables of users.", hint="Write each user as [users.NAME]."
        )
    contexts = {}
    for name, table in users.items():
        try:
            entry = _Entry.model_validate(table)
            contexts[name] = UserContext(
                name=name,
                language=entry.language,
                role=entry.role,
                permissions=Permissions(
                    **{
                        key: None if (values := getattr(entry, key)) is None else tuple(values)
                        for key in ("sources", "kinds", "corpora", "tools")
                    },
                    budget=None if entry.budget is None else Budget(**entry.budget),
                ),
            )
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            raise SettingsError(f"The user '{name}' of {path}: {place}: {fault['msg']}.") from None
    return contexts


def chosen_users(users: UserDirectory | None, settings: Settings) -> UserDirectory | None:
    """The directory of an engine: the one that was handed over, else the file of the settings. Raises `SettingsError`."""
    if users is None:
        return UserFile(settings.users_file) if settings.users_file is not None else None
    if not callable(getattr(users, "context", None)):
        raise SettingsError(
            "users must be a UserDirectory.", hint="Give an object with a method `context(user_id)`."
        )
    return users


def restricted(options: RunOptions, user: UserContext) -> RunOptions:
    """The options of a run within what its user may. Raises `RightError` for what was asked for beyond that."""
    may = user.permissions
    changed: dict[str, Any] = {}
    for name, allowed in (
        ("source_types", may.kinds),
        ("corpora", may.corpora),
        ("tasks.tools", may.tools),
        ("tasks.sources", may.sources),
    ):
        values = value_at(options, name)
        over = [each for each in values if allowed is not None and each not in allowed]
        if over:
            raise RightError(
                f"The user '{user.name or 'nobody'}' may not use {name}: {', '.join(over)[:200]}.",
                hint="Remove it from the request.",
            )
        if name == "source_types" and allowed is not None and not values:
            changed[name] = allowed
    if options.language is None and user.language is not None:
        changed["language"] = user.language
    if may.budget is not None:
        caps = {
            name: cap if (own := getattr(options.budget, name)) is None else min(own, cap)
            for name, cap in may.budget
            if cap is not None
        }
        changed["budget"] = options.budget.model_copy(update=caps)
    return options.model_copy(update=changed)
