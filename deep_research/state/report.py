"""The report as the state has it: its references, and facts about it."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.state.claims import ClaimCounts
from deep_research.state.phases import ConfidenceLevel
from deep_research.state.records import Finding, Record


class Citation(Record):
    """A numbered reference of the report, and one passage that supports it.

    The same number always means the same source. Several citations may share a number.

    Example:
        text = engine.text(citation)
        assert text[citation.start : citation.end] == citation.quote
    """

    number: int
    source_id: str
    finding_id: str
    quote: str
    start: int
    end: int
    content_hash: str


class ConfidenceSummary(Record):
    """How many findings are how sure: high has those that are confirmed, low what is speculation."""

    high: int = 0
    medium: int = 0
    low: int = 0

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> ConfidenceSummary:
        levels = [finding.confidence for finding in findings]
        return cls(
            high=sum(x in (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED) for x in levels),
            medium=sum(x is ConfidenceLevel.MEDIUM for x in levels),
            low=sum(x in (ConfidenceLevel.LOW, ConfidenceLevel.SPECULATION) for x in levels),
        )


class ReportMetadata(Record):
    """Facts about the report. ``writer`` names the agent that wrote it; ``partial`` marks a report written
    because the run was stopped; ``removed_references`` counts ids that were cited but never given. ``fidelity`` (0 to 1)
    is the share of the tokens of sources, findings and gaps that its agents were given, and ``fidelity_level`` its name;
    ``items_summarized`` were given in part, ``items_dropped`` not at all. ``claims`` counts what the report says by what
    carries it, None where nothing was checked; ``coverage`` (0 to 1) is the share of the question's parts that it
    answers, None where the question was not weighed."""

    sections: tuple[str, ...] = ()
    word_count: int = 0
    citations_count: int = 0
    confidence_summary: ConfidenceSummary = ConfidenceSummary()
    writer: str = ""
    partial: bool = False
    removed_references: int = 0
    fidelity: float = 1.0
    fidelity_level: str = "Full"
    items_summarized: int = 0
    items_dropped: int = 0
    claims: ClaimCounts | None = None
    coverage: float | None = None
