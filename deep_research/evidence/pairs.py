"""The words that a request uses near each other: a sentence that has both speaks of the same thing sooner than two
sentences with one each. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from deep_research.evidence.passages import sentences
from deep_research.evidence.text import content_stems

REACH = 6  # content words from one to the other


def pairs(request: str, weights: Mapping[str, float]) -> dict[str, float]:
    """Pairs of stems, joined by a space in the order of the alphabet, as shares of one."""
    found: dict[str, float] = defaultdict(float)
    for span in sentences(request):
        stems = content_stems(request[span.start : span.end])
        for place, one in enumerate(stems):
            for other in stems[place + 1 : place + 1 + REACH]:
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
