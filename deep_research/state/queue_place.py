"""The place of a submitted run in the queue of its store."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from deep_research.state.records import Record


class QueuePlace(Record):
    """Workers take runs of a higher ``priority`` first, and none before its ``not_before``."""

    priority: int = Field(default=0, ge=-100, le=100)
    not_before: datetime | None = None
