"""The SQLite file of a corpus index: its schema, its connections, its one writer, its renewal when damaged.

The file is a cache. Whatever is wrong with it (damage, another schema), it is deleted and made anew by the
next writer; readers notice that the file was replaced and open the new one.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from deep_research import forks
from deep_research.errors import CorpusError
from deep_research.locks import lock_within

# To be raised when the cutting of passages, the titles of files, or what is remembered of unreadable files change.
PASSAGES_VERSION = 20

# The writer gives the values of a row in the order of the columns. An edition begins anywhere, so that no state of a new
# file is taken for one of the file in whose place it was made. With more memory than 1 MB for the words that are not yet
# written, FTS5 has less to merge; of words that all differ it takes more than twice what it is given.
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    title TEXT NOT NULL,
    published TEXT,
    snapshot_hash TEXT NOT NULL,
    text_bytes INTEGER NOT NULL,
    first_passage INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    why TEXT,
    language TEXT NOT NULL,
    author TEXT NOT NULL,
    unread TEXT NOT NULL,
    manual TEXT NOT NULL,
    pages TEXT,
    page_labels TEXT NOT NULL,
    reader TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    heading TEXT NOT NULL
);
CREATE TABLE names (
    name TEXT NOT NULL,
    document INTEGER NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (name, document)
) WITHOUT ROWID;
CREATE TABLE totals (documents INTEGER NOT NULL, passages INTEGER NOT NULL, edition INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0, random() / 2);
CREATE VIRTUAL TABLE words USING fts5 (
    title, heading, body, stems, pairs, content='', tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 6291456);
CREATE TABLE languages (code TEXT PRIMARY KEY, documents INTEGER NOT NULL);
CREATE VIRTUAL TABLE paths USING fts5 (
    words, content='', columnsize=0, tokenize='porter unicode61 remove_diacritics 2'
);
"""
# An index of another schema, or with passages cut otherwise, is rebuilt.
SCHEMA_VERSION = zlib.crc32(f"{PASSAGES_VERSION}{_SCHEMA}".encode()) & 0x7FFFFFFF
_NEW = "-new"  # added to the name while the file is being made
_PAGE_BYTES = 8192
_WRITER_CACHE_SIZE_KIB = 12_288
_LONG_LOG_BYTES = 1_000_000

_Open = tuple[sqlite3.Connection, int]  # and the inode of the file it was opened on


class CorpusDatabase:
    """The file at ``path``, for any number of threads. ``close`` it at the end."""

    def __init__(self, path: Path, *, lock_timeout: float = 60.0) -> None:
        self._path = path
        self._lock_timeout = lock_timeout
        self._guard = threading.Lock()
        self._closed = False
        self._idle: list[_Open] = []
        self._writer: _Open | None = None  # when nobody writes
        forks.guard(self)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read from. Raises `sqlite3.Error`."""
        connection, inode = self._borrow()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._guard:
            if not self._closed:
                self._idle.append((connection, inode))
                return
        connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one writer, in a transaction that is committed at the end and undone by an error.

        Raises `sqlite3.Error`, and `CorpusError` when the folder cannot be written or another process writes
        for longer than the lock timeout.
        """
        with self._writers_lock(), self._open_for_writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            # Only here, under the lock: readers are read-only and never check-point. It waits for the disk, so small
            # changes gather before it is done.
            if self._log_size() > _LONG_LOG_BYTES:
                connection.execute("PRAGMA busy_timeout=1000")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def delete(self) -> None:
        """Removes the file. The next writer makes a new one."""
        with self._writers_lock():
            self._close_idle()
            self._unlink()

    def close(self) -> None:
        """Closes the connections, those in use when they come back."""
        with self._guard:
            self._closed = True
        self._close_idle()

    def before_fork(self) -> None:
        """Closes the idle connections; one in use at this moment stays open in the child, unused."""
        self._guard.acquire()
        self._shut(*self._take_idle())

    def after_fork(self, *, in_child: bool) -> None:
        self._guard.release()

    def _borrow(self) -> _Open:
        inode = self._inode()
        if inode is None:
            raise sqlite3.OperationalError("the index is gone")
        stale: list[sqlite3.Connection] = []
        try:
            with self._guard:
                while self._idle:
                    connection, opened = self._idle.pop()
                    if opened == inode:
                        return connection, inode
                    stale.append(connection)
        finally:
            for connection in stale:
                connection.close()
        return self._connect("ro", self._path), inode

    def _connect(self, mode: str, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=self._lock_timeout,
        )
        connection.execute("PRAGMA trusted_schema=OFF")
        return connection

    def _close_idle(self) -> None:
        with self._guard:
            idle = self._take_idle()
        self._shut(*idle)

    def _take_idle(self) -> tuple[list[_Open], _Open | None]:
        """The idle connections, which are nobody's from now on. To be called under the guard."""
        idle = self._idle, self._writer
        self._idle, self._writer = [], None
        return idle

    def _shut(self, readers: Iterable[_Open], writer: _Open | None) -> None:
        if writer:
            # With the last connection to a file SQLite removes its log, by name. Another process may make the file anew
            # at this moment, whose log it would be: so there is a reader, with which no log is removed.
            with suppress(sqlite3.Error), closing(self._connect("ro", self._path)) as reader:
                reader.execute("SELECT * FROM totals").fetchall()
                writer[0].close()
            writer[0].close()
        for connection, _ in readers:
            connection.close()

    @contextmanager
    def _open_for_writing(self) -> Iterator[sqlite3.Connection]:
        """To be used under the writers' lock."""
        inode = self._inode()
        if inode is not None:
            writer = self._opened_writer(inode)
            is_reusable = False
            try:
                if _is_ready(writer):
                    writer.execute("PRAGMA synchronous=NORMAL")
                    writer.execute(f"PRAGMA busy_timeout={int(self._lock_timeout * 1000)}")
                    yield writer
                    writer.execute("PRAGMA shrink_memory")
                    # For the next change: opening one takes longer than adding a document.
                    with self._guard:
                        if not self._closed:
                            self._writer, is_reusable = (writer, inode), True
                    return
            finally:
                if not is_reusable:
                    writer.close()
        self._close_idle()
        with self._new_file() as connection:
            yield connection

    def _opened_writer(self, inode: int) -> sqlite3.Connection:
        with self._guard:
            writer, self._writer = self._writer, None
        if writer and writer[1] == inode:
            return writer[0]
        self._shut([], writer)
        connection = self._connect("rw", self._path)
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute(f"PRAGMA cache_size=-{_WRITER_CACHE_SIZE_KIB}")
        return connection

    def _inode(self) -> int | None:
        """What tells this file from others that have had its name; None when there is none."""
        try:
            return os.stat(self._path).st_ino
        except OSError:
            return None

    @contextmanager
    def _new_file(self) -> Iterator[sqlite3.Connection]:
        """An empty index, which gets its name when it is filled and on the disk. Until then nobody reads it, so it is
        written without a journal."""
        self._unlink()
        new = Path(f"{self._path}{_NEW}")
        try:
            with closing(self._connect("rwc", new)) as connection:
                connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
                connection.execute(f"PRAGMA cache_size=-{_WRITER_CACHE_SIZE_KIB}")
                connection.execute("PRAGMA journal_mode=OFF")
                connection.execute("PRAGMA synchronous=OFF")
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                yield connection
                connection.execute("PRAGMA journal_mode=WAL")
            self._name(new)
        except BaseException:
            self._unlink()
            raise

    def _name(self, new: Path) -> None:
        """Makes ``new`` the index, once the system has all of it on the disk: half a file must never have the name."""
        try:
            handle = os.open(new, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            new.rename(self._path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self._path}-wal").st_size
        except OSError:
            return 0

    @contextmanager
    def _writers_lock(self) -> Iterator[None]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._acquire(lock)
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a copy of this process that was made meanwhile has it open too
            os.close(lock)

    def _acquire(self, lock: int) -> None:
        if not lock_within(lock, self._lock_timeout):
            raise CorpusError(
                f"Another process has been writing the corpus index for {self._lock_timeout:g} s.",
                hint="Try again later.",
                path=str(self._path),
            )

    def _unlink(self) -> None:
        # The log first: a new file must never meet the log of an old one.
        try:
            for suffix in ("-wal", "-shm", f"{_NEW}-wal", f"{_NEW}-shm", _NEW, ""):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> CorpusError:
        return CorpusError(
            f"The corpus index cannot be written in {self._path.parent}: {error.strerror}.",
            hint="Name a writable data directory.",
            path=str(self._path),
        )


def is_damage(error: sqlite3.Error) -> bool:
    """Whether making the file anew helps. All statements are fixed, so one that does not fit means another
    schema."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return (code & 0xFF) in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _is_ready(connection: sqlite3.Connection) -> bool:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise
    return bool(version == SCHEMA_VERSION)
