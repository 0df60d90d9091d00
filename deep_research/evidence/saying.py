"""What a quote says of what is wanted, and how much that is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from deep_research.evidence.fragments import ITEM_MARK, is_list
from deep_research.evidence.ranking import stems_of

SEVERAL = 4  # items of a list that say different things


def said_by(text: str, weights: Mapping[str, float]) -> set[str]:
    """The stems of a quote; of a long list those of what announces it and of the item that has most of the weight: words
    that stand in different items say nothing together."""
    if not is_list(text):
        return stems_of(text)
    announcing, *items = (stems_of(item) for item in ITEM_MARK.split(text)[::2])
    if len(items) < SEVERAL:
        return announcing.union(*items)
    return announcing | max(items, key=lambda item: weight_of(weights, announcing | item))


def weight_of(weights: Mapping[str, float], present: set[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)
