"""Rounds of tasks: each pending sub-query becomes one, all are worked on, then reviewed; what is sent back goes out again
with the critique, as often as the run allows. A step, a finding, a verdict are units of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deep_research.calls import off_loop
from deep_research.errors import WorkError
from deep_research.phases.concurrency import together
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.handoff import GathererInput
from deep_research.phases.gathering.tasks.agent import TaskInput, context_of
from deep_research.phases.gathering.tasks.library import Egress, Library, Overrule, allowed
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.task_limits import ended_by_them, is_worked_on, left_of, limits_of
from deep_research.phases.gathering.tasks.task_review import (
    ReviewInput,
    nothing_found,
    review,
    reviewed_by_rules,
)
from deep_research.phases.gathering.tasks.task_runner import TaskRunner
from deep_research.phases.gathering.tasks.task_steps import Ask, TaskEnvironment, TaskSearch
from deep_research.phases.gathering.tasks.tool import Toolbox
from deep_research.phases.gathering.tasks.tools import tools_of
from deep_research.phases.handoff import shared
from deep_research.phases.prompting import one_line
from deep_research.provenance.secret_filter import askable
from deep_research.sources.search.combined_search import WEB
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    Notice,
    SubQuery,
    SubQueryStatus,
    Task,
    TaskFinding,
    TaskLimits,
    TaskReview,
    TaskState,
)
from deep_research.state.events import (
    Event,
    NoticeAdded,
    SubQueryCompleted,
    SubQueryFailed,
    TaskDispatched,
    TaskReviewed,
)
from deep_research.state.identity import task_id
from deep_research.state.journal import Content
from deep_research.state.tasks import BY_NOBODY

if TYPE_CHECKING:
    from deep_research.phases.gathering.tasks.mcp_tools import Offer

PHASE = DeepResearchPhase.GATHERING
TASK = "task"  # the name of the notices that tell of tasks
MAX_LINE_CHARS = 160  # characters of a question or critique that a line tells
_UNIT = 400  # characters of facts that are checked against their quotes in the time of one small item


@dataclass(kw_only=True)
class TaskScheduler(TaskEnvironment):
    """The tasks of one pass of GATHERING. ``ask`` is the gatherer, for tasks without a model; ``handoff`` what it is
    told of a sub-query; ``overrule`` a hook that may change a verdict; ``apply_guidance`` is awaited before each unit."""

    ask: Ask
    handoff: Callable[[SubQuery, DeepResearchState], GathererInput]
    overrule: Overrule | None
    apply_guidance: Callable[[], Awaitable[None]]
    _offer: Offer | None = None

    async def run(self, pending: Sequence[SubQuery]) -> None:
        """Works on these sub-queries until each is settled. Raises `ModelError` where no model can be reached,
        `StoreError`, and what a hook raises to park or stop the run."""
        ids = [sub_query.id for sub_query in pending]
        await self._look_at_servers()
        retries = self.journal.state.options.task_retries
        for _ in range(retries + 2):  # a resumed one may begin with what is left of a round
            await self._dispatch(ids)
            await self._each(self._work, [t for t in self._open(ids) if t.finding is None])
            await self._each(self._review, [t for t in self._open(ids) if t.finding and not t.review])
            await self._ask_hook(ids)
            if not await self._settle(ids):
                return

    async def _look_at_servers(self) -> None:
        """What MCP servers offer now; why some of it is not there is told."""
        if self.model is None or not self.parts.servers:
            return
        from deep_research.phases.gathering.tasks.mcp_tools import (
            offer_of,
        )  # who has no server needs none of it

        hashes = {name: of for task in self.journal.state.tasks for name, of in task.task.tool_hashes.items()}
        self._offer = await offer_of(self.parts.servers, self._tool_names(), hashes)
        if notices := self.new_notices(TASK, *self._offer.notes):
            await self.journal.record(*notices)

    def _tool_names(self, data_sources: Sequence[str] = ()) -> tuple[str, ...]:
        """What a task may use that is kept to these data sources. Tools of servers are of the web: where it may not be
        searched they are used only if the run names them."""
        options = self.journal.state.options
        wanted = [n for n in options.tasks.tools if n in self.parts.tool_names]
        names = allowed(wanted, self.parts.tool_names, "tool")
        source_names = data_sources or options.tasks.sources
        if not source_names or WEB in source_names:
            return names
        return tuple(n for n in names if n in wanted or n not in self.parts.served_names)

    def _open(self, ids: Sequence[str]) -> list[TaskState]:
        state = self.journal.state
        tasks = (state.task_of(i) for i in ids)
        return [t for t in tasks if t is not None and is_worked_on(t, state)]

    async def _each(self, do: Callable[[TaskState], Awaitable[None]], tasks: Sequence[TaskState]) -> None:
        async def unit(task: TaskState) -> None:
            await self.apply_guidance()
            if task in self._open([task.task.sub_query_id]):  # it may have been dropped
                await do(task)

        await together(
            (partial(unit, task) for task in tasks),
            at_once=self.limits.max_concurrent,
            check=self.journal.check,
        )

    # Dispatching

    async def _dispatch(self, ids: Sequence[str]) -> None:
        """A task for each sub-query that has none, all as one unit."""
        state = self.journal.state
        dispatched = {task.task.sub_query_id for task in self._open(ids)}
        fresh = [
            s
            for s in state.sub_queries
            if s.id in ids and s.id not in dispatched and s.status is SubQueryStatus.PENDING
        ]
        events: list[Event] = []
        contents: list[Content] = []
        for place, sub_query in enumerate(fresh):
            before = sum(task.task.sub_query_id == sub_query.id for task in state.tasks)
            context = Content.of(context_of(sub_query, state))
            contents += [context] if context.body else []
            task = Task(
                id=task_id(sub_query.id, state.iteration, before),
                sub_query_id=sub_query.id,
                question=sub_query.query,
                data_sources=self._sources_of(sub_query, state),
                tools=self._tool_names(sub_query.data_sources),
                tool_hashes=self._offer.hashes if self._offer is not None else {},
                context_hash=context.hash if context.body else None,
                private=tuple(dict.fromkeys(name for task in state.tasks for name in task.private)),
                limits=limits_of(state, place, len(fresh)),
            )
            events.append(TaskDispatched(task=task))
        if events:
            await self.journal.record(*events, contents=contents)

    def _sources_of(self, sub_query: SubQuery, state: DeepResearchState) -> tuple[str, ...]:
        """What the run allows, and of that what the sub-query names."""
        wanted_names = state.options.tasks.sources, sub_query.data_sources
        return tuple(
            name
            for name in self.parts.sources.names
            if all(not each or name in each for each in wanted_names)
        )

    # Working

    async def _work(self, stands: TaskState) -> None:
        task, state = stands.task, self.journal.state
        sub_query = next(s for s in state.sub_queries if s.id == task.sub_query_id)
        told = self.handoff(sub_query, state)
        model, desk = self.model, self._desk(stands)
        search = partial(self._search, task, desk, told)
        if model is None:
            await search()
            return
        told = told.model_copy(update={"known_addresses": frozenset()})
        by_id = {source.id: source for source in state.sources}
        found_before = (i for finding in stands.earlier for i in finding.source_ids)
        desk.add_known(by_id[i] for i in dict.fromkeys(found_before) if i in by_id)
        await desk.replay(stands.steps, by_id)
        library = self._library(stands, told)
        served = self._offer.tools.values() if self._offer is not None else ()
        every = (*tools_of(library), *self.parts.tools, *served)
        tools = {t.name: t for t in every if t.name in task.tools}
        toolbox = Toolbox(tools, self.limits.calls, self.limits.operation_timeout)
        context = await self.journal.texts([task.context_hash]) if task.context_hash else [""]
        handoff = TaskInput(
            **shared(state, PHASE), task=task, research_brief=state.research_brief, context=context[0]
        )
        await TaskRunner(self, task, desk, handoff, toolbox, model, search).run()

    async def _search(
        self, task: Task, desk: TaskContext, told: GathererInput, ended: TaskFinding | None = None
    ) -> None:
        """Without a model, after the steps that one made."""
        stands = next(t for t in self.journal.state.tasks if t.task.id == task.id)
        library = self._library(stands, told.model_copy(update={"sub_queries": (task.question,)}))
        left = left_of(stands, "searches")
        number = len(stands.steps) + 1
        await TaskSearch(self, stands.task, desk, number, library, left).run(self.ask, ended)

    def _desk(self, stands: TaskState) -> TaskContext:
        egress = Egress(
            self.journal.state.query,
            self.parts.sources.public,
            self.journal.state.options.tasks.public_after_private,
            dict.fromkeys(stands.private),
            Counter(stands.offered),
        )
        return TaskContext(stands.task.question, stands.task.data_sources, self.journal, egress)

    def _library(self, stands: TaskState, told: GathererInput) -> Library:
        fetching = Fetching(left_of(stands, "fetches"), self.purse)
        return Library(self.parts.sources, self.parts.reading, told, fetching)

    # Reviewing

    async def _review(self, stands: TaskState) -> None:
        finding = stands.finding or TaskFinding()
        outcome = nothing_found(stands, finding) or await self._judged(stands, finding)
        await self.journal.record(
            TaskReviewed(task_id=stands.task.id, attempt=stands.task.attempt, review=outcome)
        )

    async def _judged(self, stands: TaskState, finding: TaskFinding) -> TaskReview:
        """By the reviewer's model where there is one and something that it could look at; else by rules. A reviewer that
        fails rejects nothing."""
        state, by_model = self.journal.state, self.model is not None
        quoted_ids = {q.source_id for fact in finding.facts for q in fact.quotes}
        sources = {s.id: s for s in state.sources if s.id in quoted_ids}
        size = sum(len(fact.content) for fact in finding.facts) // _UNIT * max(1, len(finding.facts))
        ruled = await off_loop(size, reviewed_by_rules, stands.task, finding, sources)
        models = self.models
        is_asked = by_model and models is not None and bool(finding.facts)
        if models is None or not (is_asked and models.roles.chain_of(ModelRole.REVIEWER)):
            return ruled
        review_input = ReviewInput(
            **shared(state, PHASE),
            task=stands.task,
            finding=finding,
            by_rules=ruled.critique,
            sources=sources,
        )
        try:
            outcome = await review(review_input, models.model(ModelRole.REVIEWER, PHASE))
        except WorkError as error:
            return TaskReview(approved=True, critique=ruled.critique, by=BY_NOBODY, unchecked=error.problem)
        question = outcome.follow_up_question
        if question is not None:
            question = askable(question, state.query, state.options.system_prompt) or None
        return outcome.model_copy(update={"follow_up_question": question})

    async def _ask_hook(self, ids: Sequence[str]) -> None:
        """The owner's word on each finding of the round, in the order of the plan. It takes the place of the verdict."""
        if self.overrule is None:
            return
        for stands in self._open(ids):
            if stands.review is None or stands.finding is None:
                continue
            verdict = await self.overrule(self.journal.state, stands, stands.finding)
            if verdict is not None and verdict != stands.review:
                reviewed = TaskReviewed(task_id=stands.task.id, attempt=stands.task.attempt, review=verdict)
                await self.journal.record(reviewed)

    # Settling

    async def _settle(self, ids: Sequence[str]) -> bool:
        """Ends the tasks that are approved or not worth another attempt, and sends the others out again; all as one
        unit."""
        state = self.journal.state
        by_id = {sub_query.id: sub_query for sub_query in state.sub_queries}
        tasks = self._open(ids)
        by_model = self.model is not None
        retries = 0 if state.searching_stopped else state.options.task_retries
        again = [t for t in tasks if _goes_again(t, retries, by_model=by_model)]
        events: list[Event] = []
        for stands in tasks:
            if stands not in again:
                events += completion_events(stands, by_id[stands.task.sub_query_id])
        events += [
            TaskDispatched(task=_again(stands, limits_of(state, place, len(again))))
            for place, stands in enumerate(again)
        ]
        if events:
            await self.journal.record(*events)
        return bool(again)


def _goes_again(stands: TaskState, retries: int, *, by_model: bool) -> bool:
    """A search of the same question would find the same, unless it failed; and what ended at a limit of its own would end
    there again."""
    review = stands.review
    if review is None or review.approved or stands.task.attempt >= retries or ended_by_them(stands):
        return False
    failed = stands.finding is not None and bool(stands.finding.error)
    searched = stands.finding is not None and stands.finding.by_search
    return (by_model and not searched) or failed or review.follow_up_question is not None


def _again(stands: TaskState, limits: TaskLimits) -> Task:
    """The next attempt, with what the reviewer said."""
    review = stands.review or TaskReview(approved=False)
    return stands.task.model_copy(
        update={
            "question": review.follow_up_question or stands.task.question,
            "attempt": stands.task.attempt + 1,
            "critique": review.critique,
            "limits": limits,
        }
    )


def completion_events(stands: TaskState, sub_query: SubQuery) -> list[Event]:
    """The end of a task: its sub-query is searched, or could not be, and each shortfall is told."""
    outcome, review = stands.outcome, stands.review
    of = f"“{_short(stands.task.question)}”"
    shortfalls = []
    if review is not None and not review.approved:
        tries = _times(stands.task.attempt + 1)
        shortfalls.append(f"The task {of} was worked on {tries} and not approved: {_short(review.critique)}")
    if review is not None and review.unchecked:
        shortfalls.append(f"What the task {of} found was not reviewed: {_short(review.unchecked)}")
    if outcome.stopped:
        how = "was searched without its agent" if outcome.by_search else "ended early"
        shortfalls.append(f"The task {of} {how}: {_short(outcome.stopped)}")
    if stands.refusals:
        often = _times(stands.refusals)
        shortfalls.append(f"The task {of} was refused {often} what could have told others what it was shown")
    if outcome.owner_question:
        shortfalls.append(f"The task {of} needs to know of you: {_short(outcome.owner_question)}")
    full_sentences = [text if text[-1:] in ".!?…" else f"{text}." for text in shortfalls]
    notices: list[Event] = [NoticeAdded(notice=Notice(name=TASK, message=text)) for text in full_sentences]
    if not stands.source_ids and outcome.error:
        failed = SubQueryFailed(
            sub_query_id=sub_query.id, task_id=stands.task.id, error=outcome.error, searches=0
        )
        return [failed, *notices]
    uses = [use for step in stands.steps for use in step.uses if use.tool == "search"]
    queries = (use.arguments.get("query") for use in uses)
    unique_queries = dict.fromkeys(q for q in queries if isinstance(q, str) and q != sub_query.query)
    completion = SubQueryCompleted(
        sub_query_id=sub_query.id,
        task_id=stands.task.id,
        sources=(),
        searches=0,
        wordings=tuple(unique_queries),
    )
    return [completion, *notices]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS].rsplit(' ', 1)[0]} …"
