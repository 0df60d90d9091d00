"""The SQLite store: one file, one writer thread, many readers."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from deep_research.errors import StoreReadOnlyError
from deep_research.forks import guard
from deep_research.logs import masked
from deep_research.state.journal import missing
from deep_research.store.base import (
    LEASE_SECONDS,
    Append,
    Command,
    Lane,
    RunRow,
    SavedPage,
    Store,
    StoredEvent,
    Watch,
    busy_error,
    refuse_completed,
)
from deep_research.store.listing import EVERY_RUN, RunCursor, RunFilter
from deep_research.store.owner import Owner
from deep_research.store.sqlite_rows import (
    NEXT_CLAIM,
    check_in_place,
    claim_values,
    damaged,
    mapped,
    prepare,
    row_of,
    run_row,
    saved_page,
    selection,
    stored_event,
)
from deep_research.store.writer import (
    FORK_WAIT_SECONDS,
    LOCK_TIMEOUT_SECONDS,
    StoppedError,
    Writer,
    connect,
    connect_read_only,
    log,
)

HEARTBEATS_PER_LEASE = 3  # so that a run does not lose its owner for one late renewal
CONTROL_INTERVAL_SECONDS = 0.05

_T = TypeVar("_T")


class SQLiteStore(Store):
    """``SQLiteStore(path)``; nothing is opened before it is first used. ``now`` gives epoch seconds.

    All other arguments are in seconds. ``lease_ttl`` is how long a run stays owned without a renewal, ``heartbeat`` the
    time between two renewals, ``control_interval`` the time between two looks for commands. ``lock_timeout`` is how long
    a write waits for other processes before it raises `StoreLockedError`.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        lease_ttl: float = LEASE_SECONDS,
        heartbeat: float | None = None,
        control_interval: float = CONTROL_INTERVAL_SECONDS,
        lock_timeout: float = LOCK_TIMEOUT_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self._ttl = self.lease = lease_ttl
        self._heartbeat = lease_ttl / HEARTBEATS_PER_LEASE if heartbeat is None else heartbeat
        self._interval = control_interval
        self._lock_timeout = lock_timeout
        self.now = now
        self._gate = threading.Lock()
        self._writer_class: Callable[..., Writer] = Writer
        self._writer: Writer | None = None
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._readers_made = 0
        self._is_read_only = False  # it can be read, and that is all
        guard(self)

    # Appends and ownership: the writer's work

    def open(self) -> None:
        self._open()

    def submit(self, appends: Sequence[Append]) -> None:
        self._with_writer(lambda writer: writer.hand_in(list(appends)))

    def acquire(self, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        def work(db: sqlite3.Connection) -> RunRow:
            row = run_row(db, run_id)
            now = self.now()
            if row.owned(now) and row.fence != over:
                raise busy_error(row)
            db.execute(
                "UPDATE runs SET owner = ?, fence = fence + 1, lease_until = ? WHERE run_id = ?",
                (owner.encode(), now + self._ttl, run_id),
            )
            db.execute("DELETE FROM commands WHERE run_id = ? AND kind = 'cancel'", (run_id,))
            return run_row(db, run_id)

        return self._write(work)

    def claim(self, owner: Owner, *, besides: Collection[str] = ()) -> RunRow | None:
        values = claim_values(self.now(), besides)
        with self._reader() as db:  # most looks find nothing, and need not wait for a writer
            if db.execute(NEXT_CLAIM, values).fetchone() is None:
                return None

        def work(db: sqlite3.Connection) -> RunRow | None:
            now = self.now()
            next_row = db.execute(NEXT_CLAIM, claim_values(now, besides)).fetchone()
            if next_row is None:  # another worker was faster
                return None
            (run_id,) = next_row
            db.execute(
                "UPDATE runs SET owner = ?, fence = fence + 1, lease_until = ?, claims = claims + 1, claimed_at = ?"
                " WHERE run_id = ?",
                (owner.encode(), now + self._ttl, now, run_id),
            )
            return run_row(db, run_id)

        return self._write(work)

    def release(self, lane: Lane) -> None:
        self.unwatch(lane)
        lane.closed = True

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE runs SET owner = NULL, lease_until = 0, claims = 0, seconds = coalesce(?, seconds)"
                " WHERE run_id = ? AND fence = ?",
                (lane.seconds, lane.run_id, lane.fence),
            )

        self._write(work)

    def watch(self, lane: Lane, watch: Watch) -> None:
        self._with_writer(lambda writer: writer.watch(lane, watch))

    def unwatch(self, lane: Lane) -> None:
        writer = self._writer
        if writer is not None:
            writer.unwatch(lane)

    def enqueue_command(self, run_id: str, kind: str, payload: str = "") -> int:
        def work(db: sqlite3.Connection) -> int:
            refuse_completed(run_row(db, run_id))
            cursor = db.execute(
                "INSERT INTO commands (run_id, kind, payload) VALUES (?, ?, ?)",
                (run_id, kind, masked(payload)),
            )
            return int(cursor.lastrowid or 0)

        return self._write(work)

    def pending_commands(self, run_id: str) -> list[Command]:
        with self._reader() as db:
            rows = db.execute(
                "SELECT id, run_id, kind, payload FROM commands WHERE run_id = ? ORDER BY id", (run_id,)
            )
            return [Command(*row) for row in rows.fetchall()]

    def answered_runs(self) -> list[str]:
        with self._reader() as db:
            rows = db.execute(
                "SELECT run_id FROM runs WHERE status = 'parked'"
                " AND run_id IN (SELECT run_id FROM commands WHERE kind = 'answer')"
            )
            return [run_id for (run_id,) in rows.fetchall()]

    def delete(self, run_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            row = run_row(db, run_id)
            if row.owned(self.now()):
                raise busy_error(row)
            db.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM commands WHERE run_id = ?", (run_id,))
            # Deleting is rare, so it looks through all links once; an index for it would cost every commit.
            db.execute(
                "DELETE FROM contents WHERE hash IN (SELECT hash FROM run_contents WHERE run_id = ?1)"
                " AND hash NOT IN (SELECT hash FROM run_contents WHERE run_id <> ?1)",
                (run_id,),
            )
            db.execute("DELETE FROM run_contents WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM pages WHERE hash NOT IN (SELECT hash FROM contents)")
            db.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))

        self._write(work)

    # Reading

    def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[StoredEvent]:
        with self._reader() as db:
            rows = db.execute(
                "SELECT seq, type, version, body FROM events WHERE run_id = ? AND seq > ?"
                " ORDER BY seq LIMIT ?",
                (run_id, after, -1 if limit is None else limit),
            ).fetchall()
        return [stored_event(run_id, *row) for row in rows]

    def run(self, run_id: str) -> RunRow:
        with self._reader() as db:
            return run_row(db, run_id)

    def runs(
        self,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        statement, values = selection(filter, after, limit, self.now())
        with self._reader() as db:
            rows = db.execute(statement, values).fetchall()
        return [row_of(row) for row in rows]

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        bodies = []
        with self._reader() as db:
            for content_hash in hashes:
                row = db.execute("SELECT body FROM contents WHERE hash = ?", (content_hash,)).fetchone()
                if row is None:
                    raise missing(content_hash)
                if not isinstance(row[0], bytes):
                    raise damaged(f"the text {content_hash[:12]} has the wrong type")
                bodies.append(row[0])
        return bodies

    def page(self, url: str) -> SavedPage | None:
        with self._reader() as db:
            return saved_page(db, url)

    def close(self) -> None:
        with self._gate:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.stop(self._drain_readers())
            elif self._is_read_only:
                for connection in self._drain_readers():
                    connection.close()

    # Opening

    def _open(self) -> Writer:
        writer = self._writer
        if writer is not None:
            return writer
        with self._gate:
            if self._writer is None:
                self._writer = self._make_writer()
            return self._writer

    def _make_writer(self) -> Writer:
        return self._writer_class(
            self.path, self._ttl, self._heartbeat, self._interval, self._lock_timeout, self.now
        )

    def _with_writer(self, use: Callable[[Writer], _T]) -> _T:
        """A writer that is being closed by another thread takes no more work; the next one does."""
        while True:
            try:
                return use(self._open())
            except StoppedError:
                continue

    def _write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return self._with_writer(lambda writer: writer.call(work))

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        if not self._is_read_only:
            try:
                check_in_place(self.path, self._open().file)
            except StoreReadOnlyError:
                if not self.path.exists():
                    raise
                self._is_read_only = True
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._new_reader()
        try:
            with mapped(self.path):
                yield connection
        finally:
            self._readers.put(connection)

    def _new_reader(self) -> sqlite3.Connection:
        with self._gate, mapped(self.path):
            read_only = self._is_read_only
            connection = connect_read_only(self.path) if read_only else connect(self.path, self._lock_timeout)
            connection.execute("PRAGMA query_only = 1")
            prepare(connection)
            self._readers_made += 1
            return connection

    def _drain_readers(self) -> list[sqlite3.Connection]:
        """The connections that nobody reads with at this moment."""
        connections = []
        while True:
            try:
                connections.append(self._readers.get_nowait())
            except queue.Empty:
                self._readers_made -= len(connections)
                return connections

    # Forks

    def before_fork(self) -> None:
        """Close every connection: the writer's after what it is doing, the readers' as they come back."""
        self._gate.acquire()
        if self._writer is not None:
            self._writer.pause()
        try:
            while self._readers_made:
                self._readers.get(timeout=FORK_WAIT_SECONDS).close()
                self._readers_made -= 1
        except queue.Empty:
            log.warning("forked_while_reading", path=str(self.path))

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._writer, self._readers, self._readers_made = None, queue.LifoQueue(), 0
        elif self._writer is not None:
            self._writer.go_on()
        self._gate.release()
