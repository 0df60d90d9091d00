"""What is done elsewhere, to compare with: a plain full-text search of SQLite, and TextRank, for which sentences that
share words vote for one another."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import log

from deep_research.patterns import regex
from deep_research.state import Span
from deep_research.text.passages import sentences
from deep_research.text.words import content_stems

BEST = (1, 3, 5)  # passages that are looked at
WINDOW, STEP = 60, 40  # words of a passage where texts are articles, and between the beginnings of two
_TITLE_WEIGHT = 2.0
_WORD = regex(r"\w+")

_DAMPING = 0.85
_ROUNDS = 20


class PlainSearch:
    """FTS5 with the porter stemmer and BM25 over (id, title, text), the title counted twice."""

    def __init__(self, passages: Iterable[tuple[str, str, str]]) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE passages USING fts5 (id UNINDEXED, title, text, tokenize='porter')"
        )
        self._db.executemany("INSERT INTO passages VALUES (?, ?, ?)", passages)

    def best(self, question: str, count: int, *, without: frozenset[str] = frozenset()) -> list[str]:
        """The texts of the best passages for any of the question's words."""
        words = dict.fromkeys(_WORD.findall(question.lower()))
        rows = self._db.execute(
            "SELECT id, text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 0.0, ?, 1.0) LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), _TITLE_WEIGHT, count + len(without)),
        )
        return [text for identity, text in rows if identity not in without][:count]


def windows(text: str) -> Iterator[str]:
    """The paragraphs of a Markdown text in pieces of `WINDOW` words, one every `STEP` words; headings are none."""
    for paragraph in re.split(r"\n\s*\n", text):
        words = paragraph.split()
        if words and not paragraph.startswith("#"):
            for start in range(0, max(1, len(words) - WINDOW + STEP), STEP):
                yield " ".join(words[start : start + WINDOW])


def textrank(text: str, room: int, _query: str) -> list[Span]:
    """The best sentences by their rank, in the order of the text, as many as fit ``room`` characters."""
    spans = sentences(text)
    ranks = _ranks([frozenset(content_stems(text[span.start : span.end])) for span in spans])
    kept = []
    for place in sorted(range(len(spans)), key=lambda place: (-ranks[place], place)):
        length = spans[place].end - spans[place].start + 1
        if length <= room:
            kept.append(spans[place])
            room -= length
    return sorted(kept, key=lambda span: span.start)


def _ranks(stems: list[frozenset[str]]) -> list[float]:
    edges = _similar(stems)
    given = [sum(of_one.values()) for of_one in edges]
    ranks = [1.0] * len(stems)
    for _ in range(_ROUNDS):
        ranks = [
            1.0 - _DAMPING + _DAMPING * sum(weight * ranks[n] / given[n] for n, weight in of_one.items())
            for of_one in edges
        ]
    return ranks


def _similar(stems: list[frozenset[str]]) -> list[dict[int, float]]:
    """For each sentence those with which it shares words: how many, over the logarithms of their lengths."""
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for place, of_one in enumerate(stems):
        for stem in sorted(of_one):
            holding[stem].append(place)
    edges: list[dict[int, float]] = [{} for _ in stems]
    for places in holding.values():
        for one in places:
            for other in places:
                if one != other:
                    edges[one][other] = edges[one].get(other, 0.0) + 1.0
    return [
        {n: shared / (log(len(stems[place]) + 1) + log(len(stems[n]) + 1)) for n, shared in of_one.items()}
        for place, of_one in enumerate(edges)
    ]
