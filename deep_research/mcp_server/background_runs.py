"""The runs that this process works on for its client: started or gone on with, watched, interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from deep_research.errors import DeepResearchError, QuotaError, RunBusyError, UsageError
from deep_research.logs import get_log, told
from deep_research.presentation import phrases
from deep_research.presentation.event_text import in_words
from deep_research.state.events import Event, Missed, Progress, RunCreated, Written
from deep_research.state.reducer import Fold

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

MAX_RUNS = 16  # that this process works on or holds in its queue
MAX_MESSAGE_CHARACTERS = 300  # of a note of progress
NOTE_SECONDS = 0.25  # between two notes of progress
SILENCE_SECONDS = 15.0  # after which the last note is repeated, so that a client sees that the run goes on
RETRY_SECONDS = 0.05  # before a run that is taken up is looked at again
log = get_log("mcp")

Report = Callable[[float, str], Awaitable[None]]  # sends how many notes there were, and the last one


class BackgroundRun:
    """A run that this process works on. ``research_id`` is known once the run is in the store, ``task`` ends with the
    work on it, and ``message`` is what happened last."""

    def __init__(self) -> None:
        self.research_id = ""
        self.created = asyncio.Event()
        self.task: asyncio.Task[None]
        self.message = "The run begins."
        self.news = asyncio.Event()
        self._fold = Fold()

    @property
    def seen(self) -> int:
        """The number of the last event that was seen."""
        return self._fold.seq

    def recall(self, event: Event) -> None:
        """Take in what happened before."""
        self._fold.apply(event)

    def note(self, event: Event | Progress) -> None:
        """Take in what happens."""
        if isinstance(event, Progress):
            words = "" if isinstance(event, Missed | Written) else f"{event.phase}: {event.message}"
        else:
            self._fold.apply(event)
            words = in_words(event, self._fold)
        if isinstance(event, RunCreated):
            self.research_id = event.research_id
            self.created.set()
        elif words:
            self.message = phrases.line(words)[:MAX_MESSAGE_CHARACTERS]
            self.news.set()


class BackgroundRuns:
    """All runs that this process works on."""

    def __init__(self, engine: DeepResearch) -> None:
        self._engine = engine
        self._runs: set[BackgroundRun] = set()
        self._is_closing = False

    def close(self) -> None:
        """From now on no call that ends interrupts its run: the engine parks them all."""
        self._is_closing = True

    async def start(self, question: str, options: Mapping[str, Any]) -> BackgroundRun:
        """Begin a run, and wait until it is in the store. Raises as `DeepResearch.run`, and `QuotaError`."""
        run = BackgroundRun()
        self._begin(run, self._start(run, question, options))
        created = asyncio.create_task(run.created.wait())
        try:
            await asyncio.wait({created, run.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._interrupt(run)
            raise
        finally:
            created.cancel()
        if not run.created.is_set():
            run.task.result()
        return run

    def resume(self, research_id: str, answer: Any = None) -> BackgroundRun:
        """Go on with a run. What `DeepResearch.resume` raises, its ``task`` does. Raises `QuotaError`, and
        `RunBusyError` for a run that is worked on here."""
        if any(run.research_id == research_id for run in self._runs):
            raise RunBusyError(
                f"Run '{research_id}' is being worked on.",
                hint="See research_status.",
                research_id=research_id,
            )
        run = BackgroundRun()
        run.research_id = research_id
        self._begin(run, self._resume(run, answer))
        return run

    async def finish(self, run: BackgroundRun, report: Report) -> None:
        """Wait until the work on a run ends, and ``report`` meanwhile what happens. Cancelled, the run is interrupted and
        can be resumed. Raises what ended the work."""
        notes = asyncio.create_task(_send_notes(run, report))
        try:
            await asyncio.wait({run.task})
        except asyncio.CancelledError:
            self._interrupt(run)
            raise
        finally:
            notes.cancel()
        if run.task.cancelled():
            return  # interrupted by another call; how it stands is in the store
        run.task.result()

    async def wait(self, seconds: float) -> None:
        """Until no run is worked on any more; those that are after so many seconds are interrupted."""
        if tasks := {run.task for run in self._runs}:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _begin(self, run: BackgroundRun, work: Coroutine[Any, Any, None]) -> None:
        if len(self._runs) >= MAX_RUNS:
            work.close()
            raise QuotaError(
                f"{MAX_RUNS} runs are being worked on.", hint="Wait for one to end, or cancel one."
            )
        self._runs.add(run)
        run.task = asyncio.create_task(work)
        run.task.add_done_callback(lambda task: self._on_end(run, task))

    def _on_end(self, run: BackgroundRun, task: asyncio.Task[None]) -> None:
        self._runs.discard(run)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, UsageError):  # of which its caller is told
            log.warning("run_failed", run=run.research_id, error=told(error))

    def _interrupt(self, run: BackgroundRun) -> None:
        if not self._is_closing:
            run.task.cancel()

    async def _start(self, run: BackgroundRun, question: str, options: Mapping[str, Any]) -> None:
        async with aclosing(self._engine.stream(question, **options)) as events:
            async for event in events:
                run.note(event)

    async def _resume(self, run: BackgroundRun, answer: Any) -> None:
        for event in await self._engine.aevents(run.research_id):
            run.recall(event)
        work = asyncio.ensure_future(self._engine.aresume(run.research_id, answer))
        watching = asyncio.create_task(self._watch(run, work))
        try:
            await work
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, run: BackgroundRun, work: asyncio.Future[Any]) -> None:
        """What happens in a run that is taken up, which may not be ours yet at first."""
        with suppress(DeepResearchError):  # the work itself says what is wrong
            while not work.done():
                async with aclosing(self._engine.follow(run.research_id, run.seen)) as events:
                    async for event in events:
                        run.note(event)
                await asyncio.wait({work}, timeout=RETRY_SECONDS)


async def _send_notes(run: BackgroundRun, report: Report) -> None:
    """What happens in a run, not more often than every `NOTE_SECONDS` and at least every `SILENCE_SECONDS`."""
    async for number, message in _notes(run):
        try:
            await report(number, message)
        except Exception as error:
            log.debug("progress_failed", error=told(error))  # the client is gone; the run is not
            return


async def _notes(run: BackgroundRun) -> AsyncIterator[tuple[int, str]]:
    number = 1
    yield number, f"Run {run.research_id}"
    while not run.task.done():
        with suppress(TimeoutError):
            await asyncio.wait_for(run.news.wait(), SILENCE_SECONDS)
        run.news.clear()
        number += 1
        yield number, run.message
        await asyncio.sleep(NOTE_SECONDS)
