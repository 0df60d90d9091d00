"""The windows of models: what a profile says of them, what their servers say when asked, and what errors have named."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from deep_research.calls import contained
from deep_research.errors import ModelError
from deep_research.logs import describe_error, get_log
from deep_research.models.base import ModelProvider
from deep_research.models.failures import Verdict, limits_of
from deep_research.models.probe import Probes
from deep_research.models.profiles import Profile, names_window, profile_of, with_window

ASK_SECONDS = 5.0  # for all that one server is asked about its window

log = get_log("windows")


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
