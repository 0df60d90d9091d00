"""Findings for what changed from one version to another: what is said of each, and what is listed under it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deep_research.evidence.catalogue import term_above
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
LEAST_NOTE = 4
LEAST_WORDS = 2  # "Deprecations." heads what follows
_ANNOUNCES = re.compile(
    r"the following\b[^.]{0,60}\b(?:included|made|removed|deprecated)\W*\Z", re.IGNORECASE
)


def changed(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The findings in the order of the versions; none where nothing is told of a later one."""
    asked = changes(handoff.original_query)
    if asked is None:
        return []
    told = sorted(_told(handoff, asked), key=lambda each: each[0])
    if not any(asked.holds(change.version) for _, change, _ in told):
        return []
    return [
        finding_at(
            handoff,
            source,
            change.start,
            change.end,
            RELEVANCE - LESS * place,
            content=_content(change, source),
            category=ENTERED,
        )
        for place, (_, change, source) in enumerate(told[:MOST])
    ]


def _told(
    handoff: AnalyzerInput, asked: Changes
) -> Iterator[tuple[tuple[Version, bool, int], Change, SourceText]]:
    """What the sources tell, with its place: of each version first what is said of it, then what is listed."""
    for rank, source in enumerate(handoff.sources):
        text = source.content
        for change in said_of(text, asked):
            span = Span(start=change.start, end=change.end)
            if (
                is_statement(text, span)
                and _reads(text[change.start : change.end])
                and _is_of_something(change, source)
            ):
                yield (change.version, False, rank), change, source
        if asked.name <= stems_of(source.title) or asked.name <= stems_of(text):
            for change in changes_in(text, asked):
                if _says(text, change):
                    yield (change.version, True, rank), change, source


def _says(text: str, change: Change) -> bool:
    """Whether an entry tells a change, and does not only announce or head others."""
    said = text[change.start : change.end]
    announces = said.endswith((":", "...", "…")) or _ANNOUNCES.match(said)
    return _reads(said) and len(said.split()) >= LEAST_WORDS and not announces


def _reads(said: str) -> bool:
    return len(said) <= MAX_CHARS and not is_debris(said)


def _is_of_something(change: Change, source: SourceText) -> bool:
    """Whether it says of what it is: "New in version 2.0." does not."""
    return len(_content(change, source).split()) > LEAST_NOTE


def _content(change: Change, source: SourceText) -> str:
    said = readable(source.content, change.start, change.end)
    of = change.heading
    if not of and notes_version(said):
        of = term_of(source.content, change.start, change.end) or term_above(source.content, change.start)
    return f"{of}: {said}" if of else said
