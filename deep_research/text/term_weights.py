"""Weights of terms, and scores of texts by the terms they have: inverse document frequency, BM25, coverage. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

MIN_RARITY_WEIGHT = 0.5
BM25_SATURATION_WEIGHT = 1.2  # BM25's k1


def inverse_frequency(total: int, holding: int) -> float:
    """The weight of a term that ``holding`` of ``total`` texts have; near 0 where all have it, so that it tells none of
    them apart."""
    return log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def rarity(total: int, holding: int) -> float:
    """The weight, from `MIN_RARITY_WEIGHT` to 2, of a term that ``holding`` of ``total`` texts have; 2 if none has it.

    The texts were found by searching for these very terms, so that what a question is about is in most of them:
    without the floor its subject would count for nothing.
    """
    scale = inverse_frequency(total, holding) / inverse_frequency(total, 0)
    return MIN_RARITY_WEIGHT + (2.0 - MIN_RARITY_WEIGHT) * scale


def bm25(
    counts: Mapping[str, float], weights: Mapping[str, float], saturation: float = BM25_SATURATION_WEIGHT
) -> float:
    """The weight of the terms that a passage has; a term that stands there again adds less each time, the later the
    greater the ``saturation``, which may grow with the length of the passage."""
    return sum(
        weight * counts[term] * (BM25_SATURATION_WEIGHT + 1) / (counts[term] + saturation)
        for term, weight in weights.items()
        if term in counts
    )


def coverage(wanted: Mapping[str, float], present: Iterable[str]) -> float:
    """The share (0 to 1) of the wanted weight that is present."""
    total = sum(wanted.values())
    if not total:
        return 0.0
    terms = set(present)
    return sum(weight for term, weight in wanted.items() if term in terms) / total
