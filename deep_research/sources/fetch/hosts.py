"""Politeness: how many pages a host is asked for at a time and how fast, and leaving it alone when it says so.

What is known of a host is shared by all runs of the process. A host that says when to come back is waited for if that
is within `MAX_PAUSE_SECONDS`; its pages fail at once if it is later. One to which no connection was made several
times in a row is left alone for a while, and then tried with care: one more failure closes it again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from deep_research.errors import FetchError
from deep_research.forks import renew_in_children
from deep_research.limits import Gate
from deep_research.models.failures import retry_after
from deep_research.sources.fetch.client import Fetched
from deep_research.sources.fetch.guard import target_of
from deep_research.state.journal import utc_now

MAX_AT_ONCE = 4
MAX_PAUSE_SECONDS = 60.0  # seconds that a host is waited for
PAUSE_SECONDS = 5.0  # seconds, where a host says that it is too much and not for how long
MAX_CLOSED_SECONDS = 3_600.0
MAX_FAILURES = 3  # connections in a row that were not made
LEFT_ALONE_SECONDS = 60.0  # seconds after them
_MAX_HOSTS = 2_048  # that are remembered


@dataclass(slots=True)
class _Host:
    gate: Gate
    users: int = 0
    failures: int = 0
    closed_until: float = 0.0
    closed: str = ""


class Hosts:
    """Thread-safe, usable from several loops. ``clock`` gives seconds that only grow."""

    def __init__(
        self,
        *,
        at_once: int = MAX_AT_ONCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.at_once = at_once
        self._clock, self._sleep, self._now = clock, sleep, now
        self._lock = threading.Lock()
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        renew_in_children(self)

    @asynccontextmanager
    async def visit(
        self, url: str, *, delay: float | None = None
    ) -> AsyncIterator[Callable[[Fetched], None]]:
        """The place of one request, to be told its answer. ``delay`` is the time in seconds between two requests that
        the host asks for. What the request raises is taken note of. Raises `FetchError` while the host is left alone."""
        with self._hold(target_of(url).host) as host:
            self._check(host, url)
            host.gate.limit(self.at_once, 60.0 / delay if delay else None)
            async with host.gate.entered():
                self._check(host, url)  # those before may have met something
                try:
                    yield lambda page: self._note_answer(host, page.status, page.headers)
                except FetchError as error:
                    if error.data.get("trouble") == "connect":
                        self._missed(host)
                    raise

    def renew(self) -> None:
        """In a child process the lock is free, even if a thread of the parent held it."""
        self._lock = threading.Lock()
        for host in self._hosts.values():
            host.users = 0
            host.gate.renew()

    @contextmanager
    def _hold(self, name: str) -> Iterator[_Host]:
        """A host, which is not forgotten while somebody is there."""
        with self._lock:
            host = self._hosts.get(name)
            if host is None:
                host = self._hosts[name] = _Host(Gate(self.at_once, clock=self._clock, sleep=self._sleep))
                self._forget()
            else:
                self._hosts.move_to_end(name)
            host.users += 1
        try:
            yield host
        finally:
            with self._lock:
                host.users -= 1

    def _forget(self) -> None:
        """Drops the hosts that were not asked for longest. The lock is held."""
        over = len(self._hosts) - _MAX_HOSTS
        if over > 0:
            idle = [name for name, host in self._hosts.items() if not host.users][: over + 64]
            newest = next(reversed(self._hosts))
            for name in idle:
                if name != newest:
                    del self._hosts[name]

    def _check(self, host: _Host, url: str) -> None:
        with self._lock:
            left = host.closed_until - self._clock()
            if left > 0:
                raise FetchError(
                    f"{host.closed} It is left alone for {left:.0f} s more.",
                    url=url,
                    trouble="closed",
                    seconds=left,
                )

    def _note_answer(self, host: _Host, status: int, headers: Mapping[str, str]) -> None:
        with self._lock:
            host.failures = 0
        if status not in (429, 503):
            return
        wait = retry_after(headers, self._now())
        if wait is None and status == 429:
            wait = PAUSE_SECONDS
        if wait is None or wait <= 0:
            return
        if wait <= MAX_PAUSE_SECONDS:
            host.gate.pause(wait)
            return
        with self._lock:
            host.closed = f"The site asks to be left alone (status {status})."
            host.closed_until = self._clock() + min(wait, MAX_CLOSED_SECONDS)

    def _missed(self, host: _Host) -> None:
        with self._lock:
            host.failures += 1
            if host.failures >= MAX_FAILURES:
                host.closed = f"The site could not be reached {host.failures} times in a row."
                host.closed_until = self._clock() + LEFT_ALONE_SECONDS
