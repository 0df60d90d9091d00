"""A run in the background, as its starter holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterator
from concurrent.futures import Future
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from deep_research.research.operations import of_run
from deep_research.research.run_control import RunControl

if TYPE_CHECKING:
    from deep_research.research.result import ResearchResult
    from deep_research.state.events import Event, Progress

_T = TypeVar("_T")


class ResearchHandle:
    """A run in the background, from `DeepResearch.start`. The run continues even if nobody holds the handle.

    It has the verbs of `DeepResearch` for its run, ``research_id``. `result` is the result with which the run first ended
    or parked; `answer` and `resume` return their own results.

    Example:
        handle = engine.start("Who built Bell Rock?")
        handle.steer("Also name the engineer.")
        print(handle.result(timeout=300).report)
    """

    def __init__(self, engine: RunControl, research_id: str, future: Future[ResearchResult]) -> None:
        self.research_id = research_id
        self._engine = engine
        self._future = future

    def __repr__(self) -> str:
        return f"ResearchHandle({self.research_id!r}, done={self.done()})"

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: float | None = None) -> ResearchResult:
        """Wait for the end of the run, at most ``timeout`` seconds.

        Raises `TimeoutError` (the run continues), `StoreError`.
        """
        self._engine._background.refuse_reentrance()
        return self._future.result(timeout)

    async def aresult(self, timeout: float | None = None) -> ResearchResult:
        async with asyncio.timeout(timeout):
            return await asyncio.shield(asyncio.wrap_future(self._future))

    status, astatus = of_run(RunControl.status), of_run(RunControl.astatus)
    report, areport = of_run(RunControl.report), of_run(RunControl.areport)
    steer, asteer = of_run(RunControl.steer), of_run(RunControl.asteer)
    pause, apause = of_run(RunControl.pause), of_run(RunControl.apause)
    answer, aanswer = of_run(RunControl.answer), of_run(RunControl.aanswer)
    resume, aresume = of_run(RunControl.resume), of_run(RunControl.aresume)
    cancel, acancel = of_run(RunControl.cancel), of_run(RunControl.acancel)
    pack, apack = of_run(RunControl.pack), of_run(RunControl.apack)
    verify, averify = of_run(RunControl.verify), of_run(RunControl.averify)
    delete, adelete = of_run(RunControl.delete), of_run(RunControl.adelete)

    def events(self, after: int = 0) -> Iterator[Event | Progress]:
        """Yield the events after a sequence number, live, until the run ends or parks."""
        follow = self.aevents(after)
        try:
            while True:
                try:
                    yield self._engine._background.call(_awaited(anext(follow)))
                except StopAsyncIteration:
                    return
        finally:
            self._engine._background.call(_awaited(follow.aclose()))

    async def aevents(self, after: int = 0) -> AsyncGenerator[Event | Progress]:
        async with aclosing(self._engine.follow(self.research_id, after=after)) as events:
            async for event in events:
                yield event


async def _awaited(work: Awaitable[_T]) -> _T:
    return await work
