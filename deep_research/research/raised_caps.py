"""More money for a run: what a caller may raise, and with which events it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deep_research.errors import SettingsError, UsageError
from deep_research.state import Budget, DeepResearchState, ParkedKind, Parking
from deep_research.state.events import BudgetRaised, Event
from deep_research.state.raising import raised, starts

if TYPE_CHECKING:
    from deep_research.supervisor.orchestrator import SupervisorOrchestrator


def checked_caps(budget: Budget | None) -> Budget | None:
    """Raises `SettingsError` for what is no budget, `UsageError` for one without a cap."""
    if budget is None:
        return None
    if not isinstance(budget, Budget):
        raise SettingsError(
            f"budget must be a Budget, got {type(budget).__name__}.", hint="For example: Budget(max_usd=2.0)"
        )
    if not budget.model_fields_set:
        raise UsageError("The budget names no cap.", hint="For example: Budget(max_usd=2.0)")
    return budget


def caps_of(question: Parking | None, answer: Any) -> Budget | None:
    """The caps of an answer to a run that waits for more; None where it is another one. Raises `UsageError`."""
    if question is None or question.kind is not ParkedKind.BUDGET or not isinstance(answer, Mapping):
        return None
    try:
        return Budget(**answer)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise UsageError(
            f"That is no answer: {place}: {fault['msg']}.", hint="The run stays parked."
        ) from None


def is_enough(question: Parking, answer: Any, state: DeepResearchState) -> bool:
    """Whether caps that an answer names, if it does, leave more room than the run had."""
    try:
        caps = caps_of(question, answer)
        return caps is None or bool(raised(state, caps))
    except UsageError:
        return False


def under(state: DeepResearchState, budget: Budget, orchestrator: SupervisorOrchestrator) -> list[Event]:
    """What is recorded of a run that goes on under another budget. It stands where work remains first; a draft that was
    paid for is kept."""
    phase = starts(state, budget)
    events: list[Event] = [BudgetRaised(budget=budget)]
    if phase is None:
        return events
    return [*events, orchestrator.first_step(state, phase)]
