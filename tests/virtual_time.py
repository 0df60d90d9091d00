"""A loop whose clock stands still while anything is to be done: time passes only where all that is left is to wait for
it. Deadlines of minutes pass in no time, and a machine that stands still takes nothing from them. The server that is
asked has to run on the same loop."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
SETTLED = 0.001  # real seconds in which what was sent over loopback has come


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        self._in_threads = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Any, function: Callable[..., Any], *args: Any) -> Any:
        future = super().run_in_executor(executor, function, *args)
        self._in_threads += 1
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, _: Any) -> None:
        self._in_threads -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if self._of._in_threads or timeout is None:
            return super().select(None)
        if ready := super().select(SETTLED):
            return ready
        self._of._now += timeout
        return []


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
