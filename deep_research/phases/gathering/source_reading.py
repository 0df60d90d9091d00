"""From results to sources: pages are read, passages found in them, quality judged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from deep_research.calls import MAX_SMALL_ITEMS
from deep_research.errors import ExtractionError, FetchError
from deep_research.limits import Gate
from deep_research.logs import masked
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.collecting import bounded_document
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput, Snapshot, Unread
from deep_research.provenance.near_duplicates import copied, fingerprint
from deep_research.provenance.page_identity import without_credentials
from deep_research.provenance.quality import QualityLists, SourceFacts, judged, primary
from deep_research.retrieval.ranking import matching
from deep_research.sources.search import Scholarly, SearchFilters, SearchResult
from deep_research.sources.search.filters import in_domains, in_time
from deep_research.sources.search.fusion import identity_of
from deep_research.state import SourceKind, SourceQuality
from deep_research.state.journal import utc_now

if TYPE_CHECKING:
    from deep_research.sources.extract import Document
    from deep_research.sources.fetch.pages import WebPage

    Page = WebPage[Document]

TEXT_UNIT = 200  # characters that are looked through in the time of one small item
MAX_SNIPPET_CHARS = 300
UNDATED = "no day of publication"
OUTSIDE = "published outside of the days that were asked for"
COPY = "the same text as another page that is used"
LATE = "there was no time left to read it"
GONE = (404, 410)
EXTRACT = "extract"  # how a source was read: as its search service gives it
KEYED = "a key of yours stands in its address, which its site may not see"


class Pages(Protocol):
    """What reads a page. Raises `FetchError`, `ExtractionError`."""

    async def read(self, url: str) -> Page: ...


@dataclass(frozen=True, slots=True)
class SourceReader:
    """``pages`` None: nothing is fetched, and what providers say of a page is all there is of it. ``lists`` are the
    user's own judgements; ``clock`` gives the day by which something is old."""

    pages: Pages | None = None
    lists: QualityLists = field(default_factory=QualityLists)
    clock: Callable[[], datetime] = utc_now
    desk: Gate = field(default_factory=lambda: Gate(1))

    async def read(
        self,
        results: Sequence[SearchResult],
        *,
        query: str,
        limit: int,
        handoff: GathererInput,
        until: float | None = None,
        fetching: Fetching | None = None,
    ) -> tuple[list[GatheredSource], list[Unread]]:
        """The sources of ``results``, in their order: known ones as they are, and up to ``limit`` new ones with a text.
        Where a page cannot be read, or is a copy of another, of which the one that was published first stays, the next
        result takes its place, and where there is none what its provider gives of it. What is not read by ``until``, in
        the loop's time, is left unread, and so is what ``fetching`` does not allow; that is settled in the order of the
        results, before any of them is asked for."""
        fetching = fetching or Fetching()
        unread: list[Unread] = []
        failed: dict[int, Unread] = {}  # by the place of their result
        texts: dict[int, str] = {}  # fingerprints by the place of their result
        days: dict[int, date | None] = {}
        read: dict[int, GatheredSource] = {}
        is_known = [identity_of(result) in handoff.known_addresses for result in results]
        waiting = [place for place in range(len(results)) if not is_known[place]]
        remaining = limit
        while waiting and remaining > 0:
            now, capped = self._take_allowed(results, waiting, remaining, fetching)
            unread += capped
            requests = [(results[place], at) for place, at in now.items()]
            pages = await self._pages(requests, handoff.filters, until, fetching)
            fetched_pages: list[tuple[int, SearchResult, Page | None]] = []
            for place, page in zip(now, pages, strict=True):
                if isinstance(page, Unread):
                    failed[place] = page
                    continue
                same = next(
                    (at for at in texts if page and copied(page.document.fingerprint, texts[at])), None
                )
                day = (page.document.published if page else None) or results[place].published
                is_older = same is not None and (day or date.max) < (days[same] or date.min)
                if same is not None and not is_older:
                    unread.append(Unread(url=results[place].address, why=COPY, unwanted=True))
                    continue
                if same is not None:  # what was published first is no copy of what came later
                    unread.append(Unread(url=results[same].address, why=COPY, unwanted=True))
                    fetched_pages = [item for item in fetched_pages if item[0] != same]
                    remaining += read.pop(same, None) is not None
                    del texts[same]
                fetched_pages.append((place, results[place], page))
                if page and page.document.fingerprint:
                    texts[place], days[place] = page.document.fingerprint, day
            read |= await self._in_turn(fetched_pages, query, handoff.original_query)
            remaining -= len(fetched_pages)
        # Only now: a page that can be read is worth more than what a service gives of another.
        spare = [place for place in sorted(failed) if failed[place].extract][: max(0, remaining)]
        extracts = [(place, _extracted(results[place]), None) for place in spare]
        read |= await self._in_turn(extracts, query, handoff.original_query)
        for place, page in sorted(failed.items()):
            unread.append(page.model_copy(update={"extract": place in spare}))
        for place, result in enumerate(results):
            if is_known[place]:
                read[place] = _plain(result)
        return [read[place] for place in sorted(read)], unread

    def _take_allowed(
        self, results: Sequence[SearchResult], waiting: list[int], wanted: int, fetching: Fetching
    ) -> tuple[dict[int, str | None], list[Unread]]:
        """Takes of the places that are ``waiting`` so many as are ``wanted``, each with where its page is; and the pages
        before them that may not be asked for."""
        now: dict[int, str | None] = {}
        capped: list[Unread] = []
        while waiting and len(now) < wanted:
            place = waiting[0]
            at = self._page_of(results[place])
            over = fetching.refusal() if at else None
            if over and results[place].text is None:
                if now:
                    break  # what is asked for now may be given back
                url = without_credentials(at or results[place].address)
                capped.append(Unread(url=url, why=over, capped=True))
            else:
                now[place] = None if over else at
            waiting.pop(0)
        return now, capped

    async def _in_turn(
        self, found: Sequence[tuple[int, SearchResult, Page | None]], query: str, question: str
    ) -> dict[int, GatheredSource]:
        """Much text is looked through by one thread at a time: more would only keep the loop waiting longer."""
        work_size = len(found) * (len(query) + len(question))  # it is looked for names once for each
        if _size(found) + work_size // TEXT_UNIT <= MAX_SMALL_ITEMS:
            return self._build_sources(found, query, question)
        async with self.desk.entered():
            return await asyncio.to_thread(self._build_sources, found, query, question, pause=0.0)

    async def _pages(
        self,
        results: Sequence[tuple[SearchResult, str | None]],
        filters: SearchFilters,
        until: float | None,
        fetching: Fetching,
    ) -> list[Page | Unread | None]:
        """The pages of results, each with where its page is, side by side; see `_page`."""
        if all(at is None and _in_time(result, filters) for result, at in results):
            return [None] * len(results)
        left = None if until is None else max(0.0, until - asyncio.get_running_loop().time())
        fetching.want(sum(at is not None for _, at in results))
        tasks = [asyncio.create_task(self._page(result, at, filters, fetching)) for result, at in results]
        try:
            # What pages fail of is no exception here: one is of the reader itself, and ends all of it.
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
        for failure in [task.exception() for task in tasks if task.done() and not task.cancelled()]:
            if failure is not None:
                raise failure
        return [
            task.result()
            if task.done() and not task.cancelled()
            else _not_read(result, result.text_at or result.address, LATE, filters)
            for task, (result, _) in zip(tasks, results, strict=True)
        ]

    async def _page(
        self, result: SearchResult, at: str | None, filters: SearchFilters, fetching: Fetching
    ) -> Page | Unread | None:
        """The page of a result, why there is none, or None where it needs none or does without."""
        if at is None or self.pages is None:
            return (
                None if _in_time(result, filters) else Unread(url=result.address, why=UNDATED, unwanted=True)
            )
        if masked(at) != at:
            fetching.give_back()
            fetching.is_done()
            return _not_read(result, masked(at), KEYED, filters)
        fetching.begin(without_credentials(at))
        try:
            page = await self.pages.read(at)
        except (FetchError, ExtractionError) as error:
            if error.data.get("asked") is False:
                fetching.give_back()
            # The page is not there, or nobody should follow its address.
            is_gone = error.data.get("trouble") == "refused" or error.data.get("status") in GONE
            return _not_read(result, at, error.problem, filters, gone=is_gone)
        finally:
            fetching.is_done()
        if not page.was_requested:
            fetching.give_back()
        why = _unwanted(result, page, filters)
        return page if why is None else Unread(url=without_credentials(at), why=why, unwanted=True)

    def _page_of(self, result: SearchResult) -> str | None:
        """Where there is more of a result's text than its provider gave, if anywhere."""
        if self.pages is None or result.kind is SourceKind.DOCUMENT:
            return None
        at = result.text_at or (result.address if result.text is None else None)
        return at if at and at.startswith(("http://", "https://")) else None

    def _build_sources(
        self,
        found: Sequence[tuple[int, SearchResult, Page | None]],
        query: str,
        question: str,
        *,
        pause: float | None = None,
    ) -> dict[int, GatheredSource]:
        today = self.clock().date()
        sources = {}
        for place, result, page in found:
            sources[place] = self._source(result, page, query, question, today)
            if pause is not None:
                time.sleep(pause)  # threads that wait for the interpreter, the loop above all, go first
        return sources

    def _source(
        self, result: SearchResult, page: Page | None, query: str, question: str, today: date
    ) -> GatheredSource:
        source = _plain(result) if page is None else _with_page(result, page)
        catalogued = result.authors if result.scholarly is not None else ()
        why = primary(result.address, question, title=source.title, authors=catalogued)
        if why and source.kind is SourceKind.DOCUMENT:
            source = source.model_copy(update={"metadata": source.metadata | {"primary": why}})
        if (
            source.kind is SourceKind.DOCUMENT
            and source.quality is not SourceQuality.UNKNOWN
            and not self.lists
        ):
            return source
        facts = _facts(result, source, page, question, today)
        judgement = judged(facts, self.lists)
        values: dict[str, object] = {"quality": judgement.quality}
        if source.kind is SourceKind.WEB:
            details = {"quality": "; ".join(judgement.signals)}
            details |= {"primary": why} if why else {}
            details |= {"read": "abstract"} if facts.abstract_only and source.content else {}
            details |= {"read": EXTRACT} if facts.extract_only else {}
            values["metadata"] = source.metadata | details
        if source.kind is SourceKind.WEB and (text := source.content):
            if not source.passages:
                values["passages"], share = matching(query, text, source.title)
                values["relevance"] = share if source.relevance is None else source.relevance
            values["fingerprint"] = source.fingerprint or fingerprint(text)
        return source.model_copy(update=values)


def _size(found: Sequence[tuple[int, SearchResult, Page | None]]) -> int:
    """How much text work results are; documents of the user's own need none."""
    web = [(r, page) for _, r, page in found if r.kind is SourceKind.WEB]
    return sum(len((page.document.text if page else r.text) or "") for r, page in web) // TEXT_UNIT


def _in_time(result: SearchResult, filters: SearchFilters) -> bool:
    """Whether what is told of a result will do where nothing more is read of it."""
    return in_time(result.published, filters, web=result.kind is SourceKind.WEB)


def _not_read(
    result: SearchResult, at: str, why: str, filters: SearchFilters, *, gone: bool = False
) -> Unread | None:
    """Of a result whose page cannot be read; None where its provider gave the whole text. What it gives of a page that is
    ``gone`` is not used: a reader of the report could not look there either."""
    if result.text is not None:
        return None
    is_text = bool((result.extract or result.snippet).strip())
    usable = is_text and not gone and _in_time(result, filters)
    return Unread(url=without_credentials(at), why=why, extract=usable)


def _extracted(result: SearchResult) -> SearchResult:
    """A result whose text is what its provider gives of the page."""
    text = result.extract or result.snippet
    return replace(result, text=text, metadata=result.metadata | {"read": EXTRACT})


def _unwanted(result: SearchResult, page: Page, filters: SearchFilters) -> str | None:
    """Why a page that was read is not one that was asked for: what a service says of it is not always so."""
    published = page.document.published or result.published
    if not in_time(published, filters):
        return OUTSIDE if published else UNDATED
    if page.final_url != result.address and not in_domains(page.final_url, filters):
        return "it leads to a site that is not wanted"
    return None


def _facts(
    result: SearchResult, source: GatheredSource, page: Page | None, question: str, today: date
) -> SourceFacts:
    record = result.scholarly or Scholarly()
    # A text that its service gave of a page which could not be read.
    stands_in = (
        page is None and result.scholarly is None and result.text is not None and result.text_at is not None
    )
    author = page.document.author if page else ""
    return SourceFacts(
        address=result.address,
        kind=result.kind,
        published=source.published,
        authors=result.authors or ((author,) if author else ()),
        length=len(source.content) if source.content is not None else None,
        abstract_only=result.scholarly is not None and page is None,
        extract_only=stands_in or result.metadata.get("read") == EXTRACT,
        today=today,
        stated_quality=result.quality,
        venue=record.venue,
        reviewed=record.reviewed,
        citations=record.citations,
        retracted=record.retracted,
        question=question,
        catalogued=result.authors if result.scholarly is not None else (),
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
        metadata=result.metadata | _page_details(result),
    )


def _with_page(result: SearchResult, page: Page) -> GatheredSource:
    """A source with what was read of it, and what its provider said where the page does not say."""
    document = bounded_document(page.document)
    details = _page_details(result)
    details |= {"author": document.author} if document.author else {}
    details |= {"language": document.language} if document.language else {}
    details |= {"unread": document.unread} if document.unread else {}
    details |= {"page_labels": "\n".join(document.page_labels)} if document.page_labels else {}
    details |= {"fetched_at": page.fetched_at.isoformat(timespec="seconds")}
    found_at = without_credentials(page.final_url)  # a redirect may lead to a signed one, which is ours alone
    details |= {"fetched_from": found_at} if found_at != result.address else {}
    return GatheredSource(
        title=document.title or result.title,
        url=result.address,
        snippet=result.snippet or " ".join(document.text[:MAX_SNIPPET_CHARS].split()),
        content=document.text,
        quality=result.quality,
        kind=result.kind,
        relevance=result.relevance,
        pages=document.pages,
        fingerprint=document.fingerprint,
        published=document.published or result.published,
        snapshot_hash=page.snapshot_hash,
        snapshot=Snapshot(
            url=without_credentials(page.url),
            found_at=found_at,
            at=page.fetched_at,
            headers=dict(page.headers),
            media_type=page.headers.get("content-type", "").partition(";")[0].strip().lower(),
            body=page.body,
            shared=page.url == without_credentials(page.url) and page.final_url == found_at,
        ),
        metadata=result.metadata | details,
    )


def _page_details(result: SearchResult) -> dict[str, str]:
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
