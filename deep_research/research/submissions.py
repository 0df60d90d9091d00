"""Checks of what is submitted to the queue of a store, and of what is submitted again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from deep_research.errors import RepeatedKeyError, UsageError
from deep_research.setting_fields import flatten, value_at
from deep_research.state import QueuePlace, RunOptions
from deep_research.state import events as ev

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
    run_id: str, log: Iterable[ev.Event], question: str, options: RunOptions, values: Mapping[str, Any]
) -> None:
    """Compare what is submitted with the run that its key belongs to: the question, and of the options those that
    ``values`` name. Raises `RepeatedKeyError`."""
    created = cast("ev.RunCreated", next(iter(log)))
    own = flatten(RunOptions, {n: value for n, value in values.items() if n in RunOptions.model_fields})
    if created.query == question and all(
        value_at(created.options, path) == value_at(options, path) for path in own
    ):
        return
    raise RepeatedKeyError(
        f"The idempotency key belongs to run '{run_id}' with another question or other options.",
        hint="Use a new key for a new question.",
        research_id=run_id,
    )
