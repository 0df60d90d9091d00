"""A finished phase as the supervisor judges it: the gate's verdict, or a hook's instead of it, within bounds; whether the
research goes on; and the events that take the machine there. Pure: the time is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from deep_research.phases.base import Phase, Retry
from deep_research.state import (
    AbortReason,
    AgentDecision,
    AnswerCoverage,
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    Guidance,
    SupervisorAction,
    ValidationResult,
)
from deep_research.state import events as ev
from deep_research.state.journal import Clock
from deep_research.state.notices import TOO_LATE, guidance_notice
from deep_research.state.records import EVIDENCE, GATE
from deep_research.state.transitions import Node, Situation, Transition, next_transition
from deep_research.supervisor import decisions
from deep_research.supervisor.decisions import cannot_iterate, falls_short, follow_ups
from deep_research.supervisor.hooks import GatePolicy, Verdict, verdict

_FLOW = (SupervisorAction.ITERATE, SupervisorAction.COMPLETE)
_ENDS = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
NOT_NOW = "After synthesis and refinement a phase is done again, or the run ended, by the gate's hook."
NOT_HERE = "To go on or to finish is decided after synthesis and after refinement."
OTHER_PHASE = "Only the phase that has ended, or the planning, can be done again."
NO_RETRY = "The retries of this phase are used up."
SAME = "A retry would give the same result: the agent's input has not changed."
REPLANNED = "The research was planned again in this iteration already."
_LASTING = (DeepResearchPhase.PLANNING, DeepResearchPhase.REFINEMENT)
_HELD = (SupervisorAction.RETRY, SupervisorAction.ABORT)


@dataclass(slots=True)
class RequestedAction:
    """What somebody wants to come next. ``thought`` is the decision in which the supervisor's model says so; ``refused``
    is why it was not done, where that is known before the machine has moved."""

    action: SupervisorAction
    origin: str
    rationale: str = ""
    thought: AgentDecision | None = None
    refused: str = ""

    @property
    def who(self) -> str:
        return "A hook" if self.origin == "hook" else "The supervisor's model"


@dataclass(slots=True)
class Review:
    """What is known once a phase's work is done; ``depth`` where the run is researched more thoroughly from then on."""

    phase: DeepResearchPhase
    validation: ValidationResult
    evaluation: AgentDecision
    action: SupervisorAction
    asked_by: str = GATE
    rationale: str = ""
    replan: bool = False
    depth: ev.DepthChanged | None = None
    retry: Retry | None = None
    guidance: list[tuple[str, str]] = field(default_factory=list)  # (text, origin)
    requests: list[RequestedAction] = field(default_factory=list)

    def is_advised(self, state: DeepResearchState) -> bool:
        """Whether somebody said something that the agent of the phase was not told yet: with that its handoff differs."""
        known_texts = state.steering_for(self.phase)
        return any(origin != GATE and text not in known_texts for text, origin in self.guidance)

    def open_request(self) -> RequestedAction | None:
        """The one to go on or to finish that is still open, the owner's before the model's."""
        return next((w for w in self.requests if w.action in _FLOW and not w.refused), None)


def judge(review: Review, state: DeepResearchState, *, worker: Phase, policy: GatePolicy) -> None:
    """The gate's verdict, bounded by the retries allowed."""
    by_gate = state.attempt - state.supervisor_retries
    retry = worker.retried(state, advised=review.is_advised(state))
    review.action = verdict(
        review.validation,
        policy,
        retry_allowed=by_gate < state.options.gate_retries and retry is not None,
    )
    review.retry = retry or Retry()


def overrule(
    review: Review,
    hook: Verdict,
    state: DeepResearchState,
    *,
    worker: Phase,
    policy: GatePolicy,
) -> None:
    """A hook's verdict instead, within bounds; past them the gate judges, and the verdict stays a request."""
    if hook.guidance:
        review.guidance.append((hook.guidance, "hook"))
    request = RequestedAction(hook.action, "hook", hook.rationale)
    review.requests.append(request)
    if hook.phase not in (None, review.phase, DeepResearchPhase.PLANNING):
        request.refused = OTHER_PHASE
    else:
        plans_again = hook.phase is DeepResearchPhase.PLANNING and review.phase is not hook.phase
        review.replan = hook.action is SupervisorAction.RETRY and plans_again
        request.refused = _refused(request, review, state, worker)
    if request.refused:
        review.replan = False
        judge(review, state, worker=worker, policy=policy)
        return
    review.asked_by, review.rationale = "hook", hook.rationale
    # Whether to go on is decided once the phase has passed.
    review.action = SupervisorAction.PROCEED if hook.action in _FLOW else hook.action
    review.retry = worker.retried(state, advised=True) or Retry()


def consider(
    review: Review,
    thought: AgentDecision,
    requested: SupervisorAction,
    state: DeepResearchState,
    worker: Phase,
    *,
    followed: bool,
) -> None:
    """What the supervisor's model wants, within bounds: the owner's word counts more, what a gate blocks does not pass,
    and nothing is done again where its advice cannot be ``followed``."""
    request = RequestedAction(requested, "supervisor", thought.rationale, thought)
    review.requests.append(request)
    if requested is SupervisorAction.PROCEED:
        return
    if review.asked_by == "hook":
        request.refused = "A hook decided otherwise."
    elif review.action is not SupervisorAction.PROCEED and requested is not review.action:
        request.refused = "The gate does not let the phase pass as it is."
    else:
        request.refused = _refused(request, review, state, worker, followed=followed)
    if not request.refused and requested is SupervisorAction.RETRY:
        review.action, review.asked_by, review.rationale = requested, "supervisor", thought.rationale
        review.retry = worker.retried(state, advised=followed) or Retry()


def _refused(
    request: RequestedAction,
    review: Review,
    state: DeepResearchState,
    worker: Phase,
    *,
    followed: bool = True,
) -> str:
    """Why a request cannot be met, as far as that shows here; else nothing."""
    if request.action in _FLOW:
        return "" if review.phase in _ENDS else NOT_HERE
    if request.action is not SupervisorAction.RETRY:
        return ""
    if review.replan:
        return REPLANNED if state.replanned else ""
    if state.supervisor_retries >= state.options.max_supervisor_retries:
        return NO_RETRY
    is_owner = request.origin == "hook"  # who may know what has changed outside
    same = not is_owner and worker.retried(state, advised=followed) is None
    return SAME if same else ""


def situation(review: Review) -> Situation:
    """The review as the transition table reads it."""
    retry, aborts = (review.action is a for a in (SupervisorAction.RETRY, SupervisorAction.ABORT))
    return Situation(
        retry=retry and not review.replan,
        replan=retry and review.replan,
        blocked=aborts,
        stop=AbortReason.CANCELLED if review.asked_by == "hook" and aborts else None,
    )


def deepen(review: Review, state: DeepResearchState) -> None:
    """A run that found no answer in what its conversation saved is planned anew to search for it; a quick one at the
    standard depth, where nobody chose its depth."""
    ended = review.phase is DeepResearchPhase.ANALYSIS
    unread = state.recalling and review.phase is DeepResearchPhase.GATHERING and not state.sources
    is_blocked = review.action is not SupervisorAction.PROCEED
    if not (ended or unread) or not falls_short(state, is_blocked=is_blocked):
        return
    reason = "What the conversation saved does not answer the question."
    if not state.recalling:
        reason = "One search found no answer."
        review.depth = ev.DepthChanged(depth=Depth.STANDARD, reason=reason)
    review.action, review.replan = SupervisorAction.RETRY, True
    review.asked_by, review.rationale = EVIDENCE, reason
    # What the gate says is of the evidence that did not do.
    review.guidance = [(text, origin) for text, origin in review.guidance if origin != GATE]


def action_of(review: Review, way: Transition) -> SupervisorAction:
    """The action that a transition is."""
    if way.target is Node.ABORTED:
        return SupervisorAction.ABORT
    if way.target is Node.COMPLETED:
        return SupervisorAction.COMPLETE
    if review.action is SupervisorAction.RETRY:
        return SupervisorAction.RETRY
    goes_on = (
        (Node.SYNTHESIS, Node.REFINEMENT),
        (Node.REFINEMENT, Node.GATHERING),
        (Node.ANALYSIS, Node.GATHERING),
    )
    return SupervisorAction.ITERATE if (way.source, way.target) in goes_on else SupervisorAction.PROCEED


def final_iteration_decision(
    review: Review,
    state: DeepResearchState,
    decision: AgentDecision,
    hook: Verdict | str | None,
    *,
    is_spent: bool,
    may_revise: bool,
    may_critique: bool,
    at: datetime,
) -> tuple[Situation, list[ev.Event]]:
    """Decide after SYNTHESIS or REFINEMENT whether to iterate or finish. Combines the supervisor's ``decision``, the
    hook's answer (a `Verdict`, or the text that answered its pause) and the model's requests. Adds to
    ``review.requests`` and ``review.guidance``. ``is_spent``: time or money is used up. Returns the situation and the
    event of the decision."""
    should = bool((decision.outputs or {}).get("should_iterate")) and not is_spent
    rationale = decision.rationale
    if should and (bound := cannot_iterate(state, review.phase, advised=True)):
        should, rationale = False, f"{rationale} {bound}"
    if isinstance(hook, Verdict):
        refused = NOT_NOW if hook.action in _HELD else ""
        review.requests.insert(0, RequestedAction(hook.action, "hook", hook.rationale, refused=refused))
    advice = hook.guidance if isinstance(hook, Verdict) else hook  # else the answer to a pause of the hook
    if advice:
        review.guidance.append((advice, "hook"))
    request = review.open_request()
    ended = request is not None and request.action is SupervisorAction.COMPLETE
    if request is not None and ended:
        should, rationale = (
            False,
            request.rationale or f"{request.who} decided that the research is complete.",
        )
    elif request is not None and not cannot_iterate(state, review.phase, advised=review.is_advised(state)):
        should, rationale = True, request.rationale or f"{request.who} decided to go on."
    is_refined = review.phase is DeepResearchPhase.REFINEMENT
    critique = may_revise and may_critique and not ended
    if critique and not should:
        rationale = f"{rationale} The report is looked at before it is handed over."
    situation = Situation(
        should_iterate=should,
        follow_ups=len(follow_ups(state)) if is_refined else 0,
        iterations_left=state.max_iterations - state.iteration,
        improve_report=is_refined
        and may_revise
        and not ended
        and bool(state.report_improvements or state.remarks),
        critique=critique,
    )
    way = next_transition(Node(review.phase.value), situation)
    decided = decisions.iteration(
        state,
        should_iterate=should,
        rationale=rationale,
        next_phase="COMPLETED" if way.target is Node.COMPLETED else way.target.value,
        at=at,
    )
    return situation, [ev.DecisionMade(action=action_of(review, way), decision=decided)]


def decide_further_searches(
    review: Review, situation: Situation, state: DeepResearchState, clock: Clock
) -> tuple[Situation, list[ev.Event]]:
    """Decide after an ANALYSIS without an answer whether to make the follow-up searches that the findings suggest."""
    fresh = len(follow_ups(state))
    left = state.max_iterations - state.iteration
    no_answer = not state.findings or state.answer_coverage is AnswerCoverage.NO
    if not (no_answer and review.asked_by == GATE and fresh and left > 0):
        return situation, []
    decided = decisions.iteration(
        state,
        should_iterate=True,
        rationale=f"Nothing answers yet; {fresh} follow-up queries lead on from what was found.",
        next_phase=DeepResearchPhase.GATHERING.value,
        at=clock(),
    )
    situation = replace(situation, should_iterate=True, follow_ups=fresh, iterations_left=left)
    return situation, [ev.DecisionMade(action=SupervisorAction.ITERATE, decision=decided)]


def next_phase_events(
    state: DeepResearchState,
    review: Review,
    way: Transition,
    at: datetime,
    start: Callable[[DeepResearchState, DeepResearchPhase], ev.PhaseStarted],
) -> list[ev.Event]:
    """Return the events that bring the machine to the transition's target; ``start`` makes the last of them."""
    if way.target is Node.COMPLETED:
        return [*last_advice(state, review), ev.RunCompleted(rationale=way.label)]
    target = DeepResearchPhase(way.target.value)
    again = review.action is SupervisorAction.RETRY
    again_from = (DeepResearchPhase.ANALYSIS, DeepResearchPhase.REFINEMENT)
    iterating = not again and review.phase in again_from and target is DeepResearchPhase.GATHERING
    iteration = state.iteration + iterating
    fresh = follow_ups(state) if iterating else ()
    # What is said between the iterations, or before all else, is for all that follows; a gate speaks of the next step.
    lasting = not again and review.phase in _LASTING
    events: list[ev.Event] = [
        guidance_event(target, iteration, text, origin, lasting=lasting and origin != GATE)
        for text, origin in review.guidance
    ]
    if again:
        return [*events, *_again(state, review, target, at)]
    if iterating:
        events.append(ev.IterationStarted(iteration=iteration, sub_queries=fresh))
    then = state.model_copy(
        update={"iteration": iteration, "sub_queries": (*state.sub_queries, *fresh)}
    )  # what the agent will be dispatched with
    return [*events, start(then, target)]


def _again(
    state: DeepResearchState, review: Review, target: DeepResearchPhase, at: datetime
) -> list[ev.Event]:
    retry = review.retry or Retry()
    issues = (review.rationale,) if review.asked_by == EVIDENCE else review.validation.issues
    decision = decisions.action(
        state,
        name="retry_phase",
        rationale=review.rationale or " ".join(issues) or "A hook asked for it.",
        outputs={"phase": target.value, "asked_by": review.asked_by},
        at=at,
    )
    return [
        ev.DecisionMade(action=SupervisorAction.RETRY, decision=decision),
        ev.PhaseRetried(
            phase=target,
            attempt=0 if review.replan else state.attempt + 1,
            issues=issues,
            sub_queries=() if review.replan else retry.sub_queries,
            asked_by=review.asked_by,
        ),
    ]


def guidance_event(
    phase: DeepResearchPhase, iteration: int, text: str, origin: str, *, lasting: bool = False
) -> ev.GuidanceGiven:
    """Advice for the agent of a phase, as an event; ``lasting``: and for those that work after it in the iteration."""
    return ev.GuidanceGiven(
        guidance=Guidance(phase=phase, iteration=iteration, text=text, origin=origin, lasting=lasting)
    )


def last_advice(state: DeepResearchState, review: Review) -> list[ev.Event]:
    """What was said after the last phase, too late for any agent: it is kept with that phase. What the gate
    says stands in the phase's end."""
    late_texts = [(text, origin) for text, origin in review.guidance if origin != GATE]
    return [
        *(guidance_event(review.phase, state.iteration, text, origin) for text, origin in late_texts),
        *(ev.NoticeAdded(notice=guidance_notice(TOO_LATE, text)) for text, _ in late_texts),
    ]


def request_events(
    state: DeepResearchState, review: Review, next_action: SupervisorAction, at: datetime
) -> list[ev.Event]:
    """The requested actions, once it is known what comes next: a thought of the supervisor's model as the decision that
    it led to; what came to nothing as a request, with the reason."""
    events: list[ev.Event] = []
    for request in review.requests:
        followed = request.action is next_action or (
            request.action is SupervisorAction.PROCEED and next_action not in _HELD
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
        why = None if followed else request.refused or _why_not(state, request, next_action)
        events.append(
            ev.DecisionMade(action=next_action if followed else request.action, decision=thought, refused=why)
        )
    return events


def _why_not(state: DeepResearchState, request: RequestedAction, next_action: SupervisorAction) -> str:
    if request.action is SupervisorAction.ITERATE:
        return cannot_iterate(state, state.phase) or "It was decided otherwise."
    return f"It was decided otherwise: {next_action.value}."
