"""Pages of lists, and the cursors between them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from deep_research.errors import UsageError
from deep_research.memory import MemoryEntry
from deep_research.research.run_summary import RunSummary
from deep_research.research.sessions import SessionSummary
from deep_research.state.identity import RUN_ID

_Item = TypeVar("_Item")
MAX_PAGE = 200
PAGE_SIZE = 50


class Page(BaseModel, Generic[_Item]):
    """A part of a list. ``next`` is what to give as ``after`` for the part that follows; null at the end."""

    data: list[_Item]
    next: str | None = None


class SourceText(BaseModel):
    """A piece of the saved text of a source: its characters from ``start`` to ``end``, of ``length`` in all."""

    source_id: str
    content_hash: str
    start: int
    end: int
    length: int
    text: str


def run_cursor(run: RunSummary) -> str:
    """The place of a run in the list, which stays when the run is deleted."""
    return _cursor(run.created_at, run.research_id)


def run_behind_cursor(cursor: str) -> RunSummary:
    """Builds a `RunSummary` with only the time and id that the cursor names. Raises `UsageError` if ``cursor`` is not
    one."""
    moment, _, run_id = _decoded(cursor).partition(" ")
    try:
        created = datetime.fromisoformat(moment)
    except ValueError:
        raise _no_cursor() from None
    if created.tzinfo is None or not RUN_ID.match(run_id):
        raise _no_cursor()
    return RunSummary.model_construct(created_at=created, research_id=run_id)


def entry_cursor(entry: MemoryEntry) -> str:
    """The place of an entry in the list of its user, which stays when the entry is forgotten."""
    return _cursor(entry.at, entry.id)


def entry_behind_cursor(cursor: str) -> MemoryEntry | str:
    """Builds a `MemoryEntry` with only the time and id that the cursor names. Returns any other text as the id of an
    entry."""
    try:
        moment, _, entry_id = _decoded(cursor).partition(" ")
        at = datetime.fromisoformat(moment).astimezone(UTC)
    except (UsageError, ValueError, OverflowError):
        return cursor
    return MemoryEntry.model_construct(at=at, id=entry_id)


def page_of_sessions(
    sessions: Sequence[SessionSummary], after: str | None, limit: int
) -> tuple[Sequence[SessionSummary], str | None]:
    """Return one page of the sessions, and the cursor of the next page. The cursor names the latest run of the last
    session: a session that gets a new turn moves to the front, and later pages repeat no other. Raises `UsageError` if
    ``after`` is not a cursor."""
    if after is not None:
        last = run_behind_cursor(after)
        place = (last.created_at, last.research_id)
        sessions = [each for each in sessions if (each.latest_run_at, each.latest_run_id) < place]
    page = sessions[:limit]
    if len(page) == len(sessions):
        return page, None
    return page, _cursor(page[-1].latest_run_at, page[-1].latest_run_id)


def slice_page(items: Sequence[Any], after: str | None, limit: int) -> tuple[Sequence[Any], str | None]:
    """Returns one page of a list, and the cursor of the next page, None at the end. The cursor is an offset, so the order
    of the list must not change. Raises `UsageError` if ``after`` is not a cursor."""
    start = 0
    if after is not None:
        text = _decoded(after)
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise _no_cursor()
        start = int(text)
    end = start + limit
    return items[start:end], _encoded(str(end)) if end < len(items) else None


def _cursor(moment: datetime, name: str) -> str:
    return _encoded(f"{moment.isoformat()} {name}")


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode(), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise _no_cursor() from None


def _no_cursor() -> UsageError:
    return UsageError(
        "after is not a cursor.", hint="Send the `next` of the previous page, or omit it for the first page."
    )
