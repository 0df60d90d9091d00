"""A task without a model: one search, whose sources are the finding."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from deep_research.errors import BudgetError, DeepResearchError
from deep_research.phases.gathering.gatherer import outgoing
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput
from deep_research.phases.gathering.queries import Asked
from deep_research.phases.gathering.tasks.desk import Desk
from deep_research.phases.gathering.tasks.step_record import Used, Workplace, kept_step, step_of
from deep_research.phases.gathering.tasks.tool import ToolResult
from deep_research.phases.gathering.tasks.tools import Library
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.state import SourceKind, TaskFinding, TaskState, TaskStep
from deep_research.state.events import TaskFinished

USED_UP = "The cap on searches leaves no more to this task."
NO_SOURCE = "Its agent was done before it had a source."
NOWHERE = "The run allows none of the data sources that its sub-query names."


Ask = Callable[[GathererInput], Awaitable[Asked | BudgetError]]


class Searching:
    """A task without a model: the gatherer searches for it, and each data source of the caller's own is searched beside;
    that is one step, and the finding is its sources. What they say is read in ANALYSIS. Its searches and pages are within
    the limits of the task."""

    def __init__(self, place: Workplace, stands: TaskState, desk: Desk, library: Library) -> None:
        self._place = place
        self._task = stands.task
        self._number = len(stands.steps) + 1  # a model may have worked on it before
        self._desk = desk
        self._library = library
        most, made = stands.task.limits.searches, sum(step.searches for step in stands.steps)
        self._searches = None if most is None else max(0, most - made)  # that are left

    async def run(self, ask: Ask, ended: TaskFinding | None = None) -> None:
        """``ask`` is the gatherer; ``ended`` is what a model said of the attempt whose place this takes. It counts for
        nothing where something is found: the model had seen no source. Raises `StoreError` and what stops a run."""
        began = asyncio.get_running_loop().time()
        uses: list[Used] = []
        names, handoff = self._desk.data_sources, self._library.handoff
        own = [name for name in names if name in self._library.sources.own]
        if (
            not set(names).isdisjoint((CORPUS, WEB)) or not self._library.sources.names
        ):  # a gatherer of one's own
            uses.append(await self._gathered(ask, self._bounded(_limited(handoff, names), beside=len(own))))
        uses += [await self._searched(name) for name in own]
        for name in self._task.data_sources:
            if name not in names:
                arguments = {"query": self._task.question, "data_source": name}
                problem = self._desk.egress.left_out((name,))
                uses.append(Used("search", arguments, problem=problem, refused=True))
        if not uses:
            uses.append(Used("search", {"query": self._task.question}, problem=NOWHERE))
        events, contents, showings = await kept_step(
            self._place, self._task, self._desk, TaskStep(number=self._number), uses, began, handoff
        )
        step = step_of(events)
        problems = [use.problem for use in uses if use.problem]
        finding = TaskFinding(
            source_ids=step.source_ids,
            error=" ".join(problems) if problems and not step.source_ids else "",
            by_search=True,
        )
        if ended is not None:
            finding = finding.model_copy(update=_left_of(ended, is_found=bool(step.source_ids)))
        finished = TaskFinished(task_id=self._task.id, attempt=self._task.attempt, finding=finding)
        await self._place.journal.record(*events, finished, contents=contents)
        self._desk.noted(step, showings)

    def _bounded(self, handoff: GathererInput, *, beside: int) -> GathererInput:
        """What the gatherer may take of the task's limits, when each data source ``beside`` it has a search; follow-ups
        are not asked in other words. It was settled before any task began, so that who comes first does not show."""
        spare = None if self._searches is None else max(0, self._searches - beside - 1)
        rewordings = 0 if handoff.iteration > 1 else spare
        return handoff.model_copy(update={"rewordings": rewordings, "fetches": self._library.fetching.rest})

    async def _gathered(self, ask: Ask, handoff: GathererInput) -> Used:
        use = Used("search", {"query": self._task.question})
        if self._searches == 0:
            use.problem = USED_UP
            return use
        came = await ask(handoff)
        if isinstance(came, BudgetError):
            use.problem = came.problem
            return use
        self._took(came.searches)
        self._library.fetching.made += came.fetches
        if came.answer is None:
            use.problem, use.searches, use.fetches = came.error, came.searches, came.fetches
            return use
        use.result = ToolResult(
            sources=came.answer.sources,
            unread=came.answer.unread,
            notes=came.answer.notes,
            private=(CORPUS,) if any(map(self._is_own, came.answer.sources)) else (),
            searches=came.searches,
            failed_searches=came.failed,
            fetches=came.fetches,
        )
        return use

    async def _searched(self, name: str) -> Used:
        """One data source of the caller's own, and the pages that it leads to."""
        library, handoff = self._library, self._library.handoff
        query = self._task.question
        use = Used("search", {"query": query, "data_source": name})
        if self._searches == 0:
            use.problem = USED_UP
            return use
        refusal = self._place.purse.take("max_searches")
        if refusal is not None:
            use.problem = refusal.problem
            return use
        before = library.fetching.made
        try:
            query = outgoing(query, handoff.system_prompt, handoff.original_query)
            self._took(1)
            request = library.request(query, handoff.max_sources_per_query)
            found = await library.sources.search(request, (name,), spare=library.spare)
            until = asyncio.get_running_loop().time() + self._place.limits.operation_timeout
            use.result = await library.read(found, query, until)
        except DeepResearchError as error:
            use.problem, use.searches = error.problem, 1
            use.fetches = library.fetching.made - before
        return use

    def _is_own(self, source: GatheredSource) -> bool:
        return source.kind is SourceKind.DOCUMENT or not self._library.sources.public

    def _took(self, searches: int) -> None:
        if self._searches is not None:
            self._searches = max(0, self._searches - searches)


def _left_of(ended: TaskFinding, *, is_found: bool) -> dict[str, Any]:
    """What is told of an attempt whose place a search took."""
    if not is_found:
        told = {"missing": ended.missing, "owner_question": ended.owner_question}
        return told | {"stopped": ended.stopped or NO_SOURCE}
    asked_back = f"Its agent asked back: {ended.owner_question}" if ended.owner_question else ""
    return {"stopped": ended.stopped or asked_back or NO_SOURCE}


def _limited(handoff: GathererInput, names: Sequence[str]) -> GathererInput:
    """For a gatherer that may search the documents alone, or the web alone."""
    if names and WEB not in names:
        return handoff.model_copy(update={"lanes": (CORPUS,)})
    return handoff.model_copy(update={"lanes": (WEB,)}) if names and CORPUS not in names else handoff
