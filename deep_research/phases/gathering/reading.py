"""From results to sources: pages are read, passages found in them, quality judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from deep_research.errors import ExtractionError, FetchError
from deep_research.evidence.copies import fingerprint
from deep_research.evidence.matching import matching
from deep_research.evidence.quality import QualityLists, SourceFacts, judged
from deep_research.phases.base import off_loop
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput, Snapshot, Unread
from deep_research.sources.search import Scholarly, SearchFilters, SearchResult
from deep_research.sources.search.filters import in_domains, in_time
from deep_research.sources.search.fusion import identity_of
from deep_research.state import SourceKind
from deep_research.state.journal import utc_now

if TYPE_CHECKING:
    from deep_research.sources.extract import Document
    from deep_research.sources.fetch.pages import WebPage

    Page = WebPage[Document]

TEXT_UNIT = 5_000  # characters that are looked through in the time of one small item
LONGEST_SNIPPET = 300


class Pages(Protocol):
    """What reads a page. Raises `FetchError`, `ExtractionError`."""

    async def read(self, url: str) -> Page: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """``pages`` None: nothing is fetched, and what providers say of a page is all there is of it. ``lists`` are the
    user's own judgements; ``clock`` gives the day by which something is old."""

    pages: Pages | None = None
    lists: QualityLists = field(default_factory=QualityLists)
    clock: Callable[[], datetime] = utc_now

    async def read(
        self, results: Sequence[SearchResult], *, query: str, limit: int, handoff: GathererInput
    ) -> tuple[list[GatheredSource], list[Unread]]:
        """The sources of ``results``, in their order: known ones as they are, and up to ``limit`` new ones with a text.
        Where a page cannot be read the next result takes its place."""
        unread: list[Unread] = []
        read: dict[int, GatheredSource] = {}
        waiting = [place for place, r in enumerate(results) if identity_of(r) not in handoff.known]
        wanted = limit
        while waiting and wanted > 0:
            now, waiting = waiting[:wanted], waiting[wanted:]
            outcomes = await asyncio.gather(*(self._source(results[n], query, handoff.filters) for n in now))
            for place, outcome in zip(now, outcomes, strict=True):
                if isinstance(outcome, Unread):
                    unread.append(outcome)
                else:
                    read[place] = outcome
                    wanted -= 1
        for place, result in enumerate(results):
            if identity_of(result) in handoff.known:
                read[place] = _plain(result)
        return [read[place] for place in sorted(read)], unread

    async def _source(
        self, result: SearchResult, query: str, filters: SearchFilters
    ) -> GatheredSource | Unread:
        page: Page | None = None
        at = self._page_of(result)
        if at is not None and self.pages is not None:
            try:
                page = await self.pages.read(at)
            except (FetchError, ExtractionError) as error:
                if result.text is None:
                    return Unread(url=at, why=error.problem)
            else:
                if (why := _unwanted(result, page, filters)) is not None:
                    return Unread(url=at, why=why)
        length = len((page.document.text if page else result.text) or "")
        return await off_loop(length // TEXT_UNIT, self._made, result, page, query)

    def _page_of(self, result: SearchResult) -> str | None:
        """Where there is more of a result's text than its provider gave, if anywhere."""
        if self.pages is None or result.kind is SourceKind.DOCUMENT:
            return None
        at = result.text_at or (result.address if result.text is None else None)
        return at if at and at.startswith(("http://", "https://")) else None

    def _made(self, result: SearchResult, page: Page | None, query: str) -> GatheredSource:
        source = _plain(result) if page is None else _with_page(result, page)
        if source.kind is SourceKind.WEB and (text := source.content):
            if not source.passages:
                spans, share = matching(query, text, source.title)
                relevance = source.relevance if source.relevance is not None else share
                source = source.model_copy(update={"passages": spans, "relevance": relevance})
            source = source.model_copy(update={"fingerprint": fingerprint(text)})
        judgement = judged(_facts(result, source, page, self.clock().date()), self.lists)
        metadata = source.metadata
        if source.kind is SourceKind.WEB:
            metadata = metadata | {"quality": "; ".join(judgement.signals)}
        return source.model_copy(update={"quality": judgement.quality, "metadata": metadata})


def _unwanted(result: SearchResult, page: Page, filters: SearchFilters) -> str | None:
    """Why a page that was read is not one that was asked for: what a service says of it is not always so."""
    published = page.document.published or result.published
    if not in_time(published, filters):
        return f"it is of {published.isoformat()}" if published else "it has no date"
    if page.final_url != result.address and not in_domains(page.final_url, filters):
        return "it leads to a site that is not wanted"
    return None


def _facts(result: SearchResult, source: GatheredSource, page: Page | None, today: date) -> SourceFacts:
    record = result.scholarly or Scholarly()
    author = page.document.author if page else ""
    return SourceFacts(
        address=result.address,
        kind=result.kind,
        published=source.published,
        authors=result.authors or ((author,) if author else ()),
        length=len(source.content) if source.content is not None else None,
        abstract_only=result.scholarly is not None and page is None,
        today=today,
        stated=result.quality,
        venue=record.venue,
        reviewed=record.reviewed,
        citations=record.citations,
        retracted=record.retracted,
    )


def _plain(result: SearchResult) -> GatheredSource:
    """A source as its provider gave it."""
    return GatheredSource(
        title=result.title,
        url=result.address,
        snippet=result.snippet,
        content=result.text,
        quality=result.quality,
        kind=result.kind,
        relevance=result.relevance,
        passages=result.passages,
        pages=result.pages,
        published=result.published,
        snapshot_hash=result.snapshot_hash,
        mentions=result.mentions,
        metadata=result.metadata | _told(result),
    )


def _with_page(result: SearchResult, page: Page) -> GatheredSource:
    """A source with what was read of it, and what its provider said where the page does not say."""
    document = page.document
    told = _told(result)
    told |= {"author": document.author} if document.author else {}
    told |= {"language": document.language} if document.language else {}
    told |= {"fetched_at": page.fetched_at.isoformat(timespec="seconds")}
    told |= {"fetched_from": page.final_url} if page.final_url != result.address else {}
    return GatheredSource(
        title=document.title or result.title,
        url=result.address,
        snippet=result.snippet or " ".join(document.text[:LONGEST_SNIPPET].split()),
        content=document.text,
        quality=result.quality,
        kind=result.kind,
        relevance=result.relevance,
        pages=document.pages,
        published=document.published or result.published,
        snapshot_hash=page.snapshot_hash,
        snapshot=Snapshot(
            url=page.url,
            found_at=page.final_url,
            at=page.fetched_at,
            headers=dict(page.headers),
            media_type=page.headers.get("content-type", "").partition(";")[0].strip().lower(),
            body=page.body,
        ),
        metadata=result.metadata | told,
    )


def _told(result: SearchResult) -> dict[str, str]:
    """What is known of a page of the web beside its text."""
    if result.kind is SourceKind.DOCUMENT:
        return {}
    record = result.scholarly
    facts = {
        "provider": result.provider,
        "author": ", ".join(result.authors[:5]),
        "language": result.language,
        "doi": record.doi if record else None,
        "venue": record.venue if record else None,
        "citations": str(record.citations) if record and record.citations is not None else None,
        "retracted": "yes" if record and record.retracted else None,
    }
    return {name: value for name, value in facts.items() if value}
