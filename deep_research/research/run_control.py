"""The verbs that act on runs: resume, answer, steer, pause, cancel, wake, and following one."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    RunBusyError,
    RunStateError,
    UnknownNameError,
    UsageError,
)
from deep_research.logs import get_log
from deep_research.research.memories import Memories
from deep_research.research.operations import of_run, plain
from deep_research.research.run_summary import RunSummary
from deep_research.research.runs import Resumption, Runs
from deep_research.research.sessions import Sessions
from deep_research.state import CommandKind, RunStatus, WhenDue

if TYPE_CHECKING:
    from deep_research.assembly import EngineVariants, Parts
    from deep_research.budget.shared_budget import SharedBudget
    from deep_research.research.live_run import Item, LiveRuns
    from deep_research.research.loops import BackgroundLoop
    from deep_research.research.result import ResearchResult
    from deep_research.research.run_worker import Worker
    from deep_research.research.runner import Runner
    from deep_research.research.runs import ClaimedRun, Waiting
    from deep_research.state import Budget
    from deep_research.state.events import Event, Progress
    from deep_research.state.journal import Clock
    from deep_research.store import Feed

SetUpChoice = Literal["same", "new"]
SET_UPS = ("same", "new")
POLL_SECONDS = 0.2  # seconds between looks at a run that another process works on
CANCEL_WAIT_SECONDS = 10.0  # seconds for the owner of a run to end it
log = get_log("engine")
_T = TypeVar("_T")


class RunControl(Sessions, Memories, ABC):
    """The verbs on runs of an engine, with their plain faces; `DeepResearch` makes what they work with."""

    _background: BackgroundLoop
    _runner: Runner
    _variants: EngineVariants
    _parts: Parts
    _shared_budget: tuple[SharedBudget, ...]
    _feed: Feed
    _live_runs: LiveRuns
    _clock: Clock
    _workers: set[Worker]

    @abstractmethod
    async def _prepare(self, parts: Parts) -> None: ...

    @abstractmethod
    def _refuse_closed(self) -> None: ...

    status = plain(Runs.astatus)
    list = plain(Runs.alist)
    result = plain(Runs.aresult)
    report = plain(Runs.areport)
    events = plain(Runs.aevents)
    waiting = plain(Runs.awaiting)
    text = plain(Runs.atext)
    pack = plain(Runs.apack)
    verify = plain(Runs.averify)
    delete = plain(Runs.adelete)
    sessions = plain(Sessions.asessions)
    session_turns = plain(Sessions.asession_turns)
    session_rename = plain(Sessions.asession_rename)
    session_delete = plain(Sessions.asession_delete)
    memory_list = plain(Memories.amemory_list)
    memory_show = plain(Memories.amemory_show)
    memory_add = plain(Memories.amemory_add)
    memory_edit = plain(Memories.amemory_edit)
    memory_export = plain(Memories.amemory_export)
    memory_forget = plain(Memories.amemory_forget)
    steer = plain(Runs.asteer)
    pause = plain(Runs.apause)

    async def aresume(
        self,
        research_id: str,
        answer: Any = None,
        *,
        setup: SetUpChoice = "same",
        shared_budget: SharedBudget | None = None,
        budget: Budget | None = None,
        take_over: bool = False,
    ) -> ResearchResult:
        """Continue a run that was interrupted, parked or aborted, without repeating finished units.

        The run keeps its set-up. It takes models, services, documents, gates and reflection from its log by name,
        unless this engine sets them: by an object, or by a setting that does not have its default
        (``engine.settings.origins`` says where each comes from). Hooks, agents, a page reader and providers of
        your own cannot be created from names: pass them again. If the set-up differs, the call is refused, unless
        ``setup="new"``: then the run continues with the new set-up, and its log and notices say so. Changed
        documents in the same folder only add a notice.

        Args:
            answer: For a run with a question, even if it was cancelled there; see `answer`.
            setup: ``same`` or ``new``.
            shared_budget: As for `run`; the run does not keep it.
            budget: Raises the caps that it names. The run then does what it left out for them (docs/control_money.md).
            take_over: Takes the run from a live process, after two lease times if that process does not react.

        A completed run returns its result. Raises `RunNotFoundError`, `RunBusyError` while a live process works on
        the run, `RunStateError` if nothing was asked, `UsageError` for an invalid answer, `SetUpError`,
        `CorpusError` if the documents are gone, and the errors of `run`.

        Example:
            engine.resume("deepres-0123456789ab", budget=Budget(max_searches=20))
        """
        from deep_research.research.steering import checked_caps

        if setup not in SET_UPS:
            raise UnknownNameError.of("setup", str(setup), SET_UPS)
        going = Resumption(answer, budget=checked_caps(budget), take_over=take_over)
        return await self._resume(research_id, going, setup=setup, shared_budget=shared_budget)

    resume = plain(aresume)

    async def _resume(
        self,
        research_id: str,
        going: Resumption,
        *,
        setup: SetUpChoice = "same",
        shared_budget: SharedBudget | None = None,
    ) -> ResearchResult:
        from deep_research.budget.shared_budget import as_shared
        from deep_research.state import Budget
        from deep_research.store.base import busy_error

        shared = (*self._shared_budget, *as_shared(shared_budget))
        self._parts.models.check(Budget(), shared)
        row = going.claim.row if going.claim else await self._row(research_id)
        if row.projection.status is RunStatus.COMPLETED and going.budget is None:
            if going.answer is not None:
                raise RunStateError.no_question(research_id)
            return await self.aresult(research_id)
        if not (going.take_over or going.claim) and row.owned(time.time()):  # before it waits for a slot
            raise busy_error(row)
        new, old = setup == "new", await self._setup(research_id)
        parts = await asyncio.to_thread(self._variants.of_run, old, row.places, new=new)
        parts.models.check(going.budget or Budget(), shared)
        try:
            await self._prepare(parts)
        except ConfigurationError:
            self._variants.refuse(parts, old, new=new)
            raise
        compared = partial(self._variants.going, parts, places=row.places, new=new)
        return await self._runner.resume(research_id, going, shared, parts, compared)

    async def aanswer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None:
        """Answer the question of a parked run, and continue the run here. With ``run=False`` the answer waits in
        the store.

        The value needs the form that `waiting` shows; a text if there is none. Raises `RunStateError` if the run asks
        nothing, `UsageError` for an invalid value (the run stays parked), and the errors of `resume`.

        Example:
            engine.answer("deepres-0123456789ab", "The one in Scotland.")
        """
        from deep_research.research.steering import caps_of, checked_answer
        from deep_research.state.raising import raised

        state = await self._state(research_id)
        checked_answer(state, value)
        if (caps := caps_of(state.question, value)) is not None:
            raised(state, caps)
        if run:
            return await self.aresume(research_id, value)
        await self._queue(research_id, CommandKind.ANSWER, json.dumps(value))
        return None

    answer = plain(aanswer)

    async def acancel(self, research_id: str) -> RunSummary:
        """Cancel a run. It keeps what it found, in a partial report if there are findings, and can be resumed.

        If another process works on the run, this call asks it to stop, and waits up to 10 seconds. Raises
        `RunNotFoundError`.
        """
        row = await self._row(research_id)
        if row.projection.status.is_final:
            return RunSummary.of(row, time.time())
        if not self._runner.cancel(research_id):
            try:
                await self._runner.abandon(research_id)
            except RunBusyError:
                await self._queue(research_id, CommandKind.CANCEL)
        return await self._wait_for_end(research_id)

    cancel = plain(acancel)

    async def _wait_for_end(self, research_id: str) -> RunSummary:
        deadline = time.monotonic() + CANCEL_WAIT_SECONDS
        watcher = self._feed.join(research_id)
        try:
            while True:
                summary = await self.summary(research_id)
                if summary.status in (RunStatus.INTERRUPTED, RunStatus.PARKED):  # its owner did not see it
                    await self._runner.abandon(research_id)
                    continue
                if summary.status not in (RunStatus.QUEUED, RunStatus.PENDING, RunStatus.RUNNING):
                    return summary
                if time.monotonic() > deadline:
                    raise RunBusyError(
                        f"Run '{research_id}' has not stopped yet.",
                        hint="Check again with `deep-research status`.",
                        research_id=research_id,
                    )
                await watcher.wait(POLL_SECONDS)
        finally:
            self._feed.leave(research_id, watcher)

    async def awake(self) -> Sequence[ResearchResult]:
        """Continue the parked runs whose time has come, or that have an answer, one after the other.

        A run with a default takes it; a run that should be aborted is aborted. If a run cannot be resumed here, this is
        logged, and the run stays parked.
        """
        results = []
        for waiting in await self._due(self._clock()):
            if self._runner.draining:
                break
            try:
                results.append(await self._wake_run(waiting))
            except RunBusyError:  # somebody was faster
                continue
            except DeepResearchError as error:
                log.warning("wake_failed", run=waiting.research_id, error=str(error))
        return results

    wake = plain(awake)

    async def _wake_run(self, waiting: Waiting, claim: ClaimedRun | None = None) -> ResearchResult:
        run_id, at = waiting.research_id, waiting.parked_at
        if waiting.then is WhenDue.ABORT and not waiting.has_answer:
            await self._runner.abandon(
                run_id, f"Nobody answered: {waiting.waiting_for}.", parked_at=at, claim=claim
            )
            return await self.aresult(run_id)
        if waiting.has_answer or not waiting.asks or waiting.default is None:
            return await self._resume(run_id, Resumption(parked_at=at, claim=claim))
        going = Resumption(waiting.default, "default", parked_at=at, claim=claim)
        return await self._resume(run_id, going)

    async def awork(self, concurrency: int = 4, *, once: bool = False) -> int:
        """Work on submitted runs, at most ``concurrency`` at once, until `drain` or `close`; with ``once``, until none is
        left. Returns the number of runs.

        It claims queued runs whose time has come, runs whose worker died, and parked runs that are due or answered: by
        priority, then the user who has waited longest, then that user's oldest run. Any number of workers may
        share a store.
        Raises `UsageError`.

        Example:
            engine.submit("Who built Bell Rock?")
            engine.work(once=True)
        """
        from deep_research.research.run_worker import Worker

        self._refuse_closed()
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise UsageError("concurrency takes a whole number from 1.", hint="For example: work(4)")
        worker = Worker(
            self,
            self._runner,
            concurrency,
            lambda claim: self._resume(claim.row.run_id, Resumption(by="worker", claim=claim)),
            self._wake_run,
        )
        self._workers.add(worker)
        try:
            return await worker.run(once=once)
        finally:
            self._workers.discard(worker)

    work = plain(awork)

    def _stop_workers(self) -> None:
        for worker in tuple(self._workers):
            worker.stop()

    async def follow(self, research_id: str, after: int = 0) -> AsyncGenerator[Event | Progress]:
        """Yield the log after a sequence number, and new events, until the run ends or parks.

        Progress notes come in between if this engine works on the run. They are not stored: a slow listener loses
        the oldest, and `Missed` says how many.
        """
        async with aclosing(self.live(research_id, after)) as items:
            async for item in items:
                yield item.event

    async def live(self, research_id: str, after: int = 0) -> AsyncGenerator[Item]:
        """As `follow`, with the JSON of each event, which is made once for all that listen to a run."""
        await self._row(research_id)
        async with aclosing(self._live_runs.listen(research_id, after)) as items:
            async for item in items:
                yield item


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
