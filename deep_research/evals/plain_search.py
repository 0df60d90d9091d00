"""What a person gets from a plain search over the same texts: full-text search of SQLite, and nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator

from deep_research.patterns import regex

BEST = (1, 3, 5)  # passages that are looked at
WINDOW, STEP = 60, 40  # words of a passage where texts are articles, and between the beginnings of two
_TITLE_WEIGHT = 2.0
_WORD = regex(r"\w+")


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
