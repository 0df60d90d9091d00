"""The supervisor's decisions in the spec's form. Pure: the time is given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from deep_research.state import (
    PHASE_TO_AGENT,
    AgentDecision,
    AgentRole,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    ValidationResult,
)

_STRONG = (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)
_ALL_MET = "All of its rules are met."


def dispatch(state: DeepResearchState, phase: DeepResearchPhase, at: datetime) -> AgentDecision:
    """Which agent works now, and with what."""
    agent = PHASE_TO_AGENT[phase]
    return AgentDecision(
        agent=agent.value,
        action=f"execute_{phase.value}",
        rationale=f"The {agent.value} is the specialist of the {phase.value} phase.",
        inputs={
            "research_id": state.research_id,
            "original_query": state.query,
            "current_phase": phase.value,
            "iteration": state.iteration,
            **_inputs(state, phase),
        },
        timestamp=at,
    )


def _inputs(state: DeepResearchState, phase: DeepResearchPhase) -> dict[str, Any]:
    match phase:
        case DeepResearchPhase.PLANNING:
            return {
                "system_prompt": state.options.system_prompt,
                "max_sub_queries": state.max_sub_queries,
            }
        case DeepResearchPhase.GATHERING:
            return {
                "sub_queries": [s.query for s in state.pending_sub_queries()],
                "source_types": list(state.options.source_types),
                "max_sources_per_query": state.options.max_sources_per_query,
            }
        case DeepResearchPhase.ANALYSIS:
            return {
                "source_count": len(state.sources),
                "high_quality_sources": state.high_quality_sources(),
            }
        case DeepResearchPhase.SYNTHESIS:
            return {
                "finding_count": len(state.findings),
                "gap_count": len(state.unresolved_gaps()),
                "has_research_brief": bool(state.research_brief),
            }
        case DeepResearchPhase.REFINEMENT:
            return {
                "gaps": [g.description for g in state.unresolved_gaps()],
                "remaining_iterations": state.max_iterations - state.iteration,
                "has_report_draft": bool(state.report),
            }


def evaluation(
    state: DeepResearchState, phase: DeepResearchPhase, validation: ValidationResult, at: datetime
) -> AgentDecision:
    """What the supervisor makes of a finished phase."""
    verdict = " ".join(validation.issues) or _ALL_MET
    return AgentDecision(
        agent=AgentRole.SUPERVISOR.value,
        action="evaluate_phase",
        rationale=f"{phase.value.capitalize()} was evaluated. {verdict}",
        inputs={"phase": phase.value, "iteration": state.iteration},
        outputs={
            **_metrics(state, phase),
            "quality_ok": not validation.blocking,
            "quality_score": validation.quality_score,
        },
        timestamp=at,
    )


def with_evaluation(validation: ValidationResult, evaluation: AgentDecision) -> ValidationResult:
    """The gate's verdict as the supervisor's evaluation has it: ``quality_ok`` lets the phase pass, or does not."""
    ok = (evaluation.outputs or {}).get("quality_ok")
    if ok is None or bool(ok) is not bool(validation.blocking):
        return validation
    if ok:
        return ValidationResult(valid=True, quality_score=validation.quality_score)
    why = evaluation.rationale.strip()
    if not why or why.endswith(_ALL_MET):  # it was left as it was
        why = "The supervisor's evaluation does not let the phase pass."
    return validation.model_copy(
        update={"valid": False, "issues": (why, *validation.issues), "blocking": (why,)}
    )


def _metrics(state: DeepResearchState, phase: DeepResearchPhase) -> dict[str, Any]:
    match phase:
        case DeepResearchPhase.PLANNING:
            return {
                "sub_query_count": len(state.current_sub_queries()),
                "has_research_brief": bool(state.research_brief),
            }
        case DeepResearchPhase.GATHERING:
            return {"source_count": len(state.sources)}
        case DeepResearchPhase.ANALYSIS:
            return {
                "finding_count": len(state.findings),
                "high_confidence_count": sum(f.confidence in _STRONG for f in state.findings),
            }
        case DeepResearchPhase.SYNTHESIS:
            return {"has_report": bool(state.report), "report_length": len(state.report or "")}
        case DeepResearchPhase.REFINEMENT:
            recommended = state.recommendation
            return {
                "unaddressed_gaps": len(state.unresolved_gaps()),
                "should_iterate": bool(recommended and recommended.should_iterate),
            }


def iteration(
    state: DeepResearchState, *, should_iterate: bool, rationale: str, next_phase: str, at: datetime
) -> AgentDecision:
    """Whether to go on, and where."""
    return AgentDecision(
        agent=AgentRole.SUPERVISOR.value,
        action="decide_iteration",
        rationale=rationale,
        inputs={
            "gap_count": len(state.unresolved_gaps()),
            "iteration": state.iteration,
            "max_iterations": state.max_iterations,
        },
        outputs={"should_iterate": should_iterate, "next_phase": next_phase},
        timestamp=at,
    )


def action(
    state: DeepResearchState, *, name: str, rationale: str, outputs: dict[str, Any], at: datetime
) -> AgentDecision:
    """Any other step of the supervisor: a retry, a new plan, an abort."""
    return AgentDecision(
        agent=AgentRole.SUPERVISOR.value,
        action=name,
        rationale=rationale,
        inputs={"phase": state.phase.value, "iteration": state.iteration, "attempt": state.attempt},
        outputs=outputs,
        timestamp=at,
    )
