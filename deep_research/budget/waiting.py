"""Who waits for a budget, first come, first served.

Only the first of a line may go on. It is called when something may fit it, and when it leaves the line it calls the next:
so a settled request wakes one and not all of them, and a large request does not wait behind small ones that came later.
"""

from __future__ import annotations

import asyncio
import itertools
from bisect import insort
from contextlib import suppress

from deep_research.limits import Place

_numbers = itertools.count()


class Waiter:
    """One request that waits, in one line at a time: that of the budget that refused it last. It keeps its number, so
    that it comes to the front of whatever line it has to change to. Made and used while the lock of the budgets is
    held."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.line: Line | None = None
        self.place = Place.here()
        self.timer: asyncio.TimerHandle | None = None  # until it looks for itself

    def wait(self) -> Place:
        """Where to wait until it is called again."""
        self.place = Place.here()
        return self.place

    def join(self, line: Line | None) -> None:
        """From now on in this line; None: in none."""
        if self.line is line:
            return
        left, self.line = self.line, line
        if line is not None:
            line.add(self)
        if left is not None:
            left.remove(self)

    def leave(self) -> None:
        """It waits no more."""
        self.join(None)
        if self.timer is not None:
            self.timer.cancel()


class Line:
    """Those who wait for one budget, by their numbers. The lock of the budgets is held; but the thread that has it may
    take it again while memory is cleaned, so each change is one step."""

    def __init__(self) -> None:
        self._waiters: list[tuple[int, Waiter]] = []

    def __len__(self) -> int:
        return len(self._waiters)

    def is_first(self, waiter: Waiter) -> bool:
        """Whether nobody came before it."""
        return not self._waiters or waiter.number <= self._waiters[0][0]

    def add(self, waiter: Waiter) -> None:
        insort(self._waiters, (waiter.number, waiter))

    def remove(self, waiter: Waiter) -> None:
        """It may have been the first: then it is the turn of the next."""
        self._drop(waiter)
        self.call()

    def call(self) -> None:
        """It is the turn of the first, unless its loop was closed: then of the next."""
        while self._waiters:
            first = self._waiters[0][1]
            if first.place.call():
                return
            self._drop(first)

    def look(self) -> None:
        """Those whose loop stands still do not keep others waiting. When it runs again they join anew."""
        gone = False
        while self._waiters:
            first = self._waiters[0][1]
            if first.place.loop.is_running():
                break
            self._drop(first)
            gone = True
        if gone:
            self.call()

    def _drop(self, waiter: Waiter) -> None:
        with suppress(ValueError):  # it is not there any more
            self._waiters.remove((waiter.number, waiter))
        if waiter.line is self:
            waiter.line = None
