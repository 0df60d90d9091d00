"""GATHERING: one unit per sub-query, several at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.budget.shared_budget import Purse
from deep_research.errors import BudgetError, DeepResearchError, SearchError
from deep_research.evidence.page_identity import canonical_url
from deep_research.evidence.wording import wordings
from deep_research.phases.base import Agent, Phase, Retry, WorkLimits, off_loop, shared, together
from deep_research.phases.gathering.collecting import collected, work_of
from deep_research.phases.gathering.fetching import OVER_SHARED_CAP, pages_told
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput
from deep_research.phases.wishes import Knows, as_searches
from deep_research.sources.search import SearchFilters
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import (
    Event,
    LimitReached,
    Progress,
    SubQueryCompleted,
    SubQueryFailed,
)
from deep_research.state.identity import sub_query_id
from deep_research.state.journal import Journal
from deep_research.state.records import FETCHES, PAGES, SHARED


class GatheringPhase(Phase[GathererInput, GathererOutput]):
    """Searches what is pending. A sub-query that fails is recorded as failed and the others go on."""

    phase = DeepResearchPhase.GATHERING
    answer_type = GathererOutput

    def __init__(
        self,
        agent: Agent[GathererInput, GathererOutput],
        *,
        limits: WorkLimits | None = None,
        knows: Knows | None = None,
    ) -> None:
        """``knows`` tells whether a search for what is wished for can find something."""
        super().__init__(agent, limits=limits)
        self._knows = knows

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        wished = await as_searches(state, self.phase, self._knows)
        if wished:
            await journal.record(*wished)
            state = journal.state
        pending = state.pending_sub_queries()
        allowed = _affordable(state, len(pending))
        if allowed < len(pending):
            await journal.record(_capped(state, pending[allowed:]))
            pending = pending[:allowed]
        # Only earlier iterations count as known: siblings finish in any order, and order must not show.
        earlier = {i for s in state.sub_queries if s.iteration < state.iteration for i in s.source_ids}
        known = frozenset(canonical_url(s.url) for s in state.sources if s.url and s.id in earlier)
        unmade: list[tuple[SubQuery, BudgetError]] = []
        told = {limit.message for limit in state.limits}  # several sub-queries have the same to say
        await together(
            (
                partial(
                    self._unit, self.handoff(each, state, known), each, state, journal, models, unmade, told
                )
                for each in pending
            ),
            at_once=self.limits.max_concurrent,
        )
        if unmade:
            await journal.record(_capped_for_all(unmade))

    def retried(self, state: DeepResearchState, *, advised: bool) -> Retry | None:
        """Failed searches again, and those that came back empty in other words."""
        failed = any(s.status is SubQueryStatus.FAILED for s in state.sub_queries)
        fresh = reworded(state)
        return Retry(fresh) if failed or fresh or advised else None

    def beside(self, models: RunModels | None) -> tuple[Any, ...]:
        return (_purse(models),) if getattr(self.agent, "uses_purse", False) else ()

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
        purse = _purse(models)
        refusal = purse.take("max_searches")
        if refusal is not None:
            unmade.append((sub_query, refusal))
            return
        note = Progress(phase=self.phase, message=sub_query.query)
        journal.progress(note)

        def pages(read: int, wanted: int) -> None:
            journal.progress(note.model_copy(update={"done": read, "total": wanted}))

        try:
            with pages_told(pages):
                answer = await self.ask(handoff, models)
        except DeepResearchError as error:
            # A search that failed led to no page; else nobody knows how many were asked for.
            fetches = 0 if isinstance(error, SearchError) else handoff.fetches or 0
            await journal.record(
                SubQueryFailed(sub_query_id=sub_query.id, error=error.problem, fetches=fetches)
            )
            return
        searches = max(1 + len(answer.wordings), answer.stats.queries_executed)
        if not getattr(self.agent, "uses_purse", False):
            purse.charge("max_searches", searches - 1)
            purse.charge("max_fetches", answer.fetches)
        found = await off_loop(
            sum(map(work_of, answer.sources)),
            collected,
            answer.sources,
            sub_query_id=sub_query.id,
            known=handoff.known,
            most_new=state.options.max_sources_per_query,
            most_bytes=self.limits.max_source_bytes,
        )
        events: list[Event] = [
            SubQueryCompleted(
                sub_query_id=sub_query.id,
                sources=found.sources,
                wordings=answer.wordings,
                searches=searches,
                fetches=answer.fetches,
                failed=min(answer.stats.queries_failed, searches),
                duplicates=answer.stats.duplicates_skipped + found.twice,
            )
        ]
        new = [note for note in dict.fromkeys((*answer.notes, *found.notes)) if note not in told]
        told.update(new)
        events += [LimitReached(limit=Limit(name="sources", message=note)) for note in new]
        events += _unread(answer, state.options.budget.max_fetches)
        await journal.record(*events, contents=found.contents)

    def handoff(self, sub_query: SubQuery, state: DeepResearchState, known: frozenset[str]) -> GathererInput:
        return GathererInput(
            **shared(state, self.phase),
            sub_queries=(sub_query.query,),
            source_types=state.options.source_types,
            filters=SearchFilters(
                since=state.options.since,
                until=state.options.until,
                as_of=state.options.as_of,
                domains=state.options.domains,
                not_domains=state.options.not_domains,
                language=state.options.source_language,
            ),
            max_sources_per_query=state.options.max_sources_per_query,
            known=known,
            rewordings=_spare(state),
            fetches=_fetches(sub_query, state),
        )


def _inner(sentence: str) -> str:
    """A sentence as it stands within another: names of formats keep their capitals."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def _unread(answer: GathererOutput, most_fetches: int | None) -> list[LimitReached]:
    """A limit for each reason, with the pages it kept from us."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for page in answer.unread:
        why = page.why.strip().rstrip(".")
        done = "used" if page.unwanted else "read"
        message = f"Left unread: {why}." if page.capped else f"Found but not {done}: {_inner(why)}."
        capped = SHARED + FETCHES if why == OVER_SHARED_CAP else FETCHES
        by_reason.setdefault((capped if page.capped else PAGES, message), []).append(page.url)
    return [
        LimitReached(
            limit=Limit(
                name=name,
                message=message,
                cap=most_fetches if name == FETCHES else None,
                used=len(urls) if name == PAGES else None,
                skipped=tuple(sorted(urls)),
            )
        )
        for (name, message), urls in by_reason.items()
    ]


def _purse(models: RunModels | None) -> Purse:
    return models.purse if models is not None else Purse()


def _affordable(state: DeepResearchState, wanted: int) -> int:
    cap = state.options.budget.max_searches
    return wanted if cap is None else max(0, min(wanted, cap - state.usage.searches))


def _spare(state: DeepResearchState) -> int | None:
    """How many more searches each pending sub-query can have, when all of them have had one. Follow-ups have none: they
    come from who has read pages, and a page could ask for much that is not there."""
    if state.iteration > 1:
        return 0
    cap, pending = state.options.budget.max_searches, len(state.pending_sub_queries())
    if cap is None or not pending:
        return None
    return max(0, cap - state.usage.searches - pending) // pending


def _fetches(sub_query: SubQuery, state: DeepResearchState) -> int | None:
    """How many pages a pending sub-query may ask for: an even part of what the cap leaves. It is settled before any of
    them starts, so that who comes first does not show."""
    cap, pending = state.options.budget.max_fetches, state.pending_sub_queries()
    if cap is None:
        return None
    searched = [each.id for each in pending[: _affordable(state, len(pending))]]
    each, over = divmod(max(0, cap - state.usage.fetches), max(1, len(searched)))
    return each + (sub_query.id in searched[:over])


def _capped_for_all(unmade: Sequence[tuple[SubQuery, BudgetError]]) -> LimitReached:
    """The searches that a shared budget did not allow."""
    refusal = unmade[0][1]
    return LimitReached(
        limit=Limit(
            name=f"{SHARED}max_searches",
            message=f"{refusal.problem} {len(unmade)} searches were not made.",
            cap=refusal.data["limit"],
            used=refusal.data["used"],
            skipped=tuple(s.query for s, _ in sorted(unmade, key=lambda each: each[0].index)),
        )
    )


def _capped(state: DeepResearchState, skipped: tuple[SubQuery, ...]) -> LimitReached:
    cap = state.options.budget.max_searches
    return LimitReached(
        limit=Limit(
            name="max_searches",
            message=f"The cap of {cap} searches was reached; {len(skipped)} were not made.",
            cap=cap,
            used=state.usage.searches,
            skipped=tuple(s.query for s in skipped),
        )
    )


def reworded(state: DeepResearchState) -> tuple[SubQuery, ...]:
    """Empty searches in words in which they were not made yet, each new text once."""
    known = {s.id for s in state.sub_queries}
    fresh: dict[str, SubQuery] = {}
    for old in state.completed_sub_queries():
        if old.source_ids or old.iteration != state.iteration:
            continue
        text = next(iter(wordings(old.query, old.wordings)), "")
        key = sub_query_id(text)
        if text and key not in known and key not in fresh:
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
