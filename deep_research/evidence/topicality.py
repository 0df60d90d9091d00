"""Which of the sources that a broad request found belong to its subject. Pure.

A score tells how near a text is by its words; by itself it says little, for some requests find many texts of one
score and others a few far above the rest. What tells is how far a source stands out among all that were found, by
its words, by the company it keeps (the scores of the texts most like it) and by its title.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from deep_research.evidence.query_expansion import Ranked
from deep_research.evidence.words import content_stems, inverse_frequency

KIN = 8  # texts most like a source that are its company
TELLING = 100  # words of a text by which others like it are found
FLOOR = 0.05  # of the best score, below which scores are no longer told apart
EXPECTED = 18  # sources of one subject, in whatever was found
MOST = 0.5  # of what was found, that is expected to belong
OUTLYING = 1.3  # log odds by which the middle of all that was found is less likely than its share


def belonging(rank: Ranked, titles: Sequence[str]) -> dict[int, float]:
    """How likely each ranked source belongs (0 to 1)."""
    best: dict[int, float] = {}
    read: dict[int, Counter[str]] = defaultdict(Counter)
    for passage in rank.passages:
        best.setdefault(passage.source, passage.score)
        read[passage.source].update(passage.counts)
    if not best:
        return {}
    by_words = _deviations([math.log(score + FLOOR) for score in best.values()])
    kin = _company(_vectors(read), best)
    by_kin = _deviations([math.log(kin[source] + FLOOR) for source in best])
    by_title = _deviations([_named(titles[source], rank.asked) for source in best])
    share = min(MOST, EXPECTED / len(best))
    middle = math.log(share / (1.0 - share)) - OUTLYING
    odds = zip(best, by_words, by_kin, by_title, strict=True)
    return {source: 1.0 / (1.0 + math.exp(-middle - a - b - c)) for source, a, b, c in odds}


def _named(title: str, asked: Mapping[str, float]) -> float:
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
    found: dict[int, float] = {}
    for source, vector in vectors.items():
        like: dict[int, float] = defaultdict(float)
        for term, weight in vector.items():
            for other, its in holding[term]:
                like[other] += weight * its
        like.pop(source, None)
        nearest = heapq.nlargest(KIN, ((alike, -other) for other, alike in like.items()))
        total = sum(alike for alike, _ in nearest)
        found[source] = sum(alike * scores[-other] for alike, other in nearest) / total if total else 0.0
    return found


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
        kept = heapq.nlargest(TELLING, weighed)
        length = math.sqrt(math.fsum(weight * weight for weight, _ in kept)) or 1.0
        vectors[source] = {term: weight / length for weight, term in kept}
    return vectors
