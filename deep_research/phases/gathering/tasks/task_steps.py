"""The steps of a task as they are recorded: what tools gave becomes sources, saved texts and one event. A task without a
model is one such step: a search, whose sources are the finding."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.budget.shared_budget import BudgetScope
from deep_research.calls import off_loop
from deep_research.errors import BudgetError, DeepResearchError, ToolError
from deep_research.logs import masked, masked_value
from deep_research.models.base import Message as Turn
from deep_research.models.characters import in_all_texts
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering.caps import unread_notices
from deep_research.phases.gathering.collecting import Collected, collected, work_of
from deep_research.phases.gathering.gatherer import outgoing
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput, Unread
from deep_research.phases.gathering.queries import QueryOutcome
from deep_research.phases.gathering.tasks.agent import LLMTaskAgent
from deep_research.phases.gathering.tasks.library import Library, sites_of
from deep_research.phases.gathering.tasks.task_context import PastStep, TaskContext, UseOutput
from deep_research.phases.gathering.tasks.tool import ToolResult
from deep_research.phases.prompting import one_line
from deep_research.provenance.page_identity import canonical_url
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.state import (
    DeepResearchPhase,
    ModelRole,
    Notice,
    Source,
    SourceKind,
    Task,
    TaskFinding,
    TaskState,
    TaskStep,
    TokenUsage,
    ToolUse,
)
from deep_research.state.events import Event, NoticeAdded, TaskFinished, TaskStepped
from deep_research.state.identity import source_id
from deep_research.state.journal import Content, Journal

PHASE = DeepResearchPhase.GATHERING
MAX_PROBLEM_CHARS = 1_000  # that the agent is shown of what failed

USED_UP = "The cap on searches leaves no more to this task."
NO_SOURCE = "Its agent was done before it had a source."
NOWHERE = "The run allows none of the data sources that its sub-query names."
Ask = Callable[[GathererInput], Awaitable[QueryOutcome | BudgetError]]


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """What attempts at tasks of one run share. ``by_model``: a model works on them, where there is one for that;
    ``notices`` are notes that the run has already."""

    journal: Journal
    limits: WorkLimits
    models: RunModels | None
    agent: LLMTaskAgent
    by_model: bool = True
    notices: set[str] = field(default_factory=set)

    @property
    def purse(self) -> BudgetScope:
        return self.models.purse if self.models is not None else BudgetScope()

    @property
    def model(self) -> LanguageModel | None:
        if self.models is None or not self.by_model or not self.models.roles.chain_of(ModelRole.TASK_AGENT):
            return None
        return self.models.model(ModelRole.TASK_AGENT, PHASE)

    def cost(self, tokens: TokenUsage) -> float | None:
        """Dollars of what a model took, by the price of the first of its chain; None where that is not known."""
        if self.models is None:
            return 0.0
        roles = self.models.roles
        price = roles.pool.profile(roles.chain_of(ModelRole.TASK_AGENT)[0]).price
        return price.of(tokens) if price is not None else None


@dataclass(slots=True)
class Used:
    """One use of a tool that was tried. ``refused``: it could have told others what the task was shown; ``private`` are
    the names of private tools that were used."""

    tool: str
    arguments: Mapping[str, Any]
    result: ToolResult | None = None
    problem: str = ""
    refused: bool = False
    private: tuple[str, ...] = ()
    searches: int = 0  # that failed
    fetches: int = 0


async def record_step(
    place: TaskEnvironment,
    task: Task,
    desk: TaskContext,
    step: TaskStep,
    uses: Sequence[Used],
    began: float,
    handoff: GathererInput | None = None,
    end: Callable[[TaskStep], TaskFinished] | None = None,
    turn: Turn | None = None,
) -> None:
    """Records what a step brought, with the sources that came, notes on those that could not be read, and the event that
    ``end`` makes of it where the task ends with it; then the desk has it. ``handoff`` is that of a search whose known
    sources do not count, ``turn`` that of the model: kept where it is its service's own and holds no secret."""
    gain = _Gain(
        place, task, desk, handoff, held_sources={source.id: source for source in place.journal.state.sources}
    )
    for use in uses:
        await gain.add(use)
    turn_content = Content.of(turn.model_dump_json()) if turn is not None and _may_be_saved(turn) else None
    gain.contents += [turn_content] if turn_content else []
    final_step = step.model_copy(
        update={
            **gain.of_step(uses),
            "turn_hash": turn_content.hash if turn_content else None,
            "seconds": round(asyncio.get_running_loop().time() - began, 3),
        }
    )
    stepped = TaskStepped(
        task_id=task.id, attempt=task.attempt, step=final_step, sources=tuple(gain.fresh.values())
    )
    new = [note for note in dict.fromkeys(gain.notes) if note not in place.notices]
    place.notices.update(new)
    notices: list[Event] = [NoticeAdded(notice=Notice(name="sources", message=note)) for note in new]
    notices += unread_notices(gain.unread, place.journal.state.options.budget.max_fetches)
    ends = [end(final_step)] if end is not None else []
    await place.journal.record(stepped, *notices, *ends, contents=gain.contents)
    desk.add(PastStep(final_step, tuple(gain.showings), turn if turn_content else None))


def _may_be_saved(turn: Turn) -> bool:
    return turn.native is not None and in_all_texts(turn, masked) is turn


@dataclass(slots=True)
class _Gain:
    """The gain of one step, in a run that had the sources ``held_sources`` before. ``fresh`` are the sources that are
    new to the task, ``sources`` the ids of all that came, ``private`` the names of private tools that were used."""

    place: TaskEnvironment
    task: Task
    desk: TaskContext
    handoff: GathererInput | None
    held_sources: Mapping[str, Source]
    contents: list[Content] = field(default_factory=list)
    showings: list[UseOutput] = field(default_factory=list)
    uses: list[ToolUse] = field(default_factory=list)
    fresh: dict[str, Source] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)
    private: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    async def add(self, use: Used) -> None:
        """The use, one after the other: what is shown has the number that the desk gives it."""
        result, whole = use.result, dict[str, str]()
        if result is not None:
            try:
                whole = {s.source_id: await self.desk.read(s.source_id) for s in result.excerpts}
            except ToolError as error:
                use.problem, use.searches, use.fetches = str(error), result.searches, result.fetches
                use.result = result = None
        self.private |= dict.fromkeys((*use.private, *(result.private if result else ())))
        self.desk.egress.note(use.private)
        failed = UseOutput(text=masked(one_line(use.problem))[:MAX_PROBLEM_CHARS])
        showing = failed if result is None else await self._show(result, whole)
        self.showings.append(showing)
        content = Content.of(showing.model_dump_json())
        self.contents.append(content)
        self.uses.append(
            ToolUse(
                tool=use.tool,
                arguments=masked_value(dict(use.arguments)),
                result_hash=content.hash,
                failed=result is None,
                refused=use.refused,
            )
        )

    async def _show(self, result: ToolResult, whole: Mapping[str, str]) -> UseOutput:
        """What the agent is shown of a result whose sources have these ``whole`` texts; its sources are kept."""
        known_handoff = self.handoff
        reading = await off_loop(
            sum(map(work_of, result.sources)),
            collected,
            result.sources,
            sub_query_id=self.task.sub_query_id,
            known=known_handoff.known_addresses if known_handoff else frozenset(),
            most_new=known_handoff.max_sources_per_query if known_handoff else None,
            most_bytes=self.place.limits.max_source_bytes,
            first_rank=len(self.desk.sources),
        )
        reading = apart(reading, self.desk, self.held_sources, by_model=known_handoff is None)
        self.fresh |= {s.id: s for s in reading.sources if s.id not in self.desk.sources}
        self.sources |= dict.fromkeys(source.id for source in reading.sources)
        self.sources |= dict.fromkeys(excerpt.source_id for excerpt in result.excerpts)
        notes = (*result.notes, *reading.notes)
        self.notes += notes
        self.unread += result.unread
        self.contents += reading.contents
        texts = {c.hash: c.body for c in reading.contents}
        read = {s.id: texts[s.content_hash].decode() for s in reading.sources if s.content_hash in texts}
        return self.desk.take(reading.sources, {**whole, **read}, result.model_copy(update={"notes": notes}))

    def of_step(self, uses: Sequence[Used]) -> dict[str, Any]:
        """The fields of the step."""
        results = [use.result for use in uses if use.result is not None]
        links = [link for showing in self.showings for link in showing.links if link.origin]
        searches = sum(use.searches for use in uses)
        return {
            "uses": tuple(self.uses),
            "source_ids": tuple(self.sources),
            "private": tuple(self.private),
            "offered": tuple(site for link in links for site in sites_of(link)),
            "searches": sum(r.searches for r in results) + searches,
            "failed_searches": sum(r.failed_searches for r in results) + searches,
            "fetches": sum(r.fetches for r in results) + sum(use.fetches for use in uses),
        }


def apart(found: Collected, desk: TaskContext, held: Mapping[str, Source], *, by_model: bool) -> Collected:
    """Sources by address and text where a model works on tasks: who is shown another text of an address has another
    source, whichever task came first, so that quotes stand in the text that they were taken from. One that the task has
    is what it was. Where no model quotes, what the run has already (``held``) is what it is there."""
    sources = []
    content_hashes = {content.hash for content in found.contents}
    for source in found.sources:
        earlier = desk.sources.get(source.id)
        own = source_id(f"{source.id} {source.content_hash}")
        if earlier is not None and earlier.content_hash == source.content_hash:
            sources.append(source)
        elif by_model or earlier is not None or own in held:
            sources.append(source.model_copy(update={"id": own}))
        elif source.content_hash in content_hashes or source.id in held:
            sources.append(source)
        else:  # of an address that was read before nothing is saved again
            sources += [s for s in held.values() if _address(s) == _address(source)][:1]
    return replace(found, sources=tuple(sources))


def _address(source: Source) -> str:
    return canonical_url(source.url or "")


@dataclass
class TaskSearch:
    """A task without a model: the gatherer searches for it, and each data source of the caller's own is searched beside;
    that is one step, and the finding is its sources. What they say is read in ANALYSIS. Its searches and pages are within
    the limits of the task."""

    place: TaskEnvironment
    stands: TaskState
    desk: TaskContext
    library: Library

    def __post_init__(self) -> None:
        self.task = self.stands.task
        most, search_count = self.task.limits.searches, sum(step.searches for step in self.stands.steps)
        self._searches = None if most is None else max(0, most - search_count)  # that are left

    async def run(self, ask: Ask, ended: TaskFinding | None = None) -> None:
        """``ask`` is the gatherer; ``ended`` is what a model said of the attempt whose place this takes. It counts for
        nothing where something is found: the model had seen no source. Raises `StoreError` and what stops a run."""
        began = asyncio.get_running_loop().time()
        uses: list[Used] = []
        names, handoff = self.desk.data_sources, self.library.handoff
        own = [name for name in names if name in self.library.sources.own]
        if (
            not set(names).isdisjoint((CORPUS, WEB)) or not self.library.sources.names
        ):  # a gatherer of one's own
            uses.append(await self._gathered(ask, self._bounded(_limited(handoff, names), beside=len(own))))
        uses += [await self._searched(name) for name in own]
        for name in self.task.data_sources:
            if name not in names:
                arguments = {"query": self.task.question, "data_source": name}
                problem = self.desk.egress.left_out((name,))
                uses.append(Used("search", arguments, problem=problem, refused=True))
        if not uses:
            uses.append(Used("search", {"query": self.task.question}, problem=NOWHERE))

        def end(step: TaskStep) -> TaskFinished:
            problems = [use.problem for use in uses if use.problem]
            finding = TaskFinding(
                source_ids=step.source_ids,
                error=" ".join(problems) if problems and not step.source_ids else "",
                by_search=True,
            )
            if ended is not None:
                finding = finding.model_copy(update=_left_of(ended, is_found=bool(step.source_ids)))
            return TaskFinished(task_id=self.task.id, attempt=self.task.attempt, finding=finding)

        step = TaskStep(number=len(self.stands.steps) + 1)  # a model may have worked on it before
        await record_step(self.place, self.task, self.desk, step, uses, began, handoff, end)

    def _bounded(self, handoff: GathererInput, *, beside: int) -> GathererInput:
        """What the gatherer may take of the task's limits, when each data source ``beside`` it has a search; follow-ups
        are not asked in other words. It was settled before any task began, so that who comes first does not show."""
        spare = None if self._searches is None else max(0, self._searches - beside - 1)
        rewordings = 0 if handoff.iteration > 1 else spare
        return handoff.model_copy(update={"rewordings": rewordings, "fetches": self.library.fetching.rest})

    async def _gathered(self, ask: Ask, handoff: GathererInput) -> Used:
        use = Used("search", {"query": self.task.question})
        if self._searches == 0:
            use.problem = USED_UP
            return use
        came = await ask(handoff)
        if isinstance(came, BudgetError):
            use.problem = came.problem
            return use
        self._took(came.searches)
        self.library.fetching.attempts += came.fetches
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
        library, handoff = self.library, self.library.handoff
        query = self.task.question
        use = Used("search", {"query": query, "data_source": name})
        if self._searches == 0:
            use.problem = USED_UP
            return use
        refusal = self.place.purse.take("max_searches")
        if refusal is not None:
            use.problem = refusal.problem
            return use
        before = library.fetching.attempts
        try:
            query = outgoing(query, handoff.system_prompt, handoff.original_query)
            self._took(1)
            request = library.request(query, handoff.max_sources_per_query)
            outcome = await library.sources.search(request, (name,), spare=library.spare)
            until = asyncio.get_running_loop().time() + self.place.limits.operation_timeout
            use.result = await library.read(outcome, query, until)
        except DeepResearchError as error:
            use.problem, use.searches = error.problem, 1
            use.fetches = library.fetching.attempts - before
        return use

    def _is_own(self, source: GatheredSource) -> bool:
        return source.kind is SourceKind.DOCUMENT or not self.library.sources.public

    def _took(self, searches: int) -> None:
        if self._searches is not None:
            self._searches = max(0, self._searches - searches)


def _left_of(ended: TaskFinding, *, is_found: bool) -> dict[str, Any]:
    """What is told of an attempt whose place a search took."""
    if not is_found:
        remainder = {"missing": ended.missing, "owner_question": ended.owner_question}
        return remainder | {"stopped": ended.stopped or NO_SOURCE}
    asked_back = f"Its agent asked back: {ended.owner_question}" if ended.owner_question else ""
    return {"stopped": ended.stopped or asked_back or NO_SOURCE}


def _limited(handoff: GathererInput, names: Sequence[str]) -> GathererInput:
    """For a gatherer that may search the documents alone, or the web alone."""
    if names and WEB not in names:
        return handoff.model_copy(update={"lanes": (CORPUS,)})
    return handoff.model_copy(update={"lanes": (WEB,)}) if names and CORPUS not in names else handoff
