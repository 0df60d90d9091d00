"""Findings for a broad request: many sentences of many sources that together speak of most of it.

A short question wants the one sentence that answers. A request of many sentences, or one that asks for an overview,
has no such sentence: what counts is that its subject is covered from all sides, by the sources nearest to it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from deep_research.evidence import unspaced
from deep_research.evidence.boilerplate import has_address, is_debris
from deep_research.evidence.diversity import Candidate, chosen, pairs, with_pairs
from deep_research.evidence.passages import sentences
from deep_research.evidence.query_expansion import Ranked, Scored, by_source, ranked
from deep_research.evidence.quotation import readable
from deep_research.evidence.ranking import Passage, TermScanner, scan
from deep_research.evidence.sentences import ASKING_MARKS, CLOSING, END_MARKS, at_marks, has_capitals
from deep_research.evidence.topicality import belonging
from deep_research.evidence.words import content_words, stems_of
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput
from deep_research.state import ConfidenceLevel, Span

SOURCES = 100  # of those that belong, from which sentences are chosen
BELONGS = 0.05  # how likely a source must at least be to belong
ASKED = 0.6  # of what is wanted, for the request's own words; the rest for those learned
PAIRED = 0.5  # of what is wanted, for words that the request uses near each other
REACH = 0.08  # of what is asked, for one of the nearest passages to show that they speak of it
NEAREST = 5
PER_SOURCE = 6
ROOM = 2_000  # words of findings: more than most reports hold
MIN_WORDS, MAX_WORDS = 8, 45
_ENDS = (set(END_MARKS) - set(ASKING_MARKS)) | set(CLOSING)


def broad_findings(handoff: AnalyzerInput, stop: threading.Event | None = None) -> list[AnalyzedFinding]:
    """The findings in the order of what each adds; none when no source speaks of what is asked. Pure, but that it gives
    up when ``stop`` is set."""
    asked = (handoff.original_query, *(s.query for s in handoff.sub_queries))
    scanner = TermScanner(word for text in asked for word in content_words(text))
    found: list[Passage] = []
    for place, source in enumerate(handoff.sources):
        if stop is not None and stop.is_set():
            return []
        found += scan(source.content, place, scanner)
    texts = [source.content for source in handoff.sources]
    titles = [source.title for source in handoff.sources]
    rank = ranked(handoff.original_query, found, texts, titles)
    if not _speaks(rank):
        return []
    likely = belonging(rank, titles)
    near = by_source((p for p in rank.passages if likely[p.source] >= BELONGS), SOURCES)
    alone = _wanted(rank)
    together = pairs(handoff.original_query, rank.asked)
    told: list[tuple[int, Span, str]] = []
    candidates: list[Candidate] = []
    for passage in chain.from_iterable(near.values()):
        for span, content in _statements(texts[passage.source], passage):
            told.append((passage.source, span, content))
            terms = with_pairs(stems_of(content), together.keys())
            candidates.append(
                Candidate(passage.source, terms, unspaced.size(content), likely[passage.source])
            )
    weights = {t: (1.0 - PAIRED) * w for t, w in alone.items()} | {t: PAIRED * w for t, w in together.items()}
    said = Counter(
        term for f in handoff.findings for term in with_pairs(stems_of(f.content), together.keys())
    )
    places = chosen(candidates, weights, room=ROOM, per_source=PER_SOURCE, said=said)
    known = 1 + len(handoff.findings)  # those of later rounds come after these
    return [_finding(handoff, *told[place], round(1 / n, 6)) for n, place in enumerate(places, known)]


def _wanted(rank: Ranked) -> dict[str, float]:
    """What the findings are to say: the request's words and those learned, as shares of one."""
    every = rank.asked.keys() | rank.learned.keys()
    return {t: ASKED * rank.asked.get(t, 0.0) + (1.0 - ASKED) * rank.learned.get(t, 0.0) for t in every}


def _speaks(rank: Ranked) -> bool:
    """Whether one of the nearest passages has enough of what is asked: many texts together have a little of anything."""
    reaches = (sum(w for t, w in rank.asked.items() if t in p.counts) for p in rank.passages[:NEAREST])
    return max(reaches, default=0.0) >= REACH


def _statements(text: str, passage: Scored) -> Iterable[tuple[Span, str]]:
    """The whole sentences of a passage, each with how it reads."""
    spans = ((span.start, span.end) for span in sentences(text, passage.span.start, passage.span.end))
    if not has_capitals(text):
        spans = (piece for span in spans for piece in at_marks(text, *span))
    for start, end in spans:
        said = text[start:end]
        whole = said[-1] in _ENDS and " | " not in said and not said.startswith("#")
        if whole and not has_address(said):
            content = readable(said)
            if MIN_WORDS <= unspaced.size(content) <= MAX_WORDS and not is_debris(content):
                yield Span(start=start, end=end), content


def _finding(
    handoff: AnalyzerInput, place: int, span: Span, content: str, relevance: float
) -> AnalyzedFinding:
    source = handoff.sources[place]
    text = source.content[span.start : span.end]
    return AnalyzedFinding(
        content=content,
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=span.start),),
        relevance=relevance,
    )
