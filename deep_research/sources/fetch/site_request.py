"""Asking a site for a page: by its rules, in its turn, and every redirect looked at before it is followed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from deep_research.errors import FetchError
from deep_research.limits import Gate
from deep_research.patterns import regex
from deep_research.sources.fetch.cache import SavedPage, conditions
from deep_research.sources.fetch.client import Fetched, Fetcher, too_many_redirects
from deep_research.sources.fetch.hosts import Hosts
from deep_research.sources.fetch.robots import Robots

# Pages under way, whatever their hosts. Half as many that came are read.
MAX_PAGES_AT_ONCE = 32
# Of these, pages of more than `LARGE` bytes, from when that is seen until they have been read.
MAX_LARGE_AT_ONCE = 3
_UNWRITTEN = regex(r"[^\x21-\x7e]|[\"<>^`{|}]")
_NOT_LET = frozenset((401, 402, 403, 407, 451))
_GONE = frozenset((404, 410))


@dataclass(slots=True)
class Journey:
    """The way to one page. ``stage`` says what has not happened yet; ``room`` holds its place among the pages that are
    read, from when it has come."""

    url: str
    room: AsyncExitStack
    stage: str = "it was looked for among the saved ones"
    large: bool = False


class Asker:
    """Asks for pages. Usable from several loops."""

    def __init__(
        self, fetcher: Fetcher, robots: Robots | None, hosts: Hosts, *, at_once: int = MAX_PAGES_AT_ONCE
    ) -> None:
        self._fetcher, self._robots, self._hosts = fetcher, robots, hosts
        self._asking, self._reading = Gate(at_once), Gate(max(1, at_once // 2))
        self._large = Gate(MAX_LARGE_AT_ONCE)

    async def ask(self, journey: Journey, saved_page: SavedPage | None) -> Fetched:
        """The page at the end of the redirects, or the word (304) that it is the ``saved_page``. Every host on the way
        has its say. Raises `FetchError`."""
        url, most = journey.url, self._fetcher.limits.redirects
        for _ in range(most + 1):
            # What was told by the page's own server is said to no other.
            condition_headers = conditions(saved_page) if saved_page and saved_page.final_url == url else {}
            response = await self._ask_server(journey, url, condition_headers)
            if response.location is None:
                if not (response.status == 304 and condition_headers):
                    _check(response, journey.url)
                return response
            url = response.location
        raise too_many_redirects(journey.url, most)

    async def take_place(self, journey: Journey) -> None:
        """Waits until the page may be read."""
        journey.stage = "its turn to be read did not come"
        await journey.room.enter_async_context(self._reading.entered())

    async def take_large_place(self, journey: Journey) -> None:
        """Waits until there is memory for a large page."""
        if not journey.large:
            journey.large = True
            await journey.room.enter_async_context(self._large.entered())

    def renew(self) -> None:
        """In a child process nothing is under way."""
        self._large.renew()
        self._asking.renew()
        self._reading.renew()

    async def _ask_server(self, journey: Journey, url: str, headers: Mapping[str, str]) -> Fetched:
        """The answer of one server, asked once more where that may help."""
        try:
            response = await self._once(journey, url, headers)
        except FetchError as error:
            if error.data.get("trouble") != "broken":
                raise
            return await self._once(journey, url, headers)
        if _once_more(response):
            return await self._once(journey, url, headers)
        return response

    async def _once(self, journey: Journey, url: str, headers: Mapping[str, str]) -> Fetched:
        delay = None
        if self._robots:
            journey.stage = "the site's robots.txt did not come"
            if refusal := await self._robots.refusal(url):
                raise FetchError(refusal, url=journey.url, trouble="robots")
            delay = self._robots.delay(url)
        journey.stage = "its turn at the site did not come"
        async with self._hosts.visit(url, delay=delay) as note_answer, self._asking.entered():
            journey.stage = "the site did not answer"
            response = await self._fetcher.one(
                url, headers=headers, large=partial(self.take_large_place, journey)
            )
            note_answer(response)
            if response.status == 304 or 200 <= response.status < 300:
                # Who waits to be read keeps its place at the site, so that no more bodies pile up than are read.
                await self.take_place(journey)
            return response


def request_url(url: str) -> str:
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


def _once_more(response: Fetched) -> bool:
    """Whether a site may do better the second time. Who says when to come back means it; the host's gate waits."""
    return response.status >= 500 or (response.status == 429 and "retry-after" in response.headers)


def _check(response: Fetched, url: str) -> None:
    """Raises `FetchError` for what is no page, in words for a reader."""
    status = response.status
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
