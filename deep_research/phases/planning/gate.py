"""The rules a plan is held to."""

from __future__ import annotations

from deep_research.evidence import unspaced
from deep_research.state import DeepResearchState, ValidationResult

MIN_SUB_QUERIES = 2
MIN_QUERY_CHARS = 10
MIN_QUERY_WORDS = 2  # that are enough, however short they are written


def validate_planning(state: DeepResearchState) -> ValidationResult:
    """Pure. A plan without any sub-query blocks; all else is advice."""
    plan = [s for s in state.current_sub_queries() if s.iteration == state.iteration]
    issues: list[str] = []
    blocking: list[str] = []
    if not plan:
        blocking.append("The plan has no sub-query.")
    elif len(plan) < MIN_SUB_QUERIES:
        issues.append(f"The plan has {len(plan)} sub-query; at least {MIN_SUB_QUERIES} are wanted.")
    if len(plan) > state.max_sub_queries:
        issues.append(f"The plan has {len(plan)} sub-queries; at most {state.max_sub_queries} are wanted.")
    if not state.research_brief:
        issues.append("The plan has no research brief.")
    issues += [f"Sub-query too short: '{s.query}'." for s in plan if _is_short(s.query)]
    issues = blocking + issues
    return ValidationResult(
        valid=not issues,
        issues=tuple(issues),
        blocking=tuple(blocking),
        quality_score=min(10.0, len(plan) * 2.5),
    )


def _is_short(query: str) -> bool:
    """A character of a script without spaces says more than a letter."""
    return len(query) < MIN_QUERY_CHARS and not (
        unspaced.occur_in(query) and unspaced.size(query) >= MIN_QUERY_WORDS
    )
