"""What the supervisor makes of a finished phase: the gate's verdict, or a hook's instead of it, within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deep_research.phases.base import Phase, Retry
from deep_research.state import (
    AbortReason,
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    SupervisorAction,
    ValidationResult,
)
from deep_research.state.transitions import Situation
from deep_research.supervisor.gates import GatePolicy, verdict
from deep_research.supervisor.hooks import Verdict


@dataclass(slots=True)
class Review:
    """What is known once a phase's work is done."""

    phase: DeepResearchPhase
    validation: ValidationResult
    evaluation: AgentDecision
    action: SupervisorAction
    asked_by: str = "gate"
    rationale: str = ""
    replan: bool = False
    retry: Retry | None = None
    guidance: list[tuple[str, str]] = field(default_factory=list)  # (text, origin)


def judge(review: Review, state: DeepResearchState, *, worker: Phase[Any, Any], policy: GatePolicy) -> None:
    """The gate's verdict, bounded by the retries allowed."""
    by_gate = state.attempt - state.supervisor_retries
    advised = any(origin != "gate" for _, origin in review.guidance)
    retry = worker.retried(state, advised=advised)
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
    worker: Phase[Any, Any],
    policy: GatePolicy,
) -> None:
    """A hook's verdict instead, bounded by the retries that hooks may ask for; past them the gate judges."""
    review.asked_by, review.rationale = "hook", hook.rationale
    review.action = hook.action
    review.retry = worker.retried(state, advised=True) or Retry()
    if hook.guidance:
        review.guidance.append((hook.guidance, "hook"))
    if hook.action is SupervisorAction.RETRY:
        review.replan = (
            hook.phase is DeepResearchPhase.PLANNING and review.phase is not DeepResearchPhase.PLANNING
        )
        spent = (
            state.replanned
            if review.replan
            else state.supervisor_retries >= state.options.max_supervisor_retries
        )
        if spent:
            review.replan = False
            review.asked_by, review.rationale = "gate", ""
            judge(review, state, worker=worker, policy=policy)


def situation(review: Review) -> Situation:
    """The review as the transition table reads it."""
    retry, aborts = (review.action is a for a in (SupervisorAction.RETRY, SupervisorAction.ABORT))
    return Situation(
        retry=retry and not review.replan,
        replan=retry and review.replan,
        blocked=aborts,
        stop=AbortReason.CANCELLED if review.asked_by == "hook" and aborts else None,
    )
