"""Findings for a list that no source has: from each source what it says of its own thing. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.debris import is_debris
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.listing import COLLECTED, Listed, listed, told_of
from deep_research.evidence.passages import sentences
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.text import StemFinder
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput
from deep_research.phases.analysis.spans import finding_at
from deep_research.state import Span

RELEVANCE = 0.9
LESS = 0.001  # from one finding to the next
LEAST = 2  # sources, for a list of what they say
SELECTIVE = 0.5  # of the sources at most have a name that tells what is meant by itself
ENTRIES = 3  # from which several sentences of one source are entries of its list
MOST = 24
MAX_CHARS = 320
LONG = 40_000  # characters of a source
# What something has is listed by one source that is about it.
_HAS = re.compile(r"\b(?:does|do|did)\b[^?]{1,80}\bhave\b", re.IGNORECASE)
INTRODUCTION = 600  # characters with which a source says what it is about


def collected(handoff: AnalyzerInput, found: Sequence[Passage]) -> list[AnalyzedFinding]:
    """The findings in the order of the sources; none where fewer than a few things are told of."""
    wanted = listed(handoff.original_query)
    if wanted is None or _HAS.search(handoff.original_query):
        return []
    if wanted.dated and any(_says_of_all(handoff.sources[p.source].content, p.span, wanted) for p in found):
        return []
    finder = StemFinder(wanted.stems())
    present = {place: finder(handoff.sources[place].content) for place in {p.source for p in found}}
    bound = _binds(wanted, handoff, present)
    parts: dict[int, list[Span]] = {}
    for place, part in _parts(handoff, found):
        if wanted.is_named(present[place]):
            parts.setdefault(place, []).append(part)
    spans: list[tuple[int, Span]] = []
    for place in sorted(parts):
        of_kind = bound and wanted.kind <= present[place]
        spans += [(place, span) for span in _of_source(handoff, place, parts[place], wanted, of_kind=of_kind)]
    if len({place for place, _ in spans}) < LEAST:
        return []
    return [
        finding_at(
            handoff,
            handoff.sources[source],
            span.start,
            span.end,
            RELEVANCE - LESS * place,
            category=COLLECTED,
        )
        for place, (source, span) in enumerate(spans[:MOST])
    ]


def _says_of_all(text: str, part: Span, wanted: Listed) -> bool:
    return any(
        wanted.says_of_all(text[told.start : told.end]) for told in sentences(text, part.start, part.end)
    )


def _parts(handoff: AnalyzerInput, found: Sequence[Passage]) -> Iterator[tuple[int, Span]]:
    """What is looked through of the sources: all of each, since a list is not to be cut; of a long one what was found."""
    for passage in found:
        if len(handoff.sources[passage.source].content) > LONG:
            yield passage.source, passage.span
    for place in dict.fromkeys(passage.source for passage in found):
        if 0 < len(handoff.sources[place].content) <= LONG:
            yield place, Span(start=0, end=len(handoff.sources[place].content))


def _of_source(
    handoff: AnalyzerInput, place: int, parts: Sequence[Span], wanted: Listed, *, of_kind: bool
) -> list[Span]:
    """Entries all, of a text the first sentence: what comes after that is not looked through."""
    text = handoff.sources[place].content

    def told(part: Span, *, items: bool) -> Iterator[Span]:
        for span in told_of(text, part, wanted, items=items):
            if (of_kind or _is_of_kind(handoff, place, span, wanted)) and _reads(handoff, place, span):
                yield span

    listed = {span.start: span for part in parts for span in told(part, items=True)}
    entries = [
        s for start, s in sorted(listed.items()) if text[max(0, start - 2) : start].strip() in ("-", "*")
    ]
    if len(entries) >= ENTRIES:
        return entries
    in_order = sorted(parts, key=lambda part: part.start)
    first = next((span for part in in_order for span in told(part, items=False)), None)
    return sorted((*listed.values(), *filter(None, (first,))), key=lambda span: span.start)[:1]


def _reads(handoff: AnalyzerInput, source: int, span: Span) -> bool:
    text = handoff.sources[source].content
    said = text[span.start : span.end]
    return len(said) <= MAX_CHARS and is_statement(text, span) and not is_debris(said)


def _binds(wanted: Listed, handoff: AnalyzerInput, present: Mapping[int, AbstractSet[str]]) -> bool:
    """Whether a year or a name of the question tells by itself what is meant, being no name of all that was found; or
    most sources are of that kind."""
    held = Counter(term for stems in present.values() for term in wanted.names & stems)
    many = SELECTIVE * len(handoff.sources)
    of_kind = sum(wanted.kind <= stems_of(s.title + s.content[:INTRODUCTION]) for s in handoff.sources)
    return wanted.year is not None or any(held[name] <= many for name in wanted.names) or of_kind > many


def _is_of_kind(handoff: AnalyzerInput, source: int, span: Span, wanted: Listed) -> bool:
    """Whether what a sentence speaks of is of the kind by its own words or by its title."""
    given = handoff.sources[source]
    return wanted.kind <= stems_of(given.content[span.start : span.end]) | stems_of(given.title)
