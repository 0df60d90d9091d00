"""The steps of a task as they are recorded: what tools gave becomes sources, saved texts and one event. A task without a
model is one such step: a search, whose sources are the finding."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
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
from deep_research.phases.gathering.handoff import GathererInput
from deep_research.phases.gathering.queries import QueryOutcome
from deep_research.phases.gathering.tasks.library import Library, TaskParts, sites_of
from deep_research.phases.gathering.tasks.task_context import PastStep, TaskContext, UseOutput
from deep_research.phases.gathering.tasks.task_limits import rest_of
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


@dataclass(kw_only=True)
class TaskEnvironment:
    """What attempts at tasks of one run share. ``notices`` are notes that the run has already."""

    parts: TaskParts
    limits: WorkLimits
    journal: Journal
    models: RunModels | None

    def __post_init__(self) -> None:
        self.notices = {notice.message for notice in self.journal.state.notices}

    @property
    def purse(self) -> BudgetScope:
        return self.models.purse if self.models is not None else BudgetScope()

    @property
    def model(self) -> LanguageModel | None:
        """The one that works on tasks, where there is one for that."""
        if self.models is None or not self.parts.by_model:
            return None
        is_there = bool(self.models.roles.chain_of(ModelRole.TASK_AGENT))
        return self.models.model(ModelRole.TASK_AGENT, PHASE) if is_there else None

    def new_notices(self, name: str, *notes: str) -> list[Event]:
        """Notes that the run has not told yet; they count as told."""
        new = [note for note in dict.fromkeys(notes) if note not in self.notices]
        self.notices.update(new)
        return [NoticeAdded(notice=Notice(name=name, message=note)) for note in new]

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

    def refuse(self, error: ToolError) -> None:
        self.problem, self.refused = str(error), bool(error.data.get("refused"))


def _each_once(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(groups)))


@dataclass(frozen=True, slots=True)
class _Gain:
    """The gain of one use of a tool: what the log has of it, and the ``output`` that the agent is shown."""

    use: ToolUse
    result: ToolResult
    output: UseOutput
    contents: tuple[Content, ...]
    sources: tuple[Source, ...]

    @property
    def source_ids(self) -> list[str]:
        return [*(s.id for s in self.sources), *(excerpt.source_id for excerpt in self.result.excerpts)]


@dataclass
class Attempt:
    """One attempt at a task, whose steps are recorded."""

    place: TaskEnvironment
    task: Task
    desk: TaskContext

    async def record(
        self,
        step: TaskStep,
        uses: Sequence[Used],
        began: float,
        handoff: GathererInput | None = None,
        end: Callable[[TaskStep], TaskFinished] | None = None,
        turn: Turn | None = None,
    ) -> None:
        """Records what a step brought, with the sources that came, notes on those that could not be read, and the event
        that ``end`` makes of it where the task ends with it; then the desk has it. ``handoff`` is that of a search whose
        known sources do not count, ``turn`` that of the model: kept where it is its service's own and holds no secret."""
        run_sources, own_ids = {s.id: s for s in self.place.journal.state.sources}, set(self.desk.sources)
        gains = [await self._gain(use, handoff, run_sources) for use in uses]
        results, outputs = [gain.result for gain in gains], tuple(gain.output for gain in gains)
        contents = [content for gain in gains for content in gain.contents]
        if turn is not None and (turn.native is None or in_all_texts(turn, masked) is not turn):
            turn = None
        if turn is not None:
            contents.append(Content.of(turn.model_dump_json()))
        fresh: dict[str, Source] = {}
        for source in (source for gain in gains for source in gain.sources if source.id not in own_ids):
            fresh.setdefault(source.id, source)
        links = [link for output in outputs for link in output.links if link.origin]
        final_step = step.model_copy(
            update={
                "uses": tuple(gain.use for gain in gains),
                "source_ids": _each_once(gain.source_ids for gain in gains),
                "private": _each_once(result.private for result in results),
                "offered": tuple(site for link in links for site in sites_of(link)),
                "searches": sum(result.searches for result in results),
                "failed_searches": sum(result.failed_searches for result in results),
                "fetches": sum(result.fetches for result in results),
                "turn_hash": contents[-1].hash if turn is not None else None,
                "seconds": round(asyncio.get_running_loop().time() - began, 3),
            }
        )
        stepped = TaskStepped(
            task_id=self.task.id, attempt=self.task.attempt, step=final_step, sources=tuple(fresh.values())
        )
        notices = self.place.new_notices("sources", *(note for result in results for note in result.notes))
        unread = [page for result in results for page in result.unread]
        notices += unread_notices(unread, self.place.journal.state.options.budget.max_fetches)
        ends = [end(final_step)] if end is not None else []
        await self.place.journal.record(stepped, *notices, *ends, contents=contents)
        self.desk.add(PastStep(final_step, outputs, turn))

    async def _gain(self, use: Used, handoff: GathererInput | None, held: Mapping[str, Source]) -> _Gain:
        """One use after the other: what is shown has the number that the desk gives it. Its sources are kept, in a run
        that ``held`` others before."""
        result, whole = use.result, dict[str, str]()
        if result is not None:
            try:
                whole = {s.source_id: await self.desk.read(s.source_id) for s in result.excerpts}
            except ToolError as error:
                use.problem, use.searches, use.fetches = str(error), result.searches, result.fetches
                result = None
        self.desk.egress.note(use.private)
        failed, reading = result is None, Collected((), ())
        if result is None:
            result = ToolResult(searches=use.searches, failed_searches=use.searches, fetches=use.fetches)
            output = UseOutput(text=masked(one_line(use.problem))[:MAX_PROBLEM_CHARS])
        else:
            reading = await off_loop(
                sum(map(work_of, result.sources)),
                collected,
                result.sources,
                sub_query_id=self.task.sub_query_id,
                known=handoff.known_addresses if handoff else frozenset(),
                most_new=handoff.max_sources_per_query if handoff else None,
                most_bytes=self.place.limits.max_source_bytes,
                first_rank=len(self.desk.sources),
            )
            reading = apart(reading, self.desk, held, by_model=handoff is None)
            result = result.model_copy(update={"notes": (*result.notes, *reading.notes)})
            bodies = {c.hash: c.body for c in reading.contents}
            read = {
                s.id: bodies[s.content_hash].decode() for s in reading.sources if s.content_hash in bodies
            }
            output = self.desk.take(reading.sources, whole | read, result)
        content = Content.of(output.model_dump_json())
        return _Gain(
            ToolUse(
                tool=use.tool,
                arguments=masked_value(dict(use.arguments)),
                result_hash=content.hash,
                failed=failed,
                refused=use.refused,
            ),
            result.model_copy(update={"private": (*use.private, *result.private)}),
            output,
            (*reading.contents, content),
            reading.sources,
        )


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
class TaskSearch(Attempt):
    """A task without a model: the gatherer searches for it, and each data source of the caller's own is searched beside;
    that is one step, and the finding is its sources. What they say is read in ANALYSIS. Its pages are within the limits
    of the task, its searches as many as are ``left``, None: as many as it takes. ``number`` is that of the step: a model
    may have worked on it before."""

    number: int
    library: Library
    left: int | None

    async def run(self, ask: Ask, ended: TaskFinding | None = None) -> None:
        """``ask`` is the gatherer; ``ended`` is what a model said of the attempt whose place this takes. It counts for
        nothing where something is found: the model had seen no source. Raises `StoreError` and what stops a run."""
        began = asyncio.get_running_loop().time()
        uses: list[Used] = []
        task, sources, names = self.task, self.library.sources, self.desk.data_sources
        own = [name for name in names if name in sources.own]
        if (
            not set(names).isdisjoint((CORPUS, WEB)) or not sources.names
        ):  # a gatherer that searches its own sources
            # Each source of the caller's own has a search as well; follow-ups are not asked in other words. That was
            # settled before any task began, so that who comes first does not show.
            spare = 0 if self.library.handoff.iteration > 1 else rest_of(self.left, len(own) + 1)
            uses.append(await self._gathered(ask, names, spare))
        uses += [await self._searched(name) for name in own]
        for name in task.data_sources:
            if name not in names:
                arguments = {"query": task.question, "data_source": name}
                problem = self.desk.egress.left_out((name,))
                uses.append(Used("search", arguments, problem=problem, refused=True))
        if not uses:
            uses.append(Used("search", {"query": task.question}, problem=NOWHERE))

        def end(step: TaskStep) -> TaskFinished:
            is_found = bool(step.source_ids)
            error = "" if is_found else " ".join(use.problem for use in uses if use.problem)
            finding = TaskFinding(source_ids=step.source_ids, error=error, by_search=True)
            if ended is not None:
                remainder = {"missing": ended.missing, "owner_question": ended.owner_question}
                asked_back = f"Its agent asked back: {ended.owner_question}" if ended.owner_question else ""
                stopped = ended.stopped or (is_found and asked_back) or NO_SOURCE
                finding = finding.model_copy(update={**({} if is_found else remainder), "stopped": stopped})
            return TaskFinished(task_id=task.id, attempt=task.attempt, finding=finding)

        step = TaskStep(number=self.number)
        await self.record(step, uses, began, self.library.handoff, end)

    async def _gathered(self, ask: Ask, names: Sequence[str], spare: int | None) -> Used:
        use = Used("search", {"query": self.task.question})
        if self.left == 0:
            use.problem = USED_UP
            return use
        lanes = {lane for lane in (CORPUS, WEB) if lane in names}
        handoff = self.library.handoff.model_copy(
            update={"rewordings": spare, "fetches": self.library.fetching.rest}
            | ({"lanes": tuple(lanes)} if len(lanes) == 1 else {})
        )
        came = await ask(handoff)
        if isinstance(came, BudgetError):
            use.problem = came.problem
            return use
        self.left = rest_of(self.left, came.searches)
        self.library.fetching.attempts += came.fetches
        if came.answer is None:
            use.problem, use.searches, use.fetches = came.error, came.searches, came.fetches
            return use
        public = bool(self.library.sources.public)
        is_own = any(not public or source.kind is SourceKind.DOCUMENT for source in came.answer.sources)
        use.result = ToolResult(
            sources=came.answer.sources,
            unread=came.answer.unread,
            notes=came.answer.notes,
            private=(CORPUS,) if is_own else (),
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
        refusal = None if self.left == 0 else self.place.purse.take("max_searches")
        if self.left == 0 or refusal is not None:
            use.problem = refusal.problem if refusal is not None else USED_UP
            return use
        before = library.fetching.attempts
        try:
            query = outgoing(query, handoff.system_prompt, handoff.original_query)
            self.left = rest_of(self.left, 1)
            request = library.request(query, handoff.max_sources_per_query)
            outcome = await library.sources.search(request, (name,), spare=library.spare)
            until = asyncio.get_running_loop().time() + self.place.limits.operation_timeout
            use.result = await library.read(outcome, query, until)
        except DeepResearchError as error:
            use.problem, use.searches = error.problem, 1
            use.fetches = library.fetching.attempts - before
        return use
