"""Pages of the web as documents: asked for politely, taken from what was saved where that may be, and read.

Every failure is a `FetchError` or an `ExtractionError` whose problem can stand in a report's list of pages that could not
be read.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar

from deep_research.errors import ExtractionError, FetchError
from deep_research.limits import Gate
from deep_research.sources.fetch.cache import (
    Freshness,
    NoPages,
    SavedPage,
    SavedPages,
    conditions,
    freshness,
    renewed,
)
from deep_research.sources.fetch.client import Fetched, Fetcher, too_many_redirects
from deep_research.sources.fetch.flights import Flights
from deep_research.sources.fetch.guard import Refused, target_of
from deep_research.sources.fetch.hosts import Hosts
from deep_research.sources.fetch.robots import Robots
from deep_research.state.journal import utc_now

SECONDS = 90.0  # for all of a page: waiting for its turn, asking, reading
ASKED_AT_ONCE = 32  # pages under way, whatever their hosts: each may take ten megabytes
READ_AT_ONCE = 16  # pages that came and are being read
_UNWRITTEN = re.compile(r"[^\x21-\x7e]|[\"<>^`{|}]")
_NOT_LET = frozenset((401, 402, 403, 407, 451))
_GONE = frozenset((404, 410))

DocumentT = TypeVar("DocumentT")
DocumentCo = TypeVar("DocumentCo", covariant=True)


class Extractor(Protocol[DocumentCo]):
    """Makes a document of bytes."""

    async def extract(self, raw: bytes, *, media_type: str = "", name: str = "") -> DocumentCo:
        """``media_type`` is the Content-Type as the server gave it, ``name`` the address. Raises `ExtractionError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage(Generic[DocumentT]):
    """A page that was read. ``url`` is the address asked for, ``final_url`` where it was found; ``fetched_at`` is when
    its server last said that this is the page; ``snapshot_hash`` is the sha256 (hex) of ``body``. ``asked`` is False of
    a saved page that was used without asking."""

    url: str
    final_url: str
    fetched_at: datetime
    headers: Mapping[str, str]
    body: bytes
    snapshot_hash: str
    document: DocumentT
    asked: bool = True


class WebPages(Generic[DocumentT]):
    """Reads pages. Usable from several loops; a page that several tasks of a loop ask for at once is fetched once."""

    def __init__(
        self,
        fetcher: Fetcher,
        robots: Robots,
        hosts: Hosts,
        extractor: Extractor[DocumentT],
        saved: SavedPages | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        respect_robots: bool = True,
        seconds: float = SECONDS,
    ) -> None:
        self._fetcher, self._robots, self._hosts = fetcher, robots, hosts
        self._extractor = extractor
        self._saved = saved or NoPages()
        self._clock = clock
        self._respect_robots = respect_robots
        self._seconds = seconds
        self._asking, self._reading = Gate(ASKED_AT_ONCE), Gate(READ_AT_ONCE)
        self._flights: Flights[WebPage[DocumentT]] = Flights()

    async def read(self, url: str) -> WebPage[DocumentT]:
        """The page at ``url``. Raises `FetchError` and `ExtractionError`."""
        address = written(url)
        try:
            address = target_of(address).url  # nothing at all is asked for the sake of a refused address
        except Refused as refusal:
            problem = f"Not fetched: {refusal}."
            raise FetchError(problem, url=url, refused=True, trouble="refused") from None
        return await self._flights.join(address, lambda: self._in_time(address))

    async def aclose(self) -> None:
        """Gives up what is under way in the running loop."""
        await self._flights.aclose()

    def after_fork(self) -> None:
        """In a child process nothing is under way."""
        for part in (self._asking, self._reading, self._flights):
            part.after_fork()

    async def _in_time(self, url: str) -> WebPage[DocumentT]:
        journey = _Journey(self, url)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._made(journey)
        except TimeoutError:
            problem = f"Not read within {self._seconds:g} s: {journey.stage}."
            raise FetchError(problem, url=url, trouble="slow") from None

    async def _made(self, journey: _Journey[DocumentT]) -> WebPage[DocumentT]:
        async with AsyncExitStack() as room:
            page, asked = await journey.page(room)
            journey.stage = "its text was still being read"
            try:
                document = await self._extractor.extract(
                    page.body, media_type=page.headers.get("content-type", ""), name=page.final_url
                )
            except ExtractionError as error:
                error.data.setdefault("url", page.url)
                raise
        return WebPage(
            url=page.url,
            final_url=page.final_url,
            fetched_at=page.fetched_at,
            headers=page.headers,
            body=page.body,
            snapshot_hash=hashlib.sha256(page.body).hexdigest(),
            document=document,
            asked=asked,
        )


class _Journey(Generic[DocumentT]):
    """The way to one page. ``stage`` says what it waits for."""

    def __init__(self, pages: WebPages[Any], url: str) -> None:
        self._of = pages
        self._url = url
        self.stage = "it was looked for among the saved ones"

    async def page(self, room: AsyncExitStack) -> tuple[SavedPage, bool]:
        """The page with its body, and whether its server was asked. A place for reading it is taken in ``room``."""
        held = await self._of._saved.saved(self._url)
        fresh = freshness(held, self._of._clock()) if held else None
        if held and fresh is Freshness.FRESH:
            await room.enter_async_context(self._of._reading.entered())
            return held, False
        if fresh is Freshness.NEVER:
            held = None
        found = await self._followed(held, room)
        now = self._of._clock()
        if found.status == 304 and held:
            return renewed(held, found.headers, now), True
        _check(found, self._url)
        return SavedPage(
            url=self._url, final_url=found.url, fetched_at=now, headers=found.headers, body=found.body
        ), True

    async def _followed(self, held: SavedPage | None, room: AsyncExitStack) -> Fetched:
        """The answer at the end of the redirects; every host on the way has its say."""
        url, most = self._url, self._of._fetcher.limits.redirects
        for _ in range(most + 1):
            # What was told by the page's own server is said to no other.
            found = await self._asked(url, conditions(held) if held and held.final_url == url else {}, room)
            if found.location is None:
                return found
            url = found.location
        raise too_many_redirects(self._url, most)

    async def _asked(self, url: str, headers: Mapping[str, str], room: AsyncExitStack) -> Fetched:
        """The answer of one server, asked once more where that may help."""
        try:
            found = await self._once(url, headers, room)
        except FetchError as error:
            if error.data.get("trouble") != "broken":
                raise
            return await self._once(url, headers, room)
        if _once_more(found):
            return await self._once(url, headers, room)
        return found

    async def _once(self, url: str, headers: Mapping[str, str], room: AsyncExitStack) -> Fetched:
        pages = self._of
        delay = None
        if pages._respect_robots:
            self.stage = "the site's robots.txt did not come"
            if refusal := await pages._robots.refusal(url):
                raise FetchError(refusal, url=self._url, trouble="robots")
            delay = pages._robots.delay(url)
        self.stage = "its turn at the site did not come"
        async with pages._hosts.visit(url, delay=delay) as answered, pages._asking.entered():
            self.stage = "the site did not answer"
            found = await pages._fetcher.one(url, headers=headers)
            answered(found)
            if found.status == 304 or 200 <= found.status < 300:
                self.stage = "its turn to be read did not come"
                # Who waits to be read keeps its place at the site, so that no more bodies pile up than are read.
                await room.enter_async_context(pages._reading.entered())
            return found


def written(url: str) -> str:
    """An address as it is asked for: without fragment, and what people and pages write as it is, such as spaces and
    letters beyond ASCII, escaped behind the host."""
    url = url.strip().partition("#")[0]
    scheme, mark, rest = url.partition("://")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    tail = rest[cut:]
    # Breaks within an address are no slip of the pen; the guard refuses them.
    if not mark or any(c in tail for c in "\r\n\t\0"):
        return url
    return f"{scheme}://{rest[:cut]}{_UNWRITTEN.sub(_escaped, tail)}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _once_more(found: Fetched) -> bool:
    """Whether a site may do better the second time. Who says when to come back means it; the host's gate waits."""
    return found.status >= 500 or (found.status == 429 and "retry-after" in found.headers)


def _check(found: Fetched, url: str) -> None:
    """Raises `FetchError` for what is no page, in words for a reader."""
    status = found.status
    if 200 <= status < 300:
        return
    try:
        phrase = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    if status in _NOT_LET:
        problem = f"The site does not let us read it ({phrase})."
    elif status in _GONE:
        problem = f"The page is gone ({phrase})."
    elif status == 429:
        problem = f"The site was asked too often ({phrase})."
    elif status >= 500:
        problem = f"The site has a fault ({phrase})."
    else:
        problem = f"The site gave no page ({phrase})."
    raise FetchError(problem, url=url, status=status, trouble="status")
