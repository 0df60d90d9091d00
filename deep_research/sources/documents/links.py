"""Following names: documents that a found one names, and that have what the query still asks for there.

A search for "director of the film X born" finds X; X names its director, and the director's document has "born".
Nothing is asked twice for that: who bears which name is in the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import log, sqrt

from deep_research.evidence.relations import related
from deep_research.evidence.text import STOP_WORDS, StemFinder, stem, words
from deep_research.sources.documents.lookup import Hit, look_up
from deep_research.sources.documents.names import (
    MAX_BEARERS,
    Frequencies,
    Spotted,
    name_rarity,
    spotted,
    weighed,
)
from deep_research.sources.documents.terms import query_terms
from deep_research.state import FirstLook, Span

LEADING = 5  # found documents whose names are followed
MAX_CANDIDATES = 24
MIN_VALUE = 0.02
_LOOKED_AT = 6_000  # characters of a document that is named
_SPOTTED_IN = 2_400  # characters of what was matched
TITLES = 8  # of a first look


def first_look(
    connection: sqlite3.Connection, question: str, counts: Frequencies, *, exclude: frozenset[str]
) -> FirstLook:
    """What the corpus says of a question. Raises `sqlite3.Error`."""
    total, frequency = counts.of(connection)
    names = spotted(connection, question, any_case=True)
    asked = dict.fromkeys(w.casefold() for w in words(question) if w.casefold() not in STOP_WORDS)
    best = look_up(connection, query_terms(question), TITLES, exclude=exclude)
    return FirstLook(
        names=weighed(names, total, frequency),
        words={word: round(_rarity(word, total, frequency), 4) for word in asked},
        titles=tuple(hit.title for hit in best),
        passages=total,
    )


def with_links(
    connection: sqlite3.Connection,
    found: Sequence[Hit],
    terms: Iterable[str],
    counts: Frequencies,
    *,
    limit: int,
    linked: int,
    exclude: frozenset[str],
) -> list[Hit]:
    """The hits with their mentions, up to ``linked`` of the last ones replaced by documents that the others name.
    Raises `sqlite3.Error`."""
    total, frequency = counts.of(connection)
    names = [spotted(connection, hit.matched[:_SPOTTED_IN]) for hit in found]
    hits = [
        replace(hit, mentions=weighed(spots, total, frequency))
        for hit, spots in zip(found, names, strict=True)
    ]
    if linked < 1:
        return hits
    wanted = {stem(term): _rarity(term, total, frequency) for term in terms}
    known = _ids(connection, {hit.path for hit in found} | exclude)
    leads = followed(
        connection,
        [(hit.title, hit.matched, spots) for hit, spots in zip(found, names, strict=True)],
        wanted,
        known=known,
        total=total,
        frequency=frequency,
        limit=linked,
    )
    return [*hits[: limit - len(leads)], *(_hit(connection, lead, counts) for lead in leads)]


def _ids(connection: sqlite3.Connection, paths: Iterable[str]) -> frozenset[int]:
    rows = (connection.execute("SELECT id FROM documents WHERE path = ?", (p,)).fetchone() for p in paths)
    return frozenset(row[0] for row in rows if row)


def _rarity(word: str, total: int, frequency: Callable[[str], int]) -> float:
    """How telling a word is, 0 to 1."""
    held = min(frequency(word), total)
    return min(1.0, log(1 + (total - held + 0.5) / (held + 0.5)) / log(max(total, 2)))


def _hit(connection: sqlite3.Connection, lead: Lead, counts: Frequencies) -> Hit:
    """A document that is named, shown by its opening."""
    path, title, text, content_hash, snapshot_hash, published = connection.execute(
        "SELECT path, title, text, content_hash, snapshot_hash, published FROM documents WHERE id = ?",
        (lead.document,),
    ).fetchone()
    rows = connection.execute(
        "SELECT start, stop FROM passages WHERE document = ? ORDER BY start LIMIT ?", (lead.document, 1)
    )
    hit = Hit(
        path=path,
        title=title,
        text=text,
        content_hash=content_hash,
        snapshot_hash=snapshot_hash,
        published=date.fromisoformat(published) if published else None,
        passages=tuple(Span(start=start, end=stop) for start, stop in rows),
        score=0.0,
        relevance=min(1.0, lead.value),
        via=lead.via,
    )
    total, frequency = counts.of(connection)
    return replace(hit, mentions=weighed(spotted(connection, hit.matched[:_SPOTTED_IN]), total, frequency))


@dataclass(frozen=True, slots=True)
class Lead:
    """A document that found ones name. ``value`` is larger the more of what they lack it has."""

    document: int
    name: str
    via: str
    value: float


def followed(
    connection: sqlite3.Connection,
    found: Iterable[tuple[str, str, Sequence[Spotted]]],
    wanted: Mapping[str, float],
    *,
    known: frozenset[int],
    total: int,
    frequency: Callable[[str], int],
    limit: int,
) -> list[Lead]:
    """The best documents that the ``found`` ones (title, text and names, best first) name and that have words of the
    query which these lack; none of ``known``.

    ``wanted`` are the stems of the query with their weights. Raises `sqlite3.Error`.
    """
    leads: dict[int, Lead] = {}
    ways = {term: related(term) for term in wanted}
    finder = StemFinder(way for several in ways.values() for way in several)
    openings: dict[int, set[str]] = {}
    for title, text, names in list(found)[:LEADING]:
        held = finder(f"{title}\n{text}")
        lacking = {term: weight for term, weight in wanted.items() if term not in held}
        whole = sum(lacking.values())
        if not whole:
            continue
        for strength, name, document in _candidates(names, known, total, frequency):
            if document not in openings:
                openings[document] = finder(_opening(connection, document))
            present = openings[document]
            got = sum(weight for term, weight in lacking.items() if not present.isdisjoint(ways[term]))
            value = strength * got / whole
            if value >= MIN_VALUE and (document not in leads or leads[document].value < value):
                leads[document] = Lead(document, name, title or "untitled", value)
    ranked = sorted(leads.values(), key=lambda lead: (-lead.value, lead.name, lead.document))
    return ranked[:limit]


def _candidates(
    names: Iterable[Spotted], known: frozenset[int], total: int, frequency: Callable[[str], int]
) -> list[tuple[float, str, int]]:
    candidates = [
        (strength * name_rarity(name, len(bearers), total, frequency) / sqrt(len(bearers)), name, document)
        for name, bearers in names
        if 0 < len(bearers) <= MAX_BEARERS
        for document, strength in bearers
        if document not in known
    ]
    return sorted(candidates, key=lambda c: (-c[0], c[1], c[2]))[:MAX_CANDIDATES]


def _opening(connection: sqlite3.Connection, document: int) -> str:
    title, text = connection.execute(
        "SELECT title, substr(text, 1, ?) FROM documents WHERE id = ?", (_LOOKED_AT, document)
    ).fetchone()
    return f"{title}\n{text}"
