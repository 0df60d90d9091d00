"""Measures of CPU time that hold on a machine that stands still for a while."""

from __future__ import annotations

import asyncio
import time
from typing import Self

_NAP_SECONDS = 0.01


class Pace:
    """A clock of the running loop: what its thread computes, and its naps of 10 ms, each counted once however late it
    ends. On a machine with nothing else to do these are seconds; one that stands still or works for others adds little.

    ::

        async with Pace() as pace:
            await something()
        assert pace.seconds < 1
    """

    def __init__(self) -> None:
        self._naps = 0
        self._end_seconds: float | None = None

    async def __aenter__(self) -> Self:
        self._began = time.thread_time()
        self._napping = asyncio.create_task(self._nap())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end_seconds = self.seconds
        self._napping.cancel()
        await asyncio.gather(self._napping, return_exceptions=True)

    @property
    def seconds(self) -> float:
        """Since it began, until it ended."""
        if self._end_seconds is not None:
            return self._end_seconds
        return self._naps * _NAP_SECONDS + time.thread_time() - self._began

    async def _nap(self) -> None:
        while True:
            await asyncio.sleep(_NAP_SECONDS)
            self._naps += 1


class Lateness:
    """By how much something missed a deadline that begins now, in seconds of ``pace``; 0 where it did not."""

    def __init__(self, pace: Pace, deadline: float) -> None:
        self._pace = pace
        self._due: float | None = None
        asyncio.get_running_loop().call_later(deadline, self._mark)

    def _mark(self) -> None:
        self._due = self._pace.seconds

    @property
    def seconds(self) -> float:
        return 0.0 if self._due is None else self._pace.seconds - self._due
