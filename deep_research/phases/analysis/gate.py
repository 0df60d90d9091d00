"""The rules that findings are held to."""

from __future__ import annotations

from deep_research.state import Answered, ConfidenceLevel, DeepResearchState, ValidationResult

MIN_FINDINGS = 2
MIN_COVERAGE = 0.3
STRONG = (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)


def validate_analysis(state: DeepResearchState) -> ValidationResult:
    """Pure. No finding at all blocks; all else is advice."""
    count = len(state.findings)
    strong = sum(f.confidence in STRONG for f in state.findings)
    issues: list[str] = []
    blocking: list[str] = []
    if not count or state.answered is Answered.NO:
        blocking.append("No finding answers the question.")
    elif count < MIN_FINDINGS:
        issues.append("Only one finding speaks to the question.")
    if count and not strong:
        issues.append("No finding is of high confidence.")
    cited = {source_id for f in state.findings for source_id in f.source_ids}
    share = len(cited) / max(1, len(state.sources))
    if share < MIN_COVERAGE:
        issues.append(f"Findings cite only {share:.0%} of the sources.")
    issues = blocking + issues
    return ValidationResult(
        valid=not issues,
        issues=tuple(issues),
        blocking=tuple(blocking),
        quality_score=min(10.0, count * 2.0 + strong),
    )
