"""Library of a task: search, reading of pages, and the requests that it may still make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.phases.gathering.caps import Fetching, OneUse
from deep_research.phases.gathering.handoff import GathererInput
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.phases.gathering.tasks.resources import DataSources
from deep_research.phases.gathering.tasks.tool import Link, ToolResult
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.sources.search.combined_search import CORPUS, SearchOutcome

MOST_LINKS = 10  # of one search
SPARE = 2  # times as many results are asked for as are wanted, where pages have to be read
_OF_LINKS = ("address", "title", "snippet", "kind", "text_at", "published", "relevance", "provider")


@dataclass(frozen=True, slots=True)
class Library:
    """What the tools of one task work with: where is searched, how pages are read, what the run wants of sources, and the
    pages that the task may still ask for."""

    sources: DataSources
    reading: SourceReader
    handoff: GathererInput
    fetching: Fetching

    def request(self, query: str, limit: int, types: tuple[str, ...] | None = None) -> SearchRequest:
        return SearchRequest(
            query=query,
            limit=limit,
            source_types=self.handoff.source_types if types is None else types,
            known_addresses=self.handoff.known_addresses,
            filters=self.handoff.filters,
        )

    @property
    def spare(self) -> int:
        """How many times as many results are asked for as are wanted: some pages cannot be read."""
        return 1 if self.reading.pages is None else SPARE

    async def read(self, found: SearchOutcome, query: str, until: float) -> ToolResult:
        """Results as sources, with the pages that they lead to, of which as many are read as the task may still ask for;
        ``until`` is in the loop's time."""
        return await self._read(found, found.results, query, OneUse.of(self.fetching), until)

    async def result_of(self, found: SearchOutcome, query: str) -> ToolResult:
        """Results that have a text as sources, the others as links; where no pages are read, what is said of them is all
        there is."""
        unopened = self.reading.pages is None
        whole = [r for r in found.results if r.text is not None or unopened]
        result = await self._read(found, whole, query, Fetching(0))
        own = {address for name, address in found.private if name != CORPUS}
        links = [
            Link(**as_link(each), private=each.address in own)
            for each in found.results
            if each.text is None and not unopened
        ]
        unread = tuple(page for page in result.unread if not page.capped)
        return result.model_copy(update={"links": tuple(links[:MOST_LINKS]), "unread": unread})

    async def _read(
        self,
        found: SearchOutcome,
        results: Sequence[SearchResult],
        query: str,
        fetching: Fetching,
        until: float | None = None,
    ) -> ToolResult:
        sources, unread = await self.reading.read(
            results,
            query=query,
            limit=self.handoff.max_sources_per_query,
            handoff=self.handoff,
            until=until,
            fetching=fetching,
        )
        return ToolResult(
            sources=tuple(sources),
            unread=tuple(unread),
            notes=(*found.failures, *found.notes),
            private=tuple(dict.fromkeys(name for name, _ in found.private)),
            searches=1,
            fetches=fetching.attempts,
        )


def as_link(of: SearchResult | Link) -> dict[str, Any]:
    """The fields that results and links share."""
    return {name: getattr(of, name) for name in _OF_LINKS}
