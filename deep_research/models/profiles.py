"""What is known of a model before it is asked: window, longest answer, prices, encoding. Dated data in
``profiles.toml``, over which a user's own file may stand."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from deep_research.errors import SettingsError
from deep_research.files import read_regular
from deep_research.models.base import TokenUsage
from deep_research.patterns import regex
from deep_research.state import Record

SMALLEST = 8_192  # tokens of window of a model that nothing is known of: what nearly every server can do
MAX_FILE_BYTES = 1_000_000
_MILLION = 1_000_000
_DATED = regex(r"[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)(?:-v\d+(?::\d+)?)?")


class Price(Record):
    """US dollars for a million tokens. Cached and written input cost as much as other input unless it says else.
    A request with more than ``long`` tokens of input is charged by ``beyond``, all of it."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cache_read: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    long: int | None = Field(default=None, ge=1)
    beyond: Price | None = None

    def of(self, usage: TokenUsage) -> float:
        if self.beyond is not None and self.long is not None and usage.input > self.long:
            return self.beyond.of(usage)
        # Services have been seen to count what was cached on top of the input.
        plain = max(0, usage.input - usage.cache_read - usage.cache_write)
        cached = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        cost = (
            plain * self.input
            + usage.cache_read * cached
            + usage.cache_write * written
            + usage.output * self.output
        )
        return cost / _MILLION

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """What a request can cost at most."""
        if self.beyond is not None and self.long is not None and input_tokens > self.long:
            return self.beyond.most(input_tokens, output_tokens)
        dearest = max(self.input, self.cache_write or 0.0, self.cache_read or 0.0)
        return (input_tokens * dearest + output_tokens * self.output) / _MILLION


class Profile(Record):
    """``context`` is the window in tokens, ``output`` the longest answer. ``forms`` overrides what the service is
    believed to have. ``price`` None is unknown; ``as_of`` is when it was looked up. ``cheaper`` names a sibling that
    is enough for simple work. ``at_once`` and ``per_minute`` limit the requests of this process to the model."""

    context: int = Field(default=SMALLEST, ge=512)
    output: int = Field(default=SMALLEST // 2, ge=16)
    encoding: str | None = None
    forms: tuple[Literal["schema", "tool"], ...] | None = None
    price: Price | None = None
    cheaper: str | None = None
    at_once: int | None = Field(default=None, ge=1)
    per_minute: float | None = Field(default=None, gt=0)
    as_of: date | None = None


def profile_of(
    name: str, own: Mapping[str, Profile] | None = None, *, window: tuple[int, int] | None = None
) -> Profile:
    """The profile of ``service:model``: of the longest name that it begins with, and over it what the user's own of the
    longest such name says. A price is that of the model itself and its dated versions: what a variant costs
    (``…-pro``) is unknown. ``window`` is what the provider itself knows of it: it goes over ours."""
    ours, theirs = _nearest(name, built_in()), _nearest(name, own or {})
    profile = ours or Profile()
    if window is not None:
        profile = profile.model_copy(update={"context": window[0], "output": window[1]})
    if theirs is None:
        return profile
    said = {field: getattr(theirs, field) for field in theirs.model_fields_set}
    if "price" not in said and profile.price is not None:
        said.pop("as_of", None)  # the date is that of the price
    return profile.model_copy(update=said)


def names_window(name: str, own: Mapping[str, Profile]) -> bool:
    """Returns True where a profile of the model itself has its window, and not only that of its service."""
    theirs = _nearest(name, own)
    if theirs is not None and "context" in theirs.model_fields_set:
        return True
    return any(not key.endswith(":") and (name == key or _is_version(name, key)) for key in built_in())


def with_window(profile: Profile, context: int) -> Profile:
    """The profile with another window, and answers that leave half of it."""
    return profile.model_copy(update={"context": context, "output": min(profile.output, context // 2)})


def with_windows(own: Mapping[str, Profile], windows: Mapping[str, int]) -> dict[str, Profile]:
    """The user's own profiles, with the windows (tokens) that he gives of models by name."""
    made = dict(own)
    for name, context in windows.items():
        known = _nearest(name, own) or Profile()
        said = {field: getattr(known, field) for field in known.model_fields_set}
        made[name] = Profile(**said | {"context": context})
    return made


def _nearest(name: str, known: Mapping[str, Profile]) -> Profile | None:
    fitting = [key for key in known if name == key or _is_version(name, key)]
    if not fitting:
        return None
    key = max(fitting, key=len)
    profile = known[key]
    if profile.price is None or name == key or key.endswith(":") or _DATED.fullmatch(name[len(key) :]):
        return profile
    said = {field: getattr(profile, field) for field in profile.model_fields_set - {"price", "as_of"}}
    return Profile(**said)


def _is_version(name: str, key: str) -> bool:
    """Whether ``name`` is ``key`` with a date or a variant behind it; a key that ends with a colon is a service."""
    rest = name.removeprefix(key)
    return rest != name and (key.endswith(":") or rest[0] in "-.@:_")


@cache
def built_in() -> Mapping[str, Profile]:
    text = files("deep_research.models").joinpath("profiles.toml").read_text(encoding="utf-8")
    return _profiles(tomllib.loads(text), "profiles.toml")


def read_profiles(path: Path) -> Mapping[str, Profile]:
    """A user's file of the same form. Raises `SettingsError`."""
    try:
        return _profiles(tomllib.loads(read_regular(path, MAX_FILE_BYTES).decode("utf-8")), str(path.name))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"The model file {path.name} cannot be read: {reason}.") from None


def _profiles(data: Mapping[str, Any], where: str) -> Mapping[str, Profile]:
    as_of = data.get("as_of")
    found: dict[str, Profile] = {}
    for name, fields in data.items():
        if name == "as_of":
            continue
        try:
            dated = {} if as_of is None else {"as_of": as_of}
            found[name] = Profile.model_validate({**dated, **fields})
        except (ValidationError, TypeError) as error:
            first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
            place = ".".join(map(str, first["loc"])) if first else "it"
            why = first["msg"] if first else "is no table"
            shown = name if name.isprintable() else ascii(name)[1:-1]
            raise SettingsError(f"The model '{shown}' in {where} is not usable: {place}: {why}.") from None
    return found
