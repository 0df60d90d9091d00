"""The tables of the SQLite store, as numbered steps, and what the rows of an older database lack, counted from the logs
of its runs. A step is never edited once released."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime

from deep_research.errors import StoreDamagedError, StoreVersionError
from deep_research.logs import get_log, told
from deep_research.state.events import decode_log
from deep_research.state.projection import Projector
from deep_research.state.reducer import fold
from deep_research.store.listing import utc_text
from deep_research.store.sqlite_rows import projected, stored_event

APPLICATION_ID = 0x64656570  # "deep": tells our files from other SQLite databases

_COUNTED = ("message", "waiting_for", "parked_until", "pause_id", "parked_kind", "figures")
log = get_log("store")


def _count_runs(db: sqlite3.Connection) -> None:
    """Fold the log of every run once, for why it stands where it does and how far it came. When runs were created is
    written in one form, by which they are ordered."""
    changes = ", ".join(f"{name} = ?" for name in ("created_at", *_COUNTED))
    for run_id, created_at in db.execute("SELECT run_id, created_at FROM runs").fetchall():
        rows = db.execute(
            "SELECT seq, type, version, body FROM events WHERE run_id = ? ORDER BY seq", (run_id,)
        ).fetchall()
        try:
            created = utc_text(datetime.fromisoformat(created_at))
            state = fold(decode_log([stored_event(run_id, *row) for row in rows]))
            row = projected(Projector(state).projection())
        except (
            Exception
        ) as error:  # what is wrong with one run must not shut the others away: it has no figures
            log.warning("run_not_counted", run=run_id, error=told(error))
            continue
        values = (created, *(row[name] for name in _COUNTED), run_id)
        db.execute(f"UPDATE runs SET {changes} WHERE run_id = ?", values)  # noqa: S608


# A step is SQL, or work on what stands there.
MIGRATIONS: tuple[tuple[str | Callable[[sqlite3.Connection], None], ...], ...] = (
    (
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            query TEXT NOT NULL,
            status TEXT NOT NULL,
            reason TEXT,
            phase TEXT NOT NULL,
            iteration INTEGER NOT NULL,
            last_seq INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            user_id TEXT,
            session_id TEXT,
            owner TEXT,
            fence INTEGER NOT NULL,
            lease_until REAL NOT NULL
        )""",
        """CREATE TABLE events (
            run_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            type TEXT NOT NULL,
            version INTEGER NOT NULL,
            body BLOB NOT NULL,
            UNIQUE (run_id, seq)
        )""",
        """CREATE TABLE contents (
            hash TEXT PRIMARY KEY,
            media_type TEXT NOT NULL,
            body BLOB NOT NULL
        )""",
        """CREATE TABLE run_contents (
            run_id TEXT NOT NULL,
            hash TEXT NOT NULL,
            PRIMARY KEY (run_id, hash)
        ) WITHOUT ROWID""",
        """CREATE TABLE control (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            payload TEXT NOT NULL
        )""",
    ),
    (
        # The last snapshot of each address, for asking whether it has changed.
        """CREATE TABLE pages (
            url TEXT PRIMARY KEY,
            hash TEXT NOT NULL,
            found_at TEXT NOT NULL,
            at TEXT NOT NULL,
            headers TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
    (
        # Where the documents of a run are on this machine: a list of paths as JSON. Logs hold no path.
        "ALTER TABLE runs ADD COLUMN places TEXT NOT NULL DEFAULT '[]'",
    ),
    (
        # Why a run stands where it does, and how far it came.
        "ALTER TABLE runs ADD COLUMN message TEXT",
        "ALTER TABLE runs ADD COLUMN waiting_for TEXT",
        "ALTER TABLE runs ADD COLUMN parked_until TEXT",
        "ALTER TABLE runs ADD COLUMN pause_id TEXT",
        "ALTER TABLE runs ADD COLUMN parked_kind TEXT",
        "ALTER TABLE runs ADD COLUMN seconds REAL",
        "ALTER TABLE runs ADD COLUMN figures TEXT",
        "CREATE INDEX runs_by_creation ON runs (created_at, run_id)",
        _count_runs,
    ),
)


def refuse_foreign(connection: sqlite3.Connection) -> int:
    """The database's version, when it is ours or empty; nothing is written.

    Raises `StoreVersionError` for a newer database, `StoreDamagedError` for one that is not ours.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if version > len(MIGRATIONS) and application == APPLICATION_ID:
        raise StoreVersionError(
            f"The database has version {version}; this deep-research reads up to {len(MIGRATIONS)}.",
            hint="Upgrade deep-research, or choose another data directory.",
            version=version,
        )
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise StoreDamagedError(
            "The database file belongs to another program.",
            hint="Choose another data directory (--data-dir).",
        )
    return int(version)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to the newest version, inside one transaction. Raises as `refuse_foreign`."""
    if refuse_foreign(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for step in MIGRATIONS[version:]:
            for statement in step:
                if isinstance(statement, str):
                    connection.execute(statement)
                else:
                    statement(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
