"""From a review and the transition it leads to, the events that take the machine there. Pure: the time is given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from deep_research.phases.base import Retry
from deep_research.state import DeepResearchPhase, DeepResearchState, Guidance, SupervisorAction
from deep_research.state.events import (
    DecisionMade,
    Event,
    GuidanceGiven,
    IterationStarted,
    NoticeAdded,
    PhaseRetried,
    PhaseStarted,
    RunCompleted,
)
from deep_research.state.notices import TOO_LATE, guidance_notice
from deep_research.state.records import GATE
from deep_research.state.transitions import Node, Transition
from deep_research.supervisor import decisions
from deep_research.supervisor.iteration import cannot_iterate, follow_ups
from deep_research.supervisor.review import RequestedAction, Review


def onward(
    state: DeepResearchState,
    review: Review,
    way: Transition,
    at: datetime,
    start: Callable[[DeepResearchState, DeepResearchPhase], PhaseStarted],
) -> list[Event]:
    """The events that bring the machine to the transition's target, the last of them what ``start`` makes."""
    if way.target is Node.COMPLETED:
        return [*last_advice(state, review), RunCompleted(rationale=way.label)]
    target = DeepResearchPhase(way.target.value)
    again = review.action is SupervisorAction.RETRY
    again_from = (DeepResearchPhase.ANALYSIS, DeepResearchPhase.REFINEMENT)
    iterating = not again and review.phase in again_from and target is DeepResearchPhase.GATHERING
    iteration = state.iteration + iterating
    fresh = follow_ups(state) if iterating else ()
    # What is said between the iterations, or before all else, is for all that follows; a gate speaks of the next step.
    lasting = not again and review.phase in _LASTING
    events: list[Event] = [
        given(target, iteration, text, origin, lasting=lasting and origin != GATE)
        for text, origin in review.guidance
    ]
    if again:
        return [*events, *_again(state, review, target, at)]
    if iterating:
        events.append(IterationStarted(iteration=iteration, sub_queries=fresh))
    then = state.model_copy(
        update={"iteration": iteration, "sub_queries": (*state.sub_queries, *fresh)}
    )  # what the agent will be dispatched with
    return [*events, start(then, target)]


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


def given(
    phase: DeepResearchPhase, iteration: int, text: str, origin: str, *, lasting: bool = False
) -> GuidanceGiven:
    """Advice for the agent of a phase, as an event; ``lasting``: and for those that work after it in the iteration."""
    return GuidanceGiven(
        guidance=Guidance(phase=phase, iteration=iteration, text=text, origin=origin, lasting=lasting)
    )


def last_advice(state: DeepResearchState, review: Review) -> list[Event]:
    """What was said after the last phase, too late for any agent: it is kept with that phase. What the gate
    says stands in the phase's end."""
    said = [(text, origin) for text, origin in review.guidance if origin != GATE]
    return [
        *(given(review.phase, state.iteration, text, origin) for text, origin in said),
        *(NoticeAdded(notice=guidance_notice(TOO_LATE, text)) for text, _ in said),
    ]


def request_events(
    state: DeepResearchState, review: Review, taken: SupervisorAction, at: datetime
) -> list[Event]:
    """The requested actions, once it is known what comes next: a thought of the supervisor's model as the decision that
    it led to; what came to nothing as a request, with the reason."""
    events: list[Event] = []
    for request in review.requests:
        followed = request.action is taken or (
            request.action is SupervisorAction.PROCEED and taken not in _HELD
        )
        if followed and request.thought is None:
            continue  # the decision itself says by whom it was asked for
        thought = request.thought or decisions.action(
            state,
            name="request",
            rationale=request.rationale or f"{request.who} asked for it.",
            outputs={"requested": request.action.value, "asked_by": request.origin},
            at=at,
        )
        why = None if followed else request.refused or _why_not(state, request, taken)
        events.append(
            DecisionMade(action=taken if followed else request.action, decision=thought, refused=why)
        )
    return events


def _why_not(state: DeepResearchState, request: RequestedAction, taken: SupervisorAction) -> str:
    if request.action is SupervisorAction.ITERATE:
        return cannot_iterate(state, state.phase) or "It was decided otherwise."
    return f"It was decided otherwise: {taken.value}."


_LASTING = (DeepResearchPhase.PLANNING, DeepResearchPhase.REFINEMENT)
_HELD = (SupervisorAction.RETRY, SupervisorAction.ABORT)
