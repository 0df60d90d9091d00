"""A place of a source as a finding. Pure."""

from __future__ import annotations

from deep_research.evidence.reading import readable
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput, SourceText
from deep_research.state import ConfidenceLevel


def finding_at(
    handoff: AnalyzerInput,
    source: SourceText,
    start: int,
    end: int,
    relevance: float,
    *,
    content: str = "",
    category: str = "",
) -> AnalyzedFinding:
    """What stands there as it reads, or as ``content`` tells it, for the question itself."""
    return AnalyzedFinding(
        content=content or readable(source.content, start, end),
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        category=category or handoff.original_query,
        quotes=(AnalyzedQuote(source_id=source.id, quote=source.content[start:end], start=start),),
        sub_query_id=handoff.sub_queries[0].id if handoff.sub_queries else "",
        relevance=relevance,
    )
