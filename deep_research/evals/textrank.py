"""TextRank as it is usually done, to compare with: sentences that share words vote for one another. Quadratic."""

from __future__ import annotations

from collections import defaultdict
from math import log

from deep_research.evidence.passages import sentences
from deep_research.evidence.words import content_stems
from deep_research.state import Span

_DAMPING = 0.85
_ROUNDS = 20


def textrank(text: str, room: int, _query: str) -> list[Span]:
    """The best sentences by their rank, in the order of the text, as many as fit ``room`` characters."""
    spans = sentences(text)
    ranks = _ranks([frozenset(content_stems(text[span.start : span.end])) for span in spans])
    kept = []
    for place in sorted(range(len(spans)), key=lambda place: (-ranks[place], place)):
        length = spans[place].end - spans[place].start + 1
        if length <= room:
            kept.append(spans[place])
            room -= length
    return sorted(kept, key=lambda span: span.start)


def _ranks(stems: list[frozenset[str]]) -> list[float]:
    edges = _similar(stems)
    given = [sum(of_one.values()) for of_one in edges]
    ranks = [1.0] * len(stems)
    for _ in range(_ROUNDS):
        ranks = [
            1.0 - _DAMPING + _DAMPING * sum(weight * ranks[n] / given[n] for n, weight in of_one.items())
            for of_one in edges
        ]
    return ranks


def _similar(stems: list[frozenset[str]]) -> list[dict[int, float]]:
    """For each sentence those with which it shares words: how many, over the logarithms of their lengths."""
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for place, of_one in enumerate(stems):
        for stem in sorted(of_one):
            holding[stem].append(place)
    edges: list[dict[int, float]] = [{} for _ in stems]
    for places in holding.values():
        for one in places:
            for other in places:
                if one != other:
                    edges[one][other] = edges[one].get(other, 0.0) + 1.0
    return [
        {n: shared / (log(len(stems[place]) + 1) + log(len(stems[n]) + 1)) for n, shared in of_one.items()}
        for place, of_one in enumerate(edges)
    ]
