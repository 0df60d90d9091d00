"""The rules that a report is held to."""

from __future__ import annotations

import re

from deep_research.patterns import regex
from deep_research.state import DeepResearchState, ValidationResult

MIN_CHARS = 100
_SECTION = regex(r"^##", re.MULTILINE)


def validate_synthesis(state: DeepResearchState) -> ValidationResult:
    """Pure. What is shorter than the minimum, or has no section, is no report: it blocks."""
    report = state.report or ""
    blocking: list[str] = []
    if not report.strip():
        blocking.append("There is no report.")
        return ValidationResult(valid=False, issues=tuple(blocking), blocking=tuple(blocking))
    if len(report) < MIN_CHARS:
        blocking.append(f"The report has {len(report)} characters; {MIN_CHARS} are the least.")
    if not _SECTION.search(report):
        blocking.append("The report has no section.")
    return ValidationResult(
        valid=not blocking,
        issues=tuple(blocking),
        blocking=tuple(blocking),
        quality_score=min(10.0, len(report) / 500),
    )
