"""Builds the five phases from their agents, and says which gate checks each phase and what its verdict does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from deep_research.errors import NoSearchProviderError, UnknownNameError
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis.phase import validate_analysis
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase
from deep_research.phases.gathering.phase import validate_gathering
from deep_research.phases.planning import ExtractivePlanner, PlanningPhase
from deep_research.phases.planning.phase import validate_planning
from deep_research.phases.refinement import ExtractiveRefiner, RefinementPhase
from deep_research.phases.refinement.phase import validate_refinement
from deep_research.phases.synthesis import ExtractiveSynthesizer, SynthesisPhase
from deep_research.phases.synthesis.phase import validate_synthesis
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentRole,
    DeepResearchPhase,
    DeepResearchState,
    SupervisorAction,
    ValidationResult,
)

Validator = Callable[[DeepResearchState], ValidationResult]

VALIDATORS: dict[DeepResearchPhase, Validator] = {
    DeepResearchPhase.PLANNING: validate_planning,
    DeepResearchPhase.GATHERING: validate_gathering,
    DeepResearchPhase.ANALYSIS: validate_analysis,
    DeepResearchPhase.SYNTHESIS: validate_synthesis,
    DeepResearchPhase.REFINEMENT: validate_refinement,
}


class GatePolicy(StrEnum):
    """What the engine does when a gate finds a blocking issue; the default is ``retry``.

    ``proceed`` continues anyway. ``retry`` repeats the phase, at most ``gate_retries`` times, then aborts the run.
    ``abort`` aborts it at once. ``strict`` is ``retry`` and also blocks on advisory issues
    (`ValidationResult.advisory`).

    Example:
        DeepResearch(gates={"analysis": GatePolicy.STRICT})
    """

    PROCEED = "proceed"
    RETRY = "retry"
    ABORT = "abort"
    STRICT = "strict"


Gates = Mapping[DeepResearchPhase, GatePolicy] | Mapping[DeepResearchPhase | str, GatePolicy | str]


def policies(values: Gates | None) -> dict[DeepResearchPhase, GatePolicy]:
    """The policy of every phase. Raises `UnknownNameError`."""
    by_phase = dict.fromkeys(DeepResearchPhase, GatePolicy.RETRY)
    for phase, policy in (values or {}).items():
        if phase not in list(DeepResearchPhase):
            raise UnknownNameError.of("phase", str(phase), [p.value for p in DeepResearchPhase])
        if policy not in list(GatePolicy):
            raise UnknownNameError.of("gate policy", str(policy), [p.value for p in GatePolicy])
        by_phase[DeepResearchPhase(phase)] = GatePolicy(policy)
    return by_phase


def verdict(validation: ValidationResult, policy: GatePolicy, *, retry_allowed: bool) -> SupervisorAction:
    """Proceed, retry or abort. Pure."""
    issues = validation.issues if policy is GatePolicy.STRICT else validation.blocking
    if not issues or policy is GatePolicy.PROCEED:
        return SupervisorAction.PROCEED
    if policy is not GatePolicy.ABORT and retry_allowed:
        return SupervisorAction.RETRY
    return SupervisorAction.ABORT


Agents = Mapping[AgentRole, Any] | Mapping[AgentRole | str, Any] | Mapping[str, Any]
Phases = dict[DeepResearchPhase, Phase]

PHASE_TYPES: dict[DeepResearchPhase, Callable[..., Phase]] = {
    DeepResearchPhase.PLANNING: PlanningPhase,
    DeepResearchPhase.GATHERING: GatheringPhase,
    DeepResearchPhase.ANALYSIS: AnalysisPhase,
    DeepResearchPhase.SYNTHESIS: SynthesisPhase,
    DeepResearchPhase.REFINEMENT: RefinementPhase,
}
EXTRACTIVE_AGENTS: dict[DeepResearchPhase, Callable[[], Any]] = {
    DeepResearchPhase.PLANNING: ExtractivePlanner,
    DeepResearchPhase.ANALYSIS: ExtractiveAnalyzer,
    DeepResearchPhase.SYNTHESIS: ExtractiveSynthesizer,
    DeepResearchPhase.REFINEMENT: ExtractiveRefiner,
}


def checked_agents(agents: Agents | None) -> dict[AgentRole, Any]:
    """Agents by role. Raises `UnknownNameError`."""
    by_role: dict[AgentRole, Any] = {}
    roles = [role.value for role in AgentRole if role is not AgentRole.SUPERVISOR]
    for role, agent in (agents or {}).items():
        if role not in roles:
            raise UnknownNameError.of("agent role", str(role), roles)
        by_role[AgentRole(role)] = agent
    return by_role


def phases_of(agents: Agents, limits: WorkLimits) -> Phases:
    """All five phases; a role that has no agent is done by the extractive one. Raises as `checked_agents`, and
    `NoSearchProviderError` without a gatherer: nothing else could search."""
    by_role = checked_agents(agents)
    if AgentRole.GATHERER not in by_role:
        raise NoSearchProviderError(
            "There is nothing to search: no gatherer was handed over.",
            hint="For example: agents={'gatherer': SearchGatherer([provider])}, of deep_research.phases.gathering.",
        )
    return {
        phase: phase_type(by_role.get(PHASE_TO_AGENT[phase]) or EXTRACTIVE_AGENTS[phase](), limits=limits)
        for phase, phase_type in PHASE_TYPES.items()
    }


def extractive_phases(limits: WorkLimits) -> Phases:
    """Phases with extractive agents, which finish a phase if its own agent fails."""
    return {phase: PHASE_TYPES[phase](agent(), limits=limits) for phase, agent in EXTRACTIVE_AGENTS.items()}
