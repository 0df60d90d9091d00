"""Pages of the web as documents: asked for politely, taken from what was saved where that may be, and read.

Every failure is a `FetchError` or an `ExtractionError` whose problem can stand in a report's list of pages that could not
be read.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from deep_research.errors import ExtractionError, FetchError
from deep_research.forks import renew_in_children
from deep_research.sources.fetch.cache import Freshness, NoPages, SavedPage, SavedPages, freshness, renewed
from deep_research.sources.fetch.client import LARGE_BYTES, Fetcher
from deep_research.sources.fetch.flights import Flights
from deep_research.sources.fetch.guard import Refused, target_of
from deep_research.sources.fetch.hosts import Hosts
from deep_research.sources.fetch.robots import Robots
from deep_research.sources.fetch.site_request import MAX_PAGES_AT_ONCE, Asker, Journey, request_url
from deep_research.state.journal import utc_now

SECONDS = 90.0  # for all of a page: waiting for its turn, asking, reading

DocumentT = TypeVar("DocumentT")
DocumentCo = TypeVar("DocumentCo", covariant=True)


class Extractor(Protocol[DocumentCo]):
    """Makes a document of bytes."""

    async def extract(self, raw: bytes, *, media_type: str = "", name: str = "") -> DocumentCo:
        """``media_type`` is the Content-Type as the server gave it, ``name`` the address. Raises `ExtractionError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage(Generic[DocumentT]):
    """A page that was read. ``url`` is the address as it was asked for, ``final_url`` where it was found;
    ``fetched_at`` is when its server last said that this is the page; ``snapshot_hash`` is the sha256 (hex) of ``body``.
    ``was_requested`` is False of a saved page that was used without asking."""

    url: str
    final_url: str
    fetched_at: datetime
    headers: Mapping[str, str]
    body: bytes
    snapshot_hash: str
    document: DocumentT
    was_requested: bool = True


class WebPages(Generic[DocumentT]):
    """Reads pages, at most ``at_once`` at a time. Usable from several loops; a page that several tasks of a loop ask for
    at once is fetched once."""

    def __init__(
        self,
        fetcher: Fetcher,
        robots: Robots,
        hosts: Hosts,
        extractor: Extractor[DocumentT],
        saved_pages: SavedPages | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        respect_robots: bool = True,
        seconds: float = SECONDS,
        at_once: int = MAX_PAGES_AT_ONCE,
    ) -> None:
        self._asker = Asker(fetcher, robots if respect_robots else None, hosts, at_once=at_once)
        self._extractor = extractor
        self._saved_pages = saved_pages or NoPages()
        self._clock = clock
        self._seconds = seconds
        self._flights: Flights[WebPage[DocumentT]] = Flights()
        renew_in_children(self)

    async def read(self, url: str) -> WebPage[DocumentT]:
        """The page at ``url``. Raises `FetchError` and `ExtractionError`."""
        address = request_url(url)
        try:
            address = target_of(address).url  # nothing at all is asked for the sake of a refused address
        except Refused as refusal:
            problem = f"Not fetched: {refusal}."
            raise FetchError(problem, url=url, refused=True, trouble="refused", asked=False) from None
        try:
            return await self._flights.join(address, lambda: self._in_time(address))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # It was not who asks that was cancelled, but the work.
            problem = "Not read: reading pages was closed."
            raise FetchError(problem, url=url, trouble="closed") from None

    async def aclose(self) -> None:
        """Gives up what is under way in the running loop: who waits for it gets a `FetchError`."""
        await self._flights.aclose()

    def renew(self) -> None:
        """In a child process nothing is under way."""
        self._asker.renew()
        self._flights.renew()

    async def _in_time(self, url: str) -> WebPage[DocumentT]:
        async with AsyncExitStack() as room:
            journey = Journey(url, room)
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._make_page(journey)
            except TimeoutError:
                problem = f"Not read within {self._seconds:g} s: {journey.stage}."
                raise FetchError(problem, url=url, trouble="slow") from None

    async def _make_page(self, journey: Journey) -> WebPage[DocumentT]:
        page, was_requested = await self._page(journey)
        journey.stage = "its text was still being read"
        try:
            document = await self._extractor.extract(
                page.body, media_type=page.headers.get("content-type", ""), name=page.final_url
            )
        except ExtractionError as error:
            error.data.setdefault("url", page.url)
            raise
        snapshot_hash = (
            _hash(page.body) if len(page.body) <= LARGE_BYTES else await asyncio.to_thread(_hash, page.body)
        )
        return WebPage(
            url=page.url,
            final_url=page.final_url,
            fetched_at=page.fetched_at,
            headers=page.headers,
            body=page.body,
            snapshot_hash=snapshot_hash,
            document=document,
            was_requested=was_requested,
        )

    async def _page(self, journey: Journey) -> tuple[SavedPage, bool]:
        """The page with its body, and whether its server was asked."""
        saved_page = await self._saved_pages.latest(journey.url)
        fresh = freshness(saved_page, self._clock()) if saved_page else None
        if saved_page and fresh is Freshness.FRESH:
            if len(saved_page.body) > LARGE_BYTES:
                await self._asker.take_large_place(journey)
            await self._asker.take_place(journey)
            return saved_page, False
        response = await self._asker.ask(journey, saved_page)
        now = self._clock()
        if saved_page and response.status == 304:
            return renewed(saved_page, response.headers, now), True
        came = SavedPage(
            url=journey.url,
            final_url=response.url,
            fetched_at=now,
            headers=response.headers,
            body=response.body,
        )
        return came, True


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
