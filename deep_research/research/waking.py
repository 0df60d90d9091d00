"""A waker: in a process that lives long, parked runs whose time has come are gone on with."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from deep_research.errors import DeepResearchError
from deep_research.logs import get_log

log = get_log("waker")

WAKE_INTERVAL_SECONDS = 30.0


class Wakes(Protocol):
    """What can wake runs: an engine."""

    def awake(self) -> Awaitable[Sequence[Any]]: ...


class Waker:
    """Has ``engine`` look for due runs every ``interval`` seconds, in the time of its loop: no jump of the clock makes it
    look more or less often. It ends with `stop`, or with the engine, which it does not keep alive."""

    def __init__(self, engine: Wakes, interval: float) -> None:
        self._engine = weakref.ref(engine)
        self._interval = interval
        self._stopped = False

    def stop(self) -> None:
        """No further run is woken."""
        self._stopped = True

    async def run(self) -> None:
        """Looks until it is stopped. One look is over before the next begins."""
        while not self._stopped:
            await asyncio.sleep(self._interval)
            engine = self._engine()
            if engine is None or self._stopped:
                return
            try:
                await engine.awake()
            except DeepResearchError as error:  # the store may be held by others for a while
                log.warning("not_looked", error=str(error))
            del engine
