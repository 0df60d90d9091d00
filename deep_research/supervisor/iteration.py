"""Depth of the research, the decision on a further iteration, and its searches. Pure."""

from __future__ import annotations

from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import (
    AnswerCoverage,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    FollowUpQuery,
    GapAnalysis,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.identity import sub_query_id
from deep_research.state.question_parts import AnswerStatus

STOPPED = "The owner of the run wants nothing more searched."
_SEVERITY = {"critical": 0, "moderate": 1, "minor": 2}


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
    """Why the research cannot go on after this phase, whoever wants it; nothing where it can. With ``advised`` there is a
    gap for the refiner."""
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


AUTO, USUAL = "auto", "standard"
_SURE = (ConfidenceLevel.CONFIRMED, ConfidenceLevel.HIGH)
MAX_QUICK_WORDS = 30  # of a question that may be answered by one search


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
        is_sure = any(finding.confidence in _SURE for finding in state.findings)
        return is_blocked or not is_sure or state.answer_coverage is not AnswerCoverage.YES
    if state.depth is not Depth.QUICK or state.options.depth != AUTO:
        return False
    return is_blocked or state.answer_coverage is AnswerCoverage.NO
