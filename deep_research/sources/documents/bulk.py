"""Many rows inserted in few statements: to step from row to row takes SQLite as long as to write a short one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain

_AT_ONCE = 32  # rows of one statement


def insert_all(
    connection: sqlite3.Connection, table: str, rows: Sequence[tuple[str | int | float | None, ...]]
) -> None:
    """Inserts rows with a value for each column. Not for a table of FTS5, which writes a part of its index with each such
    statement. Raises `sqlite3.Error`."""
    if not rows:
        return
    marks = f"({','.join('?' * len(rows[0]))})"
    statement = f"INSERT INTO {table} VALUES "  # noqa: S608 - ours
    whole = len(rows) - len(rows) % _AT_ONCE
    many = statement + ",".join([marks] * _AT_ONCE)
    for start in range(0, whole, _AT_ONCE):
        connection.execute(many, tuple(chain.from_iterable(rows[start : start + _AT_ONCE])))
    connection.executemany(statement + marks, rows[whole:])
