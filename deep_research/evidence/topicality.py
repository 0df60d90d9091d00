"""Which texts are of the subject of a long request: passages, ranked by BM25 that keeps the request's repeated words and
learns those that the best passages share, and how likely each of their sources belongs. Pure.

A request of some hundred words names its subject again and again, and speaks of much else once. Repeats tell the
one from the other; the words that many of the best passages have in common tell how others speak of the subject.

A score tells how near a text is by its words; by itself it says little, for some requests find many texts of one
score and others a few far above the rest. What tells is how far a source stands out among all that were found, by
its words, by the company it keeps (the scores of the texts most like it) and by its title.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.evidence.ranking import PassageTerms
from deep_research.evidence.words import STOP_WORDS, content_stems, inverse_frequency, stem, words
from deep_research.state import Span

_K1 = 2.0
_B = 0.9
_LETTERS = 6.5  # of a word and its space, to tell a passage's length without cutting it into words
TEACHERS = 10  # passages whose words are learned
LEARNED = 30  # words learned from them
RESCORED = 240  # passages that are looked at again with these

KIN = 8  # texts most like a source that are its company
TELLING = 100  # words of a text by which others like it are found
FLOOR = 0.05  # of the best score, below which scores are no longer told apart
EXPECTED = 18  # sources of one subject, in whatever was found
MOST = 0.5  # of what was found, that is expected to belong
OUTLYING = 1.3  # log odds by which the middle of all that was found is less likely than its share


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with its score, 0 to 1 of the best; ``counts`` are the stems of it and of its title."""

    source: int
    span: Span
    score: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ranked:
    """``asked`` and ``learned`` weigh the stems of the request and those of the best passages; each sums to 1."""

    passages: Sequence[Scored]
    asked: Mapping[str, float]
    learned: Mapping[str, float]


def ranked(
    request: str, found: Sequence[PassageTerms], texts: Sequence[str], titles: Sequence[str]
) -> Ranked:
    """The best passages for a request, best first. ``found`` are those with any of its words, ``texts`` and
    ``titles`` the sources they are places of."""
    asked = Counter(content_stems(request))
    named = [Counter(content_stems(title)) if title else Counter[str]() for title in titles]
    rough = [
        (passage, _with_title({t: n for t, n in passage.terms.items() if t in asked}, named[passage.source]))
        for passage in found
    ]
    weights = _weights(asked, [counts for _, counts in rough])
    usual = sum(p.span.end - p.span.start for p in found) / max(1, len(found)) / _LETTERS
    rough.sort(
        key=lambda item: (-_score(item[0].span, item[1], weights, usual), item[0].source, item[0].span.start)
    )
    read = [(p, _with_title(_counts(texts[p.source], p.span), named[p.source])) for p, _ in rough[:RESCORED]]
    learned = _learned(read, weights, usual)
    mixed = dict(weights)
    for term, weight in learned.items():
        mixed[term] = mixed.get(term, 0.0) + weight
    scored = [(_score(p.span, counts, mixed, usual), p, counts) for p, counts in read]
    scored.sort(key=lambda item: (-item[0], item[1].source, item[1].span.start))
    best = scored[0][0] if scored else 1.0
    return Ranked(
        [Scored(p.source, p.span, score / best if best else 0.0, counts) for score, p, counts in scored],
        asked=weights,
        learned=learned,
    )


def _weights(asked: Mapping[str, int], every: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """How often each word is asked for times how rare it is, as shares of one."""
    holding = Counter(term for counts in every for term in counts)
    return _shares({t: n * inverse_frequency(len(every), holding[t]) for t, n in asked.items()})


def _learned(
    read: Sequence[tuple[PassageTerms, Mapping[str, int]]], weights: Mapping[str, float], usual: float
) -> dict[str, float]:
    """The words that the best passages share, by how much they make of them and how few of all have them."""
    holding = Counter(term for _, counts in read for term in counts)
    weighed: dict[str, float] = defaultdict(float)
    for passage, counts in read[:TEACHERS]:
        score = _score(passage.span, counts, weights, usual)
        length = sum(counts.values())
        for term, count in counts.items():
            if holding[term] > 1:
                weighed[term] += score * count / length * inverse_frequency(len(read), holding[term])
    return _shares(dict(sorted(weighed.items(), key=lambda item: (-item[1], item[0]))[:LEARNED]))


def _score(span: Span, counts: Mapping[str, int], weights: Mapping[str, float], usual: float) -> float:
    length = (span.end - span.start) / _LETTERS
    norm = _K1 * (1.0 - _B + _B * length / max(usual, 1.0))
    held = counts if len(counts) < len(weights) else weights
    return sum(
        weights[t] * counts[t] * (_K1 + 1.0) / (counts[t] + norm)
        for t in held
        if t in weights and t in counts
    )


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values()) or 1.0
    return {term: weight / total for term, weight in weights.items()}


def _counts(text: str, span: Span) -> dict[str, int]:
    return Counter(stem(w) for w in words(text[span.start : span.end]) if w.casefold() not in STOP_WORDS)


def _with_title(counts: Mapping[str, int], title: Mapping[str, int]) -> dict[str, int]:
    return Counter(counts) + Counter(title)


def by_source(passages: Iterable[Scored], most: int) -> dict[int, list[Scored]]:
    """The passages of the ``most`` best sources, a few of each, best first."""
    found: dict[int, list[Scored]] = {}
    for passage in passages:
        if passage.source in found or len(found) < most:
            found.setdefault(passage.source, []).append(passage)
    return found


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
