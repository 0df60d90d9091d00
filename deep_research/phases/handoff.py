"""What every agent is given, whatever its phase."""

from __future__ import annotations

from datetime import date
from typing import Any, TypeVar

from deep_research.budget.priority import Weights
from deep_research.evidence.inquiry import question_parts
from deep_research.state import DeepResearchPhase, DeepResearchState, QuestionPart, Record

_H = TypeVar("_H", bound="Handoff")


class Handoff(Record):
    """What every agent is told. ``guidance`` is advice from gates, hooks and answers, oldest first; ``system_prompt``
    what the owner of the run adds; ``language`` and ``audience`` are for what people will read; ``day`` is when the run
    was asked, ``as_of`` the day for which its answer has to hold, where its owner names one, and ``protected`` are
    patterns of sources that its owner wants kept. ``parts`` are those of the question; ``steering`` is the
    guidance for the phase so far from hooks, answers, steers and the supervisor, for agents that have no model."""

    research_id: str
    original_query: str
    current_phase: DeepResearchPhase
    iteration: int
    guidance: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    parts: tuple[QuestionPart, ...] = ()
    system_prompt: str | None = None
    language: str | None = None
    audience: str | None = None
    day: date | None = None
    as_of: date | None = None
    protected: tuple[str, ...] = ()

    @property
    def weights(self) -> Weights:
        """By what items of the run matter where not all of them fit."""
        return Weights(self.day, self.protected)

    @property
    def common(self) -> dict[str, Any]:
        """The fields that every handoff has, for another one of the same phase."""
        return {name: getattr(self, name) for name in Handoff.model_fields}


def shared(state: DeepResearchState, phase: DeepResearchPhase) -> dict[str, Any]:
    """The fields that every handoff has."""
    return {
        "research_id": state.research_id,
        "original_query": state.query,
        "current_phase": phase,
        "iteration": state.iteration,
        "guidance": state.guidance_for(phase),
        "steering": state.steering_for(phase),
        "parts": state.parts or question_parts(state.query),
        "system_prompt": state.options.system_prompt,
        "language": state.options.language,
        "audience": state.options.audience,
        "day": state.created_at.date() if state.created_at else None,
        "as_of": state.options.as_of,
        "protected": state.options.protected,
    }


def with_latest(handoff: _H, state: DeepResearchState) -> _H:
    """The handoff with what was said to the run since it was made: for a unit that begins only now."""
    phase = handoff.current_phase
    guidance, steering = state.guidance_for(phase), state.steering_for(phase)
    if (guidance, steering) == (handoff.guidance, handoff.steering):
        return handoff
    return handoff.model_copy(update={"guidance": guidance, "steering": steering})
