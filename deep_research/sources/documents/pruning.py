"""Pruning of passages whose words cannot reach a score that is high enough.

To find a passage takes a twentieth of the time of scoring it, so a search scores those that can be among the best and
shows afterwards that no other can (the idea of MaxScore, in expressions that FTS5 understands).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import NamedTuple

from deep_research.sources.documents.frequencies import Statistics
from deep_research.sources.documents.terms import match_expression, stem

_MAX_TERM_WEIGHT = (
    2.2  # times its inverse document frequency is what a term can add to BM25, with SQLite's k1 of 1.2
)
_LEAST_WEIGHT = 1e-6  # SQLite gives no term less
_MAX_RARE_PASSAGES = 700  # passages: the rarest words, that no more of them have, may as well be scored
_MIN_PRUNED_PASSAGES = 1_000  # passages to be scored, below which nothing is worth sparing
_MIN_TERMS = 3  # words of which two together are likely to make more than one alone


class Candidates(NamedTuple):
    """The passages that match ``expression``. No other has a score above ``most``."""

    expression: str
    most: float


class _Word(NamedTuple):
    """The terms of one stem."""

    terms: tuple[str, ...]
    passages: int
    most: float  # that they can add to a score


class Pruning:
    """What a search for any of ``terms`` can leave out. The terms are words in English, or have no stems."""

    def __init__(self, statistics: Statistics, terms: Sequence[str]) -> None:
        weights = statistics.weights(terms)
        alike: dict[str, list[str]] = {}
        for term in terms:
            alike.setdefault(stem(term.lower()), []).append(term)
        words = (
            _Word(
                tuple(dict.fromkeys(same)),
                max(statistics.frequencies[term] for term in same),
                _MAX_TERM_WEIGHT * sum(max(weights[term], _LEAST_WEIGHT) for term in same),
            )
            for same in alike.values()
        )
        self._words = sorted(words, key=lambda word: word.passages)
        self._passages = sum(word.passages for word in self._words)

    def candidates(self, least: float = inf) -> Candidates | None:
        """The passages that may have a score of ``least``, none of them left out when it is given; else a guess. None if
        these are nearly all, or a guess would seldom do.

        They have one of the rarest words, or one that can make such a score alone, or two of the rest. The commonest
        words count for nothing if all of them with one of the rest cannot make it.
        """
        if self._passages < _MIN_PRUNED_PASSAGES:
            return None
        alone, rest = self._parted(least)
        if len(rest) < (_MIN_TERMS if least == inf else 1):
            return None
        nothing = 0.0
        while rest and least < inf and nothing + rest[-1].most + _highest(rest[:-1]) < least:
            nothing += rest.pop().most
        expressions = _pairs(rest)
        if alone:
            expressions.append(_any(alone))
        if not expressions:
            return None
        return Candidates(" OR ".join(expressions), nothing + _highest(rest))

    def _parted(self, least: float) -> tuple[list[_Word], list[_Word]]:
        """The words that make a candidate alone, and the rest, rarest first."""
        passages = accumulate(word.passages for word in self._words)
        alone: list[_Word] = []
        rest: list[_Word] = []
        for word, so_far in zip(self._words, passages, strict=True):
            (alone if so_far <= _MAX_RARE_PASSAGES or word.most >= least else rest).append(word)
        return alone, rest


def _highest(words: Sequence[_Word]) -> float:
    return max((word.most for word in words), default=0.0)


def _any(words: Sequence[_Word]) -> str:
    return match_expression(term for word in words for term in word.terms)


def _pairs(words: Sequence[_Word]) -> list[str]:
    """Expressions of which a passage matches one if it has two of ``words``, and else none."""
    if len(words) < 2:
        return []
    half = len(words) // 2
    first, second = words[:half], words[half:]
    return [f"(({_any(first)}) AND ({_any(second)}))", *_pairs(first), *_pairs(second)]
