"""`DeepResearch`, the engine. Most verbs exist twice: ``await engine.arun(…)`` and, for code without an event loop,
``engine.run(…)``."""

from __future__ import annotations

import asyncio
import math
import threading
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from deep_research.errors import (
    AppendRefusedError,
    DeepResearchError,
    RunNotFoundError,
    RunStateError,
    UsageError,
)
from deep_research.logs import configure, describe_error, get_log
from deep_research.research.loops import BackgroundLoop
from deep_research.research.operations import plain
from deep_research.research.run_control import CANCEL_WAIT_SECONDS, ResearchHandle, RunControl
from deep_research.research.run_worker import WAKE_INTERVAL_SECONDS, Waker
from deep_research.state.identity import keyed_run_id, new_run_id

# What makes and works on runs is imported where it is first used: a program that only names the class does not pay.
if TYPE_CHECKING:
    from deep_research.assembly import Destination, MakeSupervisor, Models, Parts
    from deep_research.assembly.user_directory import UserDirectory
    from deep_research.budget.estimate import Estimate
    from deep_research.budget.shared_budget import SharedBudget
    from deep_research.memory import Memory
    from deep_research.phases.gathering.source_reading import Pages
    from deep_research.phases.gathering.tasks.tool import Tool
    from deep_research.research.arguments import RunArguments, SettingArguments
    from deep_research.research.request import Request
    from deep_research.research.result import ResearchResult
    from deep_research.research.sessions import Session
    from deep_research.settings import ResolvedSettings
    from deep_research.sources.documents import Skipped
    from deep_research.sources.search import SearchProvider
    from deep_research.state import AgentRole, Budget
    from deep_research.state.events import Event, Progress
    from deep_research.state.journal import Clock
    from deep_research.store import Store
    from deep_research.supervisor.hooks import Gates, SupervisorHooks

log = get_log("engine")


class DeepResearch(RunControl):
    """An engine: settings, agents, providers and a store, ready to research.

    Args:
        model, models: Language models by name, for all roles or by role, or a `ModelProvider` of yours. A list is a
            chain: the engine asks the next model if one cannot answer.
        agents: Your own agent for a role.
        search: A provider, by name or your own, or several in order of preference.
        pages: Reads pages instead of the engine: an object with ``async read(url) -> WebPage``.
        corpus: A folder or file of documents, or several.
        tools, data_sources: What tasks may use in addition (docs/tasks.md).
        gates: What a blocking issue of a phase does: ``proceed``, ``retry``, ``abort`` or ``strict``.
        hooks: A `SupervisorHooks`.
        supervisor: A subclass of `SupervisorOrchestrator`, or a function that creates one for each run.
        budget: Caps of every run.
        shared_budget: Caps over all runs of this engine, and of other engines with the same object.
        store: ``"sqlite"`` (the default), ``"memory"``, or a `Store`.
        memory: The memory of users: ``"sqlite"``, ``"volatile"``, the name of a package's memory, or a `Memory`.
        users: A `UserDirectory`, which says what a ``user_id`` may use.
        config: A settings file (TOML).
        preset: A named set of values.
        clock: Returns the current time with its zone; for tests.
        settings: Every setting by name (docs/settings.md).

    Raises `UnknownNameError`, `SettingsError`, `ConfigurationError`. The engine opens nothing before the first verb,
    unless the setting ``auto_resume`` is on. Close it, or use it in a ``with``, to release its thread and database.
    Runs in progress can then be resumed.

    Example:
        with DeepResearch(corpus="docs/") as engine:
            print(engine.run("How is the cache invalidated?").answer)
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
        memory: Memory | str | None = None,
        users: UserDirectory | None = None,
        config: Path | str | None = None,
        preset: str | None = None,
        clock: Clock | None = None,
        **settings: Unpack[SettingArguments],
    ) -> None:
        from deep_research.assembly import EngineArguments, EngineVariants
        from deep_research.assembly.memory_choice import chosen_memory
        from deep_research.assembly.user_directory import chosen_users
        from deep_research.budget.shared_budget import as_shared
        from deep_research.research.live_run import LiveRuns
        from deep_research.research.request import RequestBuilder
        from deep_research.research.runner import Runner
        from deep_research.settings import load_settings
        from deep_research.sources.search import SearchProvider
        from deep_research.state.journal import utc_now
        from deep_research.store import Feed, Store

        overrides = {
            **settings,
            "corpus": _paths(corpus),
            "store": store if isinstance(store, str) else None,
            "memory": memory if isinstance(memory, str) else None,
            "model": model if _is_named(model) else None,
            "models": models if _is_named(models) else None,
        }
        self._resolved = load_settings(overrides=overrides, config=config, preset=preset)
        self._settings = self._resolved.settings
        if self._settings.log_level:
            configure(self._settings.log_level, self._settings.log_format)
        self._shared_budget = as_shared(shared_budget)
        handed_over = None if isinstance(memory, str) else memory
        used_memory = chosen_memory(handed_over, self._settings)
        self._own_memory = used_memory if handed_over is None else None
        arguments = EngineArguments(
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
            memory=used_memory,
        )
        clock = self._clock = clock or utc_now
        self._variants = EngineVariants(self._resolved, arguments, clock)
        self._parts = self._variants.own
        super().__init__(self._parts.store, used_memory)
        self._requests = RequestBuilder(
            self._variants,
            self._resolved,
            chosen_users(users, self._settings),
            budget=budget,
            shared_budget=self._shared_budget,
            refuse_closed=self._refuse_closed,
        )
        self._feed = Feed()
        self._live_runs = LiveRuns(self._parts.store, self._feed)
        self._background = BackgroundLoop(farewell=self._variants.disconnect)
        self._runner = Runner(
            self._variants, self._settings, self._feed, clock, lasting=self._background.is_current
        )
        self._prepare_lock = threading.Lock()
        self._prepared: set[Parts] = set()
        self._closed = False
        self._workers = set()
        self._finalizer = self._to_release()
        self._waker = Waker(self, WAKE_INTERVAL_SECONDS) if self._settings.auto_resume else None
        if self._waker is not None:
            self._background.submit(self._waker.run())

    @property
    def settings(self) -> ResolvedSettings:
        """The settings in force, and where each comes from."""
        return self._resolved

    # Researching

    async def arun(self, query: str, **options: Unpack[RunArguments]) -> ResearchResult:
        """Research a question to the end.

        Options are those of `RunOptions`, such as ``budget``, ``max_iterations`` or ``user_id``, and ``shared_budget``, a
        `SharedBudget` in addition to that of the engine. Returns a result for every run that got an id: check its
        ``status`` and ``reason``, or call ``raise_for_status()``. Raises `UsageError`, `ConfigurationError`,
        `StoreError`.

        Example:
            result = engine.run("Who built Bell Rock?", max_iterations=2)
        """
        request = await self._new_request(query, options)
        return await self._runner.begin(new_run_id(), request)

    run = plain(arun)

    async def astart(self, query: str, **options: Unpack[RunArguments]) -> ResearchHandle:
        """Research in the background and return a handle: on the engine's own loop, or with `astart` on the caller's.
        Options and errors are those of `run`.

        Example:
            handle = engine.start("Who built Bell Rock?")
        """
        run_id, task = await self._begin(query, options)
        return self._handle(run_id, task)

    start = plain(astart)

    async def stream(self, query: str, **options: Unpack[RunArguments]) -> AsyncGenerator[Event | Progress]:
        """Research and yield every event as it happens. If you leave early, the run is interrupted and can be resumed.

        Example:
            async for event in engine.stream("Who built Bell Rock?"):
                print(event)
        """
        run_id, task = await self._begin(query, options)
        try:
            async with aclosing(self.follow(run_id)) as events:
                async for event in events:
                    yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _begin(self, query: str, options: RunArguments) -> tuple[str, asyncio.Task[ResearchResult]]:
        """Create a run in the store, and the task that carries it out."""
        request = await self._new_request(query, options)
        run_id, created = new_run_id(), asyncio.Event()
        task = asyncio.create_task(self._runner.begin(run_id, request, created))
        try:
            await _until_created(created, task)
        except BaseException:
            task.cancel()
            raise
        return run_id, task

    async def asubmit(
        self,
        query: str,
        *,
        idempotency_key: str | None = None,
        priority: int = 0,
        not_before: datetime | str | None = None,
        **options: Unpack[RunArguments],
    ) -> str:
        """Queue a question for a worker (`work`, in any process with the same store), and return the id of its run.

        Args:
            priority: -100 to 100; runs with a higher priority start first.
            not_before: The earliest start.
            idempotency_key: A second call by the same user with the same key returns the same run.

        Other options and errors are those of `run`, without ``shared_budget``. Raises `RepeatedKeyError` if the
        key belongs to another question.

        Example:
            run_id = engine.submit("Who built Bell Rock?", idempotency_key="order-1874")
        """
        from deep_research.research.request import checked_key, queue_place

        if options.get("shared_budget") is not None:
            raise UsageError(
                "A submitted run takes no shared_budget.",
                hint="Pass it to the engine that works on the queue.",
            )
        place = queue_place(priority, not_before)
        key = None if idempotency_key is None else checked_key(idempotency_key)
        request = await self._new_request(query, options)
        run_id = new_run_id() if key is None else keyed_run_id(request.options.user_id, key)
        try:
            await self._runner.submit(run_id, request, place)
        except AppendRefusedError:
            if key is None:
                raise
            await self._check_repeated(run_id, request, options)
        for worker in tuple(self._workers):
            worker.look()
        return run_id

    submit = plain(asubmit)

    async def asubmission(
        self, query: str, idempotency_key: str, **options: Unpack[RunArguments]
    ) -> str | None:
        """Return the id of the run that was submitted with an idempotency key, or None. Raises the errors of `submit`."""
        from deep_research.research.request import checked_key

        request = await self._requests.build(query, options)
        run_id = keyed_run_id(request.options.user_id, checked_key(idempotency_key))
        try:
            await self._check_repeated(run_id, request, options)
        except RunNotFoundError:
            return None
        return run_id

    async def _check_repeated(self, run_id: str, request: Request, values: Mapping[str, Any]) -> None:
        """Raises `RunNotFoundError`, and `RepeatedKeyError` where the run was submitted with something else."""
        from deep_research.research.request import check_repeated

        await self._row(run_id)
        log = await asyncio.to_thread(self._read, run_id, 0, 1)
        check_repeated(run_id, log, request.question, request.options, values)

    async def aestimate(self, query: str, **options: Unpack[RunArguments]) -> Estimate:
        """Estimate what a run of this question may use, from low to high: searches, pages, requests, tokens and dollars.

        It asks no model and starts no run, but indexes and searches the documents. Options and errors are those of `run`.

        Example:
            print(engine.estimate("Who built Bell Rock?").cost_usd)
        """
        from deep_research.assembly.run_estimate import estimated

        request = await self._requests.build(query, options)
        return await estimated(request.parts, request.question, request.options)

    estimate = plain(aestimate)

    async def askipped(self) -> Sequence[Skipped]:
        """Return every local document that could not be read, and why, after trying again what may be readable now.

        Empty without a corpus. Raises `CorpusError`, with ``skipped`` in its data, if no document can be read.
        """
        return await asyncio.to_thread(self._parts.skipped)

    skipped = plain(askipped)

    async def _destinations(
        self, research_id: str | None = None, *, new: bool = False
    ) -> tuple[Destination, ...]:
        """Return the servers to which a new run, or a resumed one, sends requests. Raises the errors of `aresume`."""
        if research_id is None:
            return self._parts.destinations
        row, setup = await self._row(research_id), await self._setup(research_id)
        parts = await asyncio.to_thread(self._variants.of_run, setup, row.places, new=new)
        return parts.destinations

    def _files_read(self) -> int | None:
        """Return how many local documents the current indexing has read; None when none is under way."""
        corpus = self._parts.sources.corpus
        return corpus.files_read if corpus is not None else None

    def session(self, name: str, user_id: str | None = None) -> Session:
        """Return a conversation of a user, new or existing. Raises `UsageError`.

        Example:
            engine.session("towers").ask("How tall is Cape Hatteras Lighthouse?")
        """
        from deep_research.research.sessions import Session

        return Session(self, name, user_id, tokens=self._settings.session_tokens)

    # Closing

    async def adrain(self, seconds: float = 10.0) -> int:
        """Park all runs of this engine before their next unit, before the process ends.

        Waits at most ``seconds``, then interrupts the rest (they can be resumed). Returns the number of parked
        runs; `wake`, in any process, continues them. Raises `UsageError` for an invalid time.

        Example:
            engine.drain(20)  # when your service stops
            engine.close()
        """
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise UsageError("drain takes a number of seconds from 0.", hint="For example: drain(20)")
        self._stop_looking()
        return await self._runner.drain(float(seconds))

    drain = plain(adrain)

    def close(self) -> None:
        """Interrupt the runs in progress (they can be resumed), and release the thread and the database. After that the
        engine refuses to work on runs.
        """
        self._background.call(self._stop())
        self._finalizer()
        self._finalizer = self._to_release()

    async def aclose(self) -> None:
        await self._stop()
        await asyncio.to_thread(self._finalizer)
        self._finalizer = self._to_release()

    def _to_release(self) -> weakref.finalize[..., DeepResearch]:
        """Return the finalizer that releases the thread, the store and the memory: when called, or when the engine is
        garbage-collected."""
        return weakref.finalize(self, _release, self._background, self._parts, self._own_memory)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise UsageError(
                "This engine is closed.",
                hint="Create another engine with the same data_dir or store, and resume its runs there.",
            )

    async def _stop(self) -> None:
        self._closed = True
        self._stop_looking()
        await self._runner.interrupt()
        await self._variants.disconnect()
        corpora = [parts.sources.corpus for parts in self._variants]
        for provider in (*self._parts.providers, *corpora, self._parts.sources.extractor):
            close = getattr(provider, "aclose", None)
            if close is not None:
                try:
                    await self._parts.calls(close, timeout=CANCEL_WAIT_SECONDS)
                except Exception as error:
                    log.warning("provider_close_failed", error=describe_error(error))
        self._prepared.clear()

    def _stop_looking(self) -> None:
        """Stop taking up runs."""
        self._stop_workers()
        if self._waker is not None:
            self._waker.stop()

    def __enter__(self) -> DeepResearch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> DeepResearch:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # Internal

    async def _new_request(self, query: str, options: Mapping[str, Any]) -> Request:
        """Build the request for a new run. Raises `RunNotFoundError` if the previous run does not exist, or belongs to
        another user."""
        request = await self._requests.build(query, options)
        previous = request.options.previous_run_id
        if previous is not None and (await self._row(previous)).user_id != request.options.user_id:
            raise RunNotFoundError.of(previous)
        await self._prepare(request.parts)
        return request

    async def _prepare(self, parts: Parts) -> None:
        """Before each run: open the store, check that there is something to search, and update the index. Before the
        first also: delete expired entries of the archive. Raises `UsageError` once the engine is closed."""
        self._refuse_closed()
        if parts not in self._prepared or parts.sources.corpus is not None:
            await asyncio.to_thread(self._prepare_off_loop, parts)

    def _prepare_off_loop(self, parts: Parts) -> None:
        with self._prepare_lock:
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

        def on_done(task: asyncio.Task[ResearchResult]) -> None:
            if task.cancelled():
                future.set_exception(
                    RunStateError(
                        f"Run '{run_id}' was interrupted.", hint="Resume the run.", research_id=run_id
                    )
                )
            elif (error := task.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        task.add_done_callback(on_done)
        return ResearchHandle(self, run_id, future)


def _paths(corpus: Path | str | Sequence[Path | str] | None) -> list[str] | None:
    """One folder or several, as the settings take them."""
    if corpus is None:
        return None
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(path) for path in corpus]


def _release(background: BackgroundLoop, parts: Parts, memory: Memory | None) -> None:
    background.close()
    parts.calls.close()
    for each in (parts.store if parts.own_store else None, memory):
        try:
            if each is not None:
                each.close()
        except DeepResearchError as error:
            log.warning("close_failed", error=str(error))


def _is_named(models: object) -> bool:
    """Whether models are given by name alone, as settings are."""
    if isinstance(models, Mapping):
        return all(_is_named(chain) for chain in models.values())
    return isinstance(models, str) or (
        isinstance(models, Sequence) and all(isinstance(item, str) for item in models)
    )


async def _until_created(created: asyncio.Event, task: asyncio.Task[Any]) -> None:
    """Wait until the run is in the store; a run that could not be created raises here."""
    waiter = asyncio.create_task(created.wait())
    await asyncio.wait({waiter, task}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
    if task.done() and not created.is_set():
        task.result()
