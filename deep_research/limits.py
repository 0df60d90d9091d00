"""Rate and concurrency limits of this process, per service or site, for all runs and loops.

A `Gate` may be entered from any loop and thread. Who waits is called in the order of asking. The wait has no end of its
own: each who is inside has a deadline, and the places of loops that are gone are taken back.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_SOON_SECONDS = 0.001  # seconds until who is ahead has gone in
MAX_GATES = 4_096  # of services and keys
LOOK_AGAIN_SECONDS = (
    5.0  # seconds after which who waits looks whether a loop inside is gone, which nobody would tell
)


@dataclass(slots=True, eq=False)
class Place:
    """One who waits, in any loop and thread. ``called`` is done when it is its turn."""

    loop: asyncio.AbstractEventLoop
    called: asyncio.Future[None]

    @classmethod
    def here(cls) -> Place:
        loop = asyncio.get_running_loop()
        return cls(loop, loop.create_future())

    def call(self) -> bool:
        """From any thread; False when its loop is closed, and nobody waits there any more."""
        try:
            if self.loop is _running_loop():  # as most are: nothing has to be woken
                _call(self.called)
            else:
                self.loop.call_soon_threadsafe(_call, self.called)
        except RuntimeError:
            return False
        return True


@dataclass(slots=True, eq=False)
class Gate:
    """At most ``at_once`` inside at a time, and at most ``per_minute`` entries evenly spaced; None: no such limit.
    After a rest ``burst`` of them may come together. ``pause`` keeps everybody out for a while."""

    at_once: int
    per_minute: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    burst: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _inside: set[Place] = field(default_factory=set)
    _waiting: deque[Place] = field(default_factory=deque)
    _line: deque[Place] = field(default_factory=deque)  # of those inside, who wait for their moment
    _next: float = 0.0  # when the next would enter if all were evenly spaced, by ``clock``
    _closed: float = 0.0  # until when nobody enters

    def __post_init__(self) -> None:
        _check(self.at_once, self.per_minute)

    @property
    def inside(self) -> int:
        return len(self._inside)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[None]:
        place = await self._enter()
        try:
            while (seconds := self._turn(place)) > 0:
                await self.sleep(seconds)
            yield
        finally:
            self._leave(place)

    def pause(self, seconds: float) -> None:
        """Nobody enters for so long: one of those inside was told to come back later."""
        with self._lock:
            self._closed = max(self._closed, self.clock() + seconds)

    def limit(self, at_once: int, per_minute: float | None, burst: int = 1) -> None:
        """Other limits from now on."""
        _check(at_once, per_minute)
        with self._lock:
            self.at_once, self.per_minute, self.burst = at_once, per_minute, burst
            self._admit()

    def renew(self) -> None:
        """In a child process the lock is free, even if a thread of the parent held it."""
        self._lock = threading.Lock()
        self._inside, self._waiting, self._line = set(), deque(), deque()

    async def _enter(self) -> Place:
        place = Place.here()
        with self._lock:
            if self._waiting or len(self._inside) >= self.at_once:
                self._waiting.append(place)
                self._admit()
            else:
                self._inside.add(place)
                return place
        timer = place.loop.call_later(LOOK_AGAIN_SECONDS, self._look_again, place)
        try:
            await place.called
        except BaseException:  # it may have been called already: the place goes to the next
            self._leave(place)
            raise
        finally:
            timer.cancel()
        return place

    def _look_again(self, place: Place) -> None:
        """Now and then, for as long as somebody waits."""
        if place.called.done():
            return
        with self._lock:
            self._admit()
        place.loop.call_later(LOOK_AGAIN_SECONDS, self._look_again, place)

    def _leave(self, place: Place) -> None:
        with self._lock:
            if place in self._inside:
                self._inside.remove(place)
            elif place in self._waiting:
                self._waiting.remove(place)
            if place in self._line:
                self._line.remove(place)
            self._admit()

    def _admit(self) -> None:
        """Calls in as many as there is room for. The lock is held."""
        if self._waiting and len(self._inside) >= self.at_once:
            self._inside = {place for place in self._inside if not place.loop.is_closed()}
        while self._waiting and len(self._inside) < self.at_once:
            place = self._waiting.popleft()
            if place.call():
                self._inside.add(place)

    def _turn(self, place: Place) -> float:
        """Seconds until this one's turn; 0 takes it. With a rate, only the first in line takes it, or who wakes late
        would be overtaken again and again."""
        with self._lock:
            while self._line and self._line[0].loop.is_closed():
                self._line.popleft()
            now = self.clock()
            closed = max(0.0, self._closed - now)
            if not self.per_minute:
                return closed
            if place not in self._line:
                self._line.append(place)
            spacing = 60.0 / self.per_minute
            ahead = self._line.index(place)
            # Those ahead go first; of a burst, all at the same moment.
            due = max(self._next, now) + ahead * spacing - (self.burst - 1) * spacing
            wait = max(closed, due - now, 0.0)
            if wait <= 0 and not ahead:
                self._line.popleft()
                self._next = max(self._next, now) + spacing
            elif wait <= 0:
                return _SOON_SECONDS
            return wait


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _call(called: asyncio.Future[None]) -> None:
    if not called.done():
        called.set_result(None)


def _check(at_once: int, per_minute: float | None) -> None:
    if at_once < 1 or (per_minute is not None and per_minute <= 0):
        raise ValueError("a gate lets in at least one at a time, and some each minute")


class Gates:
    """The gates of a process by name, made when first asked for. Thread-safe. Beyond `MAX_GATES` those that nobody is at
    are forgotten, the oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: dict[str, Gate] = {}

    def gate(self, name: str, *, at_once: int, per_minute: float | None = None, burst: int = 1) -> Gate:
        """The gate of that name; its limits become those given last."""
        with self._lock:
            gate = self._gates.get(name)
            if gate is None:
                if len(self._gates) >= MAX_GATES:
                    self._forget()
                gate = self._gates[name] = Gate(at_once, per_minute, burst=burst)
                return gate
        gate.limit(at_once, per_minute, burst)
        return gate

    def _forget(self) -> None:
        """The lock is held."""
        idle = [name for name, gate in self._gates.items() if not (gate.inside or gate.waiting)]
        for name in idle[: len(self._gates) - MAX_GATES + 1]:
            del self._gates[name]

    def renew(self) -> None:
        """In a child process nobody is inside. Who holds a gate keeps it."""
        self._lock = threading.Lock()
        for gate in self._gates.values():
            gate.renew()
