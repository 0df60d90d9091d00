"""`DeepResearch`: what an embedder holds. Every verb has an async twin with an ``a`` in front."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    RunBusyError,
    RunStateError,
    SettingsError,
    UnknownNameError,
    UsageError,
)
from deep_research.logs import configure, get_log, masked, told
from deep_research.models.characters import in_all_texts
from deep_research.research.arguments import RunArguments, SettingArguments
from deep_research.research.handle import ResearchHandle
from deep_research.research.loops import BackgroundLoop
from deep_research.research.raised_caps import caps_of, checked_caps
from deep_research.research.result import ResearchResult
from deep_research.research.runs import Runs, RunSummary, Waiting
from deep_research.research.steering import checked_answer, judged, payload, refuse_ended, steering
from deep_research.research.waking import Waker
from deep_research.settings import ResolvedSettings, load_settings
from deep_research.sources.search import SearchProvider
from deep_research.state import (
    AgentRole,
    Budget,
    Citation,
    ControlKind,
    Quote,
    RunOptions,
    RunStatus,
    Source,
    WhenDue,
)
from deep_research.state.events import Event, Progress
from deep_research.state.journal import Clock, readable, utc_now
from deep_research.state.raising import raised
from deep_research.store import Feed, Store
from deep_research.store.base import busy
from deep_research.supervisor.hooks import SupervisorHooks
from deep_research.supervisor.opening import checked_question, new_run_id

if TYPE_CHECKING:
    from deep_research.assembly import Destination, MakeSupervisor, Models, Parts
    from deep_research.budget.estimate import Estimate
    from deep_research.budget.shared_budget import SharedBudget
    from deep_research.packs import Manifest, Verification
    from deep_research.phases.gathering.source_reading import Pages
    from deep_research.phases.gathering.tasks.tool import Tool
    from deep_research.sources.documents import Skipped
    from deep_research.supervisor.gates import Gates

_T = TypeVar("_T")
ReportFormat = Literal["markdown", "json"]
FORMATS = ("markdown", "json")
SetUpChoice = Literal["same", "new"]
SET_UPS = ("same", "new")
READ_AHEAD = 500
POLL = 0.2  # seconds between looks at a run that another process works on
CANCEL_WAIT = 10.0
log = get_log("engine")


class DeepResearch:
    """An engine: settings, agents, providers and a store, ready to research.

    ``model``, ``models``: language models by name, for all roles or by role; a list is a chain, of which each is asked
    when the one before cannot answer. A `ModelProvider` of your own does as well as a name.
    ``agents``: your own agent for a role. ``search``: a provider, by name or your own, or several in the order of
    preference.
    ``pages``: what reads the pages that are found, in place of our own: an object with ``async read(url) -> WebPage``.
    ``corpus``: a folder or file of documents, or several. ``tools`` and ``data_sources`` (by name): what tasks may use
    beside, see docs/tasks.md. ``gates``: what a phase's blocking issues do
    (``proceed``, ``retry``, ``abort``, ``strict``). ``hooks``: a `SupervisorHooks`. ``supervisor``: a subclass of
    `SupervisorOrchestrator`, or a function that makes one for each run of what that class takes. ``budget``: caps of
    every run. ``shared_budget``: caps over all its runs together, and over those of other engines that are given the
    same. ``store``: ``"sqlite"`` (the default), ``"memory"``, or a `Store`. ``config``, ``preset`` and every setting by
    name: see docs/settings.md.

    Raises `UnknownNameError`, `SettingsError`, `ConfigurationError`. Nothing is opened or started before the
    first verb, but for what looks for due runs where the setting ``wakes`` is on. Close it, or use it in a ``with``, to
    let go of its thread and database; runs that are still going then stay resumable.
    """

    def __init__(
        self,
        *,
        model: Models | None = None,
        models: Mapping[str, Models] | None = None,
        agents: Mapping[AgentRole | str, Any] | None = None,
        search: SearchProvider | str | Sequence[SearchProvider | str] | None = None,
        pages: Pages | None = None,
        corpus: Path | str | Sequence[Path | str] | None = None,
        gates: Gates | None = None,
        tools: Sequence[Tool] | None = None,
        data_sources: Mapping[str, SearchProvider] | None = None,
        hooks: SupervisorHooks | None = None,
        supervisor: MakeSupervisor | None = None,
        budget: Budget | None = None,
        shared_budget: SharedBudget | None = None,
        store: Store | str | None = None,
        config: Path | str | None = None,
        preset: str | None = None,
        clock: Clock = utc_now,
        **settings: Unpack[SettingArguments],
    ) -> None:
        # The agents, phases and stores behind an engine take longer to import than all else together; a program
        # that only names the class should not pay for them.
        from deep_research.assembly import Given, Variants
        from deep_research.research.runner import Runner

        overrides = {
            **settings,
            "corpus": _paths(corpus),
            "store": store if isinstance(store, str) else None,
            "model": model if _is_named(model) else None,
            "models": models if _is_named(models) else None,
        }
        self._resolved = load_settings(overrides=overrides, config=config, preset=preset)
        self._settings = self._resolved.settings
        if self._settings.log_level:
            configure(self._settings.log_level, self._settings.log_format)
        self._budget = budget
        self._shared_budget = _shared(shared_budget)
        given = Given(
            model=None if _is_named(model) else model,
            models=None if _is_named(models) else models,
            agents=agents,
            search=[search] if isinstance(search, SearchProvider | str) else search,
            pages=pages,
            tools=tools,
            data_sources=data_sources,
            hooks=hooks,
            supervisor=supervisor,
            gates=gates,
            store=store if isinstance(store, Store) else None,
        )
        self._clock = clock
        self._variants = Variants(self._resolved, given, clock)
        self._parts = self._variants.own
        self._runs = Runs(self._parts.store)
        self._feed = Feed()
        self._background = BackgroundLoop(farewell=self._variants.disconnect)
        self._runner = Runner(
            self._variants, self._settings, self._feed, clock, lasting=self._background.is_current
        )
        self._ready = threading.Lock()
        self._prepared: set[Parts] = set()
        self._closed = False
        self._finalizer = weakref.finalize(self, _let_go, self._background, self._parts)
        self._waker = Waker(self, self._settings.wake_interval) if self._settings.wakes else None
        if self._waker is not None:
            self._background.submit(self._waker.run())

    @property
    def settings(self) -> ResolvedSettings:
        """The settings in force, and where each came from."""
        return self._resolved

    # Researching

    def run(self, query: str, **options: Unpack[RunArguments]) -> ResearchResult:
        """Research a question to the end.

        Options are those of `RunOptions`: ``system_prompt``, ``source_types``, ``user_id``, ``session_id``,
        ``budget``, ``max_iterations`` and so on; ``shared_budget`` is a `SharedBudget` that this run draws on beside that
        of the engine. Returns for every run that got an id: look at ``status`` and
        ``reason``, or call ``raise_for_status()``. Raises `UsageError`, `ConfigurationError`, `StoreError`.
        """
        return self._background.call(self.arun(query, **options))

    async def arun(self, query: str, **options: Unpack[RunArguments]) -> ResearchResult:
        question, chosen, shared, parts = self._checked(query, options)
        await self._prepare(parts)
        return await self._runner.begin(new_run_id(), question, chosen, shared, parts=parts)

    def start(self, query: str, **options: Unpack[RunArguments]) -> ResearchHandle:
        """Research in the background. Options and errors as `run`."""
        return self._background.call(self._astart(query, options))

    async def astart(self, query: str, **options: Unpack[RunArguments]) -> ResearchHandle:
        """`start` on the caller's loop: the run goes on while that loop does."""
        return await self._astart(query, options)

    async def _astart(self, query: str, options: RunArguments) -> ResearchHandle:
        question, chosen, shared, parts = self._checked(query, options)
        await self._prepare(parts)
        run_id = new_run_id()
        created = asyncio.Event()
        task = asyncio.create_task(self._runner.begin(run_id, question, chosen, shared, created, parts))
        await _first(created, task)
        return self._handle(run_id, task)

    async def stream(self, query: str, **options: Unpack[RunArguments]) -> AsyncGenerator[Event | Progress]:
        """Research and give every event as it happens. Leaving early interrupts the run, resumable."""
        question, chosen, shared, parts = self._checked(query, options)
        await self._prepare(parts)
        run_id = new_run_id()
        created = asyncio.Event()
        task = asyncio.create_task(self._runner.begin(run_id, question, chosen, shared, created, parts))
        try:
            await _first(created, task)
            async with aclosing(self.follow(run_id)) as events:
                async for event in events:
                    yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def resume(
        self,
        research_id: str,
        answer: Any = None,
        *,
        setup: SetUpChoice = "same",
        shared_budget: SharedBudget | None = None,
        budget: Budget | None = None,
        take_over: bool = False,
    ) -> ResearchResult:
        """Go on with a run that was interrupted, parked or aborted; finished units are not done again.

        The run keeps its set-up: models, services, documents, gates, reflection and so on are taken from it by name
        where this engine names none of its own, so its folder of documents need not be given again while it stands.
        The engine names a part of the set-up where an object was handed to it, or where one of the settings of that
        part came from anywhere but the defaults: an argument, a variable of the environment, a file, a preset
        (``engine.settings.origins`` tells which). Hooks, agents, a reader of pages and providers of your own cannot be
        made of names: hand them over as you did for `run`.

        What is otherwise than it was is refused, unless ``setup="new"``: then the run goes on with what this engine
        names, which is written to its log and told in its limits. Documents in the same folder that have changed are
        told, not refused.

        ``answer`` is for a run parked with a question, also when it was cancelled there; see `answer`.
        ``shared_budget`` as in `run`: it is no part of the run, and is given anew. A completed run gives its result.

        ``budget`` raises the caps that it names, of a run that reached one, also when it completed: what was left out for
        want of them is searched and read, and nothing that was paid is paid again (docs/control_money.md).
        ``take_over``: a live process that works on the run is asked to let go of it, and passed over after two lease
        times.
        Raises `RunNotFoundError`, `RunBusyError` while a live process works on it, `RunStateError` for an answer where
        none is waited for, `UsageError` for one that does not fit, `SetUpError`, `CorpusError` where the documents are
        gone, and as `run`.
        """
        return self._background.call(
            self.aresume(
                research_id,
                answer,
                setup=setup,
                shared_budget=shared_budget,
                budget=budget,
                take_over=take_over,
            )
        )

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
        if setup not in SET_UPS:
            raise UnknownNameError.of("setup", str(setup), SET_UPS)
        return await self._resumed(
            research_id,
            answer,
            setup=setup,
            shared_budget=shared_budget,
            budget=checked_caps(budget),
            take_over=take_over,
        )

    async def _resumed(
        self,
        research_id: str,
        answer: Any,
        *,
        setup: SetUpChoice = "same",
        shared_budget: SharedBudget | None = None,
        by: Literal["owner", "default"] = "owner",
        budget: Budget | None = None,
        take_over: bool = False,
        parked_at: int | None = None,
    ) -> ResearchResult:
        shared = (*self._shared_budget, *_shared(shared_budget))
        self._parts.models.check(Budget(), shared)
        row = await self._runs.row(research_id)
        if row.projection.status is RunStatus.COMPLETED and budget is None:
            if answer is not None:
                raise RunStateError.no_question(research_id)
            return await self.aresult(research_id)
        if not take_over and row.owned(
            time.time()
        ):  # told at once, and not after a wait for a place to work on it
            raise busy(row)
        new, old = setup == "new", await self._runs.asetup(research_id)
        parts = await asyncio.to_thread(self._variants.of_run, old, row.places, new=new)
        parts.models.check(budget or Budget(), shared)
        try:
            await self._prepare(parts)
        except ConfigurationError:
            self._variants.refuse(parts, old, new=new)
            raise
        compared = partial(self._variants.going, parts, places=row.places, new=new)
        return await self._runner.resume(
            research_id,
            answer,
            shared,
            parts,
            compared,
            by,
            budget=budget,
            take_over=take_over,
            parked_at=parked_at,
        )

    # Having a say in what goes on

    def answer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None:
        """Answer what a parked run asks, and go on with it here; ``run=False`` leaves the answer for whoever resumes it
        next. The value has to be of the form that is asked for (`waiting` shows it): a text where none is.

        Raises `RunStateError` where nothing is asked, `UsageError` for a value that does not fit (the run stays parked),
        and as `resume`.

        Example:
            engine.answer("deepres-0123456789ab", "The one in Scotland.")
        """
        return self._background.call(self.aanswer(research_id, value, run=run))

    async def aanswer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None:
        state = await self._runs.astate(research_id)
        checked_answer(state, value)
        if (caps := caps_of(state.question, value)) is not None:
            raised(state, caps)
        if run:
            return await self.aresume(research_id, value)
        await self._runner.ask(research_id, ControlKind.ANSWER, json.dumps(value))
        return None

    def steer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        """Have a say in a run while it goes: ``text`` reaches those who work on it from their next unit on; a sub-query
        that was not searched yet is dropped by its id; from now on only what was published ``since`` a day is searched;
        or nothing more is. It is left for the process that works on the run, or will, and becomes an event there.

        Raises `RunNotFoundError`, `RunStateError` for a run that is completed, `UsageError` for what cannot be wished.

        Example:
            engine.steer(handle.research_id, "Also consider the towers of the north coast.")
        """
        self._background.call(
            self.asteer(
                research_id, text, drop_sub_query=drop_sub_query, since=since, stop_searching=stop_searching
            )
        )

    async def asteer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        wish = steering(text, drop_sub_query=drop_sub_query, since=since, stop_searching=stop_searching)
        row = await self._runs.row(research_id)
        refuse_ended(row.projection.status, research_id, "steer")
        if wish.dropped is not None:
            told = judged(wish, await self._runs.astate(research_id))
            if told.refused is not None:
                raise UsageError(
                    told.refused, hint="`deep-research status ID` shows what is still to be searched."
                )
        await self._runner.ask(research_id, ControlKind.STEER, payload(wish))

    def pause(self, research_id: str) -> None:
        """Park a run before its next unit, whoever works on it; `resume` goes on. A run that is parked already, or that
        nobody works on, stands still as it is. Raises `RunNotFoundError`, `RunStateError` for one that has ended."""
        self._background.call(self.apause(research_id))

    async def apause(self, research_id: str) -> None:
        row = await self._runs.row(research_id)
        if row.projection.status.ended:
            raise RunStateError(
                f"Run '{research_id}' is {row.projection.status}: there is nothing to pause.",
                hint="`deep-research show` shows what it came to.",
            )
        if row.projection.status is not RunStatus.PARKED and row.owned(time.time()):
            await self._runner.ask(research_id, ControlKind.PAUSE)

    def waiting(self) -> Sequence[Waiting]:
        """What waits: the parked runs of the store, newest first, with what each asks, in what form it wants to be
        answered, until when, and what happens then."""
        return self._background.call(self.awaiting())

    async def awaiting(self) -> Sequence[Waiting]:
        return await self._runs.awaiting()

    def wake(self) -> Sequence[ResearchResult]:
        """Go on with the parked runs whose time has come, or for which an answer was left, one after the other; what has
        a default is answered with it, what is to be aborted is. Runs that somebody else wakes are left to him. Raises
        nothing for a run that cannot be gone on with here: it is logged, and stays parked."""
        return self._background.call(self.awake())

    async def awake(self) -> Sequence[ResearchResult]:
        woken: list[ResearchResult] = []
        for waiting in await self._runs.adue(self._clock()):
            if self._runner.draining:
                break
            try:
                woken.append(await self._woken(waiting))
            except RunBusyError:  # somebody was faster
                continue
            except DeepResearchError as error:
                log.warning("not_woken", run=waiting.research_id, error=str(error))
        return woken

    async def _woken(self, waiting: Waiting) -> ResearchResult:
        if waiting.then is WhenDue.ABORT and not waiting.answered:
            await self._runner.abandon(
                waiting.research_id, f"Nobody answered: {waiting.waiting_for}.", parked_at=waiting.parked_at
            )
            return await self.aresult(waiting.research_id)
        if waiting.answered or not waiting.asks or waiting.default is None:
            return await self._resumed(waiting.research_id, None, parked_at=waiting.parked_at)
        return await self._resumed(
            waiting.research_id, waiting.default, by="default", parked_at=waiting.parked_at
        )

    def estimate(self, query: str, **options: Unpack[RunArguments]) -> Estimate:
        """What a run of this question may take, from the low to the high end: searches, pages, requests to models with
        their tokens and dollars. Nobody is asked and no run is started; documents are indexed and searched, as the run
        would. Options and errors as `run`."""
        return self._background.call(self.aestimate(query, **options))

    async def aestimate(self, query: str, **options: Unpack[RunArguments]) -> Estimate:
        from deep_research.assembly.run_estimate import estimated

        question, chosen, _, parts = self._checked(query, options)
        return await estimated(parts, question, chosen)

    # Looking

    def status(self, research_id: str) -> RunSummary:
        """Where a run stands. Raises `RunNotFoundError`."""
        return self._background.call(self.astatus(research_id))

    async def astatus(self, research_id: str) -> RunSummary:
        return await self._runs.astatus(research_id)

    def list(
        self, *, limit: int | None = None, after: RunSummary | str | None = None, **filters: Any
    ) -> Sequence[RunSummary]:
        """The runs of the store, newest first: those that fit the filters, of these the ones below ``after`` (a run of
        the list, or its id), and of these the first ``limit``.

        Filters: ``status`` as it is shown, ``user``, ``session``, ``text`` in the question (in whatever case),
        ``parked_kind`` (question, plan, outage, budget, pause, shutdown), ``due_before`` (parked until before then).
        Raises `UsageError`, `RunNotFoundError` where ``after`` is the id of none.
        """
        return self._background.call(self.alist(limit=limit, after=after, **filters))

    async def alist(
        self, *, limit: int | None = None, after: RunSummary | str | None = None, **filters: Any
    ) -> Sequence[RunSummary]:
        return await self._runs.alist(limit=limit, after=after, **filters)

    def result(self, research_id: str) -> ResearchResult:
        """The result of a run as it stands now, from its log. Raises `RunNotFoundError`, `LogDamagedError`."""
        return self._background.call(self.aresult(research_id))

    async def aresult(self, research_id: str) -> ResearchResult:
        return await self._runs.aresult(research_id)

    def report(self, research_id: str, format: ReportFormat = "markdown") -> str | None:
        """The report as Markdown, or the whole result as JSON. None when the run has no report.

        Raises `RunNotFoundError`, `UnknownNameError` for another format.
        """
        return self._background.call(self.areport(research_id, format))

    async def areport(self, research_id: str, format: ReportFormat = "markdown") -> str | None:
        if format not in FORMATS:
            raise UnknownNameError.of("format", format, FORMATS)
        result = await self.aresult(research_id)
        return result.report if format == "markdown" else result.model_dump_json(indent=2)

    def events(self, research_id: str, after: int = 0) -> Sequence[Event]:
        """The log of a run after a sequence number."""
        return self._background.call(self.aevents(research_id, after))

    async def aevents(self, research_id: str, after: int = 0) -> Sequence[Event]:
        return await self._runs.aevents(research_id, after)

    async def follow(self, research_id: str, after: int = 0) -> AsyncGenerator[Event | Progress]:
        """The log after a sequence number and what is added to it, until the run ends, parks or is left alone.

        Progress notes come in between when this engine runs it; they are not kept and may be dropped.
        """
        watcher = self._feed.join(research_id)
        try:
            while True:
                row = await self._runs.row(research_id)
                events = await self._runs.aevents(research_id, after, limit=READ_AHEAD)
                for event in events:
                    after = event.seq
                    yield event
                while watcher.notes:
                    yield watcher.notes.popleft()
                if events:
                    continue
                if row.last_seq <= after and row.status(time.time()) not in (
                    RunStatus.RUNNING,
                    RunStatus.PENDING,
                ):
                    return
                await watcher.wait(POLL)
        finally:
            self._feed.leave(research_id, watcher)

    def skipped(self) -> Sequence[Skipped]:
        """Every local document that could not be read, and why. What may be readable by now is tried again.
        Empty without a corpus. Raises `CorpusError`, with ``skipped`` in its data where no document can be read."""
        return self._background.call(self.askipped())

    async def askipped(self) -> Sequence[Skipped]:
        return await asyncio.to_thread(self._parts.skipped)

    async def _destinations(
        self, research_id: str | None = None, *, new: bool = False
    ) -> tuple[Destination, ...]:
        """Where the requests go of a new run, or of one that is gone on with. Raises as `aresume`."""
        if research_id is None:
            return self._parts.destinations
        row, setup = await self._runs.row(research_id), await self._runs.asetup(research_id)
        parts = await asyncio.to_thread(self._variants.of_run, setup, row.places, new=new)
        return parts.destinations

    @property
    def _files_read(self) -> int | None:
        """Local documents read by the indexing that is under way before a run; None when there is none."""
        corpus = self._parts.sources.corpus
        return corpus.files_read if corpus is not None else None

    def text(self, source: Source | Citation | Quote | str) -> str:
        """The saved text of a source, a citation, or a content hash. Raises `ContentMissingError`."""
        return self._background.call(self.atext(source))

    async def atext(self, source: Source | Citation | Quote | str) -> str:
        from deep_research.research.packed_run import content_hash_of

        content_hash = content_hash_of(source)
        (body,) = await asyncio.to_thread(self._parts.store.contents, [content_hash])
        return readable(body)

    def pack(self, research_id: str, path: Path | str, *, force: bool = False) -> Manifest:
        """Write a run with all that its report rests on to one file (docs/packs.md), and give its manifest.

        An existing file is replaced with ``force`` alone. Raises `RunNotFoundError`, `UsageError` for the path,
        `PackError` for a run that is too large or holds a registered secret, `ContentMissingError`, `LogDamagedError`.
        """
        return self._background.call(self.apack(research_id, path, force=force))

    async def apack(self, research_id: str, path: Path | str, *, force: bool = False) -> Manifest:
        return await self._runs.apack(research_id, path, force=force)

    def verify(self, research_id: str) -> Verification:
        """Make every hash, span and verdict of a run again, without a network, and hold them against what was recorded.
        For a pack see `open_pack`. Raises `RunNotFoundError`."""
        return self._background.call(self.averify(research_id))

    async def averify(
        self, research_id: str, *, progress: Callable[[int, int], None] | None = None
    ) -> Verification:
        return await self._runs.averify(research_id, progress=progress)

    # Acting on runs

    def cancel(self, research_id: str) -> RunSummary:
        """End a run. What it found is kept, in a partial report if there are findings; it can be resumed.

        A run that another process works on is asked to stop, and given 10 s.
        """
        return self._background.call(self.acancel(research_id))

    async def acancel(self, research_id: str) -> RunSummary:
        row = await self._runs.row(research_id)
        if row.projection.status.ended:
            return RunSummary.of(row, time.time())
        if not self._runner.cancel(research_id):
            try:
                await self._runner.abandon(research_id)
            except RunBusyError:
                await self._runner.ask(research_id, ControlKind.CANCEL)
        return await self._ended(research_id)

    async def _ended(self, research_id: str) -> RunSummary:
        deadline = time.monotonic() + CANCEL_WAIT
        watcher = self._feed.join(research_id)
        try:
            while True:
                summary = await self.astatus(research_id)
                if summary.status in (RunStatus.INTERRUPTED, RunStatus.PARKED):  # its owner did not hear it
                    await self._runner.abandon(research_id)
                    continue
                if summary.status not in (RunStatus.RUNNING, RunStatus.PENDING):
                    return summary
                if time.monotonic() > deadline:
                    raise RunBusyError(
                        f"Run '{research_id}' was asked to stop and has not yet.",
                        hint="Look again with `deep-research status`.",
                        research_id=research_id,
                    )
                await watcher.wait(POLL)
        finally:
            self._feed.leave(research_id, watcher)

    def delete(self, research_id: str) -> None:
        """Remove a run, and the texts that no other run uses. Raises `RunBusyError` while it is worked on."""
        return self._background.call(self.adelete(research_id))

    async def adelete(self, research_id: str) -> None:
        await self._runs.adelete(research_id)

    # Being held

    def drain(self, seconds: float = 10.0) -> int:
        """Have all runs of this engine park before their next unit, as what was shut down: for a process that ends. Waits
        at most so many seconds, then interrupts the rest (they stay resumable). Gives how many are parked; `wake`, of
        whatever process, goes on with them. Raises `UsageError` for a time that is none.

        Example:
            engine.drain(20)  # in the handler of your service's end
            engine.close()
        """
        return self._background.call(self.adrain(seconds))

    async def adrain(self, seconds: float = 10.0) -> int:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise UsageError("drain takes a number of seconds from 0.", hint="For example: drain(20)")
        if self._waker is not None:
            self._waker.stop()
        return await self._runner.drain(float(seconds))

    def close(self) -> None:
        """Interrupt what is running (it stays resumable) and let go of the thread and the database. After that `run` and
        all that works on a run is refused."""
        self._background.call(self._stop())
        self._finalizer()
        self._finalizer = weakref.finalize(self, _let_go, self._background, self._parts)

    async def aclose(self) -> None:
        await self._stop()
        await asyncio.to_thread(self._finalizer)
        self._finalizer = weakref.finalize(self, _let_go, self._background, self._parts)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise UsageError(
                "This engine is closed, and works on no further run.",
                hint="Make another one over the same data_dir or store: runs that were going are resumed there.",
            )

    async def _stop(self) -> None:
        self._closed = True
        if self._waker is not None:
            self._waker.stop()
        await self._runner.interrupt()
        await self._variants.disconnect()
        corpora = [parts.sources.corpus for parts in self._variants]
        for provider in (*self._parts.providers, *corpora, self._parts.sources.extractor):
            close = getattr(provider, "aclose", None)
            if close is not None:
                try:
                    await self._parts.calls(close, timeout=CANCEL_WAIT)
                except Exception as error:
                    log.warning("provider_close_failed", error=told(error))
        self._prepared.clear()

    def __enter__(self) -> DeepResearch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> DeepResearch:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # For the handle

    def _wait_for(self, work: Awaitable[_T]) -> _T:
        async def waiting() -> _T:
            return await work

        return self._background.call(waiting())

    def _refuse_reentrance(self) -> None:
        """Raises `ReentrantCallError` on the engine's own loop."""
        self._background.refuse_reentrance()

    # Inside

    def _checked(
        self, query: str, options: Mapping[str, Any]
    ) -> tuple[str, RunOptions, Sequence[SharedBudget], Parts]:
        self._refuse_closed()
        question = checked_question(query, self._settings.max_question_chars)
        given = {"budget": self._budget, **options} if self._budget is not None else dict(options)
        shared = (*self._shared_budget, *_shared(given.pop("shared_budget", None)))
        chosen = self._settings.run_options(**given)
        parts = self._variants.with_model(chosen.provider_id)
        parts.models.check(chosen.budget, shared)
        parts.check_kinds(chosen.source_types)
        parts.check_tasks(chosen)
        try:
            chosen.model_dump_json()
        except ValueError:
            raise SettingsError(
                "An option holds characters that are not text.", hint="Remove them and ask again."
            ) from None
        with parts.keyring.scope():
            return masked(question), in_all_texts(chosen, masked), shared, parts

    async def _prepare(self, parts: Parts) -> None:
        """Before every run, off the loop: the store is open, there is something to search, and documents that came
        or went since are seen. Before the first, what has expired goes from the archive. Raises `UsageError` once the
        engine is closed."""
        self._refuse_closed()
        if parts not in self._prepared or parts.sources.corpus is not None:
            await asyncio.to_thread(self._prepare_off_loop, parts)

    def _prepare_off_loop(self, parts: Parts) -> None:
        with self._ready:
            parts.ready()
            parts.store.open()
            if parts not in self._prepared:
                parts.tidy()
                for each in parts.destinations:
                    log.info("requests_go_to", server=each.server, uses=each.uses, variable=each.key)
            self._prepared.add(parts)

    def _handle(self, run_id: str, task: asyncio.Task[ResearchResult]) -> ResearchHandle:
        future: Future[ResearchResult] = Future()
        future.set_running_or_notify_cancel()

        def done(task: asyncio.Task[ResearchResult]) -> None:
            if task.cancelled():
                future.set_exception(
                    RunStateError(
                        f"Run '{run_id}' was interrupted.", hint="Resume it to go on.", research_id=run_id
                    )
                )
            elif (error := task.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        task.add_done_callback(done)
        return ResearchHandle(self, run_id, future)


def _paths(corpus: Path | str | Sequence[Path | str] | None) -> list[str] | None:
    """One folder or several, as the settings take them."""
    if corpus is None:
        return None
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(path) for path in corpus]


def _shared(given: SharedBudget | None) -> tuple[SharedBudget, ...]:
    """Raises `SettingsError`."""
    if given is None:
        return ()
    from deep_research.budget.shared_budget import SharedBudget

    if not isinstance(given, SharedBudget):
        raise SettingsError(f"shared_budget must be a SharedBudget, got {type(given).__name__}.")
    return (given,)


def _let_go(background: BackgroundLoop, parts: Parts) -> None:
    background.close()
    parts.calls.close()
    if parts.own_store:
        try:
            parts.store.close()
        except DeepResearchError as error:
            log.warning("close_failed", error=str(error))


def _is_named(models: object) -> bool:
    """Whether models are given by name alone, as settings are."""
    if isinstance(models, Mapping):
        return all(_is_named(chain) for chain in models.values())
    return isinstance(models, str) or (
        isinstance(models, Sequence) and all(isinstance(item, str) for item in models)
    )


async def _first(created: asyncio.Event, task: asyncio.Task[Any]) -> None:
    """Until the run is in the store; a run that could not be created raises here."""
    waiter = asyncio.create_task(created.wait())
    await asyncio.wait({waiter, task}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
    if task.done() and not created.is_set():
        task.result()
