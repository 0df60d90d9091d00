"""Units of work side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from deep_research.calls import first
from deep_research.errors import BudgetError, Halted, ModelError


async def together(
    units: Iterable[Callable[[], Coroutine[Any, Any, None]]],
    *,
    at_once: int,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Run units side by side, so many at once. The first failure ends those that run, lets none begin, and is
    raised as itself. When a model fails, the budget is reached, or ``check`` (which is asked before each) halts the run,
    those that run finish first: they were paid for."""
    slots = asyncio.Semaphore(at_once)
    failed = False
    outage: ModelError | BudgetError | Halted | None = None

    async def in_turn(unit: Callable[[], Coroutine[Any, Any, None]]) -> None:
        nonlocal failed, outage
        async with slots:
            if failed:  # the slot came free before the cancellation reached this task
                return
            try:
                check()
                await unit()
            except (ModelError, BudgetError, Halted) as error:
                failed, outage = True, outage or error
            except BaseException:
                failed = True
                raise

    try:
        async with asyncio.TaskGroup() as group:
            for unit in units:
                group.create_task(in_turn(unit))
    except BaseExceptionGroup as failures:
        raise first(failures) from None
    if outage is not None:
        raise outage
