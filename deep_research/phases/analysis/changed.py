"""Findings for what changed from one version to another: what is said of each, and what is listed under it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from deep_research.evidence.catalogue import terms_above
from deep_research.evidence.debris import is_debris, notes_version
from deep_research.evidence.defining import term_of
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.listing import ENTERED
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.versions import Change, Changes, Version, changes, changes_in, said_of
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.state import Span

RELEVANCE = 0.95
LESS = 0.001  # from one finding to the next
MOST = 32
MAX_CHARS = 480
ONLY_A_NOTE = 4  # words: "New in version 2.0." does not say of what
LEAST_WORDS = 2  # "Deprecations." heads what follows
_ANNOUNCES = re.compile(
    r"the following\b[^.]{0,60}\b(?:included|made|removed|deprecated)\W*\Z", re.IGNORECASE
)


class _Told(NamedTuple):
    order: tuple[Version, bool, int]
    change: Change
    source: SourceText
    content: str


def changed(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The findings in the order of the versions; none where nothing is told of a later one."""
    asked = changes(handoff.original_query)
    if asked is None:
        return []
    told = sorted(_told(handoff, asked), key=lambda each: each.order)
    if not any(asked.holds(each.change.version) for each in told):
        return []
    return [
        finding_at(
            handoff,
            each.source,
            each.change.start,
            each.change.end,
            RELEVANCE - LESS * place,
            content=each.content,
            category=ENTERED,
        )
        for place, each in enumerate(told[:MOST])
    ]


def _told(handoff: AnalyzerInput, asked: Changes) -> Iterator[_Told]:
    """What the sources tell: of each version first what is said of it, then what is listed."""
    for rank, source in enumerate(handoff.sources):
        text = source.content
        term_at = None
        for change in said_of(text, asked):
            span = Span(start=change.start, end=change.end)
            if not is_statement(text, span) or not _reads(text[change.start : change.end]):
                continue
            content = readable(text, change.start, change.end)
            if notes_version(content):
                term_at = term_at or terms_above(text)
                term = term_of(text, change.start, change.end) or term_at(change.start)
                content = f"{term}: {content}" if term else content
            if len(content.split()) > ONLY_A_NOTE:
                yield _Told((change.version, False, rank), change, source, content)
        if asked.name <= stems_of(source.title) or asked.name <= stems_of(text):
            for change in changes_in(text, asked):
                if _says(text, change):
                    content = f"{change.heading}: {readable(text, change.start, change.end)}"
                    yield _Told((change.version, True, rank), change, source, content)


def _says(text: str, change: Change) -> bool:
    """Whether an entry tells a change, and does not only announce or head others."""
    said = text[change.start : change.end]
    announces = said.endswith((":", "...", "…")) or _ANNOUNCES.match(said)
    return _reads(said) and len(said.split()) >= LEAST_WORDS and not announces


def _reads(said: str) -> bool:
    return len(said) <= MAX_CHARS and not is_debris(said)
