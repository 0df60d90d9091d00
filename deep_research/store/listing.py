"""Filters and pages of a list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from deep_research.state.phases import ParkedKind, RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Runs that fit all that is given; None fits every run.

    ``status`` is the one that is shown, so that what says running or pending without a live owner is ``interrupted``.
    ``text`` is part of the question, in whatever case, and has no wildcards. ``parked_kind`` and ``due_before`` fit
    parked runs alone: those that wait for something of that kind, and those whose waiting ends before a moment.
    """

    status: RunStatus | None = None
    user: str | None = None
    session: str | None = None
    text: str | None = None
    parked_kind: ParkedKind | None = None
    due_before: datetime | None = None


EVERY_RUN = RunFilter()


@dataclass(frozen=True, slots=True, order=True)
class RunCursor:
    """The place of a run in the list, which is ordered by when runs were created and then by id, the last one first.
    It stays where it is when runs are added, and when its own is deleted."""

    created_at: datetime
    run_id: str


def holds(text: object, part: str) -> bool:
    """Whether a text holds the part, in whatever case."""
    return isinstance(text, str) and part.casefold() in text.casefold()


def utc_text(moment: datetime) -> str:
    """A moment as a text; such texts are ordered as their moments are."""
    return moment.astimezone(UTC).isoformat()
