"""The search index of one corpus: which documents there are, their texts, and their passages in FTS5."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log
from pathlib import Path
from typing import NamedTuple

from deep_research.errors import CorpusError, SearchError
from deep_research.sources.documents.database import CorpusDatabase, is_damage
from deep_research.sources.documents.files import CorpusFolder, Skipped
from deep_research.sources.documents.readers import Document
from deep_research.sources.documents.terms import coverage, match_expression, query_terms
from deep_research.sources.documents.writer import IndexWriter
from deep_research.state import Span

PASSAGES_PER_HIT = 4
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
    of them covers together with its headings and the title."""

    path: str
    title: str
    text: str
    content_hash: str
    snapshot_hash: str
    published: date | None
    passages: tuple[Span, ...]
    score: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index holds after a change, and what the change was, in documents."""

    documents: int = 0
    passages: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """In how many of ``total`` passages each term occurs."""

    total: int
    frequencies: Mapping[str, int]

    def rare(self, terms: Sequence[str]) -> list[str]:
        """The terms that occur, without those that very many passages have: these cost most of the time of a
        search and change its order hardly at all."""
        common = max(_COMMON_PASSAGES, self.total * _COMMON_SHARE)
        return [term for term in terms if 0 < self.frequencies.get(term, 0) <= common]

    def weights(self, terms: Iterable[str]) -> dict[str, float]:
        """What each distinct term tells: its inverse document frequency, most for one that no passage has."""
        counts = {term: min(self.frequencies.get(term, 0), self.total) for term in terms}
        return {term: log(1 + (self.total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}

    def __add__(self, other: Statistics) -> Statistics:
        terms = self.frequencies.keys() | other.frequencies.keys()
        summed = {t: self.frequencies.get(t, 0) + other.frequencies.get(t, 0) for t in terms}
        return Statistics(self.total + other.total, summed)


class CorpusIndex:
    """The index in the file ``path``, which is made when missing. Usable from any thread; ``close`` it at the
    end.

    It is a cache: a damaged file or one of another version is made anew.
    """

    def __init__(self, path: Path, *, lock_timeout: float = 60.0) -> None:
        self._database = CorpusDatabase(path, lock_timeout=lock_timeout)

    def refresh(
        self, folder: CorpusFolder, *, max_text_bytes: int, stopped: Callable[[], bool] = lambda: False
    ) -> IndexReport:
        """Makes the index agree with ``folder``, reading only files whose size or time changed.

        ``stopped`` is asked between files; when it says yes nothing is changed. Raises `CorpusError`.
        """

        def work(writer: IndexWriter) -> None:
            writer.follow(folder, max_text_bytes=max_text_bytes, stopped=stopped)

        return self._write(work)

    def add(self, documents: Iterable[tuple[str, Document]]) -> IndexReport:
        """Adds documents under their paths, replacing those of the same path. Raises `CorpusError`."""
        held = list(documents) if not isinstance(documents, (list, tuple)) else documents

        def work(writer: IndexWriter) -> None:
            for path, document in held:
                writer.put(path, document)

        return self._write(work)

    def statistics(self, terms: Iterable[str]) -> Statistics:
        """How often the terms occur. Raises `SearchError`."""
        try:
            with self._database.reading() as connection:
                return _statistics(connection, terms)
        except sqlite3.Error as error:
            raise _search_error(error) from error

    def search(
        self,
        query: str,
        limit: int,
        *,
        exclude: frozenset[str] = frozenset(),
        statistics: Statistics | None = None,
    ) -> list[Hit]:
        """At most ``limit`` documents, best first, those of equal score by path; never one of the ``exclude``
        paths.

        ``statistics`` replaces the index's own in the relevance, for several indexes searched as one. Any
        string is a valid query. Raises `SearchError`.
        """
        terms = query_terms(query)
        if not terms or limit < 1:
            return []
        try:
            with self._database.reading() as connection:
                connection.execute("BEGIN")  # one state of the file for all that follows
                try:
                    own = _statistics(connection, terms)
                    best: list[list[_Found]] = []
                    if rare := own.rare(terms):
                        best = _best_documents(connection, match_expression(rare), limit, exclude)
                    if len(best) < limit and len(rare) < len(terms):
                        best = _best_documents(connection, match_expression(terms), limit, exclude)
                    weighted = (statistics or own).weights(terms)
                    return [_hit(connection, passages, weighted) for passages in best]
                finally:
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _search_error(error) from error

    def delete(self) -> None:
        """Removes the file; the next refresh begins anew. Raises `CorpusError`."""
        self._database.delete()

    def close(self) -> None:
        self._database.close()

    def _write(self, work: Callable[[IndexWriter], None]) -> IndexReport:
        try:
            try:
                return self._write_once(work)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                self._database.delete()
                return self._write_once(work)
        except sqlite3.Error as error:
            raise CorpusError(
                f"The corpus index cannot be written: {error}.",
                hint="Check the free space and the permissions of the data directory.",
            ) from error

    def _write_once(self, work: Callable[[IndexWriter], None]) -> IndexReport:
        with self._database.writing() as connection:
            writer = IndexWriter(connection)
            work(writer)
            documents, passages = writer.finish()
        return IndexReport(
            documents=documents,
            passages=passages,
            added=writer.added,
            changed=writer.changed,
            removed=writer.removed,
            skipped=tuple(writer.skipped),
        )


class _Found(NamedTuple):
    document: int
    path: str
    title: str
    start: int
    stop: int
    heading: str
    score: float


def _best_documents(
    connection: sqlite3.Connection, match: str, limit: int, exclude: frozenset[str]
) -> list[list[_Found]]:
    """The best passages of the best documents. Passages that tie with the last one looked at are left for a
    wider look, so that the order of insertion decides nothing."""
    width = _FIRST_LOOK * limit
    while True:
        rows = [_Found._make(row) for row in connection.execute(_BEST, (match, width))]
        complete = len(rows) < width
        seen = rows if complete else [row for row in rows if row.score < rows[-1].score]
        documents: dict[int, list[_Found]] = {}
        for row in seen:
            if row.path not in exclude:
                documents.setdefault(row.document, []).append(row)
        if complete or len(documents) >= limit:
            return [passages[:PASSAGES_PER_HIT] for passages in list(documents.values())[:limit]]
        width *= 4


def _hit(connection: sqlite3.Connection, found: list[_Found], weighted: Mapping[str, float]) -> Hit:
    best = found[0]
    text, content_hash, snapshot_hash, published = connection.execute(
        "SELECT text, content_hash, snapshot_hash, published FROM documents WHERE id = ?", (best.document,)
    ).fetchone()
    relevance = max(
        coverage(weighted, f"{best.title}\n{part.heading}\n{text[part.start : part.stop]}") for part in found
    )
    return Hit(
        path=best.path,
        title=best.title,
        text=text,
        content_hash=content_hash,
        snapshot_hash=snapshot_hash,
        published=date.fromisoformat(published) if published else None,
        passages=tuple(Span(start=part.start, end=part.stop) for part in found),
        score=-best.score,
        relevance=relevance,
    )


def _statistics(connection: sqlite3.Connection, terms: Iterable[str]) -> Statistics:
    (total,) = connection.execute("SELECT passages FROM totals").fetchone()
    count = "SELECT count(*) FROM words WHERE words MATCH ?"
    return Statistics(
        total,
        {term: connection.execute(count, (match_expression((term,)),)).fetchone()[0] for term in set(terms)},
    )


def _search_error(error: sqlite3.Error) -> SearchError:
    return SearchError(
        f"The corpus index cannot be read: {error}.",
        hint="It is made anew by the next search.",
        damaged=is_damage(error),
    )
