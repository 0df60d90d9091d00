"""The runs that this process works on for its client: started or gone on with, watched, interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from deep_research.errors import DeepResearchError, QuotaError, RunBusyError, UsageError
from deep_research.logs import describe_error, get_log
from deep_research.mcp_server.progress_notes import RunNews, send_notes
from deep_research.mcp_server.run_access import ReportProgress
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.state import RunStatus
from deep_research.state.events import RunCreated

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

MAX_RUNS = 16  # that this process works on or holds in its queue
POLL_SECONDS = 0.2  # between looks at a run that is waited for
ENTER_SECONDS = 10.0  # for a run that is gone on with to be at work, before its caller is answered
RETRY_SECONDS = 0.05  # before a run that is taken up is looked at again
QUEUED_OR_RUNNING = (RunStatus.QUEUED, RunStatus.PENDING, RunStatus.RUNNING)
log = get_log("mcp")


class BackgroundRun:
    """A run that this process works on. ``research_id`` is known once the run is in the store, ``task`` ends with the
    work on it."""

    def __init__(self, runs: BackgroundRuns, research_id: str = "") -> None:
        self._runs = runs
        self.research_id = research_id
        self.created = asyncio.Event()
        self.task: asyncio.Task[None]
        self.news = RunNews()

    async def finish(self, report: ReportProgress) -> None:
        """Wait until the work on it ends, and ``report`` meanwhile what happens. Cancelled, the run is interrupted and
        can be resumed. Raises what ended the work."""
        notes = asyncio.create_task(send_notes(self.research_id, self.news, report))
        try:
            await asyncio.wait({self.task})
        except asyncio.CancelledError:
            self._runs.interrupt(self)
            raise
        finally:
            notes.cancel()
        if self.task.cancelled():
            return  # interrupted by another call; how it stands is in the store
        self.task.result()


class BackgroundRuns:
    """All runs of an engine, for a client that may do everything; those that this process works on end with it."""

    user = None

    def __init__(self, engine: DeepResearch) -> None:
        self.engine = engine
        self._runs: set[BackgroundRun] = set()
        self._is_closing = False

    def close(self) -> None:
        """From now on no call that ends interrupts its run: the engine parks them all."""
        self._is_closing = True

    def check(self, right: Right) -> None:
        """The client has started this process, and has every right."""

    async def summary(self, research_id: str) -> RunSummary:
        """Where a run stands. Raises `RunNotFoundError`."""
        return await self.engine.summary(research_id)

    async def start(self, question: str, options: Mapping[str, Any]) -> BackgroundRun:
        """Begin a run, and wait until it is in the store. Raises as `DeepResearch.run`, and `QuotaError`."""
        run = BackgroundRun(self)
        self._begin(run, self._start(run, question, options))
        created = asyncio.create_task(run.created.wait())
        try:
            await asyncio.wait({created, run.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.interrupt(run)
            raise
        finally:
            created.cancel()
        if not run.created.is_set():
            run.task.result()
        return run

    async def resume(self, research_id: str, answer: Any = None) -> BackgroundRun:
        """Go on with a run, and wait until something new is in the store. Raises as `DeepResearch.resume`, `QuotaError`,
        and `RunBusyError` for a run that is worked on here."""
        if any(run.research_id == research_id for run in self._runs):
            raise RunBusyError(
                f"Run '{research_id}' is in progress.",
                hint="See research_status.",
                research_id=research_id,
            )
        run = BackgroundRun(self, research_id)
        self._begin(run, self._resume(run, answer))
        try:
            await self._wait_until_entered(run)
        except asyncio.CancelledError:
            self.interrupt(run)
            raise
        return run

    async def wait(self, research_id: str, seconds: float) -> None:
        """Until a run ends or parks, at most for so many seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (await self.engine.summary(research_id)).status in QUEUED_OR_RUNNING:
            if (left := deadline - loop.time()) <= 0:
                return
            await asyncio.sleep(min(POLL_SECONDS, left))

    async def cancel(self, research_id: str) -> None:
        """End a run. Raises as `DeepResearch.cancel`."""
        await self.engine.acancel(research_id)

    async def wait_for_all(self, seconds: float) -> None:
        """Until no run is worked on any more; those that are after so many seconds are interrupted."""
        if tasks := {run.task for run in self._runs}:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def interrupt(self, run: BackgroundRun) -> None:
        """Cancel the work on a run, which can be resumed. Does nothing once `close` was called: the engine then parks
        all runs."""
        if not self._is_closing:
            run.task.cancel()

    def _begin(self, run: BackgroundRun, work: Coroutine[Any, Any, None]) -> None:
        if len(self._runs) >= MAX_RUNS:
            work.close()
            raise QuotaError(f"{MAX_RUNS} runs are in progress.", hint="Wait for one to end, or cancel one.")
        self._runs.add(run)
        run.task = asyncio.create_task(work)
        run.task.add_done_callback(lambda task: self._on_end(run, task))

    def _on_end(self, run: BackgroundRun, task: asyncio.Task[None]) -> None:
        self._runs.discard(run)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, UsageError):  # of which its caller is told
            log.warning("run_failed", run=run.research_id, error=describe_error(error))

    async def _start(self, run: BackgroundRun, question: str, options: Mapping[str, Any]) -> None:
        async with aclosing(self.engine.stream(question, **options)) as events:
            async for event in events:
                run.news.note(event)
                if isinstance(event, RunCreated):
                    run.research_id = event.research_id
                    run.created.set()

    async def _resume(self, run: BackgroundRun, answer: Any) -> None:
        for event in await self.engine.aevents(run.research_id):
            run.news.recall(event)
        work = asyncio.ensure_future(self.engine.aresume(run.research_id, answer))
        watching = asyncio.create_task(self._watch(run, work))
        try:
            await work
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _wait_until_entered(self, run: BackgroundRun) -> None:
        """Until a run that is gone on with has recorded something. Raises what ended it before."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + ENTER_SECONDS
        before = (await self.engine.summary(run.research_id)).updated_at
        while not run.task.done() and loop.time() < deadline:
            await asyncio.wait({run.task}, timeout=POLL_SECONDS)
            if (await self.engine.summary(run.research_id)).updated_at != before:
                return
        if run.task.done() and not run.task.cancelled():
            run.task.result()

    async def _watch(self, run: BackgroundRun, work: asyncio.Future[Any]) -> None:
        """What happens in a run that is taken up, which may not be ours yet at first."""
        with suppress(DeepResearchError):  # the work itself says what is wrong
            while not work.done():
                async with aclosing(self.engine.follow(run.research_id, run.news.last_event)) as events:
                    async for event in events:
                        run.news.note(event)
                await asyncio.wait({work}, timeout=RETRY_SECONDS)
