"""The figures of an evaluation. Pure: ranked ids, gold groups and scores in, numbers out.

Gold is given in groups: each group is one piece of evidence, and any of its ids shows it. All figures lie between
0 and 1; where nothing could be right (no gold, no positives) they are 0, and `auroc` is one half.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, pairwise
from math import ceil, log2

Groups = Sequence[AbstractSet[str]]


def hits_at(k: int, ranked: Sequence[str], gold: Groups) -> float:
    """1 when any gold id is among the first ``k``."""
    first = set(ranked[:k])
    return float(any(not first.isdisjoint(group) for group in gold))


def all_at(k: int, ranked: Sequence[str], gold: Groups) -> float:
    """1 when every gold group has an id among the first ``k``."""
    first = set(ranked[:k])
    return float(bool(gold) and all(not first.isdisjoint(group) for group in gold))


def mrr_at(k: int, ranked: Sequence[str], gold: Groups) -> float:
    """One over the rank of the first gold id, 0 when none is among the first ``k``."""
    for rank, found in enumerate(ranked[:k], 1):
        if any(found in group for group in gold):
            return 1.0 / rank
    return 0.0


def ndcg_at(k: int, ranked: Sequence[str], gold: Groups) -> float:
    """Normalised discounted cumulative gain of the first ``k``. A group counts once, where it is first met."""
    open_groups = list(gold)
    gain = 0.0
    for rank, found in enumerate(ranked[:k], 1):
        left = [group for group in open_groups if found not in group]
        if len(left) < len(open_groups):
            gain += 1.0 / log2(rank + 1)
            open_groups = left
    best = sum(1.0 / log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    return min(1.0, gain / best) if best else 0.0


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The chance that a positive's score is above a negative's; a tie counts one half."""
    if not positives or not negatives:
        return 0.5
    ordered = sorted(negatives)
    above = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in positives)
    return above / (2 * len(positives) * len(negatives))


def calibration_error(bins: int, told: Sequence[tuple[float, bool]]) -> float:
    """The mean distance between what was told (0 to 1) and the share that was true, over bins of equal count."""
    ordered = sorted(told)
    cuts = [round(len(ordered) * n / bins) for n in range(bins + 1)]
    parts = [ordered[low:high] for low, high in pairwise(cuts) if high > low]
    gaps = (len(part) * abs(mean(p for p, _ in part) - mean(true for _, true in part)) for part in parts)
    return sum(gaps) / len(ordered) if ordered else 0.0


def percentile(share: float, values: Iterable[float]) -> float:
    """The smallest value that at least ``share`` (0 to 1) of the values do not exceed; 0 without values."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    # Rounded first, because .95 * 20 is a little more than 19.
    return ordered[max(0, ceil(round(share * len(ordered), 9)) - 1)]


def mean(values: Iterable[float]) -> float:
    """0 without values."""
    held = list(values)
    return sum(held) / len(held) if held else 0.0


def precision_recall(chosen: Collection[str], gold: Collection[str]) -> tuple[float, float]:
    """The share of ``chosen`` that is gold, and the share of gold that was chosen."""
    right = len(set(chosen) & set(gold))
    return (right / len(set(chosen)) if chosen else 0.0), (right / len(set(gold)) if gold else 0.0)


def nugget_coverage(
    weights: Mapping[str, float], sentences: Iterable[AbstractSet[str]], most: int = 3
) -> float:
    """The largest share of the weight of a nugget's terms that ``most`` of the sentences cover together.

    ``weights`` are those of the nugget's terms, ``sentences`` the terms of each sentence. Every choice of
    sentences is looked at, so the figure does not depend on their order.
    """
    whole = sum(weights.values())
    if not whole:
        return 0.0
    covered = _largest({frozenset(weights.keys() & terms) for terms in sentences})
    choices = combinations(covered, most) if len(covered) > most else [tuple(covered)]
    best = max(sum(weights[term] for term in sorted(frozenset[str]().union(*choice))) for choice in choices)
    return min(1.0, best / whole)


def _largest(sets: AbstractSet[frozenset[str]]) -> list[frozenset[str]]:
    """Those that no other contains."""
    return [one for one in sets if not any(one < other for other in sets)]
