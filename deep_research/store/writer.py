"""The writing thread of a SQLite database.

It drains whatever was handed in from all runs into one transaction (group commit), so a thousand runs cost one
fsync a batch. The same thread renews leases and looks for commands left by other processes.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from deep_research.errors import (
    DeepResearchError,
    StoreError,
)
from deep_research.locks import FileLock
from deep_research.logs import get_log
from deep_research.state.phases import RunStatus
from deep_research.store.base import (
    Append,
    Command,
    Lane,
    NewRun,
    Outbox,
    Watch,
    refused_error,
)
from deep_research.store.listing import utc_text
from deep_research.store.migrations import migrate, refuse_foreign
from deep_research.store.sqlite_rows import (
    INSERT_RUN,
    REMEMBER_PAGE,
    SET_PROJECTION,
    check_in_place,
    file_of,
    mapped,
    page_row,
    places_row,
    prepare,
    projected,
    typed,
)

MAX_BATCH = 256
CHECKPOINT_BYTES = 16 * 1024 * 1024
LOCK_TIMEOUT_SECONDS = 30.0
FORK_WAIT_SECONDS = 10.0

_T = TypeVar("_T")
log = get_log("store")


def wal_needs_lock(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite has the WAL-reset bug (before 3.51.3, and the withdrawn 3.52.0)."""
    return version < (3, 51, 3) or version[:3] == (3, 52, 0)


@dataclass(frozen=True, slots=True)
class _Job:
    """A call to make on the writer's connection, inside a transaction of its own."""

    work: Callable[[sqlite3.Connection], Any]
    future: Future[Any]


class StoppedError(Exception):
    """The writer was stopped before it took the work: a new one has to be opened."""


@dataclass(frozen=True, slots=True)
class _Pause:
    """The writer lets go of its connection when it gets here, until it is over."""

    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class Writer:
    """The thread that owns the writing connection."""

    def __init__(
        self,
        path: Path,
        ttl: float,
        heartbeat: float,
        interval: float,
        lock_timeout: float,
        now: Callable[[], float],
    ) -> None:
        self._path = path
        self._ttl, self._heartbeat, self._interval, self._now = ttl, heartbeat, interval, now
        self._lock_timeout = lock_timeout
        self._queue: queue.SimpleQueue[list[Append] | _Job | _Pause | None] = queue.SimpleQueue()
        self._intake = threading.Lock()
        self._stopping = False
        self._watches: dict[str, tuple[Lane, Watch]] = {}
        self._watch_gate = threading.Lock()
        self._seen_commands = -1, -1
        self._next_beat = 0.0
        self._next_look = 0.0
        self._readers: list[sqlite3.Connection] = []
        self._pause = _Pause()
        self._lock: FileLock | None = None
        self.file: os.stat_result | None = None  # that was opened
        self._db: sqlite3.Connection | None = self._connect()
        self._thread = threading.Thread(target=self._work, name="deep-research-writer", daemon=True)
        self._thread.start()

    def _connect(self) -> sqlite3.Connection:
        with mapped(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if wal_needs_lock():
                lock = self._path.with_name(self._path.name + ".lock")
                self._lock = FileLock(lock, timeout=self._lock_timeout)
            try:
                with self._locked():
                    return self._prepared()
            except BaseException:
                self._unlock()
                raise

    def _prepared(self) -> sqlite3.Connection:
        if not self._path.exists():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = connect(self._path, self._lock_timeout)
        try:
            if self._lock:
                connection.execute("PRAGMA wal_autocheckpoint = 0")
            migrate(connection)
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        self.file = file_of(self._path)
        return connection

    # Called from any thread

    def hand_in(self, appends: list[Append]) -> None:
        self._put(appends)

    def call(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        future: Future[_T] = Future()
        self._put(_Job(work, future))
        return future.result()

    def _put(self, item: list[Append] | _Job | _Pause | None) -> None:
        with self._intake:
            if self._stopping:
                raise StoppedError
            self._stopping = item is None
            self._queue.put(item)

    def watch(self, lane: Lane, watch: Watch) -> None:
        with self._watch_gate:
            if not self._watches:
                self._next_beat = time.monotonic() + self._heartbeat
            self._watches[lane.run_id] = lane, watch
            self._seen_commands = -1, -1
            self._next_look = 0.0  # what waits for the run reaches it before its first unit
        self._put([])  # wake the thread, so that it starts to look

    def unwatch(self, lane: Lane) -> None:
        with self._watch_gate:
            entry = self._watches.get(lane.run_id)
            if entry is not None and entry[0] is lane:
                del self._watches[lane.run_id]

    def stop(self, readers: list[sqlite3.Connection]) -> None:
        """Do what was handed in, close everything, and end."""
        self._readers = readers
        self._put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)

    def pause(self) -> None:
        """Do what was handed in, close the connection, and wait for `go_on`."""
        self._pause = _Pause()
        self._put(self._pause)
        if not self._pause.reached.wait(FORK_WAIT_SECONDS):
            log.warning("forked_while_writing", path=str(self._path))

    def go_on(self) -> None:
        self._pause.over.set()

    # The thread

    def _work(self) -> None:
        stopping = False
        while not stopping:
            appends, work, stopping = self._drain()
            if appends:
                self._commit(appends)
            if isinstance(work, _Job):
                self._do(work)
            elif work is not None:
                self._close()
                work.reached.set()
                work.over.wait()
            self._tend()
        self._close()

    def _close(self) -> None:
        """Closing the last connection empties the write-ahead log, so it is a write like any other."""
        connections = [*self._readers, *([self._db] if self._db else [])]
        self._readers, self._db = [], None
        try:
            with mapped(self._path), self._locked():
                for connection in connections:
                    connection.close()
        except StoreError as error:
            log.warning("close_failed", error=str(error))
        self._unlock()

    def _unlock(self) -> None:
        if self._lock:
            self._lock.close()

    def _drain(self) -> tuple[list[Append], _Job | _Pause | None, bool]:
        """Wait for work, then take what is there: appends up to a full batch, and what comes next in the queue
        after them."""
        appends: list[Append] = []
        timeout: float | None = None
        if self._watches:
            timeout = max(0.0, min(self._next_look, self._next_beat) - time.monotonic())
        try:
            item = self._queue.get(timeout=timeout)
            while True:
                if item is None:
                    return appends, None, True
                if isinstance(item, _Job | _Pause):
                    return appends, item, False
                appends += item
                if len(appends) >= MAX_BATCH:
                    break
                item = self._queue.get_nowait()
        except queue.Empty:
            pass
        return appends, None, False

    def _locked(self) -> AbstractContextManager[None]:
        return self._lock.hold() if self._lock else nullcontext()

    def _connection(self) -> sqlite3.Connection:
        """The connection; a new one after a fork."""
        if self._db is None:
            self._db = self._connect()
        return self._db

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = self._connection()
        check_in_place(self._path, self.file)
        with mapped(self._path), self._locked():
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                self.commit_transaction(db)
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            self._checkpoint(db)

    def commit_transaction(self, db: sqlite3.Connection) -> None:
        """The moment at which a transaction becomes durable: a seam for those who test what a crash does."""
        db.execute("COMMIT")

    def _checkpoint(self, db: sqlite3.Connection) -> None:
        """With the lock rule SQLite may not checkpoint by itself; do it here, under the lock. A reader that is
        in the way is not waited for, and what was committed stays committed when this fails."""
        if self._lock is None:
            return
        wal = self._path.with_name(self._path.name + "-wal")
        if not wal.exists() or wal.stat().st_size <= CHECKPOINT_BYTES:
            return
        try:
            db.execute("PRAGMA busy_timeout = 0")
            empty_log(db)
        except sqlite3.Error as error:
            log.warning("checkpoint_failed", error=str(error))
        finally:
            db.execute(f"PRAGMA busy_timeout = {milliseconds(self._lock_timeout)}")

    def _commit(self, appends: list[Append]) -> None:
        outcome: list[tuple[Append, DeepResearchError | None]] = []
        try:
            with self._transaction() as db:
                outcome = [(append, self._append(db, append)) for append in appends]
        except Exception as error:
            fault = typed(error, self._path)
            for append in appends:
                append.lane.closed = True
            outcome = [(append, fault) for append in appends]
        by_outbox: dict[int, tuple[Outbox, list[tuple[Append, DeepResearchError | None]]]] = {}
        for append, failure in outcome:
            by_outbox.setdefault(id(append.outbox), (append.outbox, []))[1].append((append, failure))
        for outbox, outcomes in by_outbox.values():
            outbox.deliver(outcomes)

    def _append(self, db: sqlite3.Connection, append: Append) -> DeepResearchError | None:
        lane = append.lane
        if lane.closed:
            return refused_error(lane, "an earlier append was refused")
        row = db.execute("SELECT last_seq, fence FROM runs WHERE run_id = ?", (lane.run_id,)).fetchone()
        new = row is None and append.new_run is not None
        why = _refusal((0, lane.fence) if new else row, append)
        if why:
            lane.closed = True
            return refused_error(lane, why)
        if new:
            self._insert_run(db, append)
        if append.projection.status is RunStatus.COMPLETED:
            append = _with_leftover_commands(db, append)
        if append.contents:
            db.executemany(
                "INSERT OR IGNORE INTO contents (hash, media_type, body) VALUES (?, ?, ?)",
                [(c.hash, c.media_type, c.body) for c in append.contents],
            )
            db.executemany(
                "INSERT OR IGNORE INTO run_contents (run_id, hash) VALUES (?, ?)",
                [(lane.run_id, c.hash) for c in append.contents],
            )
            if pages := [page_row(c.hash, c.page) for c in append.contents if c.page]:
                db.executemany(REMEMBER_PAGE, pages)
        db.executemany(
            "INSERT INTO events (run_id, seq, type, version, body) VALUES (?, ?, ?, ?, ?)",
            [(lane.run_id, e.seq, e.type, e.version, e.body) for e in append.events],
        )
        last = append.expected + len(append.events)
        db.execute(
            f"UPDATE runs SET {SET_PROJECTION}, last_seq = ?, updated_at = ? WHERE run_id = ?",  # noqa: S608
            (*projected(append.projection).values(), last, append.at.isoformat(), lane.run_id),
        )
        if append.places is not None:
            db.execute(
                "UPDATE runs SET places = ? WHERE run_id = ?", (places_row(append.places), lane.run_id)
            )
        if append.consumed:
            db.executemany("DELETE FROM commands WHERE id = ?", [(i,) for i in append.consumed])
        if append.release:
            lane.closed = True
            self.unwatch(lane)
            db.execute(
                "UPDATE runs SET owner = NULL, lease_until = 0, claims = 0 WHERE run_id = ?", (lane.run_id,)
            )
        return None

    def _insert_run(self, db: sqlite3.Connection, append: Append) -> None:
        lane, new = append.lane, append.new_run or NewRun(query="")
        db.execute(
            INSERT_RUN,
            (
                lane.run_id,
                new.query,
                *projected(append.projection).values(),
                0,
                utc_text(append.at),
                append.at.isoformat(),
                new.user_id,
                new.session_id,
                lane.owner.encode(),
                lane.fence,
                self._now() + self._ttl,
                places_row(new.places),
            ),
        )

    def _do(self, job: _Job) -> None:
        try:
            with self._transaction() as db:
                result = job.work(db)
        except Exception as error:
            job.future.set_exception(typed(error, self._path))
        else:
            job.future.set_result(result)
        self._next_look = 0.0  # a command of our own process reaches its run at once

    # Leases and commands

    def _tend(self) -> None:
        if not self._watches:
            return
        moment = time.monotonic()
        try:
            if moment >= self._next_beat:
                self._next_beat = moment + self._heartbeat
                self._renew()
            if moment >= self._next_look:
                self._next_look = moment + self._interval
                self._look()
        except DeepResearchError as error:
            # The lease still has two beats to live; appends tell their owners of a lasting fault.
            log.warning("heartbeat_failed", error=str(error))

    def _renew(self) -> None:
        with self._watch_gate:
            entries = list(self._watches.values())
        until = self._now() + self._ttl
        expired_watches = []
        with self._transaction() as db:
            for lane, watch in entries:
                cursor = db.execute(
                    "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND owner IS NOT NULL",
                    (until, lane.run_id, lane.fence),
                )
                if cursor.rowcount == 0 and not lane.closed:
                    expired_watches.append((lane, watch))
        for lane, watch in expired_watches:
            lane.closed = True
            self.unwatch(lane)
            watch.on_lost()

    def _look(self) -> None:
        """Tell owners of commands. `data_version` changes when another connection has written."""
        db = self._connection()
        with mapped(self._path):
            (version,) = db.execute("PRAGMA data_version").fetchone()
            (newest,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
            if (version, newest) == self._seen_commands:
                return
            self._seen_commands = version, newest
            rows = db.execute("SELECT id, run_id, kind, payload FROM commands ORDER BY id").fetchall()
        for command in (Command(*row) for row in rows):
            with self._watch_gate:
                entry = self._watches.get(command.run_id)
            if entry is not None and command.id not in entry[1].seen_ids:
                entry[1].seen_ids.add(command.id)
                entry[1].on_command(command)


def _with_leftover_commands(db: sqlite3.Connection, append: Append) -> Append:
    """The unit that completes a run, which names and consumes the commands that nobody acted on."""
    rows = db.execute(
        "SELECT id, run_id, kind, payload FROM commands WHERE run_id = ? ORDER BY id", (append.lane.run_id,)
    )
    return append.with_leftover_commands([Command(*row) for row in rows])


def connect(path: Path, timeout: float = LOCK_TIMEOUT_SECONDS) -> sqlite3.Connection:
    """A connection with the settings that every one of ours has. ``timeout`` is how long it waits for locks."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds(timeout)}")
        connection.execute("PRAGMA trusted_schema = OFF")
        refuse_foreign(connection)
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection to a database that cannot be written, by its permissions or those of its folder. Where everything was
    moved into the database no other file is needed; else those beside it are read."""
    log_of = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log_of.exists() and log_of.stat().st_size else "immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        refuse_foreign(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def empty_log(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def milliseconds(seconds: float) -> int:
    return round(min(seconds, 10.0) * 1000)


def _refusal(row: tuple[int, int] | None, append: Append) -> str | None:
    if row is None:
        return "it was deleted"
    last_seq, fence = row
    if fence != append.lane.fence:
        return "its fence was raised"
    if last_seq != append.expected:
        return f"its log is at {last_seq}, not {append.expected}"
    return None
