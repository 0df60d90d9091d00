"""Carrying out tasks in processes of their own, with the engine as it is."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from deep_research.errors import WorkError
from deep_research.logs import describe_error
from deep_research.research import DeepResearch, ResearchResult
from deep_research.settings import UNSET, Settings
from deep_research.sources.search import SearchRequest
from deep_research.state import AbortReason
from evals.corpora import JsonlCorpus
from evals.folds import HeldOutAgents
from evals.outcomes import Outcome, Task
from evals.suites import FIRST_STAGE, SUITES, Suite

_HELD = {signal.SIGINT, signal.SIGTERM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a worker process needs to know. ``corpus`` is an index, or a folder of documents; ``agents`` take the place of
    the product's."""

    suite: str
    corpus: Path
    titles: bool
    settings: Settings
    agents: HeldOutAgents | None = None


async def carry_out(
    tasks: Sequence[Task], setup: Setup, jobs: int, record: Callable[[Outcome], None]
) -> None:
    """Carries out the tasks in ``jobs`` processes and records each outcome as it comes, in any order.

    When it is cancelled, tasks that have begun are finished and recorded first. Raises `WorkError` when a process
    dies.
    """
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=get_context("spawn"), initializer=_begin, initargs=(setup,)
    )
    waiting: set[Future[Outcome]] = set()
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def collect() -> None:
        done = [future for future in waiting if future.done()]
        waiting.difference_update(done)
        for future in sorted((f for f in done if not f.cancelled()), key=lambda f: f.exception() is not None):
            record(future.result())  # the outcomes first, and then that a process died

    try:
        # Ctrl-C goes to all processes of a terminal. The workers inherit that it is held back here.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
        try:
            waiting |= {pool.submit(perform, task) for task in tasks}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for future in list(waiting):
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(arrived.set))
        while waiting:
            await arrived.wait()
            arrived.clear()
            collect()
    except BrokenProcessPool as error:
        raise WorkError(
            "A worker process died.", hint="Try fewer --jobs if memory is short; what was done is kept."
        ) from error
    except asyncio.CancelledError:
        await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        collect()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _Worker:
    """What one process holds: the open index, if there is one, and how its runs are set up."""

    def __init__(self, setup: Setup) -> None:
        self._folder = setup.corpus
        self._index = None if setup.corpus.is_dir() else JsonlCorpus(setup.corpus, titles=setup.titles)
        self._suite = SUITES[setup.suite]
        self._agents = setup.agents
        # Every setting is given, so that nothing is read from the environment or a file again.
        given = setup.settings.model_dump(exclude={"search", "corpus", "store"})
        self._settings = {name: UNSET if value is None else value for name, value in given.items()}

    async def perform(self, task: Task) -> Outcome:
        corpus = self._index.excluding(task.without) if self._index else None
        where: dict[str, Any] = (
            {"search": [corpus], "corpus": []} if corpus else {"corpus": [self._folder / task.folder]}
        )
        options: dict[str, Any] = {**where, "store": "memory"}
        if self._agents is not None:
            options["agents"] = self._agents.of(task)
        async with DeepResearch(**options, **self._settings) as research:
            started = time.perf_counter()
            result = await research.arun(task.text)
            seconds = time.perf_counter() - started
        if fault := _fault(result):
            return Outcome(id=task.id, error=fault)
        return _outcome(
            task,
            result,
            self._suite,
            seconds=seconds,
            searching=corpus.seconds if corpus else 0.0,
            first_stage=await _plain_search(corpus, task) if corpus and self._suite.first_stage else (),
        )


_worker: _Worker | None = None


def perform(task: Task) -> Outcome:
    """Carries out one task in this process, which `_begin` has made ready. Never raises."""
    assert _worker is not None
    try:
        return asyncio.run(_worker.perform(task))
    except Exception as error:
        return Outcome(id=task.id, error=describe_error(error))


def _begin(setup: Setup) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = _Worker(setup)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _fault(result: ResearchResult) -> str:
    """Why a run says nothing about the product's quality, "" when it does: it broke, or a search of it did."""
    if result.reason in (AbortReason.ERROR, AbortReason.CONFIG):
        return result.message or result.reason.value
    failures = [query.error for query in result.state.sub_queries if query.error]
    return f"A search failed: {failures[0]}" if failures else ""


def _probability(result: ResearchResult) -> float:
    """What the run says of its answer; of agents that tell none, how complete it holds its findings."""
    told = [finding.probability for finding in result.findings if finding.probability is not None]
    return max(told, default=0.0) if told else result.state.completeness * bool(result.findings)


async def _plain_search(corpus: JsonlCorpus, task: Task) -> tuple[str, ...]:
    found = await corpus.search(SearchRequest(query=task.text, limit=FIRST_STAGE))
    return tuple(result.address for result in found)


def _outcome(
    task: Task,
    result: ResearchResult,
    suite: Suite,
    *,
    seconds: float,
    searching: float,
    first_stage: tuple[str, ...],
) -> Outcome:
    addresses = {source.id: source.url or "" for source in result.sources}
    cited = dict.fromkeys(addresses.get(citation.source_id, "") for citation in result.citations)
    return Outcome(
        id=task.id,
        sources=tuple(addresses.values()),
        first_stage=first_stage,
        cited=tuple(cited),
        report=(result.report or "") if suite.report else "",
        completeness=result.state.completeness,
        probability=_probability(result),
        answered=result.answer_coverage or "",
        status=result.status.value,
        reason=result.reason.value if result.reason else "",
        searches=result.usage.searches,
        seconds=round(seconds, 4),
        searching=round(searching, 6),
    )
