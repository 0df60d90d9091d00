"""What the supervisor makes of a finished phase: the gate's verdict, or a hook's instead of it, within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from deep_research.phases.base import Phase, Retry
from deep_research.state import (
    AbortReason,
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    SupervisorAction,
    ValidationResult,
)
from deep_research.state.records import GATE
from deep_research.state.transitions import Situation
from deep_research.supervisor.gates import GatePolicy, verdict
from deep_research.supervisor.hooks import Verdict


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
    """What is known once a phase's work is done."""

    phase: DeepResearchPhase
    validation: ValidationResult
    evaluation: AgentDecision
    action: SupervisorAction
    asked_by: str = GATE
    rationale: str = ""
    replan: bool = False
    retry: Retry | None = None
    guidance: list[tuple[str, str]] = field(default_factory=list)  # (text, origin)
    requests: list[RequestedAction] = field(default_factory=list)

    def is_advised(self, state: DeepResearchState) -> bool:
        """Whether somebody said something that the agent of the phase was not told yet: with that its handoff differs."""
        told = state.steering_for(self.phase)
        return any(origin != GATE and text not in told for text, origin in self.guidance)

    def open_request(self) -> RequestedAction | None:
        """The one to go on or to finish that is still open, the owner's before the model's."""
        return next((w for w in self.requests if w.action in _FLOW and not w.refused), None)


_FLOW = (SupervisorAction.ITERATE, SupervisorAction.COMPLETE)
_ENDS = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
NOT_HERE = "To go on or to finish is decided after synthesis and after refinement."
OTHER_PHASE = "Only the phase that has ended, or the planning, can be done again."
NO_RETRY = "The retries of this phase are used up."
SAME = "Done again it would be the same: nothing that its agent is told has changed."
REPLANNED = "The research was planned again in this iteration already."


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
        judge(review, state, worker=worker, policy=policy)
        return
    review.replan = hook.action is SupervisorAction.RETRY and (
        hook.phase is DeepResearchPhase.PLANNING and review.phase is not DeepResearchPhase.PLANNING
    )
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
