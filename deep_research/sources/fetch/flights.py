"""One piece of work for all who ask for the same at once, in one loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Flights(Generic[T]):
    """Work by name. Each loop has its own; nothing is kept of what is done. Who gives up waiting leaves the others
    theirs, and the last one to do so ends the work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Flight[T]]] = (
            WeakKeyDictionary()
        )

    async def join(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the work of that name gives or raises; it is begun if nobody did."""
        flights = self._here()
        flight = flights.get(name)
        if flight is None:
            flight = flights[name] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda task: _landed(flights, name, task))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                # Who asks from now on must not meet work that is ending.
                if flights.get(name) is flight:
                    del flights[name]
                flight.task.cancel()
            # A failure's traceback has this frame, and the task has the failure: all that it holds would stay.
            del flight

    async def aclose(self) -> None:
        """Ends what is under way in the running loop."""
        tasks = [flight.task for flight in self._here().values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def renew(self) -> None:
        """The parent's loops do not run in a child process."""
        self._lock = threading.Lock()
        self._of_loop = WeakKeyDictionary()

    def _here(self) -> dict[str, _Flight[T]]:
        loop = asyncio.get_running_loop()
        with self._lock:
            return self._of_loop.setdefault(loop, {})


def _landed(flights: dict[str, _Flight[T]], name: str, task: asyncio.Task[T]) -> None:
    flight = flights.get(name)
    if flight is not None and flight.task is task:
        del flights[name]
    if not task.cancelled():
        task.exception()  # perhaps nobody is left to be told
