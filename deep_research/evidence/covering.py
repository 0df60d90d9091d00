"""Choosing sentences that together say much of what is wanted: each next one for what it adds. Pure.

The gain of a word shrinks each time it was said before, so the choice is greedy over a function of diminishing
returns, and the first n of the chosen are the choice of n. Words cost: gain is divided by the root of a
candidate's length.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

AGAIN = 0.1  # what saying a word again is worth of saying it before
FIRST = 0.0025  # what a source that was not heard yet adds, as a share of all that is wanted


@dataclass(frozen=True, slots=True)
class Candidate:
    """``score`` (0 to 1) is how near its source is, ``words`` its length."""

    source: int
    terms: AbstractSet[str]
    words: int
    score: float


@dataclass(frozen=True, slots=True)
class Choice:
    """``place`` is that of the candidate in its list; ``value`` what it added for its length."""

    place: int
    value: float


def chosen(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    *,
    room: int,
    per_source: int,
    said: Mapping[str, int] | None = None,
) -> list[Choice]:
    """Candidates in the order of what each adds, up to ``room`` words. ``said`` are words that stand already."""
    heard: Counter[str] = Counter(said or {})
    sources: Counter[int] = Counter()

    def value(candidate: Candidate) -> float:
        # Exact, so that the order of a set does not matter.
        gain = math.fsum(weights[t] * AGAIN ** heard[t] for t in candidate.terms if t in weights)
        gain += 0.0 if sources[candidate.source] else FIRST
        return gain * candidate.score / math.sqrt(candidate.words)

    # A value only falls, so an old one is an upper bound: only the head of the queue must be looked at again.
    queue = [(-value(c), place) for place, c in enumerate(candidates)]
    heapq.heapify(queue)
    taken: list[Choice] = []
    used = 0
    while queue:
        _, place = heapq.heappop(queue)
        candidate = candidates[place]
        if used + candidate.words > room or sources[candidate.source] >= per_source:
            continue
        now = value(candidate)
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, place))
            continue
        if now <= 0.0:
            break
        taken.append(Choice(place, now))
        used += candidate.words
        sources[candidate.source] += 1
        heard.update(candidate.terms)
    return taken
