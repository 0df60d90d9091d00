"""The supervisor's decisions in the spec's form, and what a dispatch among them decides: which agent does a phase, and
the options that hold for it. The time is given.

A dispatch is in the log before it is acted on, and is read from there, so a resumed run follows it as well. The options
that a supervisor changed stand apart among its ``inputs``; what it left as it was follows the run, which may be
steered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.setting_fields import UNSET, flatten, nest, with_values
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentDecision,
    AgentRole,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    RunOptions,
    ValidationResult,
)
from deep_research.state.events import Event, Progress
from deep_research.state.journal import Content, Journal

_STRONG = (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)
_ALL_MET = "All of its rules are met."

EXTRACTIVE = "extractive"  # names the extractive agent of a phase, in place of its own
_OPTIONS = "options"
_OF_RUN = ("budget", "provider_id", "corpora", "user_id", "session_id", "metadata")  # no phase has its own


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
    rationale = f"{phase.value.capitalize()} was evaluated. {verdict}"
    inputs = {"phase": phase.value, "iteration": state.iteration}
    judged = {"quality_ok": not validation.blocking, "quality_score": validation.quality_score}
    return by_supervisor("evaluate_phase", rationale, inputs, _metrics(state, phase) | judged, at)


def by_supervisor(
    action: str, rationale: str, inputs: dict[str, Any], outputs: dict[str, Any], at: datetime
) -> AgentDecision:
    return AgentDecision(
        agent=AgentRole.SUPERVISOR.value,
        action=action,
        rationale=rationale,
        inputs=inputs,
        outputs=outputs,
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
    inputs = {
        "gap_count": len(state.unresolved_gaps()),
        "iteration": state.iteration,
        "max_iterations": state.max_iterations,
    }
    outputs = {"should_iterate": should_iterate, "next_phase": next_phase}
    return by_supervisor("decide_iteration", rationale, inputs, outputs, at)


def action(
    state: DeepResearchState, *, name: str, rationale: str, outputs: dict[str, Any], at: datetime
) -> AgentDecision:
    """Any other step of the supervisor: a retry, a new plan, an abort."""
    inputs = {"phase": state.phase.value, "iteration": state.iteration, "attempt": state.attempt}
    return by_supervisor(name, rationale, inputs, outputs, at)


def with_options(decision: AgentDecision, default: AgentDecision, options: RunOptions) -> AgentDecision:
    """The decision with what it names other than by default among the options of a run. Raises `ConfigurationError` for a
    value that is none."""
    names = [name for name in RunOptions.model_fields if name not in _OF_RUN and name in decision.inputs]
    values = {
        name: decision.inputs[name]
        for name in names
        if name not in default.inputs or decision.inputs[name] != default.inputs[name]
    }
    if not values:
        return decision
    try:
        own_options = _by_path(values)
        with_values(options, own_options)
    except UnknownNameError as error:
        raise ConfigurationError(
            f"The dispatch to the {decision.agent} cannot be: {error.problem}", hint=error.hint
        ) from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(
            f"The dispatch to the {decision.agent} cannot be: {'.'.join(map(str, fault['loc']))}: {fault['msg']}.",
            hint="Its inputs may name options of a run, within their bounds.",
        ) from None
    return decision.model_copy(update={"inputs": {**decision.inputs, _OPTIONS: nest(own_options)}})


def _by_path(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by path, None among them."""
    values = {name: UNSET if value is None else value for name, value in options.items()}
    return flatten(RunOptions, values, kind="option")


def latest_dispatch(state: DeepResearchState, phase: DeepResearchPhase) -> AgentDecision | None:
    """The one by which the phase is being done."""
    action = f"execute_{phase.value}"
    return next((decision for decision in reversed(state.decisions) if decision.action == action), None)


def is_extractive(state: DeepResearchState, phase: DeepResearchPhase) -> bool:
    """Whether the phase was dispatched to the extractive agent."""
    decision = latest_dispatch(state, phase)
    return decision is not None and decision.agent == EXTRACTIVE


def is_unknown(decision: AgentDecision, phase: DeepResearchPhase) -> bool:
    """Whether the dispatch names an agent that there is not."""
    return decision.agent not in (PHASE_TO_AGENT[phase].value, EXTRACTIVE)


def phase_journal(journal: Journal, phase: DeepResearchPhase) -> Journal:
    """The journal as the agent of the phase sees it."""
    decision = latest_dispatch(journal.state, phase)
    options = decision.inputs.get(_OPTIONS) if decision is not None else None
    return PhaseJournal(journal, options) if options else journal


class PhaseJournal:
    """The journal of a run, whose state shows options of one phase."""

    def __init__(self, journal: Journal, options: dict[str, Any]) -> None:
        self._journal = journal
        self._options = options
        self._last_view: tuple[DeepResearchState, DeepResearchState] | None = (
            None  # the run's, and with the options
        )

    @property
    def state(self) -> DeepResearchState:
        state = self._journal.state
        if self._last_view is None or self._last_view[0] is not state:
            options = with_values(state.options, _by_path(self._options))
            self._last_view = state, state.model_copy(update={"options": options})
        return self._last_view[1]

    async def record(self, *events: Event, contents: Sequence[Content] = ()) -> None:
        await self._journal.record(*events, contents=contents)

    async def settle(self) -> None:
        await self._journal.settle()

    def check(self) -> None:
        self._journal.check()

    @property
    def watched(self) -> bool:
        return self._journal.watched

    def progress(self, note: Progress) -> None:
        self._journal.progress(note)

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        return await self._journal.texts(hashes)
