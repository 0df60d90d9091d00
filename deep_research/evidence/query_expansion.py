"""Ranking for a long request: BM25 that keeps the request's repeated words, then again with the words that the best
passages share. Pure.

A request of some hundred words names its subject again and again, and speaks of much else once. Repeats tell the
one from the other; the words that many of the best passages have in common tell how others speak of the subject.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.evidence.ranking import Passage
from deep_research.evidence.words import STOP_WORDS, content_stems, inverse_frequency, stem, words
from deep_research.state import Span

_K1 = 2.0
_B = 0.9
_LETTERS = 6.5  # of a word and its space, to tell a passage's length without cutting it into words
TEACHERS = 10  # passages whose words are learned
LEARNED = 30  # words learned from them
RESCORED = 240  # passages that are looked at again with these


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


def ranked(request: str, found: Sequence[Passage], texts: Sequence[str], titles: Sequence[str]) -> Ranked:
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
    read: Sequence[tuple[Passage, Mapping[str, int]]], weights: Mapping[str, float], usual: float
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
