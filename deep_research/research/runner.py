"""Carrying runs out: a lane and a journal for each, an orchestrator to walk it, and what may come in between."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from deep_research.assembly import EngineVariants, Parts, ResumePlan, without_effect
from deep_research.budget.shared_budget import SharedBudget
from deep_research.errors import DeepResearchError
from deep_research.logs import get_log
from deep_research.research.active_run import CANCELLED, ActiveRun, in_loop
from deep_research.research.request import Request
from deep_research.research.result import ResearchResult
from deep_research.research.resumption import (
    consume_stops,
    opening_events,
    queued_answer,
    request_release,
    set_up_events,
)
from deep_research.research.run_observers import RunObservers
from deep_research.research.runs import ClaimedRun, Resumption
from deep_research.research.steering import (
    caps_of,
    checked_answer,
    unapplied,
    under,
)
from deep_research.settings import Settings
from deep_research.state import (
    AbortReason,
    DeepResearchState,
    QueuePlace,
    RunOptions,
    RunStatus,
    SetUp,
)
from deep_research.state import events as ev
from deep_research.state.journal import Clock
from deep_research.state.raising import raised
from deep_research.state.reducer import Fold, fold
from deep_research.store import (
    Feed,
    Lane,
    LoopOutbox,
    NewRun,
    Owner,
    RunJournal,
    Watch,
    refused_error,
)
from deep_research.store.base import busy_error
from deep_research.supervisor.opening import Stopwatch
from deep_research.supervisor.orchestrator import Halt, SupervisorOrchestrator

RELEASE_WAIT_SECONDS = 5.0
log = get_log("runner")
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Claim = TypeVar("_Claim", ClaimedRun, ClaimedRun | None)


@dataclass(slots=True)
class _Loop:
    """What belongs to one event loop."""

    outbox: LoopOutbox
    slots: asyncio.Semaphore


def _in_scope(
    work: Callable[Concatenate[Runner, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Runner, _P], Coroutine[Any, Any, _T]]:
    """Within it the secrets of this engine are hidden, and no other's."""

    @wraps(work)
    async def in_scope(self: Runner, /, *args: _P.args, **options: _P.kwargs) -> _T:
        with self._parts.keyring.scope():
            return await work(self, *args, **options)

    return in_scope


class Runner:
    """All runs of one engine, on whatever loops they were started. ``lasting`` says of the running loop that it is
    the engine's own, on which connections may stay open between runs: nobody tells when another loop ends."""

    def __init__(
        self,
        variants: EngineVariants,
        settings: Settings,
        feed: Feed,
        clock: Clock,
        lasting: Callable[[], bool] = lambda: False,
    ) -> None:
        self._lasting = lasting
        self._variants = variants
        self._parts = variants.own
        self._settings = settings
        self._feed = feed
        self._clock = clock
        self._token = secrets.token_hex(8)
        self._gate = threading.Lock()
        self._loops: dict[asyncio.AbstractEventLoop, _Loop] = {}
        self._active: dict[str, ActiveRun] = {}
        self._observers = RunObservers(variants.own, feed, settings.hook_timeout)
        self._draining = 0

    @_in_scope
    async def begin(
        self, run_id: str, request: Request, created: asyncio.Event | None = None
    ) -> ResearchResult:
        """A new run, from its first event to its end. ``created`` is set once it is in the store."""
        created = created or asyncio.Event()
        journal, elapsed, first = self._new_run(run_id, request)
        active = self._activate(journal, elapsed, request.parts, request.options, request.shared)
        slots = self._loop().slots
        waits = slots.locked()
        opening: list[ev.Event] = [first]
        # One commit less; a subclass has a say in its start.
        if type(active.orchestrator) is SupervisorOrchestrator:
            state = DeepResearchState(
                research_id=run_id, query=request.question, options=request.options, setup=first.setup
            )
            opening += await active.orchestrator.opening(state)
        try:
            if waits:
                await journal.record(opening.pop(0))
                created.set()
                if not await self._admitted(active, slots):
                    return ResearchResult.of(journal.state)
            else:
                await slots.acquire()
            try:
                if opening:
                    await journal.record(*opening)
                    created.set()
                return await self._carry_out(active)
            finally:
                slots.release()
        finally:
            await self._deactivate(active)

    @_in_scope
    async def submit(self, run_id: str, request: Request, place: QueuePlace) -> None:
        """Record a run for a worker. Raises `AppendRefusedError` where there is one of that id."""
        journal, _, first = self._new_run(run_id, request)
        await journal.record(first.model_copy(update={"queue": place}))

    def _new_run(self, run_id: str, request: Request) -> tuple[RunJournal, Stopwatch, ev.RunCreated]:
        """What a run is recorded with, and its first event."""
        question, options, parts = request.question, request.options, request.parts
        setup = parts.set_up_now
        setup = setup if request.user is None else setup.model_copy(update={"user": request.user})
        lane, elapsed = Lane(run_id, Owner.here(self._token), fence=1), Stopwatch(time.monotonic)
        new = NewRun(
            query=question, user_id=options.user_id, session_id=options.session_id, places=parts.places
        )
        first = ev.RunCreated(research_id=run_id, query=question, options=options, setup=setup)
        return self._journal(lane, Fold(), elapsed, new), elapsed, first

    async def claim(self, besides: Collection[str] = ()) -> ClaimedRun | None:
        """Take the run that a worker works on next, none of those ``besides``; None where there is none. Its lease is
        renewed until the run is let go of, however long it takes to prepare for it."""
        owner, store = Owner.here(self._token), self._parts.store

        def take() -> ClaimedRun | None:
            row = store.claim(owner, besides=besides)
            if row is None:
                return None
            lane = Lane(row.run_id, owner, row.fence)
            store.watch(lane, Watch(on_command=lambda _: None, on_lost=lambda: None))
            return ClaimedRun(row, lane)

        return await self._in_thread(take)

    async def let_go(self, claim: ClaimedRun) -> None:
        """Give a claimed run back, on which nothing was done."""
        await asyncio.to_thread(self._release, claim.lane)

    async def _admitted(self, active: ActiveRun, slots: asyncio.Semaphore) -> bool:
        """Wait for a slot, holding the run meanwhile; False when it was cancelled before there was one."""
        active.watch(self._parts.store)
        active.task = active.loop.create_task(slots.acquire())
        try:
            await active.task
        except asyncio.CancelledError:
            if not active.task.cancelled():  # the slot came at the same moment
                slots.release()
            if active.is_lost:
                await active.journal.record_refusal()
            if active.halted:
                await active.orchestrator.stand_still(active.journal)
                if not active.journal.is_closed:
                    raise refused_error(active.journal.lane, "another process continues it") from None
                return False
            if not active.stopped:
                raise
            await active.orchestrator.abort(active.journal, AbortReason.CANCELLED, CANCELLED)
            return False
        return True

    @_in_scope
    async def resume(
        self,
        run_id: str,
        going: Resumption,
        shared: Sequence[SharedBudget] = (),
        parts: Parts | None = None,
        compared: Callable[[SetUp | None], ResumePlan] = lambda _: ResumePlan(),
    ) -> ResearchResult:
        """Take the run over and go on with the ``parts``, as ``compared`` says of the set-up that it has, or does not go
        on. Raises `RunBusyError`, `LogDamagedError`, `SetUpError`, `RunStateError` for an answer that nobody waits for,
        `UsageError` for one that does not fit and for a budget that is no larger."""
        slot = nullcontext() if going.claim else self._loop().slots
        async with slot, self._as_owner(run_id, parts, shared, going) as active:
            journal, state = active.journal, active.journal.state
            commands = await asyncio.to_thread(self._parts.store.pending_commands, run_id)
            unused: list[ev.Event] = []
            answer = going.answer
            if answer is None:
                answer, unused = queued_answer(commands, journal)
            question = checked_answer(state, answer) if answer is not None else None
            caps = going.budget or caps_of(question, answer)
            new = raised(state, caps) if caps is not None else None
            if state.status is RunStatus.COMPLETED and new is None:  # between the look and the taking
                return ResearchResult.of(state)
            plan = compared(state.setup)
            resumed = ev.RunResumed(
                pause_id=question.pause_id if question else None, answer=answer, by=going.by
            )
            journal.stand(plan.places)
            consume_stops(commands, journal, by_worker=going.by == "worker")
            more = under(state, new, active.orchestrator) if new is not None else None
            await journal.record(
                resumed,
                *unused,
                *(more or ()),
                *set_up_events(state, plan),
                *(await opening_events(state, active.orchestrator) if more is None else ()),
            )
            return await self._carry_out(active, last_seq=state.seq)

    @_in_scope
    async def abandon(
        self,
        run_id: str,
        why: str = "",
        *,
        reason: AbortReason = AbortReason.CANCELLED,
        parked_at: int | None = None,
        claim: ClaimedRun | None = None,
    ) -> None:
        """Abort a run that nobody works on, where it stands ``parked_at``, or that was claimed. Raises `RunBusyError`
        when somebody does, or did since."""
        async with self._as_owner(run_id, None, (), Resumption(parked_at=parked_at, claim=claim)) as active:
            question = active.journal.state.question
            message = (
                f"{CANCELLED[:-1]} while it waited for {question.waiting_for}." if question else CANCELLED
            )
            await active.orchestrator.abort(active.journal, reason, why or message)

    @asynccontextmanager
    async def _as_owner(
        self,
        run_id: str,
        parts: Parts | None,
        shared: Sequence[SharedBudget],
        going: Resumption,
    ) -> AsyncIterator[ActiveRun]:
        """A run that is this process's meanwhile. Raises `RunBusyError` also where it stands elsewhere by now."""
        journal, elapsed = await self._take(run_id, going)
        active = self._activate(journal, elapsed, parts or self._parts, journal.state.options, shared)
        try:
            if going.parked_at is not None and journal.state.seq != going.parked_at:  # somebody was faster
                raise busy_error(await asyncio.to_thread(self._parts.store.run, run_id))
            yield active
        finally:
            await self._deactivate(active)

    def cancel(self, run_id: str) -> bool:
        """Ask a run of this engine to stop, from any thread; False when it is not ours."""
        with self._gate:
            active = self._active.get(run_id)
        if active is None or not active.ours:
            return False
        in_loop(active.loop, active.cancel)
        return True

    async def drain(self, seconds: float) -> int:
        """Has every run of this engine park before its next unit, waits at most so long, and interrupts the rest. Gives
        how many are parked now. A run that begins meanwhile parks as well."""
        with self._gate:
            self._draining += 1
            actives = [active for active in self._active.values() if active.ours]
        try:
            for active in actives:
                in_loop(active.loop, partial(active.halt, Halt.SHUTDOWN))
            waiting = [asyncio.wrap_future(active.release) for active in actives]
            if waiting:
                await asyncio.wait(waiting, timeout=seconds)
            await self.interrupt()
        finally:
            with self._gate:
                self._draining -= 1
        return sum(active.journal.state.status is RunStatus.PARKED for active in actives)

    @property
    def draining(self) -> bool:
        """Whether this engine's runs are being parked."""
        return self._draining > 0

    async def interrupt(self) -> None:
        """Stop everything without a word in any log, so that all of it can be resumed."""
        with self._gate:
            actives = [active for active in self._active.values() if active.ours]
        waiting = []
        for active in actives:
            if active.task is None or active.task.done():
                continue
            in_loop(active.loop, active.task.cancel)
            # Until its lease is given back: the store is closed next.
            waiting.append(asyncio.wrap_future(active.release))
        waiting += map(asyncio.wrap_future, self._observers.under_way())
        if waiting:
            await asyncio.wait(waiting, timeout=RELEASE_WAIT_SECONDS)

    # One run

    async def _take(self, run_id: str, going: Resumption) -> tuple[RunJournal, Stopwatch]:
        store, claim = self._parts.store, going.claim
        if claim is None:
            owner = Owner.here(self._token)
            over = await request_release(store, run_id) if going.take_over else None

            def acquire() -> ClaimedRun:
                row = store.acquire(run_id, owner, over=over)
                return ClaimedRun(row, Lane(run_id, owner, row.fence))

            claim = await self._in_thread(acquire)
        row, lane = claim.row, claim.lane
        try:
            state = await asyncio.to_thread(lambda: fold(ev.decode_log(store.read(row.run_id))))
        except BaseException:  # also a cancellation: nobody works on the run, and it must not look busy
            await asyncio.shield(asyncio.to_thread(self._release, lane))
            raise
        # The row says it to the last word of its owner, the log to the end of a phase.
        elapsed = Stopwatch(time.monotonic, before=max(state.seconds, row.projection.seconds or 0.0))
        return self._journal(lane, state, elapsed), elapsed

    async def _in_thread(self, take: Callable[[], _Claim]) -> _Claim:
        """Take a run in a thread. One that comes after this was cancelled is let go of, or it would be busy by
        ourselves."""
        taking = asyncio.ensure_future(asyncio.to_thread(take))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait({taking})
            if not taking.cancelled() and taking.exception() is None and (claim := taking.result()):
                await asyncio.to_thread(self._parts.store.release, claim.lane)
            raise

    def _journal(self, lane: Lane, state: Fold, elapsed: Stopwatch, new: NewRun | None = None) -> RunJournal:
        return RunJournal(
            self._parts.store,
            lane,
            fold=state,
            outbox=self._loop().outbox,
            feed=self._feed,
            clock=self._clock,
            new_run=new,
            elapsed=elapsed,
            unapplied=unapplied,
        )

    def _activate(
        self,
        journal: RunJournal,
        elapsed: Stopwatch,
        parts: Parts,
        options: RunOptions,
        shared: Sequence[SharedBudget] = (),
    ) -> ActiveRun:
        orchestrator = parts.supervisor(
            shared=shared,
            notices=without_effect(options, parts),
            clock=self._clock,
            elapsed=elapsed,
            estimate=partial(_plan_estimate, parts),
        )
        active = ActiveRun(asyncio.get_running_loop(), journal, orchestrator, elapsed)
        with self._gate:
            self._active[journal.lane.run_id] = active
            draining = self._draining > 0
        if draining:
            active.halt(Halt.SHUTDOWN)
        return active

    async def _carry_out(self, active: ActiveRun, *, last_seq: int = 0) -> ResearchResult:
        """Walk the run to its end, its parking, its deadline, or until this task is cancelled. Observers are told
        of the events after ``last_seq``."""
        journal, loop = active.journal, active.loop
        run_id = journal.lane.run_id
        active.elapsed.start()
        self._observers.observe(active, last_seq)
        limit = self._settings.task_timeout
        out_of_time = partial(
            active.orchestrator.stop, AbortReason.TIMEOUT, f"The run took longer than {limit:g} s."
        )
        left = limit - active.elapsed()
        if left <= 0:
            out_of_time()  # before it begins
        task = active.task = loop.create_task(active.orchestrator.run(journal))
        active.has_begun = True
        active.watch(self._parts.store)
        timer = loop.call_later(max(0.0, left), out_of_time)
        try:
            await task
            if journal.state.status is RunStatus.RUNNING:  # it stood still for another process
                raise refused_error(journal.lane, "another process continues it")
        except asyncio.CancelledError:
            if not active.is_lost:
                raise
            await journal.record_refusal()
        finally:
            timer.cancel()
            active.over = True
            self._feed.publish(run_id)
        if self._settings.strict_hooks and active.observer is not None:
            await asyncio.wait({asyncio.wrap_future(active.observer)}, timeout=self._settings.hook_timeout)
            if active.failure is not None:
                raise active.failure
        return ResearchResult.of(journal.state)

    async def _deactivate(self, active: ActiveRun) -> None:
        lane = active.journal.lane
        with self._gate:
            if self._active.get(lane.run_id) is active:
                del self._active[lane.run_id]
        # The last word let go of the run. After anything else, a failed write above all, this does: or else the
        # heartbeat would hold for ever what nobody works on.
        try:
            if not active.journal.released:
                lane.seconds = active.elapsed()
                await asyncio.shield(asyncio.to_thread(self._release, lane))
        finally:
            active.release.set_result(None)
            await self._close_connections(active.loop)

    async def _close_connections(self, loop: asyncio.AbstractEventLoop) -> None:
        """With the last run on a loop that is not ours, for nobody tells when that one ends. The run is over and let
        go of: nothing here may keep or lose it."""
        with self._gate:
            is_last = not any(other.loop is loop for other in self._active.values())
        if is_last and not self._lasting():
            try:
                await asyncio.wait_for(self._variants.disconnect(), RELEASE_WAIT_SECONDS)
            except TimeoutError:
                log.warning("connections_left_open")

    def _release(self, lane: Lane) -> None:
        try:
            self._parts.store.release(lane)
        except DeepResearchError as error:
            # The lease runs out by itself; the run is resumable then.
            log.warning("release_failed", run=lane.run_id, error=str(error))

    # Loops

    def _loop(self) -> _Loop:
        loop = asyncio.get_running_loop()
        with self._gate:
            entry = self._loops.get(loop)
            if entry is None:
                for old in [each for each in self._loops if each.is_closed()]:
                    del self._loops[old]
                entry = self._loops[loop] = _Loop(
                    LoopOutbox(self._parts.store, loop),
                    asyncio.Semaphore(self._settings.max_active_runs),
                )
            return entry


async def _plan_estimate(parts: Parts, state: DeepResearchState) -> dict[str, Any]:
    from deep_research.assembly.run_estimate import of_plan  # not needed by a run that nobody is asked about

    return await of_plan(parts, state)
