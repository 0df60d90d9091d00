"""Relevance of memory entries to a text, by the stems of their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deep_research.logs import cut
from deep_research.memory.entry import MemoryCursor, MemoryEntry
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.words import StemFinder, question_terms

MAX_ASKED_CHARACTERS = 20_000  # of a text whose words are looked for


def nearest(entries: Sequence[MemoryEntry], text: str, limit: int) -> list[MemoryEntry]:
    """The ``limit`` entries that have most of the words of a text, by their weight; of equal ones the newest first. One
    that has none of them is not given. Pure."""
    term_weights = question_terms(cut(text, MAX_ASKED_CHARACTERS))
    find = StemFinder(term_weights)
    matches = [(find(entry.text), entry) for entry in entries]
    holding = Counter(stem for stems, _ in matches for stem in stems)
    weights = {
        stem: weight * inverse_frequency(len(matches), holding[stem])
        for stem, weight in term_weights.items()
        if holding[stem]
    }
    by_score = [
        (sum(weights[stem] for stem in stems), MemoryCursor.of(entry), entry)
        for stems, entry in matches
        if stems
    ]
    by_score.sort(key=lambda each: each[:2], reverse=True)
    return [entry for _, _, entry in by_score[: max(limit, 0)]]
