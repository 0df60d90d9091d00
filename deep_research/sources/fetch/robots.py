"""Rules of a site's robots.txt (RFC 9309).

A site whose file is not there, or not for us to see (4xx), allows everything. One that cannot be reached or answers with
a fault of its own (5xx) allows nothing for a while: `UNREACHED_SECONDS` or `FAULTY_SECONDS`.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from protego import Protego

from deep_research.errors import FetchError
from deep_research.forks import renew_in_children
from deep_research.limits import Gate
from deep_research.patterns import regex
from deep_research.sources.fetch.cache import lifetime
from deep_research.sources.fetch.client import Fetched, Fetcher
from deep_research.sources.fetch.guard import Target, target_of

TOKEN = "deep-research"  # noqa: S105 - the name by which rules are meant for us
MAX_DELAY_SECONDS = (
    10.0  # seconds; who asks for more gets this: a page read in minutes helps nobody's research
)
MAX_BYTES = 500 * 1024  # of a file that are looked at
UNREACHED_SECONDS, FAULTY_SECONDS = 60.0, 300.0
MIN_KEPT_SECONDS, MAX_KEPT_SECONDS = 3_600.0, 86_400.0
_MAX_ORIGINS = 2_048  # of which rules are kept
_KEPT_BYTES = 2_000_000  # of all files together; rules take up to forty times that in memory
_LARGE_BYTES = 32_768  # bytes, from which on reading the file would hold the loop
_OTHERS = "others"
_UNLIMITED = 1_000_000
_AGENT = regex(r"\s*user[ -]?agent(?![a-z])\s*:?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """Of one origin. ``closed`` says why nothing at all is allowed; ``until`` is by the clock."""

    parsed: Protego | None = None
    closed: str = ""
    delay: float | None = None
    until: float = 0.0
    size: int = 0


@dataclass(slots=True)
class _Asking:
    gate: Gate = field(default_factory=lambda: Gate(1))
    users: int = 0


class Robots:
    """The rules of sites, each asked for once and kept for a day at most. Thread-safe, usable from several loops."""

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, _Rules] = OrderedDict()
        self._size = 0
        self._asking: dict[str, _Asking] = {}
        renew_in_children(self)

    async def refusal(self, url: str) -> str:
        """Why the site does not let us read the page, as a sentence; "" when it does. Raises `Refused` for an address
        that may not be fetched at all."""
        target = target_of(url)
        rules = await self._rules(target)
        if rules.closed:
            return rules.closed
        if rules.parsed is None or rules.parsed.can_fetch(target.url, TOKEN):
            return ""
        return "The site's robots.txt asks programs not to read this page."

    def delay(self, url: str) -> float | None:
        """Seconds between two requests that the site asks for, at most `MAX_DELAY_SECONDS`; None when it does not, or its
        rules have not been asked for."""
        rules = self._fresh(_origin(target_of(url)))
        return rules.delay if rules else None

    def renew(self) -> None:
        """In a child process no request is under way, even if one of the parent's was."""
        self._lock = threading.Lock()
        self._asking = {}

    async def _rules(self, target: Target) -> _Rules:
        origin = _origin(target)
        if fresh_rules := self._fresh(origin):
            return fresh_rules
        with self._one_asking(origin) as gate:
            async with gate.entered():
                # Who was inside before may have brought them.
                if fresh_rules := self._fresh(origin):
                    return fresh_rules
                gate.limit(1, None)
                rules = await self._ask(origin)
                self._keep(origin, rules)
                gate.limit(_UNLIMITED, None)  # who waited has nothing left to wait for
                return rules

    async def _ask(self, origin: str) -> _Rules:
        try:
            page = await self._file(f"{origin}/robots.txt")
        except FetchError as error:
            if error.data.get("inner"):  # and so is every page of the site
                raise
            closed = f"The site's robots.txt could not be had, so it is left alone for now: {error.problem}"
            return _Rules(closed=closed, until=self._clock() + UNREACHED_SECONDS)
        if page.status >= 500:
            closed = (
                f"The site's robots.txt could not be had, so it is left alone for now (status {page.status})."
            )
            return _Rules(closed=closed, until=self._clock() + FAULTY_SECONDS)
        if page.status == 429:  # it allows everything, but is to be asked again soon
            return _Rules(until=self._clock() + FAULTY_SECONDS)
        until = self._clock() + min(max(lifetime(page.headers), MIN_KEPT_SECONDS), MAX_KEPT_SECONDS)
        if not 200 <= page.status < 300:
            return _Rules(until=until)
        return await _read(page, until)

    async def _file(self, url: str) -> Fetched:
        """The file, asked for once more when the connection broke: a whole site hangs on it."""
        try:
            return await self._fetcher.fetch(url, cut=MAX_BYTES)
        except FetchError as error:
            if error.data.get("trouble") != "broken":
                raise
        return await self._fetcher.fetch(url, cut=MAX_BYTES)

    def _fresh(self, origin: str) -> _Rules | None:
        with self._lock:
            rules = self._cache.get(origin)
            if rules is None or self._clock() >= rules.until:
                return None
            self._cache.move_to_end(origin)
            return rules

    def _keep(self, origin: str, rules: _Rules) -> None:
        with self._lock:
            if old := self._cache.pop(origin, None):
                self._size -= old.size
            self._cache[origin] = rules
            self._size += rules.size
            while len(self._cache) > _MAX_ORIGINS or (self._size > _KEPT_BYTES and len(self._cache) > 1):
                _, oldest = self._cache.popitem(last=False)
                self._size -= oldest.size

    @contextmanager
    def _one_asking(self, origin: str) -> Iterator[Gate]:
        """The gate before an origin's file, for as long as somebody stands at it."""
        with self._lock:
            asking = self._asking.setdefault(origin, _Asking())
            asking.users += 1
        try:
            yield asking.gate
        finally:
            with self._lock:
                asking.users -= 1
                if not asking.users and self._asking.get(origin) is asking:
                    del self._asking[origin]


def _origin(target: Target) -> str:
    return Target(target.scheme, target.host, target.port, "").url


async def _read(page: Fetched, until: float) -> _Rules:
    body = page.body
    if len(body) > MAX_BYTES:
        body = body[: body.rfind(b"\n", 0, MAX_BYTES) + 1]  # half a rule may forbid more than the whole
    parsed = await asyncio.to_thread(_parsed, body) if len(body) > _LARGE_BYTES else _parsed(body)
    delay = parsed.crawl_delay(TOKEN)
    return _Rules(
        parsed=parsed, delay=min(delay, MAX_DELAY_SECONDS) if delay else None, until=until, size=len(body)
    )


def _parsed(body: bytes) -> Protego:
    """The rules, with all agents but us and everybody become one: each rule is kept once for each agent of its group,
    and a file may name ten thousand of both."""
    lines = []
    for line in body.decode("utf-8-sig", "replace").splitlines():
        if match := _AGENT.match(line):
            # Whatever follows the name, as a version does, is not part of it.
            name = re.split(r"[\s/#]", line[match.end() :], maxsplit=1)[0].lower()
            line = f"User-agent: {name if name in (TOKEN, '*') else _OTHERS}"
        lines.append(line)
    return Protego.parse("\n".join(lines))
