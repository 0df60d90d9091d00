"""Summary of a run: from its row, as a list shows it, and from its log; and the filter of a list."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from deep_research.errors import UnknownNameError, UsageError
from deep_research.state import AbortReason, DeepResearchPhase, Limit, Notice, ParkedKind, Record, RunStatus
from deep_research.state.answers import QuestionAnswer
from deep_research.state.figures import Figures
from deep_research.store import RunFilter

if TYPE_CHECKING:
    from deep_research.errors import StoreError
    from deep_research.state import DeepResearchState
    from deep_research.store import RunRow

UNREADABLE = "log"  # the notice of a run whose log cannot be read
_NAMED: dict[str, type[StrEnum]] = {"status": RunStatus, "parked_kind": ParkedKind}


class _Standing(Record):
    """Where a run stands and why; the figures come after it in JSON."""

    research_id: str
    query: str
    user_id: str | None = None
    session_id: str | None = None
    status: RunStatus
    reason: AbortReason | None = None
    phase: DeepResearchPhase
    iteration: int
    created_at: datetime
    updated_at: datetime
    message: str | None = None
    waiting_for: str | None = None
    until: datetime | None = None
    pause_id: str | None = None
    parked_kind: ParkedKind | None = None
    priority: int | None = None
    not_before: datetime | None = None
    seconds: float | None = None


class RunSummary(Figures, _Standing):
    """A run as `list` shows it, without reading its log.

    Attributes:
        message: Why it was aborted.
        waiting_for, until, pause_id, parked_kind: What a parked run waits for.
        priority, not_before: The place of a submitted run in the queue.
        seconds: Seconds of work by all owners, at the last record or release.

    Figures (`Figures`) are None if unknown.

    Example:
        for run in engine.list(status="parked"):
            print(run.research_id, run.query, run.waiting_for)
    """

    @classmethod
    def of(cls, row: RunRow, now: float) -> RunSummary:
        stands, parking = row.projection, row.projection.parking
        of_parking = {"parked_kind": "kind", **{name: name for name in ("waiting_for", "until", "pause_id")}}
        return cls(
            research_id=row.run_id,
            query=row.query,
            user_id=row.user_id,
            session_id=row.session_id,
            priority=stands.queue.priority if stands.queue else None,
            not_before=stands.queue.not_before if stands.queue else None,
            status=row.status(now),
            created_at=row.created_at,
            updated_at=row.updated_at,
            **{
                name: getattr(stands, name) for name in ("reason", "phase", "iteration", "message", "seconds")
            },
            **{name: getattr(parking, of) for name, of in of_parking.items() if parking},
            **dict(stands.figures),
        )


class RunDetail(RunSummary):
    """A run as `status` shows it: its summary, its answers so far, and what failed.

    ``limits`` and ``notices`` are those of its result. If the log cannot be read, a notice says so.

    Example:
        for answer in engine.status(run_id).answers:
            print(answer.state, answer.question, answer.text or answer.reason)
    """

    answers: tuple[QuestionAnswer, ...] = ()
    limits: tuple[Limit, ...] = ()
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of_state(cls, row: RunRow, now: float, state: DeepResearchState) -> RunDetail:
        from deep_research.report.answers_so_far import answers_so_far
        from deep_research.state.notices import reported_notices

        notices = reported_notices(state)
        return cls._of(
            row,
            now,
            answers=answers_so_far(state),
            limits=tuple(each for each in notices if isinstance(each, Limit)),
            notices=tuple(each for each in notices if not isinstance(each, Limit)),
        )

    @classmethod
    def of_unreadable(cls, row: RunRow, now: float, error: StoreError) -> RunDetail:
        """By the row alone."""
        return cls._of(row, now, notices=(Notice(name=UNREADABLE, message=str(error)),))

    @classmethod
    def _of(cls, row: RunRow, now: float, **more: Any) -> RunDetail:
        return cls(**dict(RunSummary.of(row, now)), **more)


def filter_of(filters: Mapping[str, Any]) -> RunFilter:
    """What the caller named as a filter. Raises `UsageError`."""
    names = [item.name for item in fields(RunFilter)]
    for name in filters:
        if name not in names:
            raise UnknownNameError.of("filter", name, names)
    return RunFilter(
        **{name: _filter_value(name, value) for name, value in filters.items() if value is not None}
    )


def _filter_value(name: str, value: Any) -> Any:
    """The value of a filter."""
    if name in _NAMED:
        if value not in list(_NAMED[name]):
            raise UnknownNameError.of(name, str(value), map(str, _NAMED[name]))
        return _NAMED[name](value)
    kind = datetime if name == "due_before" else str
    if kind is datetime and isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value).astimezone()
    if not isinstance(value, kind):
        raise UsageError(
            f"The filter {name} takes a {kind.__name__}, got {type(value).__name__}.",
            hint="Omit it to get all runs.",
        )
    return value
