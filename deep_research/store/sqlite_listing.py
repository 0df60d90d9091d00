"""The list of runs as SQL. What is looked for is bound and never part of a statement; what SQL cannot know, whether a
process lives and what a letter is in another case, it asks."""

from __future__ import annotations

import sqlite3
from dataclasses import fields

from deep_research.store.base import Owner
from deep_research.store.listing import RunCursor, RunFilter, holds, utc_text
from deep_research.store.sqlite_rows import COLUMNS

# As `RunRow.fits` has it, by the field of the filter.
_CONDITIONS = {
    "status": "CASE WHEN status IN ('pending', 'running') AND"
    " (owner IS NULL OR lease_until <= :now OR is_dead(owner)) THEN 'interrupted' ELSE status END = :status",
    "user": "user_id = :user",
    "session": "session_id = :session",
    "text": "holds(query, :text)",
    "parked_kind": "parked_kind = :parked_kind",
    "due_before": "parked_until < :due_before",
}
_AFTER = "(created_at, run_id) < (:created_at, :run_id)"


def prepare(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that `selection` asks."""
    connection.create_function("is_dead", 1, _is_dead)
    connection.create_function("holds", 2, holds)


def selection(
    wanted: RunFilter, after: RunCursor | None, limit: int | None, now: float
) -> tuple[str, dict[str, object]]:
    """The statement that selects `COLUMNS` of a page of runs, and its values."""
    given = {item.name: getattr(wanted, item.name) for item in fields(wanted)}
    values: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    conditions = [_CONDITIONS[name] for name in values]
    if wanted.due_before is not None:
        values["due_before"] = utc_text(wanted.due_before)
    if after is not None:
        conditions.append(_AFTER)
        values |= {"created_at": utc_text(after.created_at), "run_id": after.run_id}
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    statement = f"SELECT {COLUMNS} FROM runs{where} ORDER BY created_at DESC, run_id DESC LIMIT :limit"  # noqa: S608
    return statement, values | {"now": now, "limit": -1 if limit is None else limit}


def _is_dead(owner: str) -> bool:
    """An owner that cannot be read is let through, for reading its row tells what is wrong."""
    try:
        return Owner.decode(owner).dead()
    except (ValueError, TypeError, RecursionError):
        return True
