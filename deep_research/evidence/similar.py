"""Sets of words that are nearly the same, found without comparing each with each. Pure.

A prefix filter: of two sets that share enough, the rarest words of both have some in common (Bayardo, Ma, Srikant:
Scaling Up All Pairs Similarity Search, 2007). Each set is filed under the pairs of its rarest words, so that sets that
share common words alone never meet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from math import ceil

_WORDS_OF_KEY = 2
MOST_ALIKE = (
    64  # sets that a pair of words leads to, where one needs to find only one of those that are alike
)


class SimilarSets:
    """The places of sets that may share ``least`` (0 to 1) of the words that they have together. ``every`` are all the
    sets that will be asked for, by which is known how rare a word is. A pair of words leads to the first ``most`` sets
    that have it: then the cost is linear in the sets, however many are alike, and of so many some are missed.

    Example:
        similar = SimilarSets([{"a", "b"}, {"a", "b"}], least=0.8, most=64)
        similar.add({"a", "b"}, 0)
        list(similar.near({"b", "a"}))  # [0]
    """

    def __init__(self, every: Iterable[Iterable[str]], *, least: float, most: int) -> None:
        self._counts = Counter(word for words in every for word in words)
        self._least = least
        self._most = most
        self._filed: dict[Hashable, list[int]] = defaultdict(list)

    def add(self, words: frozenset[str], place: int, *, beside: Hashable = None) -> None:
        """Files a set under its place; with ``beside``, only for those that are asked for with the same."""
        for key in self._keys(words):
            places = self._filed[beside, key]
            if len(places) < self._most:
                places.append(place)

    def near(self, words: frozenset[str], *, beside: Hashable = None) -> list[int]:
        """The places of the sets that may be similar, in order."""
        return sorted({place for key in self._keys(words) for place in self._filed.get((beside, key), ())})

    def _keys(self, words: frozenset[str]) -> Iterator[Sequence[str]]:
        size = len(words)
        if size < _WORDS_OF_KEY:
            return iter([tuple(words)] if words else [])
        rarest = sorted(words, key=lambda word: (self._counts[word], word))
        return combinations(rarest[: size - ceil(self._least * size) + _WORDS_OF_KEY], _WORDS_OF_KEY)
