"""The words that a request uses near each other: a sentence that has both speaks of the same thing sooner than two
sentences with one each. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise

from deep_research.evidence.passages import sentences
from deep_research.evidence.text import content_stems, stem, words

REACH = 6  # content words from one to the other
CLOSE = 4  # words apart, to stand close together


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


def phrases(question: str) -> frozenset[tuple[str, str]]:
    """The stems that are neighbours in a question, small words between them aside."""
    return frozenset((one, other) for one, other in pairwise(content_stems(question)) if one != other)


def closeness(text: str, wanted: AbstractSet[tuple[str, str]]) -> float:
    """The share (0 to 1) of the wanted neighbours that stand close together in a text."""
    if not wanted:
        return 0.0
    terms = {term for pair in wanted for term in pair}
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words(text)):
        if (term := stem(word)) in terms:
            places[term].append(place)
    close = sum(
        any(0 < abs(a - b) <= CLOSE for a in places.get(one, ()) for b in places.get(other, ()))
        for one, other in wanted
    )
    return close / len(wanted)
