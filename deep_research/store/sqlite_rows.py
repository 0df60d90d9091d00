"""Rows and errors of SQLite as the store's own records and errors, and the list of runs as SQL. What is looked for is
bound and never part of a statement; what SQL cannot know, whether a process lives and what a letter is in another
case, it asks."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
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
    StoreVersionError,
    one_line,
)
from deep_research.state.figures import Figures
from deep_research.state.journal import PageHead
from deep_research.state.parking import Parking
from deep_research.state.phases import AbortReason, DeepResearchPhase, ParkedKind, RunStatus, WhenDue
from deep_research.state.projection import Projection
from deep_research.state.queue_place import QueuePlace
from deep_research.store.base import (
    RunRow,
    SavedPage,
    StoredEvent,
)
from deep_research.store.listing import RunCursor, RunFilter, holds, utc_text
from deep_research.store.owner import Owner

_Member = TypeVar("_Member", bound=StrEnum)

REMEMBER_PAGE = (
    "INSERT INTO pages (url, hash, found_at, at, headers) VALUES (?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE"
    " SET hash = excluded.hash, found_at = excluded.found_at, at = excluded.at, headers = excluded.headers"
    " WHERE excluded.at >= pages.at"
)

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


# As `claim_order` of the base has it. The runs that have not ended are few: an index of their own holds them.
NEXT_CLAIM = """
SELECT run_id FROM runs WHERE status NOT IN ('completed', 'aborted')
AND (owner IS NULL OR lease_until <= :now OR is_dead(owner))
AND run_id NOT IN (SELECT value FROM json_each(:besides))
AND CASE status
    WHEN 'parked' THEN parked_kind = 'shutdown'
        OR (parked_until <= :moment AND parked_then <> 'stay')
        OR (pause_id IS NOT NULL AND parked_kind IN ('question', 'plan', 'budget')
            AND run_id IN (SELECT run_id FROM commands WHERE kind = 'answer'))
    ELSE priority IS NOT NULL AND (not_before IS NULL OR not_before <= :moment)
END
ORDER BY coalesce(priority, 0) DESC,
    (SELECT max(claimed_at) FROM runs AS other WHERE other.user_id IS runs.user_id) NULLS FIRST,
    created_at, run_id
LIMIT 1
"""


def claim_values(now: float, besides: Collection[str]) -> dict[str, object]:
    """The values of `NEXT_CLAIM`."""
    moment = utc_text(datetime.fromtimestamp(now, UTC))
    return {"now": now, "moment": moment, "besides": json.dumps(list(besides))}


def page_row(content_hash: str, page: PageHead) -> tuple[str, ...]:
    at = page.at.astimezone(UTC).isoformat(
        timespec="microseconds"
    )  # of one form, since they are compared as texts
    return page.url, content_hash, page.found_at, at, json.dumps(dict(page.headers))


def saved_page(db: sqlite3.Connection, url: str) -> SavedPage | None:
    """The last snapshot of an address; None also for one that is damaged, since it is fetched again then."""
    row = db.execute(
        "SELECT pages.url, found_at, at, headers, media_type, body FROM pages JOIN contents USING (hash) WHERE url = ?",
        (url,),
    ).fetchone()
    try:
        if row is None or not isinstance(row[5], bytes):
            return None
        head = PageHead(row[0], row[1], datetime.fromisoformat(row[2]), json.loads(row[3]))
    except (ValueError, TypeError, RecursionError):
        return None
    return SavedPage(head, row[4], row[5])


def projected(projection: Projection) -> dict[str, str | int | float | None]:
    """A projection as the columns that hold it, by their names."""
    parking = projection.parking
    return {
        "status": projection.status.value,
        "reason": projection.reason.value if projection.reason else None,
        "phase": projection.phase.value,
        "iteration": projection.iteration,
        "message": projection.message,
        "waiting_for": parking.waiting_for if parking else None,
        "parked_until": utc_text(parking.until) if parking and parking.until else None,
        "pause_id": parking.pause_id if parking else None,
        "parked_kind": parking.kind.value if parking else None,
        "parked_then": parking.then.value if parking else None,
        "priority": projection.queue.priority if projection.queue else None,
        "not_before": utc_text(projection.queue.not_before)
        if projection.queue and projection.queue.not_before
        else None,
        "seconds": projection.seconds,
        "figures": projection.figures.model_dump_json(),
    }


_PROJECTED = tuple(projected(Projection()))
_COLUMNS = (
    *("run_id", "query", *_PROJECTED, "last_seq", "created_at", "updated_at"),
    *("user_id", "session_id", "owner", "fence", "lease_until", "places"),
)
INSERT_RUN = f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_COLUMNS += ("claims", "claimed_at")  # which a new run has not
COLUMNS = ", ".join(_COLUMNS)
SET_PROJECTION = ", ".join(f"{name} = ?" for name in _PROJECTED)


def _projection(row: dict[str, Any]) -> Projection:
    run_id, waiting_for, until = row["run_id"], row["waiting_for"], row["parked_until"]
    kind = ParkedKind.OUTAGE if row["pause_id"] is None else ParkedKind.QUESTION
    if row["parked_kind"]:
        kind = _member(ParkedKind, row["parked_kind"], run_id)
    return Projection(
        status=_member(RunStatus, row["status"], run_id),
        reason=_member(AbortReason, row["reason"], run_id) if row["reason"] else None,
        phase=_member(DeepResearchPhase, row["phase"], run_id),
        iteration=int(row["iteration"]),
        message=row["message"],
        parking=None
        if waiting_for is None
        else Parking(
            waiting_for=waiting_for,
            until=datetime.fromisoformat(until) if until else None,
            pause_id=row["pause_id"],
            kind=kind,
            then=_member(WhenDue, row["parked_then"], run_id) if row["parked_then"] else WhenDue.DEFAULT,
        ),
        queue=None if row["priority"] is None else _place(row["priority"], row["not_before"]),
        seconds=None if row["seconds"] is None else float(row["seconds"]),
        figures=Figures.model_validate_json(row["figures"]) if row["figures"] else Figures(),
    )


def _place(priority: object, not_before: str | None) -> QueuePlace:
    return QueuePlace.model_validate(
        {"priority": priority, "not_before": datetime.fromisoformat(not_before) if not_before else None}
    )


def run_row(db: sqlite3.Connection, run_id: str) -> RunRow:
    row = db.execute(f"SELECT {COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608
    if row is None:
        raise RunNotFoundError.of(run_id)
    return row_of(row)


def row_of(values: tuple[Any, ...]) -> RunRow:
    """``values`` are those of `COLUMNS`."""
    row = dict(zip(_COLUMNS, values, strict=True))
    try:
        return RunRow(
            run_id=row["run_id"],
            query=row["query"],
            projection=_projection(row),
            last_seq=int(row["last_seq"]),
            created_at=datetime.fromisoformat(row["created_at"]),
            updated_at=datetime.fromisoformat(row["updated_at"]),
            user_id=row["user_id"],
            session_id=row["session_id"],
            owner=Owner.decode(row["owner"]) if row["owner"] else None,
            fence=int(row["fence"]),
            lease_until=float(row["lease_until"]),
            places=_places(row["places"]),
            claims=int(row["claims"]),
            claimed_at=None if row["claimed_at"] is None else float(row["claimed_at"]),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise damaged(f"the row of run {row['run_id']!r} cannot be read") from error


def places_row(places: Sequence[str]) -> str:
    return json.dumps(list(places))


def _places(text: str) -> tuple[str, ...]:
    places = json.loads(text)
    if not (isinstance(places, list) and all(isinstance(place, str) for place in places)):
        raise TypeError("places are texts")
    return tuple(places)


def _member(kind: type[_Member], value: object, run_id: object) -> _Member:
    """A word that this package does not know is one of a newer package; anything else is no word."""
    if not isinstance(value, str):
        raise TypeError("a word is a text")
    try:
        return kind(value)
    except ValueError:
        raise StoreVersionError(
            f"The row of run {run_id!r} says '{one_line(value)[:40]}', which this version does not know.",
            hint="Upgrade deep-research to read this run.",
        ) from None


def stored_event(run_id: str, seq: object, kind: object, version: object, body: object) -> StoredEvent:
    if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(version, int)):
        raise damaged(f"a row of the log of {run_id!r} has the wrong types")
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes):
        raise damaged(f"event {seq} of {run_id!r} has no body")
    return StoredEvent(seq, kind, version, body)


def damaged(what: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"The database is damaged: {what}.", hint="Restore it from a backup, or choose another --data-dir."
    )


def file_of(path: Path) -> os.stat_result | None:
    """The file at a path; None where there is none."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def check_in_place(path: Path, opened: os.stat_result | None) -> None:
    """Raises `StoreDamagedError` where the file that was opened is no longer the one at the path, or holds nothing."""
    now, what = file_of(path), ""
    if opened is not None and now is None:
        what = "removed"
    elif opened is not None and now is not None:
        is_same = os.path.samestat(opened, now)
        what = "emptied" if is_same and opened.st_size and not now.st_size else "" if is_same else "replaced"
    if what:
        raise StoreDamagedError(
            f"The database {path} was {what} while it was in use.",
            hint="What is saved from now on would be lost: put it back, or start again with what is there.",
        )


@contextmanager
def mapped(path: Path) -> Iterator[None]:
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


def typed(error: Exception, path: Path) -> DeepResearchError:
    """Whatever happens in the writer goes to who waits for it: the thread serves all others too."""
    if isinstance(error, DeepResearchError):
        return error
    return StoreError(
        f"The database {path} failed: {type(error).__name__}: {error}.", hint="See `deep-research doctor`."
    )


def prepare(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that `selection` asks."""
    connection.create_function("is_dead", 1, _is_dead)
    connection.create_function("holds", 2, holds)


def selection(
    run_filter: RunFilter, after: RunCursor | None, limit: int | None, now: float
) -> tuple[str, dict[str, object]]:
    """The statement that selects `COLUMNS` of a page of runs, and its values."""
    filter_values = {item.name: getattr(run_filter, item.name) for item in fields(run_filter)}
    values: dict[str, object] = {name: value for name, value in filter_values.items() if value is not None}
    conditions = [_CONDITIONS[name] for name in values]
    if run_filter.due_before is not None:
        values["due_before"] = utc_text(run_filter.due_before)
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
