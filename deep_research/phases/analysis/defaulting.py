"""Findings for the default of a setting: what its description says that it is, or a sentence. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from deep_research.evidence.debris import is_debris
from deep_research.evidence.defaults import Default, defaults
from deep_research.evidence.expecting import asks_for_default
from deep_research.evidence.fragments import announces_code, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.relations import related
from deep_research.evidence.text import coverage, doings, question_terms, stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.phases.analysis.splitting import Split

RELEVANCE = 0.95
LESS = 0.02
NEARLY_ALL = 0.7  # of what is asked, for a setting or a sentence that is of it
NEAR = 0.05  # of that, by which others may say less than the best
MOST = 2
MAX_CHARS = 600  # of a description that is told whole
_DEFAULT = stem("default")
_ASKING = {_DEFAULT, *map(stem, ("value", "setting", "option", "configuration"))}


class _Told(NamedTuple):
    reach: float
    named: float
    source: SourceText
    start: int
    end: int
    content: str


def default_of(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """What says most of what is asked, the nearest first; none where no default is asked for."""
    wanted = {t: weight for t, weight in question_terms(handoff.original_query).items() if t not in _ASKING}
    if not wanted or not asks_for_default(handoff.original_query):
        return []
    told = [
        each
        for source in handoff.sources
        for each in (*_settings(source, wanted), *_said(source, wanted, split))
    ]
    best = max((each.reach + each.named for each in told), default=0.0)
    meant = [each for each in told if each.reach + each.named >= best - NEAR]
    return [
        finding_at(handoff, each.source, each.start, each.end, RELEVANCE - LESS * place, content=each.content)
        for place, each in enumerate(sorted(meant, key=lambda each: -each.reach)[:MOST])
    ]


def _settings(source: SourceText, wanted: Mapping[str, float]) -> Iterator[_Told]:
    for each in defaults(source.content):
        reach = coverage(wanted, _with_related(each.says(source.content), wanted))
        if reach >= NEARLY_ALL:
            named = coverage(wanted, doings(each.term))
            yield _Told(round(reach, 3), round(named, 3), source, *_described(source, each))


def _described(source: SourceText, setting: Default) -> tuple[int, int, str]:
    """The description with its default, or the line of the default alone after the name."""
    if setting.end - setting.described <= MAX_CHARS:
        return setting.described, setting.end, ""
    said = readable(source.content, setting.start, setting.end)
    return setting.start, setting.end, f"{setting.term}: {said}"


def _said(source: SourceText, wanted: Mapping[str, float], split: Split) -> Iterator[_Told]:
    """The sentences that speak of a default and of what is asked."""
    text = source.content
    title = stems_of(source.title)
    for span in split(source) if "default" in text.casefold() else ():
        said = text[span.start : span.end]
        if "default" not in said.casefold():
            continue
        stems = stems_of(said)
        if _DEFAULT not in stems:
            continue
        own = _with_related(stems, wanted)
        reach = coverage(wanted, own | title)
        if reach < NEARLY_ALL or own.isdisjoint(wanted):
            continue
        reads = is_statement(text, span) or announces_code(text, span)
        if reads and not leans_back(said) and not is_debris(said):
            yield _Told(round(reach, 3), round(coverage(wanted, own), 3), source, span.start, span.end, "")


def _with_related(stems: AbstractSet[str], wanted: Mapping[str, float]) -> set[str]:
    """The wanted stems that are said, by any word of their relation."""
    return {term for term in wanted if not related(term).isdisjoint(stems)}
