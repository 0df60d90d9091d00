"""The SQLite store: one file, one writer thread, many readers.

The writer drains whatever was handed in from all runs into one transaction (group commit), so a thousand runs
cost one fsync a batch. The same thread renews leases and looks for wishes left by other processes.
"""

from __future__ import annotations

import errno
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from deep_research.errors import (
    DeepResearchError,
    RunNotFoundError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from deep_research.logs import get_log
from deep_research.state.journal import missing
from deep_research.state.phases import AbortReason, DeepResearchPhase, RunStatus
from deep_research.state.projection import Projection
from deep_research.store.base import (
    Append,
    Control,
    Lane,
    NewRun,
    Outbox,
    Owner,
    RunRow,
    Store,
    StoredEvent,
    Watch,
    busy,
    refused,
)
from deep_research.store.forks import guard
from deep_research.store.locks import FileLock
from deep_research.store.migrations import migrate, refuse_foreign

MAX_BATCH = 256
CHECKPOINT_BYTES = 8 * 1024 * 1024
LEASE_TTL = 15.0
HEARTBEAT = 5.0
CONTROL_INTERVAL = 0.05
LOCK_TIMEOUT = 30.0
FORK_WAIT = 10.0

_T = TypeVar("_T")
_COLUMNS = (
    "run_id, query, status, reason, phase, iteration, last_seq, created_at, updated_at,"
    " user_id, session_id, owner, fence, lease_until"
)
log = get_log("store")


def wal_needs_lock(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite has the WAL-reset bug (before 3.51.3, and the withdrawn 3.52.0)."""
    return version < (3, 51, 3) or version[:3] == (3, 52, 0)


@dataclass(frozen=True, slots=True)
class _Job:
    """A call to make on the writer's connection, inside a transaction of its own."""

    work: Callable[[sqlite3.Connection], Any]
    future: Future[Any]


class _StoppedError(Exception):
    """The writer was stopped before it took the work: a new one has to be opened."""


@dataclass(frozen=True, slots=True)
class _Pause:
    """The writer lets go of its connection when it gets here, until it is over."""

    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class SQLiteStore(Store):
    """``SQLiteStore(path)``; nothing is opened before it is first used. ``now`` gives epoch seconds.

    ``lock_timeout`` is how long (seconds) a write waits for other processes before it is a `StoreLockedError`.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        lease_ttl: float = LEASE_TTL,
        heartbeat: float = HEARTBEAT,
        control_interval: float = CONTROL_INTERVAL,
        lock_timeout: float = LOCK_TIMEOUT,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self._ttl = lease_ttl
        self._heartbeat = heartbeat
        self._interval = control_interval
        self._lock_timeout = lock_timeout
        self._now = now
        self._gate = threading.Lock()
        self._writer_class: Callable[..., Writer] = Writer
        self._writer: Writer | None = None
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._readers_made = 0
        guard(self)

    # Appends and ownership: the writer's work

    def open(self) -> None:
        self._open()

    def submit(self, appends: Sequence[Append]) -> None:
        self._with_writer(lambda writer: writer.hand_in(list(appends)))

    def acquire(self, run_id: str, owner: Owner) -> RunRow:
        def work(db: sqlite3.Connection) -> RunRow:
            row = _run(db, run_id)
            now = self._now()
            if row.owned(now):
                raise busy(row)
            db.execute(
                "UPDATE runs SET owner = ?, fence = fence + 1, lease_until = ? WHERE run_id = ?",
                (owner.encode(), now + self._ttl, run_id),
            )
            db.execute("DELETE FROM control WHERE run_id = ? AND kind = 'cancel'", (run_id,))
            return _run(db, run_id)

        return self._write(work)

    def release(self, lane: Lane) -> None:
        self.unwatch(lane)
        lane.closed = True

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE runs SET owner = NULL, lease_until = 0 WHERE run_id = ? AND fence = ?",
                (lane.run_id, lane.fence),
            )

        self._write(work)

    def watch(self, lane: Lane, watch: Watch) -> None:
        self._with_writer(lambda writer: writer.watch(lane, watch))

    def unwatch(self, lane: Lane) -> None:
        writer = self._writer
        if writer is not None:
            writer.unwatch(lane)

    def post(self, run_id: str, kind: str, payload: str = "") -> int:
        def work(db: sqlite3.Connection) -> int:
            _run(db, run_id)
            cursor = db.execute(
                "INSERT INTO control (run_id, kind, payload) VALUES (?, ?, ?)", (run_id, kind, payload)
            )
            return int(cursor.lastrowid or 0)

        return self._write(work)

    def delete(self, run_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            row = _run(db, run_id)
            if row.owned(self._now()):
                raise busy(row)
            db.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM control WHERE run_id = ?", (run_id,))
            hashes = db.execute("SELECT hash FROM run_contents WHERE run_id = ?", (run_id,)).fetchall()
            db.execute("DELETE FROM run_contents WHERE run_id = ?", (run_id,))
            db.executemany(
                "DELETE FROM contents WHERE hash = ?1"
                " AND NOT EXISTS (SELECT 1 FROM run_contents WHERE hash = ?1)",
                hashes,
            )
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
        return [_stored(run_id, *row) for row in rows]

    def run(self, run_id: str) -> RunRow:
        with self._reader() as db:
            return _run(db, run_id)

    def runs(self, *, limit: int | None = None) -> list[RunRow]:
        with self._reader() as db:
            rows = db.execute(
                f"SELECT {_COLUMNS} FROM runs ORDER BY created_at DESC, rowid DESC LIMIT ?",  # noqa: S608
                (-1 if limit is None else limit,),
            ).fetchall()
        return [_row(row) for row in rows]

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        bodies = []
        with self._reader() as db:
            for content_hash in hashes:
                row = db.execute("SELECT body FROM contents WHERE hash = ?", (content_hash,)).fetchone()
                if row is None:
                    raise missing(content_hash)
                if not isinstance(row[0], bytes):
                    raise _damaged(f"the text {content_hash[:12]} has the wrong type")
                bodies.append(row[0])
        return bodies

    def close(self) -> None:
        with self._gate:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.stop(self._drain_readers())

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
            self.path, self._ttl, self._heartbeat, self._interval, self._lock_timeout, self._now
        )

    def _with_writer(self, use: Callable[[Writer], _T]) -> _T:
        """A writer that is being closed by another thread takes no more work; the next one does."""
        while True:
            try:
                return use(self._open())
            except _StoppedError:
                continue

    def _write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return self._with_writer(lambda writer: writer.call(work))

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        self._open()
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._new_reader()
        try:
            with _mapped(self.path):
                yield connection
        finally:
            self._readers.put(connection)

    def _new_reader(self) -> sqlite3.Connection:
        with self._gate, _mapped(self.path):
            connection = connect(self.path, self._lock_timeout)
            connection.execute("PRAGMA query_only = 1")
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
                self._readers.get(timeout=FORK_WAIT).close()
                self._readers_made -= 1
        except queue.Empty:
            log.warning("forked_while_reading", path=str(self.path))

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._writer, self._readers, self._readers_made = None, queue.LifoQueue(), 0
        elif self._writer is not None:
            self._writer.go_on()
        self._gate.release()


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
        self._seen_wishes = -1, -1
        self._next_beat = 0.0
        self._next_look = 0.0
        self._readers: list[sqlite3.Connection] = []
        self._pause = _Pause()
        self._lock: FileLock | None = None
        self._db: sqlite3.Connection | None = self._connect()
        self._thread = threading.Thread(target=self._work, name="deep-research-writer", daemon=True)
        self._thread.start()

    def _connect(self) -> sqlite3.Connection:
        with _mapped(self._path):
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
        except BaseException:
            connection.close()
            raise
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
                raise _StoppedError
            self._stopping = item is None
            self._queue.put(item)

    def watch(self, lane: Lane, watch: Watch) -> None:
        with self._watch_gate:
            if not self._watches:
                self._next_beat = time.monotonic() + self._heartbeat
            self._watches[lane.run_id] = lane, watch
            self._seen_wishes = -1, -1
        self._put([])  # wake the thread, so that it starts to look

    def unwatch(self, lane: Lane) -> None:
        with self._watch_gate:
            held = self._watches.get(lane.run_id)
            if held is not None and held[0] is lane:
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
        if not self._pause.reached.wait(FORK_WAIT):
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
            with _mapped(self._path), self._locked():
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
        return self._lock.held() if self._lock else nullcontext()

    def _connection(self) -> sqlite3.Connection:
        """The connection; a new one after a fork."""
        if self._db is None:
            self._db = self._connect()
        return self._db

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = self._connection()
        with _mapped(self._path), self._locked():
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
            _empty_log(db)
        except sqlite3.Error as error:
            log.warning("checkpoint_failed", error=str(error))
        finally:
            db.execute(f"PRAGMA busy_timeout = {_milliseconds(self._lock_timeout)}")

    def _commit(self, appends: list[Append]) -> None:
        outcome: list[tuple[Append, DeepResearchError | None]] = []
        try:
            with self._transaction() as db:
                outcome = [(append, self._append(db, append)) for append in appends]
        except Exception as error:
            fault = _typed(error, self._path)
            for append in appends:
                append.lane.closed = True
            outcome = [(append, fault) for append in appends]
        by_outbox: dict[int, tuple[Outbox, list[tuple[Append, DeepResearchError | None]]]] = {}
        for append, failure in outcome:
            by_outbox.setdefault(id(append.outbox), (append.outbox, []))[1].append((append, failure))
        for outbox, settled in by_outbox.values():
            outbox.deliver(settled)

    def _append(self, db: sqlite3.Connection, append: Append) -> DeepResearchError | None:
        lane = append.lane
        if lane.closed:
            return refused(lane, "an earlier append was refused")
        row = db.execute("SELECT last_seq, fence FROM runs WHERE run_id = ?", (lane.run_id,)).fetchone()
        new = row is None and append.new_run is not None
        why = _refusal((0, lane.fence) if new else row, append)
        if why:
            lane.closed = True
            return refused(lane, why)
        if new:
            self._insert_run(db, append)
        if append.contents:
            db.executemany(
                "INSERT OR IGNORE INTO contents (hash, media_type, body) VALUES (?, ?, ?)",
                [(c.hash, c.media_type, c.body) for c in append.contents],
            )
            db.executemany(
                "INSERT OR IGNORE INTO run_contents (run_id, hash) VALUES (?, ?)",
                [(lane.run_id, c.hash) for c in append.contents],
            )
        db.executemany(
            "INSERT INTO events (run_id, seq, type, version, body) VALUES (?, ?, ?, ?, ?)",
            [(lane.run_id, e.seq, e.type, e.version, e.body) for e in append.events],
        )
        last = append.expected + len(append.events)
        db.execute(
            "UPDATE runs SET status = ?, reason = ?, phase = ?, iteration = ?, last_seq = ?, updated_at = ?"
            " WHERE run_id = ?",
            (*_projected(append.projection), last, append.at.isoformat(), lane.run_id),
        )
        if append.consumed:
            db.executemany("DELETE FROM control WHERE id = ?", [(i,) for i in append.consumed])
        if append.release:
            lane.closed = True
            self.unwatch(lane)
            db.execute("UPDATE runs SET owner = NULL, lease_until = 0 WHERE run_id = ?", (lane.run_id,))
        return None

    def _insert_run(self, db: sqlite3.Connection, append: Append) -> None:
        lane, new = append.lane, append.new_run or NewRun(query="")
        db.execute(
            f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                lane.run_id,
                new.query,
                *_projected(append.projection),
                append.at.isoformat(),
                append.at.isoformat(),
                new.user_id,
                new.session_id,
                lane.owner.encode(),
                lane.fence,
                self._now() + self._ttl,
            ),
        )

    def _do(self, job: _Job) -> None:
        try:
            with self._transaction() as db:
                result = job.work(db)
        except Exception as error:
            job.future.set_exception(_typed(error, self._path))
        else:
            job.future.set_result(result)
        self._next_look = 0.0  # a wish of our own process is heard at once

    # Leases and wishes

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
            held = list(self._watches.values())
        until = self._now() + self._ttl
        lost = []
        with self._transaction() as db:
            for lane, watch in held:
                cursor = db.execute(
                    "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND owner IS NOT NULL",
                    (until, lane.run_id, lane.fence),
                )
                if cursor.rowcount == 0 and not lane.closed:
                    lost.append((lane, watch))
        for lane, watch in lost:
            lane.closed = True
            self.unwatch(lane)
            watch.on_lost()

    def _look(self) -> None:
        """Tell owners of wishes. `data_version` changes when another connection has written."""
        db = self._connection()
        with _mapped(self._path):
            (version,) = db.execute("PRAGMA data_version").fetchone()
            (newest,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
            if (version, newest) == self._seen_wishes:
                return
            self._seen_wishes = version, newest
            rows = db.execute("SELECT id, run_id, kind, payload FROM control ORDER BY id").fetchall()
        for control in (Control(*row) for row in rows):
            with self._watch_gate:
                held = self._watches.get(control.run_id)
            if held is not None and control.id not in held[1].seen:
                held[1].seen.add(control.id)
                held[1].on_control(control)


def connect(path: Path, timeout: float = LOCK_TIMEOUT) -> sqlite3.Connection:
    """A connection with the settings that every one of ours has. ``timeout`` is how long it waits for locks."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_milliseconds(timeout)}")
        connection.execute("PRAGMA trusted_schema = OFF")
        refuse_foreign(connection)
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _empty_log(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _milliseconds(seconds: float) -> int:
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


def _projected(projection: Projection) -> tuple[str, str | None, str, int]:
    reason = projection.reason.value if projection.reason else None
    return projection.status.value, reason, projection.phase.value, projection.iteration


def _run(db: sqlite3.Connection, run_id: str) -> RunRow:
    row = db.execute(f"SELECT {_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608
    if row is None:
        raise RunNotFoundError.of(run_id)
    return _row(row)


def _row(row: tuple[Any, ...]) -> RunRow:
    try:
        return RunRow(
            run_id=row[0],
            query=row[1],
            projection=Projection(
                status=RunStatus(row[2]),
                reason=AbortReason(row[3]) if row[3] else None,
                phase=DeepResearchPhase(row[4]),
                iteration=int(row[5]),
            ),
            last_seq=int(row[6]),
            created_at=datetime.fromisoformat(row[7]),
            updated_at=datetime.fromisoformat(row[8]),
            user_id=row[9],
            session_id=row[10],
            owner=Owner.decode(row[11]) if row[11] else None,
            fence=int(row[12]),
            lease_until=float(row[13]),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _damaged(f"the row of run {row[0]!r} cannot be read") from error


def _stored(run_id: str, seq: object, kind: object, version: object, body: object) -> StoredEvent:
    if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(version, int)):
        raise _damaged(f"a row of the log of {run_id!r} has the wrong types")
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes):
        raise _damaged(f"event {seq} of {run_id!r} has no body")
    return StoredEvent(seq, kind, version, body)


def _damaged(what: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"The database is damaged: {what}.", hint="Restore it from a backup, or choose another --data-dir."
    )


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    """Turn what sqlite3 and the file system raise into our errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    except (UnicodeError, OverflowError) as error:
        raise StoreError(
            f"A value cannot be stored: {error}.", hint="Leave out what is not text or too large."
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _full(path) from error
        raise StoreReadOnlyError(
            f"The database {path} cannot be opened or written: {error.strerror or error}.",
            hint="Check the folder's permissions, or choose another --data-dir.",
        ) from error


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLockedError(
            f"The database {path} is locked by another program.", hint="Close that program and try again."
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return _full(path)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StoreReadOnlyError(
            f"The database {path} cannot be opened or written.",
            hint="Check the file's and its folder's permissions, or choose another --data-dir.",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA", "SQLITE_MISMATCH")):
        return StoreDamagedError(
            f"The database {path} is damaged or not a database.",
            hint="Restore it from a backup, or choose another --data-dir.",
        )
    return StoreError(
        f"The database {path} failed: {error}.", hint="See `deep-research doctor`.", sqlite=name
    )


def _full(path: Path) -> StoreFullError:
    return StoreFullError(
        f"The disk is full or failing; {path} could not be written.",
        hint="Nothing that was saved is lost: free some space and resume the run.",
    )


def _typed(error: Exception, path: Path) -> DeepResearchError:
    """Whatever happens in the writer goes to who waits for it: the thread serves all others too."""
    if isinstance(error, DeepResearchError):
        return error
    return StoreError(
        f"The database {path} failed: {type(error).__name__}: {error}.", hint="See `deep-research doctor`."
    )
