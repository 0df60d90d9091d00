"""Leaving a service alone that fails: for all runs of the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_FAILURES = 5  # in a row
UNREACHED_WEIGHT = 3  # failures that it counts as when there was no connection
FIRST_REST_SECONDS = 30.0  # seconds, doubled each time
MAX_REST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Health:
    """How a service is: ``rest`` seconds until it may be asked again, and why; 0: now. ``is_explicit`` means that the
    service itself said so, or refused the key; else its failures were counted. ``unreached``: the last was that there is
    no way to it."""

    rest: float = 0.0
    why: str = ""
    is_explicit: bool = False
    failures: int = 0
    unreached: bool = False


@dataclass(slots=True)
class Breaker:
    """Closed until a service failed `MAX_FAILURES` times in a row, or says that it is not to be asked; then open for a
    while. After that one request may try, and its end decides. Thread-safe."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failures: int = 0
    _until: float = 0.0
    _why: str = ""
    _is_explicit: bool = False
    _unreached: bool = False
    _trying: float = 0.0  # when the request that tries was let through, or 0

    def health(self) -> Health:
        with self._lock:
            rest = max(0.0, self._until - self.clock())
            why = self._why if rest or self._failures else ""
            return Health(rest, why, self._is_explicit, self._failures, self._unreached and bool(why))

    def admits(self) -> bool:
        """Whether a request may go out now. After a rest only one may, until its end is known or a rest has passed."""
        with self._lock:
            now = self.clock()
            if now < self._until:
                return False
            if self._failures < MAX_FAILURES and not self._is_explicit:
                return True
            if self._trying and now < self._trying + FIRST_REST_SECONDS:
                return False
            self._trying = now
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._until, self._trying = 0, 0.0, 0.0
            self._why, self._is_explicit, self._unreached = "", False, False

    def failed(self, why: str, *, unreached: bool = False) -> None:
        """One more failure; that there is no way to the service counts as several."""
        with self._lock:
            self._failures += UNREACHED_WEIGHT if unreached else 1
            self._unreached = unreached
            self._why, self._trying = why, 0.0
            if self._failures >= MAX_FAILURES:
                rest = FIRST_REST_SECONDS * 2.0 ** min(self._failures - MAX_FAILURES, 10)
                self._until = max(self._until, self.clock() + min(MAX_REST_SECONDS, rest))
                self._is_explicit = False

    def rest(self, seconds: float, why: str) -> None:
        """The service is not to be asked for so long, by its own word."""
        with self._lock:
            self._until = max(self._until, self.clock() + seconds)
            self._why, self._is_explicit, self._unreached, self._trying = why, True, False, 0.0

    def renew(self) -> None:
        """In a child process nobody holds the lock, and nobody tries."""
        self._lock = threading.Lock()
        self._trying = 0.0
