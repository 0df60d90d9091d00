"""Waiting of the checks for what a service or a store does by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_SECONDS = 240.0  # until a check gives up waiting, even if the machine stands still for a while


async def until(condition: Callable[[], bool], patience: float = PATIENCE_SECONDS) -> None:
    """Wait until the condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(patience):
        while not condition():  # noqa: ASYNC110 - it is in another thread
            await asyncio.sleep(0.002)


def wait_until(condition: Callable[[], bool], patience: float = PATIENCE_SECONDS) -> None:
    """Wait until the condition holds. Raises `TimeoutError`."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.002)
