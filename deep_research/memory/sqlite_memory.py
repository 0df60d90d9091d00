"""The memory in a SQLite file, of which nothing is left that was forgotten.

Three things see to that. ``secure_delete`` overwrites what is deleted. There is no write-ahead log, which would keep the
old text: a rollback journal does so until its transaction ends, and is removed then. And texts stand on pages of their
own: SQLite moves the rows of a full or empty page to its neighbours and leaves copies behind, but it never moves what did
not fit into a row's page. So each row begins with as many zeros as a page has bytes, and its text comes after them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deep_research.errors import MemoryNotFoundError, StoreLockedError
from deep_research.forks import guard
from deep_research.logs import get_log
from deep_research.memory.base import Memory, check_one_choice, no_room, storable
from deep_research.memory.entry import MemoryCursor, MemoryEntry, MemoryKind
from deep_research.state.identity import sha256_hex
from deep_research.store.listing import utc_text
from deep_research.store.migrations import refuse_newer, version_of
from deep_research.store.sqlite_rows import damaged, mapped

APPLICATION_ID = 0x6465656D  # "deem": tells our files from other SQLite databases
PAGE_BYTES = 512  # the smallest there is: each row takes two at least
LOCK_SECONDS = 30.0
FORK_WAIT_SECONDS = 10.0

# A released step is never edited. ``owner`` is a digest of the user's name: no name stands in a row or an index, of which
# copies may be left; ``body`` is the whole entry as JSON.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE entries (
            place INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            kind TEXT NOT NULL,
            at TEXT NOT NULL,
            zeros BLOB NOT NULL,
            body BLOB NOT NULL,
            UNIQUE (owner, id)
        )""",
        "CREATE INDEX entries_by_time ON entries (owner, at, id)",
    ),
)
_PUT = (
    "INSERT INTO entries (owner, id, kind, at, zeros, body) VALUES (?, ?, ?, ?, zeroblob(?), ?)"
    " ON CONFLICT (owner, id) DO UPDATE SET kind = excluded.kind, at = excluded.at, body = excluded.body"
)
_OLDEST_EPISODES = (
    "SELECT id FROM entries WHERE owner = ? AND kind = ? AND id NOT IN (SELECT value FROM json_each(?))"
    " ORDER BY at, id LIMIT ?"
)
_LIST = (
    "SELECT body FROM entries WHERE owner = :owner AND kind IN (SELECT value FROM json_each(:kinds))"
    " AND (:at IS NULL OR (at, id) < (:at, :id)) ORDER BY at DESC, id DESC LIMIT :limit"
)
log = get_log("memory")


class SQLiteMemory(Memory):
    """``SQLiteMemory(path)``; the file is made when something is put into it. Several processes may share it.

    ``lock_seconds`` is how long a call waits for others before it is a `StoreLockedError`.
    """

    local = True

    def __init__(self, path: Path | str, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = Path(path)
        self._lock_seconds = lock_seconds
        # Around every connection, of which none is open between calls; and in front of it, so that who forks gets in
        # though another thread calls again and again.
        self._gate, self._turnstile = threading.Lock(), threading.Lock()
        self._has_gate = False
        guard(self)

    def open(self) -> None:
        """Check the file, where there is one."""
        self._rows("SELECT 1", ())

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        entries = storable(entries)
        if not entries:
            return
        owner = _owner(entries[0].user_id)
        added = json.dumps([entry.id for entry in entries])
        with self._transaction() as db:
            (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
            db.executemany(_PUT, [_row(owner, entry, page_bytes) for entry in entries])
            (count,) = db.execute("SELECT count(*) FROM entries WHERE owner = ?", (owner,)).fetchone()
            if (over := count - self.max_entries) > 0:
                values = (owner, MemoryKind.EPISODES, added, over)
                oldest = db.execute(_OLDEST_EPISODES, values).fetchall()
                if len(oldest) < over:
                    raise no_room(self.max_entries)
                _delete(db, owner, [entry_id for (entry_id,) in oldest])

    def get(self, user_id: str | None, entry_id: str) -> MemoryEntry:
        rows = self._rows(
            "SELECT body FROM entries WHERE owner = ? AND id = ?", (_owner(user_id), _bindable(entry_id))
        )
        if not rows:
            raise MemoryNotFoundError.of(entry_id)
        return _entry(user_id, rows[0][0])

    def list(
        self,
        user_id: str | None,
        *,
        kinds: Collection[MemoryKind] = tuple(MemoryKind),
        limit: int | None = None,
        after: MemoryCursor | None = None,
    ) -> list[MemoryEntry]:
        values = {
            "owner": _owner(user_id),
            "kinds": json.dumps(list(kinds)),
            "at": None if after is None else utc_text(after.at),
            "id": None if after is None else _bindable(after.entry_id),
            "limit": -1 if limit is None else limit,
        }
        return [_entry(user_id, body) for (body,) in self._rows(_LIST, values)]

    def forget(
        self,
        user_id: str | None,
        *,
        ids: Collection[str] | None = None,
        kinds: Collection[MemoryKind] | None = None,
        everything: bool = False,
    ) -> int:
        check_one_choice(ids, kinds, everything)
        owner = _owner(user_id)
        with mapped(self.path):
            if not _is_there(self.path):
                return 0
        with self._transaction() as db:
            if ids is not None:
                return _delete(db, owner, ids)
            statement, values = "DELETE FROM entries WHERE owner = ?", [owner]
            if kinds is not None:
                statement += " AND kind IN (SELECT value FROM json_each(?))"
                values.append(json.dumps(list(kinds)))
            return db.execute(statement, values).rowcount

    # The file

    def _rows(self, statement: str, values: Any) -> Sequence[tuple[Any, ...]]:
        """What a query gives; nothing where there is no file yet, or an empty one."""
        with self._entered(), mapped(self.path):
            if not _is_there(self.path):
                return []
            with closing(self._connect()) as db:
                return db.execute(statement, values).fetchall() if _version(db) else []

    @contextmanager
    def _entered(self) -> Iterator[None]:
        with self._turnstile:
            pass
        with self._gate:
            yield

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._entered(), mapped(self.path):
            if not _is_there(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with closing(self._connect()) as db:
                self._forbid_copies(db)
                db.execute("BEGIN IMMEDIATE")
                try:
                    _migrate(db)
                    yield db
                    self.commit_transaction(db)
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise

    def commit_transaction(self, db: sqlite3.Connection) -> None:
        """The moment at which a transaction becomes durable: a seam for those who test what a crash does."""
        db.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            db.execute(f"PRAGMA busy_timeout = {round(self._lock_seconds * 1000)}")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA temp_store = MEMORY")
            _version(db)
        except BaseException:
            db.close()
            raise
        return db

    def _forbid_copies(self, db: sqlite3.Connection) -> None:
        """See the module. Raises `StoreLockedError` where somebody else keeps a write-ahead log."""
        db.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a file that is still empty
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA synchronous = EXTRA")  # so that a removed journal does not come back
        (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode != "delete":
            raise StoreLockedError(
                f"The database {self.path} is in use in journal mode {mode}.",
                hint="Close the program that set this mode, and try again.",
            )

    # Forks: a child has a copy of what another thread had open

    def before_fork(self) -> None:
        self._turnstile.acquire()
        self._has_gate = self._gate.acquire(timeout=FORK_WAIT_SECONDS)
        if not self._has_gate:
            log.warning("forked_while_remembering", path=str(self.path))

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._gate, self._turnstile = threading.Lock(), threading.Lock()
            return
        if self._has_gate:
            self._gate.release()
        self._turnstile.release()


def _owner(user_id: str | None) -> str:
    """The digest of a user; that of None is of no name."""
    return sha256_hex(b"nobody" if user_id is None else b"user " + user_id.encode("utf-8", "surrogatepass"))


def _row(owner: str, entry: MemoryEntry, page_bytes: int) -> tuple[object, ...]:
    body = entry.model_dump_json(exclude={"user_id"}).encode()
    return owner, entry.id, entry.kind, utc_text(entry.at), page_bytes, body


def _entry(user_id: str | None, body: object) -> MemoryEntry:
    """Raises `StoreDamagedError`."""
    try:
        fields: dict[str, Any] = json.loads(body)  # type: ignore[arg-type]  # what it may be is caught below
        return MemoryEntry(**{**fields, "user_id": user_id})
    except (ValidationError, ValueError, TypeError, RecursionError):
        raise damaged("an entry of the memory cannot be read") from None


def _delete(db: sqlite3.Connection, owner: str, ids: Collection[str]) -> int:
    statement = "DELETE FROM entries WHERE owner = ? AND id = ?"
    return sum(db.execute(statement, (owner, _bindable(entry_id))).rowcount for entry_id in ids)


def _bindable(entry_id: str) -> str:
    """An id as SQLite can look for it: half characters are in none."""
    return entry_id.encode("utf-8", "replace").decode()


def _is_there(path: Path) -> bool:
    """Raises `OSError` for what cannot be looked at."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def _version(db: sqlite3.Connection) -> int:
    """0 for an empty file. Raises `StoreVersionError`, `StoreDamagedError`."""
    version = version_of(db, APPLICATION_ID)
    refuse_newer(version, len(_MIGRATIONS))
    return version


def _migrate(db: sqlite3.Connection) -> None:
    """Bring the file to the newest version, inside the transaction."""
    version = _version(db)
    if version == len(_MIGRATIONS):
        return
    for step in _MIGRATIONS[version:]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
