"""Findings for a broad request: many sentences of many sources that together speak of most of it.

A short question wants the one sentence that answers. A request of many sentences, or one that asks for an overview,
has no such sentence: what counts is that its subject is covered from all sides, by the sources nearest to it.

Each next sentence is chosen for what it adds. The gain of a word shrinks each time it was said before, so the choice is
greedy over a function of diminishing returns, and the first n of the chosen are the choice of n. Words cost: gain is
divided by the root of a sentence's length. So does a source that may be of another subject, but only once: to say more of
a source that is heard already puts nothing at risk.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain

from deep_research.evidence import unspaced
from deep_research.evidence.boilerplate import has_address, is_debris
from deep_research.evidence.passages import sentences
from deep_research.evidence.quotes import readable
from deep_research.evidence.ranking import PassageTerms, TermScanner, scan
from deep_research.evidence.sentences import ASKING_MARKS, CLOSING, END_MARKS, at_marks, has_capitals
from deep_research.evidence.topicality import Ranked, Scored, belonging, by_source, ranked
from deep_research.evidence.words import content_stems, content_words, stems_of
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

AGAIN = 0.1  # what saying a word again is worth of saying it before
FIRST = 0.004  # what a source that was not heard yet adds, as a share of all that is wanted
PAIR_REACH = 6  # content words of a request from one of a pair to the other
ASTRAY = 0.0095  # what one takes away that is of another subject


def broad_findings(handoff: AnalyzerInput, stop: threading.Event | None = None) -> list[AnalyzedFinding]:
    """The findings in the order of what each adds; none when no source speaks of what is asked. Pure, but that it gives
    up when ``stop`` is set."""
    asked = (handoff.original_query, *(s.query for s in handoff.sub_queries))
    scanner = TermScanner(word for text in asked for word in content_words(text))
    found: list[PassageTerms] = []
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """``belongs`` (0 to 1) is how likely its source is of the subject, ``words`` its length."""

    source: int
    terms: AbstractSet[str]
    words: int
    belongs: float


def chosen(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    *,
    room: int,
    per_source: int,
    said: Mapping[str, int] | None = None,
) -> list[int]:
    """The places of candidates in the order of what each adds, up to ``room`` words; ``said`` are words that stand
    already."""
    heard: Counter[str] = Counter(said or {})
    sources: Counter[int] = Counter()

    def value(candidate: Candidate) -> float:
        # Exact, so that the order of a set does not matter.
        gain = math.fsum(weights[t] * AGAIN ** heard[t] for t in candidate.terms if t in weights)
        if not sources[candidate.source]:
            gain += FIRST - ASTRAY * (1.0 - candidate.belongs)
        return gain / math.sqrt(candidate.words)

    of_source: dict[int, list[int]] = defaultdict(list)
    for place, candidate in enumerate(candidates):
        of_source[candidate.source].append(place)
    # A value falls but when its source is heard first, so an old one is an upper bound: only the head of the queue
    # must be looked at again.
    queue = [(-value(c), place) for place, c in enumerate(candidates)]
    heapq.heapify(queue)
    done: set[int] = set()
    taken: list[int] = []
    used = 0
    while queue:
        _, place = heapq.heappop(queue)
        candidate = candidates[place]
        if place in done or used + candidate.words > room or sources[candidate.source] >= per_source:
            continue
        now = value(candidate)
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, place))
            continue
        if now <= 0.0:
            break
        taken.append(place)
        done.add(place)
        used += candidate.words
        sources[candidate.source] += 1
        heard.update(candidate.terms)
        if sources[candidate.source] == 1:
            for other in of_source[candidate.source]:
                if other not in done:
                    heapq.heappush(queue, (-value(candidates[other]), other))
    return taken


def pairs(request: str, weights: Mapping[str, float]) -> dict[str, float]:
    """The words that a request uses near each other, for a sentence that has both speaks of the same thing sooner than
    two with one each: pairs of stems, joined by a space in the order of the alphabet, as shares of one."""
    found: dict[str, float] = defaultdict(float)
    for span in sentences(request):
        stems = content_stems(request[span.start : span.end])
        for place, one in enumerate(stems):
            for other in stems[place + 1 : place + 1 + PAIR_REACH]:
                if one != other:
                    found[joined(one, other)] += math.sqrt(weights.get(one, 0.0) * weights.get(other, 0.0))
    total = math.fsum(found.values()) or 1.0
    return {pair: weight / total for pair, weight in found.items()}


def joined(one: str, other: str) -> str:
    return f"{one} {other}" if one < other else f"{other} {one}"


def with_pairs(terms: AbstractSet[str], wanted: AbstractSet[str]) -> set[str]:
    """The terms, and the wanted pairs of which both are among them."""
    held = {pair for pair in wanted if all(term in terms for term in pair.split(" "))}
    return held | terms
