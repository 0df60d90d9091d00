"""The rules that gathered sources are held to."""

from __future__ import annotations

from deep_research.state import DeepResearchState, ValidationResult
from deep_research.state.records import NO_HIGH_QUALITY, PAGES

MIN_SOURCES = 3
MIN_COMPLETION = 0.5


def validate_gathering(state: DeepResearchState) -> ValidationResult:
    """Pure. No source at all blocks; all else is advice."""
    count = len(state.sources)
    issues: list[str] = []
    blocking: list[str] = []
    if not count:
        blocking.append(_nothing(state))
    elif count < MIN_SOURCES:
        issues.append("Only one source was found." if count == 1 else f"Only {count} sources were found.")
    if count and not state.high_quality_sources():
        issues.append(NO_HIGH_QUALITY)
    completed, total = len(state.completed_sub_queries()), len(state.current_sub_queries())
    if completed < total * MIN_COMPLETION:
        issues.append(f"Only {completed} of {total} sub-queries could be searched.")
    issues = blocking + issues
    return ValidationResult(
        valid=not issues,
        issues=tuple(issues),
        blocking=tuple(blocking),
        quality_score=min(10.0, count * 1.5),
    )


def _nothing(state: DeepResearchState) -> str:
    """Why there is no source: nothing was found, or nothing of it could be read."""
    unread = [notice for notice in state.notices if notice.name == PAGES]
    many = sum(len(notice.skipped) for notice in unread)
    if not many:
        return "No source was found."
    why = " ".join(dict.fromkeys(notice.message for notice in unread))
    return f"{many} {'result was' if many == 1 else 'results were'} found, none could be read. {why}"
