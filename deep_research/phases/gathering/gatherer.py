"""The gatherer: it searches, looks whether that is what was asked for, and reads the pages that were found. It needs no
model for it.

The documents of the user's corpus are searched beside the services of the web, see `SearchPool`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from deep_research.budget.shared_budget import BudgetScope
from deep_research.calls import Calls
from deep_research.errors import SearchError
from deep_research.phases.agent_contract import Allowance
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput, PagesInput, filters_of
from deep_research.phases.gathering.queries import Match, matched, wordings
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.provenance.secret_filter import confidential
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.sources.search.combined_search import SearchOutcome, SearchPool
from deep_research.sources.search.fusion import fused
from deep_research.sources.search.policy import Service
from deep_research.state import DeepResearchState, FirstLook, GatherStats, SourceKind

SPARE = 2  # times as many results are asked for as are wanted, where pages have to be read and some cannot be
GLANCED_AT = 8  # results that a plan is made with
MAX_TITLE_CHARS, MAX_SNIPPET_CHARS = 200, 400
LOOKED_AT = 800  # characters of a text that say whether it is on topic


class SearchGatherer:
    """``SearchGatherer(providers, corpus=None)``. ``timeout`` is seconds per call to a provider; ``rewordings`` how often
    a search that found nothing, or nothing to the point, is made again in other words; ``reading`` reads pages and
    judges sources; ``notes`` are what readers should know of all its searches; after ``patience`` seconds a sub-query
    makes do with the pages that were read by then. Called with a purse, it takes from that each search but the first of a
    query, and each page."""

    deterministic = False
    uses_purse = True

    def __init__(
        self,
        providers: Sequence[SearchProvider | Service] = (),
        *,
        corpus: SearchProvider | Service | None = None,
        rewordings: int = 1,
        reading: SourceReader | None = None,
        notes: Sequence[str] = (),
        calls: Calls | None = None,
        timeout: float | None = None,
        patience: float | None = None,
    ) -> None:
        calls = calls or Calls()

        def service(of: SearchProvider | Service) -> Service:
            return of if isinstance(of, Service) else Service.of(of, calls=calls, timeout=timeout)

        self._pool = SearchPool(
            services=[service(provider) for provider in providers],
            corpus=service(corpus) if corpus is not None else None,
        )
        self._rewordings = rewordings
        self._reading = reading or SourceReader()
        self._notes = tuple(notes)
        self._patience = patience

    @property
    def pool(self) -> SearchPool:
        """What it searches."""
        return self._pool

    @property
    def reading(self) -> SourceReader:
        """How it reads pages."""
        return self._reading

    async def __call__(self, handoff: GathererInput, purse: Allowance | None = None) -> GathererOutput:
        purse = purse or BudgetScope()
        outputs = [await self._gather(query, handoff, purse) for query in handoff.sub_queries]
        if len(outputs) == 1:
            return outputs[0]
        sources = [source for output in outputs for source in output.sources]
        by_address = {source.url or source.title: source for source in reversed(sources)}
        unique = [
            source for source in sources if by_address.pop(source.url or source.title, None) is not None
        ]
        return GathererOutput(
            sources=tuple(unique),
            stats=GatherStats(
                queries_executed=sum(output.stats.queries_executed for output in outputs),
                queries_failed=sum(output.stats.queries_failed for output in outputs),
                sources_collected=len(unique),
                duplicates_skipped=len(sources) - len(unique),
            ),
            notes=tuple(dict.fromkeys(note for output in outputs for note in output.notes)),
            unread=tuple(dict.fromkeys(page for output in outputs for page in output.unread)),
            wordings=tuple(wording for output in outputs for wording in output.wordings),
            fetches=sum(output.fetches for output in outputs),
        )

    async def read(self, handoff: PagesInput, purse: Allowance | None = None) -> GathererOutput:
        """Pages that earlier searches left unread. No search is made again."""
        fetching = Fetching(handoff.fetches, purse or BudgetScope())
        sources, unread = await self._reading.read(
            [SearchResult(address=url, title=url) for url in handoff.pages],
            query=handoff.sub_queries[0],
            limit=len(handoff.pages),
            handoff=handoff,
            fetching=fetching,
        )
        return GathererOutput(sources=tuple(sources), unread=tuple(unread), fetches=fetching.attempts)

    @property
    def looks(self) -> bool:
        """Whether any of its providers can tell something before a search."""
        return self._pool.looks

    async def look(self, question: str) -> FirstLook | None:
        """What the documents say of a question before it is researched. Raises `SearchError`."""
        return await self._pool.look(question)

    @property
    def asks_web(self) -> bool:
        """Whether it searches more than what is on this machine."""
        return not self._pool.is_local

    async def glance(self, state: DeepResearchState) -> FirstLook | None:
        """What one search of the web shows of a question before its research is planned: titles and snippets, best
        first. None where nothing is found. Raises `SearchError`."""
        request = SearchRequest(
            query=outgoing(state.query, state.options.system_prompt, state.query),
            limit=GLANCED_AT,
            source_types=state.options.source_types,
            filters=filters_of(state.options),
        )
        results = (await self._pool.search(request, corpus=False)).results[:GLANCED_AT]
        if not results:
            return None
        return FirstLook(
            titles=tuple(result.title[:MAX_TITLE_CHARS] for result in results),
            snippets=tuple(result.snippet[:MAX_SNIPPET_CHARS] for result in results),
        )

    async def knows(self, words: str, *, named: bool) -> bool:
        """Whether a search for these words can find something: whether documents have one of them; of services of the
        web, which nobody can look through, whether one is ``named``, a name by its spelling. Raises `SearchError`."""
        if named and not self._pool.is_local:
            return True
        look = await self.look(words) if self.looks else None
        return bool(look and look.titles)

    async def _gather(self, query: str, handoff: GathererInput, purse: Allowance) -> GathererOutput:
        query = outgoing(query, handoff.system_prompt, handoff.original_query)
        limit = handoff.max_sources_per_query
        now = asyncio.get_running_loop().time()
        until = None if self._patience is None else now + self._patience
        request = SearchRequest(
            query=query,
            limit=limit,
            source_types=handoff.source_types,
            known_addresses=handoff.known_addresses,
            filters=handoff.filters,
        )
        allowed = self._rewordings if handoff.rewordings is None else handoff.rewordings
        pool = self._pool.limited(handoff.lanes) if handoff.lanes else self._pool
        outcome, rewordings, failed = await self._to_the_point(
            pool, request, min(self._rewordings, allowed), purse
        )
        fetching = Fetching(handoff.fetches, purse)
        sources, unread = await self._reading.read(
            outcome.results, query=query, limit=limit, handoff=handoff, until=until, fetching=fetching
        )
        return GathererOutput(
            sources=tuple(sources),
            stats=GatherStats(
                queries_executed=1 + len(rewordings), queries_failed=failed, sources_collected=len(sources)
            ),
            notes=(*self._notes, *outcome.failures, *outcome.notes),
            unread=tuple(unread),
            wordings=tuple(rewordings),
            fetches=fetching.attempts,
        )

    async def _to_the_point(
        self, pool: SearchPool, request: SearchRequest, most: int, purse: Allowance
    ) -> tuple[SearchOutcome, list[str], int]:
        """What was found, asked for in other words, ``most`` times, where it is nothing or off topic, those words, and
        how many of these searches failed. Raises `SearchError` when the first search fails."""
        spare = SPARE if self._reading.pages else 1
        outcome = await pool.search(request, spare=spare)
        if not pool.asks_services(request):
            return (
                outcome,
                [],
                0,
            )  # documents are searched for each word: fewer of them would find nothing more
        own = [result for result in outcome.results if result.kind is SourceKind.DOCUMENT]
        match = _match(request.query, outcome.results)
        rewordings: list[str] = []
        failed = 0
        failures, notes = list(outcome.failures), list(outcome.notes)
        while match in (Match.EMPTY, Match.OFF_TOPIC) and len(rewordings) < most:
            # One word alone finds something where nothing was found, and seldom something to the point.
            others = wordings(request.query, rewordings, least=1 if match is Match.EMPTY else 2)
            if not others or purse.take("max_searches") is not None:
                break
            rewordings.append(others[0])
            try:
                again = await pool.search(replace(request, query=others[0]), corpus=False, spare=spare)
            except SearchError as error:
                failures.append(error.problem)
                failed = 1
                break
            failures += again.failures
            notes += again.notes
            verdict = _match(request.query, again.results)
            if verdict is Match.GOOD or (match is Match.EMPTY and verdict is not Match.EMPTY):
                outcome, match = SearchOutcome(tuple(fused([own, again.results]))), verdict
        return (
            SearchOutcome(outcome.results, tuple(dict.fromkeys(failures)), tuple(dict.fromkeys(notes))),
            rewordings,
            failed,
        )


def outgoing(query: str, system_prompt: str | None, question: str) -> str:
    """The query as it goes out. Raises `SearchError` when nothing is left of it."""
    secret = confidential(system_prompt or "", question)
    text = " ".join(secret.without(query, " ").split()) if secret.spans(query) else query
    if not text:
        raise SearchError("The search contained only confidential instructions.")
    return text


def _match(query: str, results: Sequence[SearchResult]) -> Match:
    """What services found is to the query: by what they say of relevance, where they do; else by what shows."""
    web = [result for result in results if result.kind is SourceKind.WEB]
    if any((result.relevance or 0.0) >= 0.5 for result in web):
        return Match.GOOD
    return matched(query, map(_visible_text, web))


def _visible_text(result: SearchResult) -> str:
    text = result.text or ""
    parts = [text[span.start : span.end] for span in result.passages] or [text[:LOOKED_AT]]
    return "\n".join((result.title, result.snippet, *parts))
