"""Findings for the default of a setting: what its description says that it is, or a sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from deep_research.evidence.called import doings
from deep_research.evidence.debris import is_debris
from deep_research.evidence.defaults import Default, defaults
from deep_research.evidence.expecting import asks_for_default
from deep_research.evidence.fragments import announces_code, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.relations import related
from deep_research.evidence.text import coverage, question_terms, stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.phases.analysis.splitting import Split
from deep_research.state import Span

RELEVANCE = 0.95
LESS = 0.02
NEARLY_ALL = 0.7  # of what is asked, for a setting or a sentence that is of it
NEAR = 0.05  # of that, by which others may say less than the best
MOST = 2
MAX_CHARS = 600  # of a description that is told whole
_VALUE = re.compile(r"\d|\b(?:None|True|False|null|true|false)\b")
_DEFAULT = stem("default")
_ASKING = {_DEFAULT, *map(stem, ("value", "setting", "option", "configuration"))}


class _Told(NamedTuple):
    reach: float
    named: float
    source: SourceText
    start: int
    end: int
    content: str
    setting: bool


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
    return [
        finding_at(handoff, each.source, each.start, each.end, RELEVANCE - LESS * place, content=each.content)
        for place, each in enumerate(_nearest(told))
    ]


def _nearest(told: Sequence[_Told]) -> list[_Told]:
    """The few that say most and read by themselves; farther ones are looked at only where no nearer one does."""
    while told:
        least = max(each.reach + each.named for each in told) - NEAR
        meant = sorted(
            (e for e in told if e.reach + e.named >= least), key=lambda e: (-e.reach, not _has_value(e))
        )
        if found := list(islice(filter(_reads, meant), MOST)):
            return found
        told = [each for each in told if each.reach + each.named < least]
    return []


def _has_value(told: _Told) -> bool:
    return _VALUE.search(told.source.content, told.start, told.end) is not None


def _reads(told: _Told) -> bool:
    text, span = told.source.content, Span(start=told.start, end=told.end)
    said = text[told.start : told.end]
    return told.setting or (
        (is_statement(text, span) or announces_code(text, span))
        and not leans_back(said)
        and not is_debris(said)
    )


def _settings(source: SourceText, wanted: Mapping[str, float]) -> Iterator[_Told]:
    for each in defaults(source.content):
        reach = coverage(wanted, _with_related(each.says(source.content), wanted))
        if reach >= NEARLY_ALL:
            named = coverage(wanted, doings(each.term))
            yield _Told(round(reach, 3), round(named, 3), source, *_described(source, each), setting=True)


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
        own = _with_related(stems | doings(said), wanted)
        reach = coverage(wanted, own | title)
        if reach >= NEARLY_ALL and not own.isdisjoint(wanted):
            named = round(coverage(wanted, own), 3)
            yield _Told(round(reach, 3), named, source, span.start, span.end, "", setting=False)


def _with_related(stems: AbstractSet[str], wanted: Mapping[str, float]) -> set[str]:
    """The wanted stems that are said, by any word of their relation."""
    return {term for term in wanted if not related(term).isdisjoint(stems)}
