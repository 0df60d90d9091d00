"""The rules that a report is held to."""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.state import ClaimCounts, DeepResearchState, ValidationResult

MIN_CHARS = 100


def validate_synthesis(state: DeepResearchState) -> ValidationResult:
    """Pure. What is shorter than the minimum, or has no section, is no report: it blocks."""
    report = state.report or ""
    blocking: list[str] = []
    if not report.strip():
        blocking.append("There is no report.")
        return ValidationResult(valid=False, issues=tuple(blocking), blocking=tuple(blocking))
    if len(report) < MIN_CHARS:
        blocking.append(f"The report has {len(report)} characters; {MIN_CHARS} are the least.")
    if not any(line.startswith("##") for line in report.splitlines()):
        blocking.append("The report has no section.")
    blocking += too_few_supported(state)
    issues = [*blocking, *_doubts(state)]
    counts = _counts(state)
    return ValidationResult(
        valid=not issues,
        issues=tuple(issues),
        blocking=tuple(blocking),
        quality_score=min(10.0, len(report) / 500) * (counts.share if counts else 1.0),
    )


def too_few_supported(state: DeepResearchState) -> tuple[str, ...]:
    """What is said of a report of whose claims fewer are supported than its owner asks for."""
    counts, least = _counts(state), state.options.min_supported
    if counts is None or least is None or counts.share >= least:
        return ()
    return (
        f"{counts.supported - counts.of_run} of the report's {counts.total - counts.of_run} claims are supported"
        f" ({counts.share:.0%});"
        f" {least:.0%} are asked for.",
    )


def _doubts(state: DeepResearchState) -> Iterator[str]:
    counts = _counts(state)
    if counts is not None and counts.marked:
        claims = "claim of the report is" if counts.marked == 1 else "claims of the report are"
        yield f"{counts.marked} {claims} not borne out by the cited sources."


def _counts(state: DeepResearchState) -> ClaimCounts | None:
    return state.report_metadata.claims if state.report_metadata else None
