"""What is said of the gaps after refinement. It informs and never blocks."""

from __future__ import annotations

from deep_research.state import DeepResearchState, ValidationResult


def validate_refinement(state: DeepResearchState) -> ValidationResult:
    """Pure and always valid."""
    open_gaps = len(state.unresolved_gaps())
    issues: tuple[str, ...] = ()
    if open_gaps and state.iteration >= state.max_iterations:
        issues = (f"{open_gaps} gaps are open and no iteration is left.",)
    return ValidationResult(valid=True, issues=issues, quality_score=10.0 - min(10.0, open_gaps * 2.0))
