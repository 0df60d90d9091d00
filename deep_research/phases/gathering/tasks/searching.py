"""A task without a model: one search, whose sources are the finding."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from deep_research.errors import DeepResearchError, SearchError
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput
from deep_research.phases.gathering.tasks.desk import Desk
from deep_research.phases.gathering.tasks.recording import Used, Workplace, kept_step, step_of
from deep_research.phases.gathering.tasks.tool import ToolResult
from deep_research.phases.gathering.tasks.tools import Library
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.state import Task, TaskFinding, TaskStep
from deep_research.state.events import TaskFinished

NOWHERE = "The run allows none of the data sources that its sub-query names."


class Searching:
    """A task without a model: the gatherer searches for it, and each data source of the caller's own is searched beside;
    that is one step, and the finding is its sources. What they say is read in ANALYSIS."""

    def __init__(self, place: Workplace, task: Task, desk: Desk, library: Library) -> None:
        self._place = place
        self._task = task
        self._desk = desk
        self._library = library

    async def run(
        self, ask: Callable[[GathererInput], Awaitable[GathererOutput]], handoff: GathererInput
    ) -> None:
        """``ask`` is the gatherer. Raises `StoreError` and what stops a run."""
        began = asyncio.get_running_loop().time()
        uses: list[Used] = []
        names = self._task.data_sources
        if (
            not set(names).isdisjoint((CORPUS, WEB)) or not self._library.sources.names
        ):  # a gatherer of one's own
            uses.append(await self._gathered(ask, _limited(handoff, names)))
        uses += [await self._searched(name) for name in names if name in self._library.sources.own]
        if not uses:
            uses.append(Used("search", {"query": self._task.question}, problem=NOWHERE))
        events, contents, showings = await kept_step(
            self._place, self._task, self._desk, TaskStep(number=1), uses, began, handoff
        )
        step = step_of(events)
        problems = [use.problem for use in uses if use.problem]
        finding = TaskFinding(
            source_ids=step.source_ids,
            error=" ".join(problems) if problems and not step.source_ids else "",
        )
        finished = TaskFinished(task_id=self._task.id, attempt=self._task.attempt, finding=finding)
        await self._place.journal.record(*events, finished, contents=contents)
        self._desk.noted(step, showings)

    async def _gathered(
        self, ask: Callable[[GathererInput], Awaitable[GathererOutput]], handoff: GathererInput
    ) -> Used:
        use = Used("search", {"query": self._task.question})
        refusal = self._place.purse.take("max_searches")
        if refusal is not None:
            use.problem = refusal.problem
            return use
        try:
            answer = await ask(handoff)
        except DeepResearchError as error:
            use.problem, use.searches = error.problem, 1
            # A search that failed led to no page; else nobody knows how many were asked for.
            use.fetches = 0 if isinstance(error, SearchError) else handoff.fetches or 0
            return use
        searches = max(1 + len(answer.wordings), answer.stats.queries_executed)
        use.result = ToolResult(
            sources=answer.sources,
            unread=answer.unread,
            notes=answer.notes,
            searches=searches,
            failed_searches=min(answer.stats.queries_failed, searches),
            fetches=answer.fetches,
        )
        return use

    async def _searched(self, name: str) -> Used:
        query = self._task.question
        use = Used("search", {"query": query, "data_source": name})
        request = self._library.request(query, self._library.handoff.max_sources_per_query)
        refusal = self._place.purse.take("max_searches")
        if refusal is not None:
            use.problem = refusal.problem
            return use
        try:
            found = await self._library.sources.search(request, (name,))
            use.result = await self._library.found(found, query)
        except DeepResearchError as error:
            use.problem, use.searches = error.problem, 1
        return use


def _limited(handoff: GathererInput, names: Sequence[str]) -> GathererInput:
    """For a gatherer that may search the documents alone, or the web alone."""
    if names and WEB not in names:
        return handoff.model_copy(update={"lanes": (CORPUS,)})
    return handoff.model_copy(update={"lanes": (WEB,)}) if names and CORPUS not in names else handoff
