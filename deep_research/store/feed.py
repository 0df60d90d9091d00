"""Watching runs: a cursor into the durable log, and a small ring for what is not kept.

A watcher that is slow, or gone, costs the run nothing: durable events wait in the store, transient ones are
dropped oldest first and counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from deep_research.state.events import Progress

MAX_RING_NOTES = 256


class Watcher:
    """One reader of one run, bound to the loop it was made on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()
        self.notes: deque[Progress] = deque(maxlen=MAX_RING_NOTES)
        self.dropped = 0

    def wake(self, note: Progress | None = None) -> None:
        """From any thread."""
        if note is not None:
            self.dropped += len(self.notes) == MAX_RING_NOTES
            self.notes.append(note)
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # its loop is closed: nobody reads any more
            self.notes.clear()

    async def wait(self, timeout: float) -> None:
        """Until something happened, or the timeout (seconds): another process may own the run."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return
        self._event.clear()


class Feed:
    """All watchers of one engine, by run. Thread-safe."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._watchers: dict[str, list[Watcher]] = {}

    def join(self, run_id: str) -> Watcher:
        watcher = Watcher(asyncio.get_running_loop())
        with self._gate:
            self._watchers.setdefault(run_id, []).append(watcher)
        return watcher

    def leave(self, run_id: str, watcher: Watcher) -> None:
        with self._gate:
            rest = [w for w in self._watchers.get(run_id, ()) if w is not watcher]
            if rest:
                self._watchers[run_id] = rest
            else:
                self._watchers.pop(run_id, None)

    def watched(self, run_id: str) -> bool:
        return run_id in self._watchers

    def publish(self, run_id: str, note: Progress | None = None) -> None:
        """Something was committed to the run, or ``note`` was said about it."""
        for watcher in self._watchers.get(run_id, ()):
            watcher.wake(note)
