"""Ctrl-C and SIGTERM: the first stops the work so that it can be resumed, a second ends the process at once. On SIGTERM a
run that is carried out is parked, where it can be."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """``with Signals() as signals``; within, `attach` names the task to cancel. ``code`` is the exit code of the
    signal that came, 0 without one.

    After a signal the handlers stay, so that a second one also ends a process that waits for its threads.
    """

    def __init__(self) -> None:
        self.code = 0
        self._stop: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}
        self._park: Callable[[], object] | None = None
        self._parking: asyncio.Future[None] | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop = self._park = None
        if not self.code:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def attach(self, park: Callable[[], Awaitable[int]] | None = None) -> None:
        """The current task is what a signal cancels. With ``park`` SIGTERM has that done instead, which gives how many
        runs it parked; where that is none, the task is cancelled all the same."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if park is not None:
            self._park = lambda: loop.call_soon_threadsafe(self._begin, park, task)
        if self.code:
            task.cancel()

    def _begin(self, park: Callable[[], Awaitable[int]], task: asyncio.Task[Any]) -> None:
        async def parked() -> None:
            if not await park():
                task.cancel()

        self._parking = asyncio.ensure_future(parked())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            os._exit(self.code)
        self.code = 128 + number
        stop = self._park if number == signal.SIGTERM and self._park is not None else self._stop
        if stop is not None:
            stop()
