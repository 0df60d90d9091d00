"""A worker: claims runs from the queue of a store and works on several at once."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from deep_research.errors import ConfigurationError, DeepResearchError, RunBusyError, StoreError, UsageError
from deep_research.logs import describe_error, get_log
from deep_research.research.runs import Runs
from deep_research.state import AbortReason, RunStatus

if TYPE_CHECKING:
    from deep_research.research.result import ResearchResult
    from deep_research.research.runner import Runner
    from deep_research.research.runs import ClaimedRun, Waiting

RETRY_SECONDS = 30.0  # before a run is claimed again that could not be gone on with
POLL_SECONDS = 0.5  # between looks at the queue of a store where nothing could be claimed
MAX_CLAIMS = 20  # workers that may die with a run before it is given up
log = get_log("worker")
WAKE_INTERVAL_SECONDS = 30.0


class Worker:
    """Works on at most ``concurrency`` runs of a store at once, until it is stopped. ``resume`` goes on with one that is
    queued or was interrupted, ``wake`` with a parked one whose time has come or that was answered."""

    def __init__(
        self,
        runs: Runs,
        runner: Runner,
        concurrency: int,
        resume: Callable[[ClaimedRun], Awaitable[ResearchResult]],
        wake: Callable[[Waiting, ClaimedRun], Awaitable[ResearchResult]],
    ) -> None:
        self._runs = runs
        self._runner = runner
        self._concurrency = concurrency
        self._resume = resume
        self._wake = wake
        self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], str] = {}  # the run of each
        self._failures: dict[str, float] = {}  # when each may be claimed again, in the time of the loop
        self.count = 0

    def stop(self) -> None:
        """Claim no further run; those that are worked on go on. From any thread."""
        self._stopped = True
        self.look()

    def look(self) -> None:
        """Look at the queue at once: something was submitted. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def run(self, *, once: bool = False) -> int:
        """Work until `stop`, or ``once``: until nothing is left to claim. Gives how many runs were worked on."""
        self._loop = asyncio.get_running_loop()
        try:
            while not self._stopped:
                self._news.clear()
                await self._claim_runs()
                if once and not self._tasks:
                    break
                await self._wait()
            await asyncio.gather(*self._tasks, return_exceptions=True)  # `close` interrupts them
        finally:
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self.count

    async def _claim_runs(self) -> None:
        while not self._stopped and len(self._tasks) < self._concurrency:
            try:
                claim = await self._runner.claim(self._besides())
            except StoreError as error:  # others may hold the store, or the disk be full, for a while
                log.warning("claim_failed", error=str(error))
                return
            if claim is None:
                return
            if self._is_stopped():
                await self._runner.let_go(claim)
                return
            self.count += 1
            task = asyncio.create_task(self._work_on(claim))
            self._tasks[task] = claim.row.run_id
            task.add_done_callback(self._tasks.pop)

    async def _wait(self) -> None:
        """Until a run ends, something is submitted, or it is time to look for what other processes submitted."""
        news = asyncio.create_task(self._news.wait())
        await asyncio.wait({news, *self._tasks}, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        news.cancel()

    async def _work_on(self, claim: ClaimedRun) -> None:
        """Go on with a claimed run. One that cannot be gone on with here is aborted, so that it does not come again."""
        run_id = claim.row.run_id
        try:
            if claim.row.claims > MAX_CLAIMS:
                died = f"{claim.row.claims - 1} workers died while they worked on it."
                await self._runner.abandon(run_id, died, reason=AbortReason.ERROR, claim=claim)
            elif claim.row.projection.status is RunStatus.PARKED:
                await self._wake(await self._runs._waiting(claim.row), claim)
            else:
                await self._resume(claim)
        except RunBusyError:  # its lease ran out, and another worker has it
            await self._runner.let_go(claim)
        except Exception as error:
            log.warning("run_failed", run=run_id, error=describe_error(error))
            await self._give_up(claim, error)
        except BaseException:
            await asyncio.shield(self._runner.let_go(claim))
            raise

    async def _give_up(self, claim: ClaimedRun, error: Exception) -> None:
        """Abort a run that cannot be gone on with as it is set up here; leave one alone for a while that may be gone on
        with later."""
        run_id = claim.row.run_id
        if (
            isinstance(error, ConfigurationError | UsageError) and not self._stopped
        ):  # a closed engine refuses all
            live_claim = None if claim.lane.closed else claim  # the runner lets go of what it refuses
            try:
                await self._runner.abandon(run_id, str(error), reason=AbortReason.CONFIG, claim=live_claim)
                return
            except DeepResearchError as failure:
                log.warning("abort_failed", run=run_id, error=str(failure))
        self._failures[run_id] = asyncio.get_running_loop().time() + RETRY_SECONDS
        await self._runner.let_go(claim)

    def _is_stopped(self) -> bool:
        return self._stopped

    def _besides(self) -> list[str]:
        """The runs that this worker has, of which one may be let go of already, and those that it leaves alone."""
        now = asyncio.get_running_loop().time()
        self._failures = {run_id: until for run_id, until in self._failures.items() if until > now}
        return [*self._failures, *self._tasks.values()]


class Wakes(Protocol):
    """What can wake runs: an engine."""

    def awake(self) -> Awaitable[Sequence[Any]]: ...


class Waker:
    """Has ``engine`` look for due runs every ``interval`` seconds, in the time of its loop: no jump of the clock makes it
    look more or less often. It ends with `stop`, or with the engine, which it does not keep alive."""

    def __init__(self, engine: Wakes, interval: float) -> None:
        self._engine = weakref.ref(engine)
        self._interval = interval
        self._stopped = False

    def stop(self) -> None:
        """No further run is woken."""
        self._stopped = True

    async def run(self) -> None:
        """Looks until it is stopped. One look is over before the next begins."""
        while not self._stopped:
            await asyncio.sleep(self._interval)
            engine = self._engine()
            if engine is None or self._stopped:
                return
            try:
                await engine.awake()
            except DeepResearchError as error:  # the store may be held by others for a while
                log.warning("not_looked", error=str(error))
            del engine
