"""Gates: what each phase is held to, and what happens when it falls short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from deep_research.errors import UnknownNameError
from deep_research.phases.analysis.phase import validate_analysis
from deep_research.phases.gathering.phase import validate_gathering
from deep_research.phases.planning.phase import validate_planning
from deep_research.phases.refinement.phase import validate_refinement
from deep_research.phases.synthesis.phase import validate_synthesis
from deep_research.state import DeepResearchPhase, DeepResearchState, SupervisorAction, ValidationResult

Validator = Callable[[DeepResearchState], ValidationResult]

VALIDATORS: dict[DeepResearchPhase, Validator] = {
    DeepResearchPhase.PLANNING: validate_planning,
    DeepResearchPhase.GATHERING: validate_gathering,
    DeepResearchPhase.ANALYSIS: validate_analysis,
    DeepResearchPhase.SYNTHESIS: validate_synthesis,
    DeepResearchPhase.REFINEMENT: validate_refinement,
}


class GatePolicy(StrEnum):
    """What a blocking issue of a gate does.

    ``proceed`` continues anyway. ``retry`` repeats the phase and then aborts. ``abort`` aborts at once. ``strict`` is
    ``retry``, and treats advice as blocking too.

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
