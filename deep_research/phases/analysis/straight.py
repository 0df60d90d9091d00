"""Findings that say outright what is asked, each kind of question by what tells its answer, and what stands beside them.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.leaning import leans_back
from deep_research.evidence.question import compared
from deep_research.evidence.ranking import Passage
from deep_research.phases.analysis.catalogued import catalogued
from deep_research.phases.analysis.changed import changed
from deep_research.phases.analysis.collected import collected
from deep_research.phases.analysis.columns import rows_of_kind
from deep_research.phases.analysis.conditional import conditional
from deep_research.phases.analysis.contrasted import contrasted
from deep_research.phases.analysis.defaulting import default_of
from deep_research.phases.analysis.defined import introduced, says_what
from deep_research.phases.analysis.enumerated import enumerated
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput
from deep_research.phases.analysis.happened import told_otherwise
from deep_research.phases.analysis.labelled import labelled
from deep_research.phases.analysis.splitting import Split

OTHERS = 0.8  # of the relevance of what else is told


def straight(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """What is said outright, the nearest first; none where nothing is."""
    ways = (default_of, conditional, says_what, contrasted)
    said = next(filter(None, (way(handoff, split) for way in ways)), [])
    return said or enumerated(handoff) or told_otherwise(handoff)


def item_by_item(handoff: AnalyzerInput, found: Sequence[Passage]) -> list[AnalyzedFinding]:
    """What is told of one thing after another: of each version, in the rows of a table, in a list of one source, or by
    each source of its own thing."""
    return changed(handoff) or rows_of_kind(handoff) or catalogued(handoff) or collected(handoff, found)


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
