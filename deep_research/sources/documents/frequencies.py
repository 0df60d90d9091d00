"""Word frequencies of an open index, and the weights that follow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.sources.documents.terms import match_expression
from deep_research.text.language import ENGLISH
from deep_research.text.term_weights import inverse_frequency

_COMMON_SHARE = 0.1
_MIN_COMMON_PASSAGES = 1_000


@dataclass(frozen=True, slots=True)
class Statistics:
    """In how many of ``total`` passages each term occurs."""

    total: int
    frequencies: Mapping[str, int]

    def rare(self, terms: Sequence[str]) -> list[str]:
        """The terms without those that very many passages have: these take most of the time of a search and
        change its order hardly at all."""
        common = max(_MIN_COMMON_PASSAGES, self.total * _COMMON_SHARE)
        return [term for term in terms if self.frequencies[term] <= common]

    def weights(self, terms: Iterable[str]) -> dict[str, float]:
        """What each distinct term tells: its inverse document frequency, most for one that no passage has."""
        counts = {term: min(self.frequencies.get(term, 0), self.total) for term in terms}
        return {term: inverse_frequency(self.total, count) for term, count in counts.items()}

    def __add__(self, other: Statistics) -> Statistics:
        terms = self.frequencies.keys() | other.frequencies.keys()
        summed = {t: self.frequencies.get(t, 0) + other.frequencies.get(t, 0) for t in terms}
        return Statistics(self.total + other.total, summed)


def count(
    connection: sqlite3.Connection, terms: Iterable[str], languages: Sequence[str] | None = None
) -> Statistics:
    """How often the terms occur, stems of the corpus's languages counted too. Raises `sqlite3.Error`."""
    if languages is None:
        languages = languages_of(connection)
    (total,) = connection.execute("SELECT passages FROM totals").fetchone()
    return Statistics(total, frequencies(connection, "words", terms, languages))


def frequencies(
    connection: sqlite3.Connection, table: str, terms: Iterable[str], languages: Sequence[str]
) -> dict[str, int]:
    """In how many rows of ``table`` each term occurs. Raises `sqlite3.Error`."""
    # In one row: after each step of SQLite this thread may have to wait for the interpreter.
    counting = (
        f"SELECT json_group_object(key, (SELECT count(*) FROM {table} WHERE {table} MATCH value))"  # noqa: S608 - ours
        " FROM json_each(?)"
    )
    unique_terms = list(dict.fromkeys(terms))
    matches = json.dumps([match_expression((term,), languages) for term in unique_terms])
    (counts,) = connection.execute(counting, (matches,)).fetchone()
    return {unique_terms[int(place)]: number for place, number in json.loads(counts).items()}


def languages_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Those of the documents, besides English."""
    rows = connection.execute("SELECT code FROM languages WHERE documents > 0 ORDER BY code")
    return tuple(code for (code,) in rows if code != ENGLISH)
