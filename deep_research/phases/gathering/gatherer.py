"""The gatherer: it searches, and needs no model for it.

The documents of the user's corpus are searched beside the web; the web providers stand in order, and the next
one is asked only when the one before cannot answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deep_research.calls import Calls
from deep_research.errors import DeepResearchError, SearchError, StopResearch
from deep_research.logs import told
from deep_research.phases.gathering.handoff import (
    GatheredSource,
    GathererInput,
    GathererOutput,
    GatherStats,
)
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import FirstLook


class SearchGatherer:
    """``SearchGatherer(providers, corpus=None)``. ``timeout`` is seconds per call to a provider."""

    deterministic = False

    def __init__(
        self,
        providers: Sequence[SearchProvider] = (),
        *,
        corpus: SearchProvider | None = None,
        calls: Calls | None = None,
        timeout: float | None = None,
    ) -> None:
        self._providers = tuple(providers)
        self._corpus = corpus
        self._calls = calls or Calls()
        self._timeout = timeout

    async def __call__(self, handoff: GathererInput) -> GathererOutput:
        sources: list[SearchResult] = []
        notes: list[str] = []
        executed = 0
        for query in handoff.sub_queries:
            request = SearchRequest(
                query=query,
                limit=handoff.max_sources_per_query,
                source_types=handoff.source_types,
                known=handoff.known,
            )
            sources += await self._search(request, notes)
            executed += 1
        unique = {result.address: result for result in reversed(sources)}
        kept = [result for result in sources if unique.pop(result.address, None) is not None]
        return GathererOutput(
            sources=tuple(map(_gathered, kept)),
            stats=GatherStats(
                queries_executed=executed,
                sources_collected=len(kept),
                duplicates_skipped=len(sources) - len(kept),
            ),
            notes=tuple(notes),
        )

    @property
    def looks(self) -> bool:
        """Whether any of its providers can tell something before a search."""
        every = (*([self._corpus] if self._corpus else ()), *self._providers)
        return any(getattr(type(p), "look", SearchProvider.look) is not SearchProvider.look for p in every)

    async def look(self, question: str) -> FirstLook | None:
        """What the documents say of a question before it is researched: of the corpus, else of the first provider
        that can tell. Raises `SearchError`."""
        for provider in (*([self._corpus] if self._corpus else ()), *self._providers):
            look = getattr(provider, "look", None)
            found: FirstLook | None = (
                await self._calls(look, question, timeout=self._timeout) if look else None
            )
            if found is not None:
                return found
        return None

    async def _search(self, request: SearchRequest, notes: list[str]) -> list[SearchResult]:
        """Results of the corpus and of the first web provider that answers, in turn by rank.

        Raises `SearchError` when nobody answered.
        """
        lists: list[Sequence[SearchResult]] = []
        failures: list[str] = []
        chains = [(self._corpus,)] if self._corpus else []
        for chain in (*chains, self._providers):
            for provider in chain:
                try:
                    lists.append(await self._ask(provider, request))
                    break
                except SearchError as error:
                    failures.append(error.problem)
        if not lists:
            raise SearchError(
                " ".join(failures) or "There is no search provider.",
                hint="Resume the run when the service is back.",
            )
        notes += failures
        return list(_new(_interleaved(lists), request))

    async def _ask(self, provider: SearchProvider, request: SearchRequest) -> Sequence[SearchResult]:
        name = getattr(provider, "name", type(provider).__name__)
        try:
            found = await self._calls(provider.search, request, timeout=self._timeout)
        except (SearchError, StopResearch):
            raise
        except DeepResearchError as error:
            raise SearchError(error.problem, hint=error.hint) from error
        except TimeoutError as error:
            raise SearchError(f"{name} did not answer within {self._timeout:g} s.") from error
        except Exception as error:
            raise SearchError(f"{name} failed: {told(error)}") from error
        if not all(isinstance(result, SearchResult) for result in found):
            raise SearchError(f"{name} answered with something else than SearchResult objects.")
        return [r for r in found if r.address not in request.exclude]


def _new(results: Iterable[SearchResult], request: SearchRequest) -> Iterator[SearchResult]:
    """The results in order, as many new ones as were asked for, and the known ones among them."""
    room = request.limit
    for result in results:
        if result.address in request.known:
            yield result
        elif room:
            room -= 1
            yield result


def _interleaved(lists: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    """One from each in turn, so that none crowds the others out."""
    longest = max(map(len, lists), default=0)
    return [results[rank] for rank in range(longest) for results in lists if rank < len(results)]


def _gathered(result: SearchResult) -> GatheredSource:
    return GatheredSource(
        title=result.title,
        url=result.address,
        snippet=result.snippet,
        content=result.text,
        quality=result.quality,
        kind=result.kind,
        relevance=result.relevance,
        passages=result.passages,
        published=result.published,
        snapshot_hash=result.snapshot_hash,
        mentions=result.mentions,
        metadata=result.metadata,
    )
