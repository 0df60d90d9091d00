"""Findings for things of a kind that one source lists: its terms, each with what it is. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.catalogue import Catalogue, Entry, catalogues
from deep_research.evidence.listing import ENTERED, THERE_ARE, Listed, things
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import StemFinder, stem, words
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at

RELEVANCE = 0.9
LESS = 0.001  # from one finding to the next
LEAST = 2  # entries, for an answer
MOST = 48
_BEHIND = re.compile(
    r"\b(?:of|in|on|for|from|by|with|and|or|that|which|who|are|is|sent|used)\b", re.IGNORECASE
)


def catalogued(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The entries, of each term the first; none where no list is of what is asked."""
    wanted = things(handoff.original_query)
    if wanted is None or wanted.year is not None:
        return []
    has_names = StemFinder(wanted.names)
    found: dict[str, AnalyzedFinding] = {}
    for source in handoff.sources:
        if wanted.names - has_names(source.content) - stems_of(source.title):
            continue
        for each in catalogues(source.content):
            for entry in _asked(source, each, wanted):
                relevance = RELEVANCE - LESS * len(found)
                if entry.term not in found and len(found) < MOST:
                    found[entry.term] = finding_at(
                        handoff, source, entry.start, entry.end, relevance, category=ENTERED
                    )
    return list(found.values()) if len(found) >= LEAST else []


def _asked(source: SourceText, catalogue: Catalogue, wanted: Listed) -> list[Entry]:
    """The entries of which is said what is asked: all where it is said of the list, or only that they are there."""
    about = stems_of(f"{catalogue.heading} {catalogue.before}")
    line = catalogue.before.rstrip().rpartition("\n")[2]
    heading = _BEHIND.split(catalogue.heading, maxsplit=1)[0]
    of_kind = _last(heading) in wanted.kind or (line.endswith(":") and _last(line) in wanted.kind)
    if not of_kind or not wanted.kind <= about:
        return []
    about |= stems_of(source.title)
    asked = [related(term) for term in wanted.said - THERE_ARE if related(term).isdisjoint(about)]
    return [
        entry
        for entry in catalogue.entries
        if not asked or not any(map(entry.says(source.content).isdisjoint, asked))
    ]


def _last(line: str) -> str:
    """The stem of its last word, which tells what a list is of: of engineers, not of lighthouses, where it says
    "lighthouse engineers"."""
    named = words(line)
    return stem(named[-1]) if named else ""
