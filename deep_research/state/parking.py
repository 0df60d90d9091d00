"""Why a run is parked, as data: what it asks, in what form it wants to be answered, and what happens when nobody does."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from deep_research.state.phases import ParkedKind, WhenDue
from deep_research.state.records import Record

ANSWERED = (ParkedKind.QUESTION, ParkedKind.PLAN, ParkedKind.BUDGET)


class Parking(Record):
    """``waiting_for`` says in words what is asked or waited for; ``until`` is when it is over, None: when it is answered,
    and ``then`` what happens at that time. ``pause_id`` is the pause that an answer is for, None where none is waited
    for. ``answer_schema`` is the JSON schema of the answer, None: a text; ``default`` an answer that will do. ``about``
    is what has to be seen to answer, such as a plan."""

    waiting_for: str
    until: datetime | None = None
    pause_id: str | None = None
    kind: ParkedKind = ParkedKind.QUESTION
    answer_schema: dict[str, Any] | None = None
    default: Any = None
    then: WhenDue = WhenDue.DEFAULT
    about: dict[str, Any] = Field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether an answer is waited for."""
        return self.pause_id is not None and self.kind in ANSWERED


def upcast_parking(body: dict[str, Any]) -> dict[str, Any]:
    """Of an event that knew two kinds, told by whether the pause has an id: only a hook's had one."""
    parking = body["parking"]
    kind = ParkedKind.OUTAGE if parking.get("pause_id") is None else ParkedKind.QUESTION
    return {**body, "parking": {**parking, "kind": kind.value}}
