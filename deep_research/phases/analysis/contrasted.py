"""Findings for the difference between two things: the sentences that say outright how one is to the other. Pure."""

from __future__ import annotations

from deep_research.evidence.contrasting import outright
from deep_research.evidence.debris import is_debris
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.question import chooses, compared
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput
from deep_research.phases.analysis.spans import finding_at, whole_of
from deep_research.phases.analysis.splitting import Split

RELEVANCE = 0.95
LESS = 0.02  # from one sentence to the next
MOST = 4


def contrasted(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """The findings, those of the sources that are nearest first; none where a question compares nothing."""
    sides = compared(handoff.original_query)
    if not sides or chooses(handoff.original_query):
        return []
    says_it = outright(sides)
    found: list[AnalyzedFinding] = []
    for source in handoff.sources:
        text = source.content
        lower = text.casefold()
        told = split(source) if all(side.casefold().rstrip("s") in lower for side in sides) else []
        end = 0
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if span.start < end or not says_it.match(said) or not is_statement(text, span) or is_debris(said):
                continue
            if (whole := whole_of(text, told, place)) is not None:
                end = whole.end
                found.append(finding_at(handoff, source, whole.start, end, RELEVANCE - LESS * len(found)))
                if len(found) == MOST:
                    return found
    return found
