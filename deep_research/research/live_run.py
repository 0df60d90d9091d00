"""Live runs: one reader of a run's log for all that listen to it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from deep_research.state import RunStatus
from deep_research.state.events import Event, Missed, Progress, decode_log
from deep_research.store import Feed, Store

MAX_WINDOW_EVENTS = 1_000  # recent ones that all listeners share
MAX_PAGE_EVENTS = 500  # that are read at a time
MAX_RING_NOTES = 256  # transient notes that wait for one listener
POLL_SECONDS = 0.2  # between looks at a run that another process works on
LIVE = (RunStatus.QUEUED, RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(slots=True)
class Item:
    """An event of the log, or a note that is not kept; ``json`` is made once for all listeners."""

    event: Event | Progress
    _json: bytes | None = None

    @property
    def json(self) -> bytes:
        if self._json is None:
            self._json = self.event.model_dump_json().encode()
        return self._json


@dataclass(slots=True, eq=False)
class _Listener:
    """What waits for one listener beside the window: notes, of which the oldest give way, and how many did."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    notes: deque[Item] = field(default_factory=deque)
    dropped: int = 0

    def add(self, note: Item) -> None:
        if len(self.notes) == MAX_RING_NOTES:
            self.notes.popleft()
            self.dropped += 1
        self.notes.append(note)


class _LiveRun:
    """A run that is listened to on one loop. It is read, and its events are decoded, once for all listeners, also where
    another process works on it. A listener that is slow costs the others nothing: it reads the events that have left the
    window by itself, and loses notes alone, of which `Missed` tells how many."""

    def __init__(self, store: Store, feed: Feed, run_id: str, after: int) -> None:
        self._store = store
        self._feed = feed
        self._run_id = run_id
        self._first = after + 1  # the number of the window's first event
        self._window: list[Item] = []
        self._listeners: set[_Listener] = set()
        self.over = False  # nothing more is read for those who join
        self._failure: BaseException | None = None
        self._task: asyncio.Task[None] | None = None

    async def listen(self, after: int) -> AsyncGenerator[Item]:
        """Everything after an event, until the run ends, parks or is left alone."""
        listener = _Listener()
        self._listeners.add(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._read())
        try:
            while True:
                listener.news.clear()
                items = await self._events_after(after)
                for item in items:
                    yield item
                after += len(items)
                while listener.notes:
                    if listener.dropped:
                        yield _missed(listener)
                    yield listener.notes.popleft()
                if items:
                    continue
                if self._failure is not None:
                    raise self._failure
                if self.over:
                    return
                await listener.news.wait()
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                self.over = True  # who joins now has another reader
                self._task.cancel()

    async def _events_after(self, after: int) -> Sequence[Item]:
        """The next events for a listener: of the window, or of the log where they have left it."""
        if after >= self._first - 1:
            return self._window[after - self._first + 1 :]
        page = min(MAX_PAGE_EVENTS, self._first - 1 - after)
        return await asyncio.to_thread(self._page, after, page)

    def _page(self, after: int, limit: int) -> list[Item]:
        rows = self._store.read(self._run_id, after=after, limit=limit)
        return [
            Item(event, row.body if row.version == event.CURRENT else None)
            for event, row in zip(decode_log(rows), rows, strict=True)
        ]

    async def _read(self) -> None:
        """Read the log until the run has ended or nobody listens."""
        watcher = self._feed.join(self._run_id)
        try:
            while not self.over:
                items, is_live = await asyncio.to_thread(self._look)
                self._keep(items)
                while watcher.notes:
                    note = Item(watcher.notes.popleft())
                    for listener in self._listeners:
                        listener.add(note)
                self.over = not (items or is_live)
                for listener in self._listeners:
                    listener.news.set()
                if not items and not self.over:
                    await watcher.wait(POLL_SECONDS)
        except Exception as error:
            self._failure = error
        finally:
            self.over = True
            self._feed.leave(self._run_id, watcher)
            for listener in self._listeners:
                listener.news.set()

    def _look(self) -> tuple[list[Item], bool]:
        """The next events, and whether more may come: asked before reading, so that what was committed until then is
        read."""
        last = self._first + len(self._window) - 1
        row = self._store.run(self._run_id)
        is_live = row.status(time.time()) in LIVE or row.last_seq > last
        return self._page(last, MAX_PAGE_EVENTS), is_live

    def _keep(self, items: Sequence[Item]) -> None:
        self._window += items
        surplus = len(self._window) - 2 * MAX_WINDOW_EVENTS
        if surplus > 0:
            del self._window[: surplus + MAX_WINDOW_EVENTS]
            self._first += surplus + MAX_WINDOW_EVENTS


class LiveRuns:
    """The runs of one engine that are listened to, by loop and run."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._store = store
        self._feed = feed
        self._runs: dict[tuple[asyncio.AbstractEventLoop, str], _LiveRun] = {}

    async def listen(self, run_id: str, after: int = 0) -> AsyncGenerator[Item]:
        """Everything in a run after an event, as it happens, until the run ends, parks or is left alone."""
        key = asyncio.get_running_loop(), run_id
        live = self._runs.get(key)
        if live is None or live.over:
            live = self._runs[key] = _LiveRun(self._store, self._feed, run_id, after)
        items = live.listen(after)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()
            if live.over and self._runs.get(key) is live:
                del self._runs[key]


def _missed(listener: _Listener) -> Item:
    count, listener.dropped = listener.dropped, 0
    note = listener.notes[0].event
    assert isinstance(note, Progress)
    return Item(Missed(phase=note.phase, count=count))
