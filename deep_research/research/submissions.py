"""Checks of what is submitted to the queue of a store, and of what is submitted again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import cast

from deep_research.errors import RepeatedKeyError, UsageError
from deep_research.state import QueuePlace, RunOptions
from deep_research.state.events import Event, RunCreated

MAX_KEY_CHARS = 255


def queue_place(priority: int, not_before: datetime | str | None) -> QueuePlace:
    """Where a run stands in the queue. A time without a zone is local. Raises `UsageError`."""
    try:
        moment = datetime.fromisoformat(not_before) if isinstance(not_before, str) else not_before
        return QueuePlace(priority=priority, not_before=moment and moment.astimezone(UTC))
    except (ValueError, OverflowError, AttributeError):  # pydantic's errors are values' too
        raise UsageError(
            "priority or not_before is invalid.",
            hint="priority is a whole number from -100 to 100, not_before a time such as 2026-01-31T18:00.",
        ) from None


def checked_key(key: object) -> str:
    """Raises `UsageError` for what cannot be an idempotency key."""
    if isinstance(key, str) and 0 < len(key) <= MAX_KEY_CHARS and key.isprintable():
        return key
    raise UsageError(
        f"An idempotency key has 1 to {MAX_KEY_CHARS} printable characters.", hint="For example a UUID."
    )


def check_repeated(
    run_id: str, log: Iterable[Event], question: str, options: RunOptions, option_names: Iterable[str]
) -> None:
    """Compare what is submitted with the run that its key belongs to: the question, and the options of these
    names. Raises `RepeatedKeyError`."""
    created = cast("RunCreated", next(iter(log)))
    names = [name for name in option_names if name in RunOptions.model_fields]
    if created.query == question and all(
        getattr(created.options, name) == getattr(options, name) for name in names
    ):
        return
    raise RepeatedKeyError(
        f"The idempotency key belongs to run '{run_id}' with another question or other options.",
        hint="Use a new key for a new question.",
        research_id=run_id,
    )
