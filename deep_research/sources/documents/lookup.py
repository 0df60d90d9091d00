"""Looking things up in an open index: the best documents for some terms, and how much of these they cover."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log
from typing import NamedTuple

from deep_research.sources.documents.terms import coverage, match_expression
from deep_research.state import Mention, Span

PASSAGES_PER_HIT = 4
SMALL_CORPUS = 200  # passages
_COMMON_SHARE = 0.1
_COMMON_PASSAGES = 1_000
_FIRST_LOOK = 8  # passages looked at for each document wanted, before more are asked for

# The title counts twice. Smaller is better.
_BEST = """
SELECT p.document, d.path, d.title, p.start, p.stop, p.heading, best.score
FROM (
    SELECT rowid AS id, bm25(words, 2.0, 1.0, 1.0) AS score FROM words WHERE words MATCH ?
    ORDER BY score LIMIT ?
) AS best
JOIN passages AS p ON p.id = best.id
JOIN documents AS d ON d.id = p.document
ORDER BY best.score, d.path, p.start
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found. ``passages`` are its best spans of ``text``, best first; ``score`` is BM25
    of the first of them, larger is better; ``relevance`` is the share (0 to 1) of the query's weight that one
    of them covers together with its headings and the title; ``mentions`` are the most telling names in them;
    ``via`` is the title of the document that names this one, when that is why it is here."""

    path: str
    title: str
    text: str
    content_hash: str
    snapshot_hash: str
    published: date | None
    passages: tuple[Span, ...]
    score: float
    relevance: float
    mentions: tuple[Mention, ...] = ()
    via: str = ""

    @property
    def matched(self) -> str:
        """What the search matched: the text of the passages."""
        return "\n".join(self.text[span.start : span.end] for span in self.passages)


@dataclass(frozen=True, slots=True)
class Statistics:
    """In how many of ``total`` passages each term occurs."""

    total: int
    frequencies: Mapping[str, int]

    def rare(self, terms: Sequence[str]) -> list[str]:
        """The terms without those that very many passages have: these take most of the time of a search and
        change its order hardly at all."""
        common = max(_COMMON_PASSAGES, self.total * _COMMON_SHARE)
        return [term for term in terms if self.frequencies[term] <= common]

    def weights(self, terms: Iterable[str]) -> dict[str, float]:
        """What each distinct term tells: its inverse document frequency, most for one that no passage has."""
        counts = {term: min(self.frequencies.get(term, 0), self.total) for term in terms}
        return {term: log(1 + (self.total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}

    def __add__(self, other: Statistics) -> Statistics:
        terms = self.frequencies.keys() | other.frequencies.keys()
        summed = {t: self.frequencies.get(t, 0) + other.frequencies.get(t, 0) for t in terms}
        return Statistics(self.total + other.total, summed)


class _Found(NamedTuple):
    document: int
    path: str
    title: str
    start: int
    stop: int
    heading: str
    score: float

    def covers(self, weighted: Mapping[str, float], text: str) -> float:
        """The share of the weight that the passage covers, with its headings and title; ``text`` is the
        document's."""
        return coverage(weighted, f"{self.title}\n{self.heading}\n{text[self.start : self.stop]}")


def look_up(
    connection: sqlite3.Connection,
    terms: Sequence[str],
    limit: int,
    *,
    exclude: frozenset[str] = frozenset(),
    pooled: Statistics | None = None,
) -> list[Hit]:
    """At most ``limit`` documents that have one of ``terms``, best first, equal ones by path.

    ``pooled`` replaces the index's own statistics in the relevance. Raises `sqlite3.Error`.
    """
    own = count(connection, terms)
    weighted = (pooled or own).weights(terms)
    present = [term for term in terms if own.frequencies[term]]
    if own.total <= SMALL_CORPUS:
        best = _best_by_coverage(connection, present, exclude, weighted)[:limit]
    else:
        rare = own.rare(present)
        best = _best_by_bm25(connection, rare, limit, exclude)
        if len(best) < limit and rare != present:
            best = _best_by_bm25(connection, present, limit, exclude)
    return [_hit(connection, passages, weighted) for passages in best]


def count(connection: sqlite3.Connection, terms: Iterable[str]) -> Statistics:
    """How often the terms occur. Raises `sqlite3.Error`."""
    (total,) = connection.execute("SELECT passages FROM totals").fetchone()
    counting = "SELECT count(*) FROM words WHERE words MATCH ?"
    frequencies = {
        term: connection.execute(counting, (match_expression((term,)),)).fetchone()[0] for term in set(terms)
    }
    return Statistics(total, frequencies)


def _best_by_bm25(
    connection: sqlite3.Connection, terms: Sequence[str], limit: int, exclude: frozenset[str]
) -> list[list[_Found]]:
    """The best passages of the best documents. Passages that tie with the last one looked at are left for a
    wider look, so that the order of insertion decides nothing."""
    width = _FIRST_LOOK * limit
    while True:
        rows = _rows(connection, terms, width)
        complete = len(rows) < width
        seen = rows if complete else [row for row in rows if row.score < rows[-1].score]
        best = _by_document(seen, exclude)
        if complete or len(best) >= limit:
            return best[:limit]
        width *= 4


def _best_by_coverage(
    connection: sqlite3.Connection,
    terms: Sequence[str],
    exclude: frozenset[str],
    weighted: Mapping[str, float],
) -> list[list[_Found]]:
    """The same for few passages. There BM25 fails: SQLite gives no weight to a word that half of them have.
    So what decides first is the share of the terms' weight that a passage covers."""
    rows = _rows(connection, terms, SMALL_CORPUS)
    texts: dict[int, str] = {}
    for row in rows:
        if row.document not in texts:
            (texts[row.document],) = connection.execute(
                "SELECT text FROM documents WHERE id = ?", (row.document,)
            ).fetchone()
    covered = {row: row.covers(weighted, texts[row.document]) for row in rows}
    rows.sort(key=lambda row: (-covered[row], row.score, row.path, row.start))
    return _by_document(rows, exclude)


def _rows(connection: sqlite3.Connection, terms: Sequence[str], width: int) -> list[_Found]:
    """The best ``width`` passages with one of ``terms``."""
    if not terms:
        return []
    return [_Found._make(row) for row in connection.execute(_BEST, (match_expression(terms), width))]


def _by_document(rows: Iterable[_Found], exclude: frozenset[str]) -> list[list[_Found]]:
    documents: dict[int, list[_Found]] = {}
    for row in rows:
        if row.path not in exclude:
            documents.setdefault(row.document, []).append(row)
    return [passages[:PASSAGES_PER_HIT] for passages in documents.values()]


def _hit(connection: sqlite3.Connection, found: list[_Found], weighted: Mapping[str, float]) -> Hit:
    best = found[0]
    text, content_hash, snapshot_hash, published = connection.execute(
        "SELECT text, content_hash, snapshot_hash, published FROM documents WHERE id = ?", (best.document,)
    ).fetchone()
    return Hit(
        path=best.path,
        title=best.title,
        text=text,
        content_hash=content_hash,
        snapshot_hash=snapshot_hash,
        published=date.fromisoformat(published) if published else None,
        passages=tuple(Span(start=part.start, end=part.stop) for part in found),
        score=-best.score,
        relevance=max(part.covers(weighted, text) for part in found),
    )
