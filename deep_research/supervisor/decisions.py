"""The supervisor's decisions in the spec's form: the dispatch of an agent under the options that hold for a phase, how
deep the research goes, and whether there is another iteration, with which searches. Pure: the time is given.

A dispatch is in the log before it is acted on, and is read from there, so a resumed run follows it as well. The options
that a supervisor changed stand apart among its ``inputs``; what it left as it was follows the run, which may be
steered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.retrieval.parsed_question import parse_question
from deep_research.setting_fields import UNSET, flatten, nest, with_values
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentDecision,
    AgentRole,
    AnswerCoverage,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    FollowUpQuery,
    GapAnalysis,
    RunOptions,
    SubQuery,
    SubQueryStatus,
    ValidationResult,
)
from deep_research.state.identity import sub_query_id
from deep_research.state.question_parts import AnswerStatus

_STRONG = (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)
_ALL_MET = "All of its rules are met."

STOPPED = "The owner of the run wants nothing more searched."
_SEVERITY = {"critical": 0, "moderate": 1, "minor": 2}
AUTO, USUAL = "auto", "standard"
MAX_QUICK_WORDS = 30  # of a question that may be answered by one search
EXTRACTIVE = "extractive"  # names the extractive agent of a phase, in place of its own
OPTIONS = "options"
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
    by_phase: dict[DeepResearchPhase, dict[str, Any]] = {
        DeepResearchPhase.PLANNING: {
            "system_prompt": state.options.system_prompt,
            "max_sub_queries": state.max_sub_queries,
        },
        DeepResearchPhase.GATHERING: {
            "sub_queries": [s.query for s in state.pending_sub_queries()],
            "source_types": list(state.options.source_types),
            "max_sources_per_query": state.options.max_sources_per_query,
        },
        DeepResearchPhase.ANALYSIS: {
            "source_count": len(state.sources),
            "high_quality_sources": state.high_quality_sources(),
        },
        DeepResearchPhase.SYNTHESIS: {
            "finding_count": len(state.findings),
            "gap_count": len(state.unresolved_gaps()),
            "has_research_brief": bool(state.research_brief),
        },
        DeepResearchPhase.REFINEMENT: {
            "gaps": [g.description for g in state.unresolved_gaps()],
            "remaining_iterations": state.max_iterations - state.iteration,
            "has_report_draft": bool(state.report),
        },
    }
    return by_phase[phase]


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
    by_phase: dict[DeepResearchPhase, dict[str, Any]] = {
        DeepResearchPhase.PLANNING: {
            "sub_query_count": len(state.current_sub_queries()),
            "has_research_brief": bool(state.research_brief),
        },
        DeepResearchPhase.GATHERING: {"source_count": len(state.sources)},
        DeepResearchPhase.ANALYSIS: {
            "finding_count": len(state.findings),
            "high_confidence_count": sum(f.confidence in _STRONG for f in state.findings),
        },
        DeepResearchPhase.SYNTHESIS: {
            "has_report": bool(state.report),
            "report_length": len(state.report or ""),
        },
        DeepResearchPhase.REFINEMENT: {
            "unaddressed_gaps": len(state.unresolved_gaps()),
            "should_iterate": bool(state.recommendation and state.recommendation.should_iterate),
        },
    }
    return by_phase[phase]


def reflection_prompt(state: DeepResearchState, phase: DeepResearchPhase) -> str:
    """The phase's result in figures and the questions to weigh. Pure."""
    unresolved, total = len(state.unresolved_gaps()), len(state.gaps)
    brief = "with" if state.research_brief else "without"
    return {
        DeepResearchPhase.PLANNING: (
            f"The plan has {len(state.current_sub_queries())} sub-queries, {brief} a research brief."
            " Do they cover the whole question? Which side of it is not asked about?"
        ),
        DeepResearchPhase.GATHERING: (
            f"{len(state.sources)} sources were gathered, {state.high_quality_sources()} of high quality."
            " Are they different enough from one another? Is their quality good enough?"
        ),
        DeepResearchPhase.ANALYSIS: (
            f"{len(state.findings)} findings were drawn and {unresolved} gaps are open."
            " Do the sources carry the findings? Which gap matters most?"
        ),
        DeepResearchPhase.SYNTHESIS: (
            f"The report has {len(state.report or '')} characters, in iteration {state.iteration} of"
            f" {state.max_iterations}. Does it answer the question? Is another round worth it?"
        ),
        DeepResearchPhase.REFINEMENT: (
            f"{total - unresolved} of {total} gaps are addressed."
            " Should the research go on, or is it ready to be finished?"
        ),
    }[phase]


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
        own_options = by_path(values)
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
    return decision.model_copy(update={"inputs": {**decision.inputs, OPTIONS: nest(own_options)}})


def by_path(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by path, None among them."""
    values = {name: UNSET if value is None else value for name, value in options.items()}
    return flatten(RunOptions, values, kind="option")


def latest_dispatch(state: DeepResearchState, phase: DeepResearchPhase) -> AgentDecision | None:
    """The one by which the phase is being done."""
    action = f"execute_{phase.value}"
    return next((decision for decision in reversed(state.decisions) if decision.action == action), None)


# Depth and iterations


def follow_ups(state: DeepResearchState) -> tuple[SubQuery, ...]:
    """The refiner's follow-up queries as new sub-queries: priority gaps first, nothing asked twice, no more than
    a plan may have. After an ANALYSIS without an answer no refiner was asked: then they are those of the gaps."""
    if state.searching_stopped:
        return ()
    asked = {s.id for s in state.sub_queries if s.status is not SubQueryStatus.SUPERSEDED}
    if state.phase is DeepResearchPhase.ANALYSIS:
        assessed: tuple[GapAnalysis, ...] = tuple(
            GapAnalysis(
                gap_id=gap.id,
                follow_up_queries=tuple(
                    FollowUpQuery(query=query, expected_contribution=gap.description)
                    for query in gap.suggested_queries
                ),
            )
            for gap in sorted(state.unresolved_gaps(), key=lambda gap: gap.priority)
        )
    else:
        assessed = state.gap_analysis
    open_gaps = {g.id: g for g in state.unresolved_gaps()}
    first = state.recommendation.priority_gaps if state.recommendation else ()
    ranked = sorted(
        (g for g in assessed if g.addressable and g.gap_id in open_gaps),
        key=lambda g: (g.gap_id not in first, _SEVERITY.get(g.severity, 1)),
    )
    fresh: dict[str, SubQuery] = {}
    for gap in ranked:
        for item in gap.follow_up_queries:
            text = " ".join(item.query.split())
            key = sub_query_id(text)
            if text and key not in asked and key not in fresh:
                fresh[key] = SubQuery(
                    id=key,
                    query=text,
                    rationale=item.expected_contribution,
                    priority=_SEVERITY.get(gap.severity, 1) + 1,
                    index=state.next_index + len(fresh),
                    iteration=state.iteration + 1,
                    gap_id=gap.gap_id,
                    part_id=open_gaps[gap.gap_id].part_id,
                )
    return tuple(fresh.values())[: state.max_follow_ups]


def worth_refining(state: DeepResearchState) -> tuple[bool, str]:
    """After SYNTHESIS: whether the gaps should be looked into, and why."""
    if state.searching_stopped:
        return False, STOPPED
    gaps = len(state.unresolved_gaps())
    if not gaps:
        return False, "No gap is open."
    are_open = "1 gap is open" if gaps == 1 else f"{gaps} gaps are open"
    if state.iteration >= state.max_iterations:
        return False, f"{are_open}, but iteration {state.iteration} was the last allowed."
    if state.refined == state.iteration:
        return False, "The gaps of this iteration were assessed already."
    left = state.max_iterations - state.iteration
    return True, f"{are_open} and {left} {'iteration is' if left == 1 else 'iterations are'} left."


def is_settled(state: DeepResearchState) -> bool:
    """Whether nothing of a later report is left to be looked at: every part of the question is answered and told of, no
    gap is open, and no claim is marked. What a model would say of a first report nobody knows."""
    told = all(v.verdict is AnswerStatus.ANSWERED and v.claim_ids for v in state.verdicts)
    return (
        state.iteration > 1
        and told
        and not state.has_unresolved_gaps()
        and not any(claim.is_marked for claim in state.claims)
    )


def worth_iterating(state: DeepResearchState) -> tuple[bool, str]:
    """After REFINEMENT: whether to search again, and why."""
    if state.searching_stopped:
        return False, STOPPED
    if state.recommendation is None or not state.recommendation.should_iterate:
        return False, "The refiner sees nothing worth a further iteration."
    if state.iteration >= state.max_iterations:
        return False, f"Iteration {state.iteration} was the last allowed."
    fresh = follow_ups(state)
    if not fresh:
        return False, "Every follow-up query was asked before."
    cap = state.options.budget.max_searches
    if cap is not None and state.usage.searches >= cap and state.options.on_budget_exhausted != "ask":
        return False, f"The cap of {cap} searches leaves none for another iteration."
    return True, f"{len(fresh)} follow-up queries may fill open gaps."


def decide(state: DeepResearchState, phase: DeepResearchPhase) -> tuple[bool, str]:
    """After SYNTHESIS whether to refine, after REFINEMENT whether to search again; and why."""
    return worth_iterating(state) if phase is DeepResearchPhase.REFINEMENT else worth_refining(state)


def cannot_iterate(state: DeepResearchState, phase: DeepResearchPhase, *, advised: bool = False) -> str:
    """Why the research cannot go on after this phase, even if a hook wants it; nothing where it can. With ``advised``
    there is a gap for the refiner."""
    if state.searching_stopped:
        return STOPPED
    if state.iteration >= state.max_iterations:
        return f"Iteration {state.iteration} was the last allowed."
    if phase is DeepResearchPhase.REFINEMENT:
        return (
            ""
            if follow_ups(state)
            else "There is nothing left to ask: every follow-up query was asked before."
        )
    if not state.has_unresolved_gaps() and not advised:
        return "No gap is open."
    return "" if state.refined < state.iteration else "The gaps of this iteration were assessed already."


def depth_of(state: DeepResearchState, *, by_planner: bool = False) -> tuple[Depth, str]:
    """The depth of a run and why it has it. By rule a short question that asks one thing is quick; ``by_planner``: the
    planner thinks with a model, and says with its plan whether one search will do."""
    option = state.options.depth
    if option != AUTO:
        return Depth(option), "" if option == USUAL else "It was asked for."
    if by_planner:
        return Depth.STANDARD, "The planner may find that one search will do."
    read = parse_question(state.query)
    if read.subject or read.is_topic or read.is_broad:
        return Depth.STANDARD, "An overview is asked for."
    if len(read.parts) > 1:
        return Depth.STANDARD, f"The question has {len(read.parts)} parts."
    if len(state.query.split()) > MAX_QUICK_WORDS:
        return Depth.STANDARD, "The question is long."
    return Depth.QUICK, "The question is short, and asks one thing."


def falls_short(state: DeepResearchState, *, is_blocked: bool) -> bool:
    """Whether what a conversation saved does not answer the question, so that it has to be searched; or a quick run
    whose depth was chosen by rule found no answer, and goes on at the standard depth. Each happens once in a run."""
    if state.recalling:
        is_sure = any(finding.confidence in _STRONG for finding in state.findings)
        return is_blocked or not is_sure or state.answer_coverage is not AnswerCoverage.YES
    if state.depth is not Depth.QUICK or state.options.depth != AUTO:
        return False
    return is_blocked or state.answer_coverage is AnswerCoverage.NO
