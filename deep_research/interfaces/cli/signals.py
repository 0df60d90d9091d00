"""Ctrl-C and SIGTERM: the first stops the work so that it can be resumed, a second ends the process at once. A run is
parked on SIGTERM: whoever stops processes lets them end what they are at."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        self._park: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._arrived) for number in _SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop = self._park = None
        if not self.code:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def attach(self) -> None:
        """The current task is what a signal cancels."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if self.code:
            task.cancel()

    @contextmanager
    def parking(self, park: Callable[[], object]) -> Iterator[None]:
        """Within, SIGTERM calls ``park`` on the running loop and cancels nothing."""
        loop = asyncio.get_running_loop()
        self._park = lambda: loop.call_soon_threadsafe(park)
        try:
            yield
        finally:
            self._park = None

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            os._exit(self.code)
        self.code = 128 + number
        stop = self._park if number == signal.SIGTERM and self._park is not None else self._stop
        if stop is not None:
            stop()
