"""Looking things up in an open index: the best documents for some terms, and how much of these they cover."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeVar

from deep_research.sources.documents.name_index import IndexSnapshot
from deep_research.sources.documents.terms import (
    Cover,
    Statistics,
    frequencies,
    match_expression,
    path_words,
    stem,
)
from deep_research.state import Mention, Span
from deep_research.state.identity import sha256_hex

PASSAGES_PER_HIT = 4
SMALL_CORPUS_MAX_PASSAGES = 200  # passages
_NAME_WEIGHT = 0.1  # of a word in the path or the date, against 1 in the text
_PASSAGES_PER_DOCUMENT = 4  # passages looked at for each document wanted, before more are asked for

# The title counts twice. Smaller is better.
_BEST = """
SELECT p.document, d.path, d.title, d.published, d.language, p.start, p.stop, p.heading, best.score
FROM (
    SELECT rowid AS id, bm25(words, 2.0, 1.0, 1.0, 1.0, 1.0) AS score FROM words WHERE words MATCH ?
    ORDER BY score LIMIT ?
) AS best
JOIN passages AS p ON p.id = best.id
JOIN documents AS d ON d.id = p.document
ORDER BY best.score, d.path, p.start
"""
# Their first passages stand for documents of which only the name or the date says a word of the query.
_NAMED = """
SELECT d.id, d.path, d.title, d.published, d.language, p.start, p.stop, p.heading, 0.0
FROM (SELECT rowid AS id, rank AS score FROM paths WHERE paths MATCH ?) AS best
JOIN documents AS d ON d.id = best.id
JOIN passages AS p ON p.id = d.first_passage AND p.document = d.id
ORDER BY best.score, d.path LIMIT ?
"""
_TEXTS = "SELECT id, text FROM documents WHERE id IN (SELECT value FROM json_each(?))"
_KEPT = """
SELECT id, text, snapshot_hash, author, manual, pages, page_labels FROM documents
WHERE id IN (SELECT value FROM json_each(?))
"""
_T = TypeVar("_T")


class _Found(NamedTuple):
    document: int
    path: str
    title: str
    published: str | None
    language: str
    start: int
    stop: int
    heading: str
    score: float

    def passage(self, text: str) -> str:
        """The passage with its headings and title; ``text`` is the document's."""
        return f"{self.title}\n{self.heading}\n{text[self.start : self.stop]}"

    def name(self) -> str:
        return path_words(self.path, _day(self.published))


def look_up(
    reading: IndexSnapshot,
    terms: Sequence[str],
    quota: Quota,
    *,
    english: bool = False,
    exclude: frozenset[str] = frozenset(),
    pooled: Statistics | None = None,
) -> list[Hit]:
    """As many documents as there is room for that have one of ``terms``, best first, equal ones by path; after those
    that have one in their texts, those that have one in their path or date.

    An ``english`` query is not looked for by the stems of other languages. ``pooled`` replaces the index's own
    statistics in the relevance. Raises `sqlite3.Error`.
    """
    languages = () if english else reading.languages
    own = reading.count(terms, languages)
    look = _Look(reading, languages, (pooled or own).weights(terms), exclude, own)
    best = _best(look, terms, quota.limit)
    return _hits(look, quota.fitting(best, lambda passages: passages[0].path))


def titles_of_best(
    reading: IndexSnapshot, terms: Sequence[str], limit: int, *, exclude: frozenset[str] = frozenset()
) -> list[str]:
    """The titles of what `look_up` would find. Raises `sqlite3.Error`."""
    own = reading.count(terms, reading.languages)
    look = _Look(reading, reading.languages, own.weights(terms), exclude, own)
    return [passages[0].title for passages in _best(look, terms, limit)]


class _Look:
    """One search: what it looks in, and with which words."""

    def __init__(
        self,
        reading: IndexSnapshot,
        languages: Sequence[str],
        weighted: Mapping[str, float],
        exclude: frozenset[str],
        own: Statistics,
    ) -> None:
        self.connection = reading.connection
        self._matched_before = reading.matched
        self._own = own
        self.total = own.total
        self.weighted = weighted
        self._cover = Cover(weighted)
        self.exclude = exclude
        self._languages = languages
        anything = "SELECT 1 FROM paths WHERE paths MATCH ? LIMIT 1"
        self.paths_tell = bool(self.connection.execute(anything, (match_expression(weighted),)).fetchone())
        # What every form of a word begins with, or nearly so: it spares most paths a closer look.
        self._openings = [stem(term.lower())[:-1] if term.isascii() else "" for term in weighted]

    def present(self, terms: Sequence[str]) -> list[str]:
        return [term for term in terms if self._own.frequencies[term]]

    def rare(self, terms: Sequence[str]) -> list[str]:
        return self._own.rare(terms)

    def share(self, row: _Found, text: str) -> float:
        """The share of the terms' weight that a passage covers; ``text`` is its document's."""
        return self._cover.share(row.passage(text), row.language)

    def rows(self, terms: Sequence[str], width: int) -> list[_Found]:
        """The best ``width`` passages with one of ``terms``."""
        if not terms:
            return []
        return self._matched(width, match_expression(terms, self._languages))

    def _matched(self, width: int, expression: str) -> list[_Found]:
        """The best ``width`` rows. Those of the last expressions are remembered: a run looks at what its question
        matches, and then searches for it."""
        cached_width, rows = self._matched_before.get(expression, (0, []))
        if cached_width < width:
            found_rows = self.connection.execute(_BEST, (expression, width))
            rows = [_Found._make(row) for row in found_rows]
            self._matched_before[expression] = width, rows
        return rows[:width]

    def by_document(self, rows: Iterable[_Found]) -> list[list[_Found]]:
        documents: dict[int, list[_Found]] = {}
        for row in rows:
            if row.path not in self.exclude:
                documents.setdefault(row.document, []).append(row)
        return [passages[:PASSAGES_PER_HIT] for passages in documents.values()]

    def with_paths(self, rows: list[_Found]) -> list[_Found]:
        """The passages in a new order, raised a little by words that path or date have and the title lacks."""
        if not self.paths_tell:
            return rows
        raised = [row._replace(score=row.score - self._said_by_path(row)) for row in rows]
        raised.sort(key=lambda row: (row.score, row.path, row.start))
        return raised

    def covered_share(self, text: str) -> float:
        """The share of the terms' weight that a text in English covers."""
        return self._cover.share(text)

    def _said_by_path(self, row: _Found) -> float:
        name, title = row.name().lower(), row.title.lower()
        if not any(opening in name and opening not in title for opening in self._openings):
            return 0.0
        path_terms = set(self._cover.terms(name)).difference(self._cover.terms(title))
        return _NAME_WEIGHT * sum(self.weighted[term] for term in path_terms)


def _best(look: _Look, terms: Sequence[str], limit: int) -> list[list[_Found]]:
    """The passages of the best documents, at most ``limit``."""
    present = look.present(terms)
    if look.total <= SMALL_CORPUS_MAX_PASSAGES:
        best = _best_by_coverage(look, present)[:limit]
    else:
        rare = look.rare(present)
        best = _best_by_bm25(look, rare, limit)
        if len(best) < limit and rare != present:
            best = _best_by_bm25(look, present, limit)
    if len(best) < limit and look.paths_tell:
        best += _only_by_path(look, {passages[0].document for passages in best}, limit - len(best))
    return best


def _only_by_path(look: _Look, found_documents: Set[int], limit: int) -> list[list[_Found]]:
    """Documents that only their path or date speaks for. None of the query's weight is in their texts."""
    said_by = frequencies(look.connection, "paths", look.weighted, ())
    present = [term for term in look.weighted if said_by[term]]
    terms = Statistics(look.total, said_by).rare(present) or present
    if not terms:
        return []
    rows = look.connection.execute(
        _NAMED, (match_expression(terms), limit + len(found_documents) + len(look.exclude))
    )
    results = []
    for passages in look.by_document(_Found._make(row) for row in rows):
        if passages[0].document not in found_documents:
            share = look.covered_share(passages[0].name())
            results.append([passages[0]._replace(score=1.0 - share)])
    results.sort(key=lambda passages: (passages[0].score, passages[0].path))
    return results[:limit]


def _best_by_bm25(look: _Look, terms: Sequence[str], limit: int) -> list[list[_Found]]:
    """The best passages of the best documents. Passages that tie with the last one looked at are left for a
    wider look, so that the order of insertion decides nothing."""
    width = _PASSAGES_PER_DOCUMENT * limit
    while True:
        rows = look.rows(terms, width)
        complete = len(rows) < width
        safe_rows = rows if complete else [row for row in rows if row.score < rows[-1].score]
        best = look.by_document(look.with_paths(safe_rows))
        if complete or len(best) >= limit:
            return best[:limit]
        width *= 4


def _best_by_coverage(look: _Look, terms: Sequence[str]) -> list[list[_Found]]:
    """The same for few passages. There BM25 fails: SQLite gives no weight to a word that half of them have.
    So what decides first is the share of the terms' weight that a passage covers."""
    rows = look.with_paths(look.rows(terms, SMALL_CORPUS_MAX_PASSAGES))
    every = json.dumps(list({row.document for row in rows}))
    texts = dict(look.connection.execute(_TEXTS, (every,)))
    share = {row: look.share(row, texts[row.document]) for row in rows}
    rows.sort(key=lambda row: -share[row])
    return look.by_document(rows)


def _hits(look: _Look, groups: Sequence[list[_Found]]) -> list[Hit]:
    """A hit of each document's passages."""
    every = json.dumps([passages[0].document for passages in groups])
    details = {number: details for number, *details in look.connection.execute(_KEPT, (every,))}
    return [_hit(look, passages, details[passages[0].document]) for passages in groups]


def _hit(look: _Look, passages: list[_Found], details: Sequence[str]) -> Hit:
    best = passages[0]
    text, snapshot_hash, author, manual, pages, labels = details
    return Hit(
        path=best.path,
        title=best.title,
        text=text,
        snapshot_hash=snapshot_hash,
        published=_day(best.published),
        author=author,
        manual=manual,
        pages=tuple(map(int, pages.split())) if pages else (),
        page_labels=labels,
        passages=tuple(Span(start=part.start, end=part.stop) for part in passages),
        score=-best.score,
        relevance=max(look.share(part, text) for part in passages),
    )


def _day(published: str | None) -> date | None:
    return date.fromisoformat(published) if published else None


class Quota(NamedTuple):
    """How many documents a search may bring, and how many of them that are none of the ``known_paths``."""

    limit: int
    new: int
    known_paths: frozenset[str]

    def fitting(self, candidates: Iterable[_T], path: Callable[[_T], str], *, kept_free: int = 0) -> list[_T]:
        """What there is room for, in its order, when some places are kept free for new documents."""
        left, new = self.limit - kept_free, self.new - kept_free
        fitting = []
        for each in candidates:
            is_known = path(each) in self.known_paths
            if left > 0 and (is_known or new > 0):
                fitting.append(each)
                left -= 1
                new -= not is_known
        return fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found. ``passages`` are its best spans of ``text``, best first; ``score`` is BM25
    of the first of them, a little more for words in path and date, larger is better, not above 0 when only
    these have any; ``relevance`` is the share (0 to 1) of the query's weight that one of them covers together with its
    headings and the title; ``pages`` is where in ``text`` each page begins, of a document that has pages, and
    ``page_labels`` what they are called, one a line, empty where they are numbered; ``mentions`` are the most telling
    names in the passages, told of the first few hits; ``manual`` is the folder of the manual that it is a page of;
    ``via`` is the title of the document that names this one, when that is why it is
    here."""

    path: str
    title: str
    text: str
    snapshot_hash: str
    published: date | None
    passages: tuple[Span, ...]
    score: float
    relevance: float
    author: str = ""
    manual: str = ""
    pages: tuple[int, ...] = ()
    page_labels: str = ""
    mentions: tuple[Mention, ...] = ()
    via: str = ""

    @property
    def content_hash(self) -> str:
        """The sha256 (hex) of the text."""
        return sha256_hex(self.text.encode())

    @property
    def matched(self) -> str:
        """What the search matched: the text of the passages."""
        return "\n".join(self.text[span.start : span.end] for span in self.passages)
