"""A run in the background, as its starter holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterator
from concurrent.futures import Future
from contextlib import aclosing
from typing import Protocol, TypeVar

from deep_research.research.result import ResearchResult
from deep_research.research.runs import RunSummary
from deep_research.state.events import Event, Progress

_T = TypeVar("_T")


class Host(Protocol):
    """What a handle needs of its engine."""

    def status(self, research_id: str) -> RunSummary: ...
    async def astatus(self, research_id: str) -> RunSummary: ...
    def cancel(self, research_id: str) -> RunSummary: ...
    async def acancel(self, research_id: str) -> RunSummary: ...
    def follow(self, research_id: str, after: int = 0) -> AsyncGenerator[Event | Progress]: ...
    def wait_for(self, work: Awaitable[_T]) -> _T: ...
    def refuse_reentrance(self) -> None: ...


class ResearchHandle:
    """``research_id`` names the run. The run goes on whether or not anybody holds this."""

    def __init__(self, engine: Host, research_id: str, future: Future[ResearchResult]) -> None:
        self.research_id = research_id
        self._engine = engine
        self._future = future

    def __repr__(self) -> str:
        return f"ResearchHandle({self.research_id!r}, done={self.done()})"

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: float | None = None) -> ResearchResult:
        """Wait for the end, at most ``timeout`` seconds. Raises `TimeoutError`, `StoreError`; the run goes on."""
        self._engine.refuse_reentrance()
        return self._future.result(timeout)

    async def aresult(self, timeout: float | None = None) -> ResearchResult:
        async with asyncio.timeout(timeout):
            return await asyncio.shield(asyncio.wrap_future(self._future))

    def status(self) -> RunSummary:
        return self._engine.status(self.research_id)

    async def astatus(self) -> RunSummary:
        return await self._engine.astatus(self.research_id)

    def cancel(self) -> RunSummary:
        """End the run; what it found is kept, in a partial report if there are findings."""
        return self._engine.cancel(self.research_id)

    async def acancel(self) -> RunSummary:
        return await self._engine.acancel(self.research_id)

    def events(self, after: int = 0) -> Iterator[Event | Progress]:
        """What happens in the run after a sequence number, as it happens, until the run ends or parks."""
        follow = self.aevents(after)
        try:
            while True:
                try:
                    yield self._engine.wait_for(anext(follow))
                except StopAsyncIteration:
                    return
        finally:
            self._engine.wait_for(follow.aclose())

    async def aevents(self, after: int = 0) -> AsyncGenerator[Event | Progress]:
        async with aclosing(self._engine.follow(self.research_id, after=after)) as events:
            async for event in events:
                yield event
