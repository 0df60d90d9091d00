"""Findings for a broad request: many sentences of many sources that together speak of most of it.

A short question wants the one sentence that answers. A request of many sentences, or one that asks for an overview,
has no such sentence: what counts is that its subject is covered from all sides, by the sources nearest to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from deep_research.evidence.covering import Candidate, chosen
from deep_research.evidence.debris import has_address, is_debris
from deep_research.evidence.feedback import Ranked, Scored, by_source, ranked
from deep_research.evidence.passages import sentences
from deep_research.evidence.quoting import is_statement, readable
from deep_research.evidence.ranking import Passage, TermScanner, scan, stems_of
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput
from deep_research.state import ConfidenceLevel, Span

SOURCES = 40  # of the nearest, from which sentences are chosen
NEAR = 0.25  # of the best source's score, for a source to be one of them
NEAR_LATER = 0.5  # of what was found before, for the sources of a later round
REACH = 0.14  # of what is asked, for one source that shows that they speak of it
REACH_OF_ALL = 0.08  # the same for the nearest together, on average
NEAREST = 5
PER_SOURCE = 4
ROOM = 2_000  # words of findings: more than most reports hold
MIN_WORDS, MAX_WORDS = 8, 45
SCALE = 80.0  # from the value of a choice to a relevance


def broad_findings(
    handoff: AnalyzerInput, found: Sequence[Passage], scanner: TermScanner
) -> list[AnalyzedFinding]:
    """The findings in the order of what each adds; none when no source speaks of what is asked."""
    earlier = _earlier(handoff)
    texts = [source.content for source in handoff.sources] + earlier
    titles = [source.title for source in handoff.sources] + [""] * len(earlier)
    known = [p for n, text in enumerate(earlier) for p in scan(text, len(handoff.sources) + n, scanner)]
    rank = ranked(handoff.original_query, [*found, *known], texts, titles)
    if not _speaks(rank):
        return []
    least = NEAR_LATER if handoff.findings else NEAR
    near = by_source((p for p in rank.passages if p.score >= least), SOURCES)
    near = {place: group for place, group in near.items() if place < len(handoff.sources)}
    spans: list[tuple[int, Span]] = []
    candidates: list[Candidate] = []
    for passage in (p for group in near.values() for p in group):
        for span, length in _statements(texts[passage.source], passage):
            spans.append((passage.source, span))
            terms = stems_of(texts[passage.source][span.start : span.end])
            candidates.append(Candidate(passage.source, terms, length, near[passage.source][0].score))
    weights = _wanted(rank)
    said = Counter(term for finding in handoff.findings for term in stems_of(finding.content))
    choices = chosen(candidates, weights, room=ROOM, per_source=PER_SOURCE, said=said)
    return [_finding(handoff, *spans[choice.place], choice.value) for choice in choices]


def _wanted(rank: Ranked) -> dict[str, float]:
    """What the findings are to say: the request's words and those learned, as shares of one."""
    every = rank.asked.keys() | rank.learned.keys()
    return {t: (rank.asked.get(t, 0.0) + rank.learned.get(t, 0.0)) / 2 for t in every}


def _earlier(handoff: AnalyzerInput) -> list[str]:
    """What was found before, by source: new sources must be as near to the request as those that gave it."""
    by_source: dict[str, list[str]] = {}
    for finding in handoff.findings:
        by_source.setdefault(finding.source_ids[0], []).append(finding.content)
    return ["\n\n".join(contents) for contents in by_source.values()]


def _speaks(rank: Ranked) -> bool:
    """Whether one of the nearest passages has enough of what is asked, or all of them have some of it: many texts
    together have a little of anything."""
    reaches = [sum(w for t, w in rank.asked.items() if t in p.counts) for p in rank.passages[:NEAREST]]
    return max(reaches, default=0.0) >= REACH or sum(reaches) >= NEAREST * REACH_OF_ALL


def _statements(text: str, passage: Scored) -> Iterable[tuple[Span, int]]:
    """The sentences of a passage that can stand alone, with their lengths in words."""
    for span in sentences(text, passage.span.start, passage.span.end):
        sentence = text[span.start : span.end]
        length = len(sentence.split())
        if (
            MIN_WORDS <= length <= MAX_WORDS
            and is_statement(text, span)
            and not (is_debris(sentence) or has_address(sentence))
        ):
            yield span, length


def _finding(handoff: AnalyzerInput, place: int, span: Span, value: float) -> AnalyzedFinding:
    source = handoff.sources[place]
    text = source.content[span.start : span.end]
    return AnalyzedFinding(
        content=readable(source.content, span.start, span.end),
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=span.start),),
        relevance=round(min(1.0, SCALE * value), 6),
    )
