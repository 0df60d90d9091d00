"""Findings for a broad request: many sentences of the sources of its subject that together speak of most of it.

A short question wants the one sentence that answers. A request of many sentences, or one that asks for an overview,
has no such sentence: what counts is that its subject is covered from all sides, by the sources nearest to it.

Such a request names its subject again and again, and speaks of much else once. So passages are ranked by BM25 that keeps
repeated words, which tell the one from the other, and learns those that the best passages share, which tell how others
speak of the subject. A score tells how near a text is by its words; by itself it says little, for some requests find many
texts of one score and others a few far above the rest. What tells is how far a source stands out among all that were
found, by its words, by the company it keeps (the scores of the texts most like it) and by its title.

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

from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput
from deep_research.provenance.quotes import readable
from deep_research.retrieval.ranking import PassageTerms, TermScanner, scan
from deep_research.state import ConfidenceLevel, Span
from deep_research.text import unspaced
from deep_research.text.passages import sentences
from deep_research.text.sentences import ASKING_MARKS, CLOSING, END_MARKS, at_marks, has_capitals
from deep_research.text.term_weights import bm25, inverse_frequency
from deep_research.text.words import content_stems, content_words, stems_of

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

_K1 = 2.0
_B = 0.9
TEACHERS = 10  # passages whose words are learned
LEARNED = 30  # words learned from them
RESCORED = 240  # passages that are looked at again with these

KIN = 8  # texts most like a source that are its company
TELLING = 100  # words of a text by which others like it are found
FLOOR = 0.05  # of the best score, below which scores are no longer told apart
EXPECTED = 18  # sources of one subject, in whatever was found
MAX_EXPECTED_SHARE = 0.5  # of what was found, that is expected to belong
OUTLYING = 1.3  # log odds by which the middle of all that was found is less likely than its share


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages with the stems of each and of its title, best first, and their ``scores``, 0 to 1 of the best.
    ``request_weights`` and ``learned`` weigh the stems of the request and those of the best passages; each sums to 1."""

    passages: Sequence[PassageTerms]
    scores: Sequence[float]
    request_weights: Mapping[str, float]
    learned: Mapping[str, float]


def broad_findings(handoff: AnalyzerInput, stop: threading.Event | None = None) -> list[AnalyzedFinding]:
    """The findings in the order of what each adds; none when no source speaks of what is asked. Pure, but that it gives
    up when ``stop`` is set."""
    requests = (handoff.original_query, *(s.query for s in handoff.sub_queries))
    scanner = TermScanner(word for text in requests for word in content_words(text))
    passages: list[PassageTerms] = []
    for place, source in enumerate(handoff.sources):
        if stop is not None and stop.is_set():
            return []
        passages += scan(source.content, place, scanner)
    texts = [source.content for source in handoff.sources]
    titles = [source.title for source in handoff.sources]
    rank = rank_passages(handoff.original_query, passages, texts, titles)
    # One of the nearest has to have enough of what is asked: many texts together have a little of anything.
    reaches = [sum(rank.request_weights.get(t, 0.0) for t in p.terms) for p in rank.passages[:NEAREST]]
    if max(reaches, default=0.0) < REACH:
        return []
    likely = belonging(rank, titles)
    near: dict[int, list[PassageTerms]] = {}  # of the best sources, best first
    for passage in rank.passages:
        if likely[passage.source] >= BELONGS and (passage.source in near or len(near) < SOURCES):
            near.setdefault(passage.source, []).append(passage)
    # What the findings are to say: the request's words and those learned, as shares of one.
    alone = {
        t: ASKED * rank.request_weights.get(t, 0.0) + (1.0 - ASKED) * rank.learned.get(t, 0.0)
        for t in rank.request_weights.keys() | rank.learned.keys()
    }
    together = pairs(handoff.original_query, rank.request_weights)
    statements = [
        (passage.source, *statement)
        for passage in chain.from_iterable(near.values())
        for statement in _statements(texts[passage.source], passage)
    ]
    candidates = [
        Candidate(place, with_pairs(stems_of(text), together.keys()), unspaced.size(text), likely[place])
        for place, _, text in statements
    ]
    weights = {t: (1.0 - PAIRED) * w for t, w in alone.items()} | {t: PAIRED * w for t, w in together.items()}
    term_counts = Counter(
        term for f in handoff.findings for term in with_pairs(stems_of(f.content), together.keys())
    )
    places = choose_passages(candidates, weights, room=ROOM, per_source=PER_SOURCE, said=term_counts)
    first_number = 1 + len(handoff.findings)  # those of later rounds come after these
    return [
        _finding(handoff, *statements[place], round(1 / n, 6)) for n, place in enumerate(places, first_number)
    ]


def _statements(text: str, passage: PassageTerms) -> Iterable[tuple[Span, str]]:
    """The whole sentences of a passage, each with how it reads."""
    spans = ((span.start, span.end) for span in sentences(text, passage.span.start, passage.span.end))
    if not has_capitals(text):
        spans = (piece for span in spans for piece in at_marks(text, *span))
    for start, end in spans:
        passage_text = text[start:end]
        whole = passage_text[-1] in _ENDS and " | " not in passage_text and not passage_text.startswith("#")
        if whole:
            content = readable(passage_text)
            if MIN_WORDS <= unspaced.size(content) <= MAX_WORDS:
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


def rank_passages(
    request: str, found: Sequence[PassageTerms], texts: Sequence[str], titles: Sequence[str]
) -> Ranked:
    """The best passages for a request. ``found`` are those with any of its words, ``texts`` and ``titles`` the sources
    they are places of."""
    usual = sum(p.span.end - p.span.start for p in found) / max(1, len(found))

    def score(passage: PassageTerms, weights: Mapping[str, float]) -> float:
        length = (passage.span.end - passage.span.start) / max(usual, 1.0)
        return bm25(passage.terms, weights, _K1 * (1.0 - _B + _B * length))

    def best_first(
        passages: Iterable[PassageTerms], weights: Mapping[str, float]
    ) -> list[tuple[float, PassageTerms]]:
        values = [(score(passage, weights), passage) for passage in passages]
        return sorted(values, key=lambda item: (-item[0], item[1].source, item[1].span.start))

    request_stems = Counter(content_stems(request))
    title_stems = [Counter(content_stems(title)) if title else Counter[str]() for title in titles]
    rough = []
    for p in found:
        counts = Counter({term: count for term, count in p.terms.items() if term in request_stems})
        rough.append(PassageTerms(p.source, p.span, counts + title_stems[p.source]))
    # How often each word is asked for times how rare it is, as shares of one.
    holding = Counter(term for passage in rough for term in passage.terms)
    weights = _shares({t: n * inverse_frequency(len(rough), holding[t]) for t, n in request_stems.items()})
    read = []
    for _, p in best_first(rough, weights)[:RESCORED]:
        counts = Counter(content_stems(texts[p.source][p.span.start : p.span.end]))
        read.append(PassageTerms(p.source, p.span, counts + title_stems[p.source]))
    # The words that the best passages share, by how much they make of them and how few of all have them.
    holding = Counter(term for passage in read for term in passage.terms)
    shared: dict[str, float] = defaultdict(float)
    for passage in read[:TEACHERS]:
        worth = score(passage, weights) / max(1, sum(passage.terms.values()))
        for term, count in passage.terms.items():
            if holding[term] > 1:
                shared[term] += worth * count * inverse_frequency(len(read), holding[term])
    learned = _shares(dict(sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:LEARNED]))
    every = {term: weights.get(term, 0.0) + learned.get(term, 0.0) for term in (*weights, *learned)}
    best = best_first(read, every)
    top = best[0][0] if best and best[0][0] else 1.0
    return Ranked([p for _, p in best], [value / top for value, _ in best], weights, learned)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values()) or 1.0
    return {term: weight / total for term, weight in weights.items()}


def belonging(rank: Ranked, titles: Sequence[str]) -> dict[int, float]:
    """How likely each ranked source belongs (0 to 1)."""
    best: dict[int, float] = {}
    read: dict[int, Counter[str]] = defaultdict(Counter)
    for passage, score in zip(rank.passages, rank.scores, strict=True):
        best.setdefault(passage.source, score)
        read[passage.source].update(passage.terms)
    if not best:
        return {}
    by_words = _deviations([math.log(score + FLOOR) for score in best.values()])
    kin = _company(_vectors(read), best)
    by_kin = _deviations([math.log(kin[source] + FLOOR) for source in best])
    by_title = _deviations([_title_share(titles[source], rank.request_weights) for source in best])
    share = min(MAX_EXPECTED_SHARE, EXPECTED / len(best))
    middle = math.log(share / (1.0 - share)) - OUTLYING
    odds = zip(best, by_words, by_kin, by_title, strict=True)
    return {source: 1.0 / (1.0 + math.exp(-middle - a - b - c)) for source, a, b, c in odds}


def _title_share(title: str, asked: Mapping[str, float]) -> float:
    """How much of a title is of what is asked."""
    stems = set(content_stems(title)) if title else set()
    return math.fsum(math.sqrt(asked.get(term, 0.0)) for term in stems) / math.sqrt(1.0 + len(stems))


def _deviations(values: Sequence[float]) -> list[float]:
    """In standard deviations from the mean; each counts one, in log odds."""
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / spread if spread > 1e-9 else 0.0 for v in values]


def _company(vectors: Mapping[int, Mapping[str, float]], scores: Mapping[int, float]) -> dict[int, float]:
    """The mean score of the sources most like each, by how like it they are."""
    holding: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for source, vector in vectors.items():
        for term, weight in vector.items():
            holding[term].append((source, weight))
    totals: dict[int, float] = {}
    for source, vector in vectors.items():
        like: dict[int, float] = defaultdict(float)
        for term, weight in vector.items():
            for other, its in holding[term]:
                like[other] += weight * its
        like.pop(source, None)
        nearest = heapq.nlargest(KIN, ((alike, -other) for other, alike in like.items()))
        total = sum(alike for alike, _ in nearest)
        totals[source] = sum(alike * scores[-other] for alike, other in nearest) / total if total else 0.0
    return totals


def _vectors(read: Mapping[int, Mapping[str, int]]) -> dict[int, dict[str, float]]:
    """The most telling words of each, as vectors of one length."""
    holding = Counter(term for counts in read.values() for term in counts)
    rarity = {n: inverse_frequency(len(read), n) for n in set(holding.values())}
    vectors = {}
    for source, counts in read.items():
        weighed = [
            ((1.0 + math.log(count)) * rarity[holding[term]], term)
            for term, count in counts.items()
            if holding[term] > 1
        ]
        strongest = heapq.nlargest(TELLING, weighed)
        length = math.sqrt(math.fsum(weight * weight for weight, _ in strongest)) or 1.0
        vectors[source] = {term: weight / length for weight, term in strongest}
    return vectors


@dataclass(frozen=True, slots=True)
class Candidate:
    """``belongs`` (0 to 1) is how likely its source is of the subject, ``words`` its length."""

    source: int
    terms: AbstractSet[str]
    words: int
    belongs: float


def choose_passages(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    *,
    room: int,
    per_source: int,
    said: Mapping[str, int] | None = None,
) -> list[int]:
    """The places of candidates in the order of what each adds, up to ``room`` words; ``said`` are words that stand
    already."""
    repeats: Counter[str] = Counter(said or {})
    sources: Counter[int] = Counter()

    def value(candidate: Candidate) -> float:
        # Exact, so that the order of a set does not matter.
        gain = math.fsum(weights[t] * AGAIN ** repeats[t] for t in candidate.terms if t in weights)
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
    visited: set[int] = set()
    selection: list[int] = []
    words_used = 0
    while queue:
        _, place = heapq.heappop(queue)
        candidate = candidates[place]
        if place in visited or words_used + candidate.words > room or sources[candidate.source] >= per_source:
            continue
        now = value(candidate)
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, place))
            continue
        if now <= 0.0:
            break
        selection.append(place)
        visited.add(place)
        words_used += candidate.words
        sources[candidate.source] += 1
        repeats.update(candidate.terms)
        if sources[candidate.source] == 1:
            for other in of_source[candidate.source]:
                if other not in visited:
                    heapq.heappush(queue, (-value(candidates[other]), other))
    return selection


def pairs(request: str, weights: Mapping[str, float]) -> dict[str, float]:
    """The words that a request uses near each other, for a sentence that has both speaks of the same thing sooner than
    two with one each: pairs of stems, joined by a space in the order of the alphabet, as shares of one."""
    pair_weights: dict[str, float] = defaultdict(float)
    for span in sentences(request):
        stems = content_stems(request[span.start : span.end])
        for place, one in enumerate(stems):
            for other in stems[place + 1 : place + 1 + PAIR_REACH]:
                if one != other:
                    pair_weights[pair_key(one, other)] += math.sqrt(
                        weights.get(one, 0.0) * weights.get(other, 0.0)
                    )
    total = math.fsum(pair_weights.values()) or 1.0
    return {pair: weight / total for pair, weight in pair_weights.items()}


def pair_key(one: str, other: str) -> str:
    return f"{one} {other}" if one < other else f"{other} {one}"


def with_pairs(terms: AbstractSet[str], wanted: AbstractSet[str]) -> set[str]:
    """The terms, and the wanted pairs of which both are among them."""
    present = {pair for pair in wanted if all(term in terms for term in pair.split(" "))}
    return present | terms
