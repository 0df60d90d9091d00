"""The tables of the SQLite store, as numbered steps. Before 0.1.0 the one step changes in place; from then on a released
step is never edited."""

from __future__ import annotations

import sqlite3

from deep_research.errors import StoreDamagedError, StoreVersionError
from deep_research.state.shapes import SHAPES, readable, writer
from deep_research.version import __version__

APPLICATION_ID = 0x64656570  # "deep": tells our files from other SQLite databases

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # Which version wrote the database, in which shapes.
        """CREATE TABLE format (
            package TEXT NOT NULL,
            shapes TEXT NOT NULL
        )""",
        # ``places``: where the documents of the run are on this machine, a list of paths as JSON; logs hold no path.
        # The columns after it say why the run stands where it does, and how far it came.
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
            lease_until REAL NOT NULL,
            places TEXT NOT NULL DEFAULT '[]',
            message TEXT,
            waiting_for TEXT,
            parked_until TEXT,
            pause_id TEXT,
            parked_kind TEXT,
            seconds REAL,
            figures TEXT,
            parked_then TEXT,
            priority INTEGER,
            not_before TEXT,
            claims INTEGER NOT NULL DEFAULT 0,
            claimed_at REAL
        )""",
        "CREATE INDEX runs_by_creation ON runs (created_at, run_id)",
        # What workers look through: the runs that have not ended, and when the runs of a user were last claimed.
        "CREATE INDEX runs_open ON runs (status) WHERE status NOT IN ('completed', 'aborted')",
        "CREATE INDEX runs_by_claim ON runs (user_id, claimed_at)",
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
        """CREATE TABLE commands (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            payload TEXT NOT NULL
        )""",
        # The last snapshot of each address, for asking whether it has changed.
        """CREATE TABLE pages (
            url TEXT PRIMARY KEY,
            hash TEXT NOT NULL,
            found_at TEXT NOT NULL,
            at TEXT NOT NULL,
            headers TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
)


def version_of(connection: sqlite3.Connection, application_id: int) -> int:
    """The version of a database that is of that application or empty (0); writes nothing. Raises `StoreDamagedError` for
    one that is not."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != application_id:
        raise StoreDamagedError(
            "The database file belongs to another program.",
            hint="Choose another data directory (--data-dir).",
        )
    return int(version)


def refuse_newer(version: int, newest: int) -> None:
    """Raises `StoreVersionError` for a database of a version above the ``newest`` that is known."""
    if version > newest:
        raise StoreVersionError(
            f"The database has version {version}; this deep-research reads up to {newest}.",
            hint="Upgrade deep-research, or choose another data directory.",
            version=version,
        )


def refuse_foreign(connection: sqlite3.Connection) -> int:
    """The database's version, when it is ours or empty; writes nothing.

    Raises `StoreVersionError` for a newer database or one of other shapes, `StoreDamagedError` for one that is not ours.
    """
    version = version_of(connection, APPLICATION_ID)
    if version:
        _refuse_other_shapes(connection)
    refuse_newer(version, len(MIGRATIONS))
    return version


def _refuse_other_shapes(connection: sqlite3.Connection) -> None:
    package, shapes = "before 0.1.0.dev0", ""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'format'").fetchone():
        package, shapes = connection.execute("SELECT package, shapes FROM format").fetchone() or (package, "")
    package, shapes = str(package), str(shapes)  # another program may have written anything
    if not readable(package, shapes):
        raise StoreVersionError(
            f"The database was written by {writer(package, shapes)}; this is {writer(__version__, SHAPES)}.",
            hint="Use the version that wrote it, or choose another data directory (--data-dir).",
            version=package,
        )


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
                connection.execute(statement)
        connection.execute("DELETE FROM format")
        connection.execute("INSERT INTO format VALUES (?, ?)", (__version__, SHAPES))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
