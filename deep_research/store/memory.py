"""The store in memory: the same rules as on disk, gone with the process. For tests and throw-away runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from deep_research.errors import DeepResearchError, RunNotFoundError
from deep_research.logs import masked
from deep_research.state.journal import Content, PageHead, missing
from deep_research.state.phases import RunStatus
from deep_research.store.base import (
    Append,
    Command,
    Lane,
    NewRun,
    RunRow,
    SavedPage,
    Store,
    StoredEvent,
    Watch,
    busy_error,
    claim_order,
    page_of_runs,
    refuse_completed,
    refused_error,
)
from deep_research.store.listing import EVERY_RUN, RunCursor, RunFilter
from deep_research.store.owner import Owner


@dataclass(slots=True)
class _Run:
    row: RunRow
    events: list[StoredEvent] = field(default_factory=list)
    hashes: set[str] = field(default_factory=set)


class MemoryStore(Store):
    """``MemoryStore()``. A lease never runs out by itself here: its owner lives as long as the store."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._gate = threading.RLock()
        self._runs: dict[str, _Run] = {}
        self._contents: dict[str, bytes] = {}
        self._pages: dict[str, tuple[str, str, PageHead]] = {}  # by address: hash, media type, head
        self._commands: dict[int, Command] = {}
        self._last_command = 0
        self._watches: dict[str, tuple[Lane, Watch]] = {}

    def open(self) -> None:
        """Always open."""

    def submit(self, appends: Sequence[Append]) -> None:
        with self._gate:
            outcome = [(append, self._append(append)) for append in appends]
        for append, failure in outcome:
            append.outbox.deliver([(append, failure)])

    def _append(self, append: Append) -> DeepResearchError | None:
        lane = append.lane
        if lane.closed:
            return refused_error(lane, "an earlier append was refused")
        run = self._runs.get(lane.run_id)
        if run is None and append.new_run is not None:
            run = _Run(_new_row(append, append.new_run))
        why = None
        if run is None:
            why = "it was deleted"
        elif run.row.fence != lane.fence:
            why = "its fence was raised"
        elif run.row.last_seq != append.expected:
            why = f"its log is at {run.row.last_seq}, not {append.expected}"
        if run is None or why:
            lane.closed = True
            return refused_error(lane, why or "it was deleted")
        if append.projection.status is RunStatus.COMPLETED:
            append = append.with_leftover_commands(
                [c for c in self._commands.values() if c.run_id == lane.run_id]
            )
        self._runs.setdefault(lane.run_id, run)
        for content in append.contents:
            self._contents.setdefault(content.hash, content.body)
            run.hashes.add(content.hash)
            if content.page:
                self._remember(content, content.page)
        run.events += append.events
        run.row = replace(
            run.row,
            projection=append.projection,
            last_seq=append.expected + len(append.events),
            updated_at=append.at,
            places=run.row.places if append.places is None else append.places,
        )
        for command_id in append.consumed:
            self._commands.pop(command_id, None)
        if append.release:
            lane.closed = True
            self.unwatch(lane)
            run.row = replace(run.row, owner=None, lease_until=0.0, claims=0)
        return None

    def acquire(self, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        with self._gate:
            run = self._get(run_id)
            if run.row.owned(self.now()) and run.row.fence != over:
                raise busy_error(run.row)
            run.row = replace(run.row, owner=owner, fence=run.row.fence + 1, lease_until=float("inf"))
            self._commands = {
                c.id: c for c in self._commands.values() if not (c.run_id == run_id and c.kind == "cancel")
            }
            row = run.row
            loser = self._watches.pop(run_id, None)
        if loser is not None:
            lane, watch = loser
            lane.closed = True
            watch.on_lost()
        return row

    def claim(self, owner: Owner, *, besides: Collection[str] = ()) -> RunRow | None:
        with self._gate:
            now, answered_ids = self.now(), set(self.answered_runs())
            for row in claim_order(self.runs(), answered_ids, now):
                if row.run_id in besides:
                    continue
                acquired_row = self.acquire(row.run_id, owner)
                run = self._get(row.run_id)
                run.row = replace(acquired_row, claims=acquired_row.claims + 1, claimed_at=now)
                return run.row
        return None

    def release(self, lane: Lane) -> None:
        with self._gate:
            self.unwatch(lane)
            lane.closed = True
            run = self._runs.get(lane.run_id)
            if run is not None and run.row.fence == lane.fence:
                projection = run.row.projection
                if lane.seconds is not None:
                    projection = replace(projection, seconds=lane.seconds)
                run.row = replace(run.row, owner=None, lease_until=0.0, claims=0, projection=projection)

    def watch(self, lane: Lane, watch: Watch) -> None:
        with self._gate:
            self._watches[lane.run_id] = lane, watch
            waiting = [c for c in self._commands.values() if c.run_id == lane.run_id]
        for command in waiting:
            self._tell(watch, command)

    def unwatch(self, lane: Lane) -> None:
        with self._gate:
            entry = self._watches.get(lane.run_id)
            if entry is not None and entry[0] is lane:
                del self._watches[lane.run_id]

    def enqueue_command(self, run_id: str, kind: str, payload: str = "") -> int:
        with self._gate:
            refuse_completed(self._get(run_id).row)
            self._last_command += 1
            command = Command(self._last_command, run_id, kind, masked(payload))
            self._commands[command.id] = command
            entry = self._watches.get(run_id)
        if entry is not None:
            self._tell(entry[1], command)
        return command.id

    def pending_commands(self, run_id: str) -> list[Command]:
        with self._gate:
            return [command for command in self._commands.values() if command.run_id == run_id]

    @staticmethod
    def _tell(watch: Watch, command: Command) -> None:
        if command.id not in watch.seen_ids:
            watch.seen_ids.add(command.id)
            watch.on_command(command)

    def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[StoredEvent]:
        with self._gate:
            run = self._runs.get(run_id)
            events = run.events[max(after, 0) :] if run else []
            return events if limit is None else events[:limit]

    def run(self, run_id: str) -> RunRow:
        with self._gate:
            return self._get(run_id).row

    def runs(
        self,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        with self._gate:
            rows = [run.row for run in self._runs.values()]
        return page_of_runs(rows, filter, after, limit, self.now())

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        with self._gate:
            for content_hash in hashes:
                if content_hash not in self._contents:
                    raise missing(content_hash)
            return [self._contents[content_hash] for content_hash in hashes]

    def page(self, url: str) -> SavedPage | None:
        with self._gate:
            if url not in self._pages:
                return None
            content_hash, media_type, head = self._pages[url]
            return SavedPage(head, media_type, self._contents[content_hash])

    def delete(self, run_id: str) -> None:
        with self._gate:
            run = self._get(run_id)
            if run.row.owned(self.now()):
                raise busy_error(run.row)
            del self._runs[run_id]
            used_hashes = {content_hash for other in self._runs.values() for content_hash in other.hashes}
            for content_hash in run.hashes - used_hashes:
                del self._contents[content_hash]
            self._pages = {url: p for url, p in self._pages.items() if p[0] in self._contents}
            self._commands = {c.id: c for c in self._commands.values() if c.run_id != run_id}

    def close(self) -> None:
        """Nothing is held outside memory, so nothing is lost by closing."""

    def _remember(self, content: Content, head: PageHead) -> None:
        current = self._pages.get(head.url)
        if current is None or head.at >= current[2].at:
            self._pages[head.url] = content.hash, content.media_type, head

    def _get(self, run_id: str) -> _Run:
        if run_id not in self._runs:
            raise RunNotFoundError.of(run_id)
        return self._runs[run_id]


def _new_row(append: Append, new: NewRun) -> RunRow:
    return RunRow(
        run_id=append.lane.run_id,
        query=new.query,
        projection=append.projection,
        last_seq=0,
        created_at=append.at,
        updated_at=append.at,
        fence=append.lane.fence,
        owner=append.lane.owner,
        lease_until=float("inf"),
        user_id=new.user_id,
        session_id=new.session_id,
        places=new.places,
    )
