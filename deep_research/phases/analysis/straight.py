"""Findings that say outright what is asked, each kind of question by what tells its answer, and what stands beside them.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.leaning import leans_back
from deep_research.evidence.question import compared
from deep_research.phases.analysis.contrasted import contrasted
from deep_research.phases.analysis.defaulting import default_of
from deep_research.phases.analysis.defined import introduced, says_what
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput
from deep_research.phases.analysis.happened import told_otherwise
from deep_research.phases.analysis.labelled import labelled
from deep_research.phases.analysis.splitting import Split

OTHERS = 0.8  # of the relevance of what else is told


def straight(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """What is said outright, the nearest first; none where nothing is."""
    ways = (default_of, says_what, contrasted)
    said = next(filter(None, (way(handoff, split) for way in ways)), [])
    return said or told_otherwise(handoff)


def with_others(
    handoff: AnalyzerInput,
    said: Sequence[AnalyzedFinding],
    others: Iterable[AnalyzedFinding],
    split: Split,
) -> list[AnalyzedFinding]:
    """What is said outright, and what else its sources tell; of a difference nothing else. Where nothing is, the others
    with what a label tells."""
    if not said:
        return [*labelled(handoff), *introduced(handoff, split), *others]
    if compared(handoff.original_query):
        return list(said)
    sources = {i for finding in said for i in finding.source_ids}
    told = [
        f.model_copy(update={"relevance": round(OTHERS * f.relevance, 6)})
        for f in others
        if not sources.isdisjoint(f.source_ids) and not leans_back(f.content)
    ]
    return [*said, *told]
