"""What a model can do, found by asking it something small at its first use, and remembered in a file;
and the windows of models, from their profiles, their servers and what errors have named.

The question goes down the ladder as any other, so that what does not work is learned on a few tokens, and not on a
prompt of thousands.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.calls import contained
from deep_research.errors import ModelError
from deep_research.logs import describe_error, get_log
from deep_research.models import structured
from deep_research.models.base import Message, ModelCall, ModelProvider
from deep_research.models.error_bodies import MAX_WINDOW_TOKENS, MIN_WINDOW_TOKENS
from deep_research.models.failures import Verdict, limits_of
from deep_research.models.profiles import Profile, names_window, profile_of, with_window
from deep_research.models.retry import REQUEST_TIMEOUTS_PER_UNIT, Persistence, Tries, loop_time
from deep_research.models.structured import Abilities, Rung
from deep_research.state import Record

FILE = "models.json"
PROBE = "probe"  # the label of its requests
KEPT = timedelta(days=30)
SECONDS = 120.0  # of a request: servers on this machine load a model when it is first asked
MAX_OUTPUT_TOKENS = 2_000  # room for the thoughts of a model that reasons

log = get_log("probe")
ASK_SECONDS = 5.0  # for all that one server is asked about its window


class Sky(BaseModel):
    """The smallest question that shows whether fields, choices and lists come as they should."""

    colour: Literal["blue", "green"] = Field(description="of a clear sky at noon")
    seen: list[str] = Field(description="two things that may be in it")


class Probed(Record):
    """What was found of one model. ``rungs`` are the ways of asking for an object that were tried, with whether they
    can be used; ``usage`` says whether the service counts tokens, ``error`` why there is no answer; ``window`` is the
    size in tokens that an error named."""

    name: str
    at: datetime
    rungs: dict[str, bool] = Field(default_factory=dict)
    usage: bool = True
    seconds: float = Field(default=0.0, allow_inf_nan=False)
    error: str | None = None
    window: int | None = Field(default=None, ge=MIN_WINDOW_TOKENS, le=MAX_WINDOW_TOKENS)

    @property
    def was_probed(self) -> bool:
        """True where the model was asked what it can do; False where only its window is known."""
        return bool(self.rungs) or self.error is not None


class Probes:
    """The memory of what models can do, in ``folder`` if there is one. Thread-safe; a file that cannot be read or
    written costs a question, never a run."""

    def __init__(self, folder: Path | None, abilities: Abilities) -> None:
        self._path = folder / FILE if folder else None
        self._abilities = abilities
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._known: dict[str, Probed] | None = None

    def known_probe(self) -> dict[str, Probed]:
        """Returns what is remembered of the models that were asked what they can do, by model."""
        return {name: found for name, found in self._all().items() if found.was_probed}

    def window(self, name: str) -> int | None:
        """The window of a model in tokens, as an error named it."""
        found = self._all().get(name)
        return found.window if found else None

    def remember_window(self, name: str, window: int) -> None:
        found = self._all().get(name) or Probed(name=name, at=datetime.now(UTC))
        self.remember(found.model_copy(update={"window": window}))

    def _all(self) -> dict[str, Probed]:
        with self._lock:
            if self._known is None:
                self._known = self._read()
                for found in self._known.values():
                    self._teach(found)
            return dict(self._known)

    async def ensure(
        self,
        provider: ModelProvider,
        profile: Profile,
        persistence: Persistence,
        *,
        seconds: float = SECONDS,
        unit_seconds: float | None = None,
    ) -> None:
        """Asks the model, unless it was asked before. Raises `ModelError` when it cannot be reached or refuses to
        work: whatever else is asked of it would end in the same way."""
        known = self.known_probe()
        with self._lock:
            if provider.identity in known or provider.identity in self._asked:
                return
            self._asked.add(provider.identity)
        try:
            found = await probe(
                provider, profile, self._abilities, persistence, seconds=seconds, unit_seconds=unit_seconds
            )
        except BaseException:
            with self._lock:
                self._asked.discard(provider.identity)
            raise
        self.remember(found.model_copy(update={"window": self.window(found.name)}))

    def remember(self, found: Probed) -> None:
        with self._lock:
            # What was found now stands, without what was known before; other models' entries are kept.
            self._known = (self._read() if self._known is None else self._known) | {found.name: found}
            self._write(self._known)

    def _teach(self, found: Probed) -> None:
        for rung, usable in found.rungs.items():
            (self._abilities.worked if usable else self._abilities.failed)(found.name, Rung(rung))

    def _read(self) -> dict[str, Probed]:
        if self._path is None:
            return {}
        now = datetime.now(UTC)
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
            read = [Probed.model_validate({**item, "name": name}) for name, item in held.items()]
            return {
                found.name: found
                for found in read
                if set(found.rungs) <= set(Rung) and now - KEPT < found.at.astimezone(UTC) < now + KEPT
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            log.info("probes_unread", error=type(error).__name__)
            return {}

    def _write(self, known: dict[str, Probed]) -> None:
        if self._path is None:
            return
        text = json.dumps(
            {name: item.model_dump(mode="json") for name, item in sorted(known.items())}, indent=1
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f"{FILE}-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(name, self._path)
            except BaseException:
                os.unlink(name)
                raise
        except (OSError, ValueError) as error:
            log.info("probes_unwritten", error=type(error).__name__)


async def probe(
    provider: ModelProvider,
    profile: Profile,
    abilities: Abilities,
    persistence: Persistence,
    *,
    seconds: float = SECONDS,
    unit_seconds: float | None = None,
) -> Probed:
    """Asks a model something small, within its profile: a server that is told another window than later would load
    the model twice. ``seconds`` is the time limit of a request, ``unit_seconds`` that of all requests together, by
    default `REQUEST_TIMEOUTS_PER_UNIT` times ``seconds``. Raises `ModelError` unless it answers, be it badly."""
    began = loop_time()
    tries = Tries(began + (unit_seconds or seconds * REQUEST_TIMEOUTS_PER_UNIT), request_seconds=seconds)
    most = min(MAX_OUTPUT_TOKENS, profile.output)
    call = ModelCall(
        messages=(Message(content="What colour is a clear sky at noon, and what may be seen in it?"),),
        max_output=most,
        context=profile.context,
        label=PROBE,
    )
    error: str | None = None
    try:
        await structured.ask(
            provider,
            call,
            Sky,
            tries,
            persistence=persistence,
            abilities=abilities,
            most_output=most,
            forms=profile.forms,
        )
    except ModelError as problem:
        if problem.verdict not in (Verdict.MALFORMED, Verdict.LENGTH, Verdict.REFUSAL):
            raise
        error = problem.problem
    return Probed(
        name=provider.identity,
        at=datetime.now(UTC),
        rungs=abilities.known_abilities().get(provider.identity, {}),
        usage=tries.usage.is_known,
        seconds=round(loop_time() - began, 3),
        error=error,
    )


@dataclass(slots=True)
class Windows:
    """The profiles of providers with the windows that are known by now. ``own`` are the user's profiles. A window that an
    error named is remembered with what models can do; in this process it goes over all that is said otherwise, later a
    window that the user gives goes over it. Thread-safe."""

    own: Mapping[str, Profile]
    probes: Probes
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _windows: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    _learned: dict[str, int] = field(default_factory=dict)
    _longest: dict[str, int] = field(default_factory=dict)

    def profile_of(self, provider: ModelProvider) -> Profile:
        with self._lock:
            asked, learned = self._windows.get(provider.identity), self._learned.get(provider.identity)
        profile = profile_of(provider.name, self.own, window=provider.window or asked)
        if learned is None and not names_window(provider.name, self.own):
            learned = self.probes.window(provider.identity)
        if learned is not None and learned < profile.context:
            profile = with_window(profile, learned)
        longest = min(self._longest.get(provider.identity, profile.output), profile.output)
        return profile if longest == profile.output else profile.model_copy(update={"output": longest})

    def learn(self, provider: ModelProvider, error: ModelError) -> bool:
        """Keeps the smaller window, or the shorter answer, that an error names. Returns True if it names one."""
        (window, longest), profile = limits_of(error), self.profile_of(provider)
        if longest is not None and longest < profile.output:
            self._longest[provider.identity] = longest
            return True
        if window is None or window >= profile.context:
            return False
        with self._lock:
            self._learned[provider.identity] = window
        self.probes.remember_window(provider.identity, window)
        return True

    async def ask(self, provider: ModelProvider) -> bool:
        """Asks the server for the window of a model that nothing is known of, once. Returns True where the window has to
        be assumed all the same, since the server says nothing of it."""
        with self._lock:
            known = self._windows.get(provider.identity, ...)
        if provider.window is not None or names_window(provider.name, self.own) or not provider.tells_window:
            return False
        if known is ...:
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    with contained():
                        known = await provider.ask_window()
            except Exception as error:  # anyone may write a provider
                log.info("window_not_told", provider=provider.name, error=describe_error(error))
                if not isinstance(error, ModelError) or error.verdict != Verdict.FATAL:
                    return False  # a server that is not there says nothing of itself, and may later
                known = None
            with self._lock:
                self._windows[provider.identity] = known
        return known is None and self.probes.window(provider.identity) is None
