"""GATHERING: one unit per sub-query, several at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.budget.shared_budget import Purse
from deep_research.errors import BudgetError, DeepResearchError, SearchError
from deep_research.evidence.page_identity import canonical_url
from deep_research.evidence.plain import clean
from deep_research.evidence.wording import wordings
from deep_research.logs import blotted, blotted_bytes, holds_secret, masked
from deep_research.phases.base import Agent, Phase, Retry, WorkLimits, off_loop, shared, together
from deep_research.phases.gathering.fetching import OVER_SHARED_CAP, pages_told
from deep_research.phases.gathering.handoff import (
    GatheredSource,
    GathererInput,
    GathererOutput,
    Snapshot,
    filters_of,
)
from deep_research.phases.wishes import Knows, as_searches
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    Source,
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
from deep_research.state.identity import sha256_hex, source_id, sub_query_id
from deep_research.state.journal import Content, Journal, PageHead
from deep_research.state.records import FETCHES, PAGES, SHARED

TEXT_UNIT = 5_000  # characters that are cleaned and hashed in the time of one small item
BYTES_UNIT = 50_000  # bytes that are only hashed


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
        known = handoff.known
        size = sum(map(_size, answer.sources))
        sources, contents, notes, twice = await off_loop(size, self._collect, answer, sub_query, state, known)
        events: list[Event] = [
            SubQueryCompleted(
                sub_query_id=sub_query.id,
                sources=sources,
                wordings=answer.wordings,
                searches=searches,
                fetches=answer.fetches,
                failed=min(answer.stats.queries_failed, searches),
                duplicates=answer.stats.duplicates_skipped + twice,
            )
        ]
        new = [note for note in dict.fromkeys(notes) if note not in told]
        told.update(new)
        events += [LimitReached(limit=Limit(name="sources", message=note)) for note in new]
        events += _unread(answer, state.options.budget.max_fetches)
        await journal.record(*events, contents=contents)

    def handoff(self, sub_query: SubQuery, state: DeepResearchState, known: frozenset[str]) -> GathererInput:
        return GathererInput(
            **shared(state, self.phase),
            sub_queries=(sub_query.query,),
            source_types=state.options.source_types,
            filters=filters_of(state.options),
            max_sources_per_query=state.options.max_sources_per_query,
            known=known,
            rewordings=_spare(state),
            fetches=_fetches(sub_query, state),
        )

    def _collect(
        self,
        answer: GathererOutput,
        sub_query: SubQuery,
        state: DeepResearchState,
        known: frozenset[str],
    ) -> tuple[tuple[Source, ...], list[Content], list[str], int]:
        """Sources with ids, their texts, a note for each text that is too long to keep, and how many came twice."""
        sources: dict[str, Source] = {}
        contents: list[Content] = []
        notes = list(answer.notes)
        new = twice = 0
        for item in answer.sources:
            name = canonical_url(item.url) if item.url else f"{item.title}\n{item.content or item.snippet}"
            key = source_id(name)
            if key in sources:
                twice += 1
                continue
            if name not in known:
                new += 1
                if new > state.options.max_sources_per_query:
                    continue
            given = item.content or item.snippet
            text = clean(given)
            if text != given:  # spans of the text as it was no longer fit
                item = item.model_copy(update={"passages": (), "pages": ()})
            item = _without_secrets(item)
            text = blotted(text)  # of the same length, so that spans still fit
            content = Content.of(text)
            if len(content.body) > self.limits.max_source_bytes:
                notes.append(
                    f"'{item.title}' was left out: its text is longer than"
                    f" {self.limits.max_source_bytes:,} bytes."
                )
                continue
            sources[key] = _source(key, item, sub_query, len(sources), content, len(text))
            if (
                name not in known or item.content
            ):  # of a page that was read before a search tells only that it is there
                contents.append(content)
            if item.snapshot is not None:
                contents.append(_kept(item.snapshot))
        return tuple(sources.values()), contents, notes, twice


def _source(
    key: str, item: GatheredSource, sub_query: SubQuery, rank: int, content: Content, length: int
) -> Source:
    return Source(
        id=key,
        sub_query_id=sub_query.id,
        title=" ".join(clean(item.title).split()) or (item.url or "Untitled"),
        url=item.url,
        snippet=clean(item.snippet),
        kind=item.kind,
        quality=item.quality,
        rank=rank,
        relevance=item.relevance,
        published=item.published,
        content_hash=content.hash,
        snapshot_hash=item.snapshot_hash,
        length=length,
        passages=tuple(span for span in item.passages if span.start < span.end <= length),
        pages=tuple(start for start in item.pages if start < length),
        fingerprint=item.fingerprint,
        mentions=item.mentions,
        metadata=item.metadata,
    )


def _without_secrets(item: GatheredSource) -> GatheredSource:
    """A page that holds a registered key is kept without it, under the hash of what is kept."""
    if item.snapshot is None or not holds_secret(item.snapshot.body):
        return item
    body = blotted_bytes(item.snapshot.body)
    snapshot = item.snapshot.model_copy(update={"body": body})
    return item.model_copy(update={"snapshot": snapshot, "snapshot_hash": sha256_hex(body)})


def _size(item: GatheredSource) -> int:
    """How much work a source is."""
    snapshot = len(item.snapshot.body) if item.snapshot else 0
    return len(item.content or "") // TEXT_UNIT + snapshot // BYTES_UNIT


def _kept(snapshot: Snapshot) -> Content:
    head = None
    if snapshot.shared:
        headers = {name: masked(value) for name, value in snapshot.headers.items()}
        head = PageHead(masked(snapshot.url), masked(snapshot.found_at), snapshot.at, headers)
    return Content.of_page(snapshot.body, snapshot.media_type, head)


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
