"""Taking a run from the process that works on it: asked for first, and taken all the same where nobody lets go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from deep_research.errors import RunBusyError
from deep_research.store import RunRow

LEASES = 2  # so many lease times the owner has to let go: he hears it within one, and a unit may be under way
_PAUSE = 0.05  # seconds between tries


async def taken_over(
    acquire: Callable[[bool], Awaitable[RunRow]],
    ask: Callable[[], Awaitable[None]],
    *,
    seconds: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RunRow:
    """The row of a run that is ours. ``acquire`` tries to take it, with True whoever has it; ``ask`` asks its owner once
    to let go of it, for which he has so many seconds. Raises what they raise, but no `RunBusyError` of a first try.

    Example:
        await taken_over(acquire, ask, seconds=LEASES * settings.lease_ttl)
    """
    deadline = now() + seconds
    asked = False
    while True:
        try:
            return await acquire(False)
        except RunBusyError:
            if now() >= deadline:
                return await acquire(True)
        if not asked:
            asked = True
            await ask()
        await sleep(_PAUSE)
