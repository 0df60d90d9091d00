"""Choosing sentences that together say much of what is wanted: each next one for what it adds. Pure.

The gain of a word shrinks each time it was said before, so the choice is greedy over a function of diminishing
returns, and the first n of the chosen are the choice of n. Words cost: gain is divided by the root of a
candidate's length. So does a source that may be of another subject, but only once: to say more of a source that is
heard already puts nothing at risk.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from deep_research.evidence.passages import sentences
from deep_research.evidence.words import content_stems

AGAIN = 0.1  # what saying a word again is worth of saying it before
FIRST = 0.004  # what a source that was not heard yet adds, as a share of all that is wanted
REACH = 6  # content words of a request from one of a pair to the other
ASTRAY = 0.0095  # what one takes away that is of another subject


@dataclass(frozen=True, slots=True)
class Candidate:
    """``belongs`` (0 to 1) is how likely its source is of the subject, ``words`` its length."""

    source: int
    terms: AbstractSet[str]
    words: int
    belongs: float


def chosen(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    *,
    room: int,
    per_source: int,
    said: Mapping[str, int] | None = None,
) -> list[int]:
    """The places of candidates in the order of what each adds, up to ``room`` words; ``said`` are words that stand
    already."""
    heard: Counter[str] = Counter(said or {})
    sources: Counter[int] = Counter()

    def value(candidate: Candidate) -> float:
        # Exact, so that the order of a set does not matter.
        gain = math.fsum(weights[t] * AGAIN ** heard[t] for t in candidate.terms if t in weights)
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
    done: set[int] = set()
    taken: list[int] = []
    used = 0
    while queue:
        _, place = heapq.heappop(queue)
        candidate = candidates[place]
        if place in done or used + candidate.words > room or sources[candidate.source] >= per_source:
            continue
        now = value(candidate)
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, place))
            continue
        if now <= 0.0:
            break
        taken.append(place)
        done.add(place)
        used += candidate.words
        sources[candidate.source] += 1
        heard.update(candidate.terms)
        if sources[candidate.source] == 1:
            for other in of_source[candidate.source]:
                if other not in done:
                    heapq.heappush(queue, (-value(candidates[other]), other))
    return taken


def pairs(request: str, weights: Mapping[str, float]) -> dict[str, float]:
    """The words that a request uses near each other, for a sentence that has both speaks of the same thing sooner than
    two with one each: pairs of stems, joined by a space in the order of the alphabet, as shares of one."""
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
