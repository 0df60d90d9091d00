"""GATHERING: one unit per sub-query, several at once, and the rules that gathered sources are held to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.calls import off_loop
from deep_research.errors import BudgetError
from deep_research.phases.agent_contract import Agent, Operation
from deep_research.phases.base import Phase, Retry, WorkLimits, judged, purse_of
from deep_research.phases.concurrency import together
from deep_research.phases.gathering.caps import (
    affordable,
    capped,
    capped_for_all,
    fetches,
    pages_told,
    spare,
    unread_notices,
)
from deep_research.phases.gathering.collecting import Collected, bounded_output, collected, work_of
from deep_research.phases.gathering.handoff import (
    GATHER,
    READ,
    GatheredSource,
    GathererInput,
    GathererOutput,
    PagesInput,
    filters_of,
)
from deep_research.phases.gathering.queries import QueryOutcome, ask_within_caps, wordings
from deep_research.phases.gathering.tasks.library import Overrule, TaskParts
from deep_research.phases.handoff import shared, with_latest
from deep_research.phases.steering_plan import plan_searches
from deep_research.phases.steering_queries import Knows
from deep_research.provenance.page_identity import canonical_url
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    Notice,
    SubQuery,
    SubQueryStatus,
    ValidationResult,
)
from deep_research.state.events import (
    Event,
    NoticeAdded,
    Progress,
    Started,
    SubQueryCompleted,
    SubQueryFailed,
)
from deep_research.state.identity import recall_id, sub_query_id
from deep_research.state.journal import Journal
from deep_research.state.records import NO_HIGH_QUALITY, PAGES

MIN_SOURCES = 3
Lead = Callable[[DeepResearchState], Awaitable[Sequence[Event]]]
Recall = Callable[[DeepResearchState], Awaitable[Sequence[GatheredSource]]]
MIN_COMPLETION = 0.5


def validate_gathering(state: DeepResearchState) -> ValidationResult:
    """Pure. No source at all blocks; all else is advice."""
    count = len(state.sources) - len(state.passed_over)
    issues: list[str] = []
    blocking: list[str] = []
    if not count:
        blocking.append(_nothing(state))
    elif count < MIN_SOURCES and not state.recalling:
        issues.append("Only one source was found." if count == 1 else f"Only {count} sources were found.")
    if count and not state.high_quality_sources():
        issues.append(NO_HIGH_QUALITY)
    completed, total = len(state.completed_sub_queries()), len(state.current_sub_queries())
    if completed < total * MIN_COMPLETION:
        issues.append(f"Only {completed} of {total} sub-queries could be searched.")
    return judged(blocking, issues, count * 1.5)


def _nothing(state: DeepResearchState) -> str:
    """Why there is no source: nothing was found, or nothing of it could be read."""
    unread = [notice for notice in state.notices if notice.name == PAGES]
    many = sum(len(notice.skipped) for notice in unread)
    if not many:
        return "No source was found."
    why = " ".join(dict.fromkeys(notice.message for notice in unread))
    return f"{many} {'result was' if many == 1 else 'results were'} found, none could be read. {why}"


class _GuidanceSearches:
    """Before a unit begins, plans searches for guidance that came meanwhile. One at a time: a steer is one search."""

    def __init__(self, knows: Knows | None, journal: Journal) -> None:
        self._knows = knows
        self._journal = journal
        self._turn = asyncio.Lock()
        self._seen = -1

    async def __call__(self) -> None:
        async with self._turn:
            state = self._journal.state
            if len(state.guidance) == self._seen or state.searching_stopped:
                return
            self._seen = len(state.guidance)
            added = await plan_searches(state, DeepResearchPhase.GATHERING, self._knows)
            if added:
                await self._journal.record(*added)


class GatheringPhase(Phase):
    """Searches what is pending. A sub-query that fails is recorded as failed and the others go on."""

    phase = DeepResearchPhase.GATHERING
    operations = (GATHER, READ)

    def __init__(
        self,
        agent: Agent | Callable[..., Any],
        *,
        limits: WorkLimits | None = None,
        knows: Knows | None = None,
        tasks: TaskParts | None = None,
        recall: Recall | None = None,
    ) -> None:
        """``tasks`` is what tasks work with, where sub-queries are worked on as such; ``recall`` gives what the
        conversation of a run saved."""
        super().__init__(agent, limits=limits, knows=knows)
        self._recall = recall
        self.tasks = tasks or TaskParts()

    async def run(
        self,
        state: DeepResearchState,
        journal: Journal,
        models: RunModels | None = None,
        overrule: Overrule | None = None,
        lead: Lead | None = None,
    ) -> None:
        """``overrule`` has the last word on what a task found; ``lead`` decides on a further wave of tasks when all are
        settled."""
        self.check_place(state)
        # Only earlier iterations count as known: siblings finish in any order, and order must not show.
        earlier = {i for s in state.sub_queries if s.iteration < state.iteration for i in s.source_ids}
        known_addresses = frozenset(canonical_url(s.url) for s in state.sources if s.url and s.id in earlier)
        apply_guidance = _GuidanceSearches(self.knows, journal)
        unmade: list[tuple[SubQuery, BudgetError]] = []
        dispatched: set[str] = set()
        await self._read_saved(journal)
        while True:  # until no guidance came meanwhile
            await apply_guidance()
            state = journal.state
            pending = tuple(s for s in state.pending_sub_queries() if s.id not in dispatched)
            open_tasks = {t.task.sub_query_id for t in state.tasks if t.steps and not t.is_settled}
            waiting = tuple(s for s in pending if s.id not in open_tasks)  # what is begun was counted already
            allowed = affordable(state, len(waiting))
            if allowed < len(waiting):
                await journal.record(capped(state, waiting[allowed:]))
            dispatched |= {s.id for s in pending}
            pending = tuple(s for s in pending if s.id in open_tasks or s in waiting[:allowed])
            if not pending:
                decided = await lead(journal.state) if lead is not None else ()
                if not decided:
                    break
                await journal.record(*decided)
                continue
            if state.options.gathering == "agents":
                await self._tasks(pending, journal, models, overrule, known_addresses, apply_guidance)
            else:
                await self._searches(pending, journal, models, known_addresses, apply_guidance, unmade)
        if unmade:
            await journal.record(capped_for_all(unmade))
        await self._read_left(journal, models, known_addresses)

    async def _read_saved(self, journal: Journal) -> None:
        """What the conversation saved for the question, where it is to be read before anything is searched."""
        state = journal.state
        for sub_query in state.pending_sub_queries():
            if sub_query.id != recall_id(sub_query.query):
                continue
            sources = await self._recall(state) if self._recall is not None else ()
            collection = await self._collected(
                GathererOutput(sources=tuple(sources)), sub_query, frozenset(), len(sources)
            )
            completion = SubQueryCompleted(sub_query_id=sub_query.id, sources=collection.sources, searches=0)
            await journal.record(completion, contents=collection.contents)

    async def _tasks(
        self,
        pending: Sequence[SubQuery],
        journal: Journal,
        models: RunModels | None,
        overrule: Overrule | None,
        known: frozenset[str],
        apply_guidance: _GuidanceSearches,
    ) -> None:
        from deep_research.phases.gathering.tasks.task_scheduler import TaskScheduler  # not needed to search

        rounds = TaskScheduler(
            parts=self.tasks,
            limits=self.limits,
            journal=journal,
            models=models,
            ask=partial(self._ask_gatherer, models=models),
            handoff=partial(self.handoff, known=known),
            overrule=overrule,
            apply_guidance=apply_guidance,
        )
        await rounds.run(pending)

    async def _searches(
        self,
        pending: Sequence[SubQuery],
        journal: Journal,
        models: RunModels | None,
        known: frozenset[str],
        apply_guidance: _GuidanceSearches,
        unmade: list[tuple[SubQuery, BudgetError]],
    ) -> None:
        state = journal.state
        messages = {notice.message for notice in state.notices}  # several sub-queries have the same to say
        handoffs = {each.id: self.handoff(each, state, known) for each in pending}

        async def unit(sub_query: SubQuery) -> None:
            await apply_guidance()
            now = journal.state
            if sub_query.id not in {s.id for s in now.pending_sub_queries()}:  # it was dropped
                return
            handoff = with_latest(handoffs[sub_query.id], now).model_copy(
                update={"filters": filters_of(now.options)}
            )
            await self._unit(handoff, sub_query, now, journal, models, unmade, messages)

        await together(
            (partial(unit, each) for each in pending),
            at_once=self.limits.max_concurrent,
            check=journal.check,
        )

    async def _read_left(self, journal: Journal, models: RunModels | None, known: frozenset[str]) -> None:
        """The pages that earlier searches left unread, where the cap on them was raised since. No search is made again;
        what is left still is told again."""
        state = journal.state
        # The last that was searched, under which they are counted: the log of a search does not say which it left.
        sub_query = next(reversed(state.completed_sub_queries()), None)
        if not state.pages_left or not self.spec.can(READ) or sub_query is None:
            return
        journal.check()
        cap, pages = state.options.budget.max_fetches, tuple(state.pages_left)
        left = None if cap is None else max(0, cap - state.usage.fetches)
        handoff = self.handoff(sub_query, state, known)
        pages_input = PagesInput(**dict(handoff) | {"pages": pages, "fetches": left})
        answer = await self._gather(pages_input, models, READ)
        collection = await self._collected(answer, sub_query, known, len(pages))
        completion = SubQueryCompleted(
            sub_query_id=sub_query.id,
            sources=collection.sources,
            wordings=sub_query.wordings,
            searches=0,
            fetches=answer.fetches,
            duplicates=collection.twice,
        )
        await journal.record(completion, *unread_notices(answer.unread, cap), contents=collection.contents)

    async def _collected(
        self, answer: GathererOutput, sub_query: SubQuery, known: frozenset[str], most_new: int
    ) -> Collected:
        return await off_loop(
            sum(map(work_of, answer.sources)),
            collected,
            answer.sources,
            sub_query_id=sub_query.id,
            known=known,
            most_new=most_new,
            most_bytes=self.limits.max_source_bytes,
        )

    @property
    def falls_back(self) -> bool:
        """Tasks whose model cannot be reached go on without it; who searches by rule has nobody else."""
        return self.tasks.by_model

    @property
    def fallback_role(self) -> str:
        return ModelRole.TASK_AGENT.value if self.tasks.by_model else super().fallback_role

    def retried(self, state: DeepResearchState, *, advised: bool) -> Retry | None:
        """Failed searches again, and those that came back empty in other words."""
        if state.searching_stopped:
            return None
        failed = any(s.status is SubQueryStatus.FAILED for s in state.sub_queries)
        fresh = reworded(state)
        return Retry(fresh) if failed or fresh or advised else None

    async def _ask_gatherer(
        self,
        handoff: GathererInput,
        models: RunModels | None,
        ask: Callable[[GathererInput], Awaitable[GathererOutput]] | None = None,
    ) -> QueryOutcome | BudgetError:
        """One query to the gatherer, counted and charged; ``ask`` where it is called otherwise than by `_gather`."""
        ask = ask or partial(self._gather, models=models)
        return await ask_within_caps(ask, handoff, purse_of(models), takes_itself=self.spec.uses_purse)

    async def _unit(
        self,
        handoff: GathererInput,
        sub_query: SubQuery,
        state: DeepResearchState,
        journal: Journal,
        models: RunModels | None,
        unmade: list[tuple[SubQuery, BudgetError]],
        told: set[str],
    ) -> None:
        """Searches, unless a budget that is shared with other runs does not allow it: that joins ``unmade``. What the
        notes say is said once: ``told`` is what was."""
        note = Started(phase=self.phase, message=sub_query.query, tool="search", input=sub_query.query)

        def pages(read: int, wanted: int, address: str) -> None:
            if address:
                journal.progress(Started(phase=self.phase, tool="fetch", input=address))
            else:
                progress = Progress(phase=self.phase, message=sub_query.query, done=read, total=wanted)
                journal.progress(progress)

        async def ask(handoff: GathererInput) -> GathererOutput:
            journal.progress(note)
            with pages_told(pages):
                return await self._gather(handoff, models)

        came = await self._ask_gatherer(handoff, models, ask)
        if isinstance(came, BudgetError):
            unmade.append((sub_query, came))
            return
        answer = came.answer
        if answer is None:
            await journal.record(
                SubQueryFailed(sub_query_id=sub_query.id, error=came.error, fetches=came.fetches)
            )
            return
        most_new = state.options.max_sources_per_query
        collection = await self._collected(answer, sub_query, handoff.known_addresses, most_new)
        events: list[Event] = [
            SubQueryCompleted(
                sub_query_id=sub_query.id,
                sources=collection.sources,
                wordings=answer.wordings,
                searches=came.searches,
                fetches=came.fetches,
                failed=came.failed,
                duplicates=answer.stats.duplicates_skipped + collection.twice,
            )
        ]
        new = [note for note in dict.fromkeys((*answer.notes, *collection.notes)) if note not in told]
        told.update(new)
        events += [NoticeAdded(notice=Notice(name="sources", message=note)) for note in new]
        events += unread_notices(answer.unread, state.options.budget.max_fetches)
        await journal.record(*events, contents=collection.contents)

    async def _gather(
        self,
        handoff: GathererInput,
        models: RunModels | None,
        operation: Operation[Any, GathererOutput] = GATHER,
    ) -> GathererOutput:
        return bounded_output(await self.ask(operation, handoff, models))

    def handoff(self, sub_query: SubQuery, state: DeepResearchState, known: frozenset[str]) -> GathererInput:
        return GathererInput(
            **shared(state, self.phase),
            sub_queries=(sub_query.query,),
            source_types=state.options.source_types,
            filters=filters_of(state.options),
            max_sources_per_query=state.options.max_sources_per_query,
            known_addresses=known,
            rewordings=spare(state),
            fetches=fetches(sub_query, state),
        )


def reworded(state: DeepResearchState) -> tuple[SubQuery, ...]:
    """Empty searches in words in which they were not made yet, each new text once."""
    query_ids = {s.id for s in state.sub_queries}
    fresh: dict[str, SubQuery] = {}
    for old in state.completed_sub_queries():
        if old.source_ids or old.iteration != state.iteration or old.id == recall_id(old.query):
            continue
        text = next(iter(wordings(old.query, old.wordings)), "")
        key = sub_query_id(text)
        if text and key not in query_ids and key not in fresh:
            fresh[key] = old.model_copy(
                update={
                    "id": key,
                    "query": text,
                    "rationale": f"'{old.query}' found nothing.",
                    "status": SubQueryStatus.PENDING,
                    "index": state.next_index + len(fresh),
                    "wordings": (),
                }
            )
    return tuple(fresh.values())
