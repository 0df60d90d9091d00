"""What is done when an agent could not do its work: wait, give up, or have the extractive agent do it. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum

from deep_research.errors import ModelError, WorkError
from deep_research.models.failures import Verdict, is_too_long
from deep_research.state import Limit, ParkedKind, Parking
from deep_research.state.records import SHARED
from deep_research.state.spending import ON_MODELS

LATER = 300.0  # seconds after which a service that did not say when is worth trying again


class Way(Enum):
    PARK = "the run waits for the service"
    GIVE_UP = "someone has to change a key, a name or an account"
    FALL_BACK = "the extractive agent does it"


def way_after(error: WorkError, *, parks: bool) -> Way:
    """``parks``: whether an outage parks a run, or the extractive agents go on."""
    if not isinstance(error, ModelError) or is_too_long(error):
        return Way.FALL_BACK
    if error.verdict == Verdict.FATAL:
        return Way.GIVE_UP
    if error.verdict in (Verdict.PARK, Verdict.TRANSIENT) and parks:
        return Way.PARK
    return Way.FALL_BACK


def parking_for(error: WorkError, now: datetime) -> Parking:
    seconds = error.data.get("retry_after")
    wait = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else LATER
    return Parking(
        waiting_for=f"a language model: {error.problem}",
        until=now + timedelta(seconds=wait),
        kind=ParkedKind.OUTAGE,
    )


def is_spent(limits: tuple[Limit, ...]) -> bool:
    """Whether a cap on models was reached: another round would only pass it."""
    return any(limit.name.removeprefix(SHARED) in ON_MODELS for limit in limits)
