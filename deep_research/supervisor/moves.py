"""From a review and the transition it leads to, the events that take the machine there. Pure: the time is given."""

from __future__ import annotations

from datetime import datetime

from deep_research.phases.base import Retry
from deep_research.state import DeepResearchPhase, DeepResearchState, Guidance, SupervisorAction
from deep_research.state.events import (
    DecisionMade,
    Event,
    GuidanceGiven,
    IterationStarted,
    PhaseRetried,
    PhaseStarted,
    RunCompleted,
)
from deep_research.state.transitions import Node, Transition
from deep_research.supervisor import decisions
from deep_research.supervisor.iteration import follow_ups
from deep_research.supervisor.review import Review


def onward(state: DeepResearchState, review: Review, way: Transition, at: datetime) -> list[Event]:
    """The events that bring the machine to the transition's target."""
    if way.target is Node.COMPLETED:
        return [*last_advice(state, review), RunCompleted(rationale=way.label)]
    target = DeepResearchPhase(way.target.value)
    again = review.action is SupervisorAction.RETRY
    again_from = (DeepResearchPhase.ANALYSIS, DeepResearchPhase.REFINEMENT)
    iterating = not again and review.phase in again_from and target is DeepResearchPhase.GATHERING
    iteration = state.iteration + iterating
    fresh = follow_ups(state) if iterating else ()
    events: list[Event] = [given(target, iteration, text, origin) for text, origin in review.guidance]
    if again:
        return [*events, *_again(state, review, target, at)]
    if iterating:
        events.append(IterationStarted(iteration=iteration, sub_queries=fresh))
    then = state.model_copy(
        update={"iteration": iteration, "sub_queries": (*state.sub_queries, *fresh)}
    )  # what the agent will be dispatched with
    decision = decisions.dispatch(then, target, at)
    return [*events, PhaseStarted(phase=target, iteration=iteration, decision=decision)]


def _again(state: DeepResearchState, review: Review, target: DeepResearchPhase, at: datetime) -> list[Event]:
    retry = review.retry or Retry()
    issues = review.validation.issues
    decision = decisions.action(
        state,
        name="retry_phase",
        rationale=review.rationale or " ".join(issues) or "A hook asked for it.",
        outputs={"phase": target.value, "asked_by": review.asked_by},
        at=at,
    )
    return [
        DecisionMade(action=SupervisorAction.RETRY, decision=decision),
        PhaseRetried(
            phase=target,
            attempt=0 if review.replan else state.attempt + 1,
            issues=issues,
            sub_queries=() if review.replan else retry.sub_queries,
            asked_by=review.asked_by,
        ),
    ]


def last_advice(state: DeepResearchState, review: Review) -> list[Event]:
    """What was said after the last phase, of which no agent hears any more: it is kept with that phase. What the gate
    says stands in the phase's end."""
    said = [(text, origin) for text, origin in review.guidance if origin != "gate"]
    return [given(review.phase, state.iteration, text, origin) for text, origin in said]


def given(phase: DeepResearchPhase, iteration: int, text: str, origin: str) -> GuidanceGiven:
    """Advice for the agent of a phase, as an event."""
    return GuidanceGiven(guidance=Guidance(phase=phase, iteration=iteration, text=text, origin=origin))
