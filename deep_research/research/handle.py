"""A run in the background, as its starter holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterator
from concurrent.futures import Future
from contextlib import aclosing
from datetime import date
from typing import Any, Protocol, TypeVar

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
    def answer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None: ...
    async def aanswer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None: ...
    def steer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None: ...
    async def asteer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None: ...
    def pause(self, research_id: str) -> None: ...
    async def apause(self, research_id: str) -> None: ...
    def follow(self, research_id: str, after: int = 0) -> AsyncGenerator[Event | Progress]: ...
    def _wait_for(self, work: Awaitable[_T]) -> _T: ...
    def _refuse_reentrance(self) -> None: ...


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
        self._engine._refuse_reentrance()
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

    def steer(
        self,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        """Have a say in the run while it goes, as `DeepResearch.steer` does."""
        self._engine.steer(
            self.research_id, text, drop_sub_query=drop_sub_query, since=since, stop_searching=stop_searching
        )

    async def asteer(
        self,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        await self._engine.asteer(
            self.research_id, text, drop_sub_query=drop_sub_query, since=since, stop_searching=stop_searching
        )

    def pause(self) -> None:
        """Park the run before its next unit. `result` gives it parked; it goes on with `DeepResearch.resume`."""
        self._engine.pause(self.research_id)

    async def apause(self) -> None:
        await self._engine.apause(self.research_id)

    def answer(self, value: Any, *, run: bool = True) -> ResearchResult | None:
        """Answer what the run asks when it is parked, and go on with it, as `DeepResearch.answer` does. The result of
        this handle stays the one with which the run parked."""
        return self._engine.answer(self.research_id, value, run=run)

    async def aanswer(self, value: Any, *, run: bool = True) -> ResearchResult | None:
        return await self._engine.aanswer(self.research_id, value, run=run)

    def events(self, after: int = 0) -> Iterator[Event | Progress]:
        """What happens in the run after a sequence number, as it happens, until the run ends or parks."""
        follow = self.aevents(after)
        try:
            while True:
                try:
                    yield self._engine._wait_for(anext(follow))
                except StopAsyncIteration:
                    return
        finally:
            self._engine._wait_for(follow.aclose())

    async def aevents(self, after: int = 0) -> AsyncGenerator[Event | Progress]:
        async with aclosing(self._engine.follow(self.research_id, after=after)) as events:
            async for event in events:
                yield event
