"""How many requests at a time, and how many a minute, a service is asked by this process: by all runs, in all loops.

A `Gate` may be entered from any loop and thread. Who waits is called in the order of asking.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    called: asyncio.Future[None]


@dataclass(slots=True, eq=False)
class Gate:
    """At most ``at_once`` inside at a time, and at most ``per_minute`` entries evenly spaced; None: no such limit.
    ``pause`` keeps everybody out for a while."""

    at_once: int
    per_minute: float | None = None
    clock: Callable[[], float] = time.monotonic
    inside: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: deque[_Waiter] = field(default_factory=deque)
    _next: float = 0.0  # when the next may enter, by ``clock``

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[None]:
        await self._enter()
        try:
            seconds = self._turn()
            while seconds > 0:
                await asyncio.sleep(seconds)
                seconds = self._turn(again=True)
            yield
        finally:
            self._leave()

    def pause(self, seconds: float) -> None:
        """Nobody enters for so long: one of those inside was told to come back later."""
        with self._lock:
            self._next = max(self._next, self.clock() + seconds)

    async def _enter(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self.inside < self.at_once and not self._waiting:
                self.inside += 1
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter.called
        except asyncio.CancelledError:
            with self._lock:
                waits = waiter in self._waiting
                if waits:
                    self._waiting.remove(waiter)
            if not waits:  # it was called already: the place goes to the next
                self._leave()
            raise

    def _leave(self) -> None:
        with self._lock:
            self.inside -= 1
            while self._waiting and self.inside < self.at_once:
                waiter = self._waiting.popleft()
                try:
                    waiter.loop.call_soon_threadsafe(_call, waiter.called)
                except RuntimeError:  # its loop is closed, and nobody waits there any more
                    continue
                self.inside += 1

    def _turn(self, *, again: bool = False) -> float:
        """Seconds until this one's turn; 0 takes it."""
        with self._lock:
            now = self.clock()
            if self._next > now:
                return self._next - now
            if self.per_minute:
                self._next = max(self._next, now) + 60.0 / self.per_minute
            return 0.0


def _call(called: asyncio.Future[None]) -> None:
    if not called.done():
        called.set_result(None)


class Gates:
    """The gates of a process by name, made when first asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: dict[str, Gate] = {}

    def gate(self, name: str, *, at_once: int, per_minute: float | None = None) -> Gate:
        """The gate of that name; its limits become those given last."""
        with self._lock:
            gate = self._gates.setdefault(name, Gate(at_once, per_minute))
            gate.at_once, gate.per_minute = at_once, per_minute
            return gate

    def after_fork(self) -> None:
        """In a child process nobody is inside."""
        self._lock = threading.Lock()
        self._gates = {}
