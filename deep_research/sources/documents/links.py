"""Following names: documents that a found one names, and that have what the query still asks for there.

A search for "director of the film X born" finds X; X names its director, and the director's document has "born".
Nothing is asked twice for that: who bears which name is in the index.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import sqrt

from deep_research.sources.documents.lookup import Hit, Quota, titles_of_best
from deep_research.sources.documents.name_index import MAX_BEARERS, IndexSnapshot, Spotted, most_telling
from deep_research.sources.documents.terms import query_terms
from deep_research.state import FirstLook, Span
from deep_research.text.words import STOP_WORDS, StemFinder, stem, words

MAX_FOLLOWED_HITS = 5  # found documents whose names are told and followed
MAX_CANDIDATES = 24
MIN_VALUE = 0.02
_MAX_SPOTTED_CHARS = 2_400  # characters of what was matched
MAX_TITLES = 8  # of a first look


def first_look(reading: IndexSnapshot, question: str, *, exclude: frozenset[str]) -> FirstLook:
    """What the corpus says of a question. Raises `sqlite3.Error`."""
    (names,) = reading.spotted([question], any_case=True)
    question_words = dict.fromkeys(w.casefold() for w in words(question) if w.casefold() not in STOP_WORDS)
    terms = query_terms(question)
    best = titles_of_best(reading, terms, MAX_TITLES, exclude=exclude) if terms else []
    return FirstLook(
        names=most_telling(names),
        words={word: round(reading.rarity(word), 4) for word in question_words},
        titles=tuple(best),
        passages=reading.total,
    )


def with_links(
    reading: IndexSnapshot,
    hits: Sequence[Hit],
    terms: Iterable[str],
    *,
    quota: Quota,
    linked: int,
    exclude: frozenset[str],
) -> list[Hit]:
    """The hits, the first of them with their mentions, up to ``linked`` of the last ones replaced by documents that the
    first name. Raises `sqlite3.Error`."""
    matched = [hit.matched for hit in hits[:MAX_FOLLOWED_HITS]]
    names = reading.names([text[:_MAX_SPOTTED_CHARS] for text in matched])
    leads = followed(
        reading,
        [
            (hit.title, text, text_names.spots)
            for hit, text, text_names in zip(hits, matched, names, strict=False)
        ],
        {stem(term): reading.rarity(term) for term in terms},
        known_ids=_ids(reading.connection, {hit.path for hit in hits} | exclude),
        limit=linked,
    )
    with_mentions = [
        replace(hit, mentions=text_names.mentions) for hit, text_names in zip(hits, names, strict=False)
    ]
    direct = quota.fitting(
        [*with_mentions, *hits[MAX_FOLLOWED_HITS:]], lambda hit: hit.path, kept_free=len(leads)
    )
    named_ones = [_hit(reading, lead) for lead in leads]
    openings = reading.names([hit.matched[:_MAX_SPOTTED_CHARS] for hit in named_ones])
    return [
        *direct,
        *(replace(hit, mentions=o.mentions) for hit, o in zip(named_ones, openings, strict=True)),
    ]


def _ids(connection: sqlite3.Connection, paths: Iterable[str]) -> frozenset[int]:
    every = "SELECT id FROM documents WHERE path IN (SELECT value FROM json_each(?))"
    return frozenset(number for (number,) in connection.execute(every, (json.dumps(list(paths)),)))


def _hit(reading: IndexSnapshot, lead: Lead) -> Hit:
    """A document that is named, shown by its opening."""
    # By the number of its first passage: no B-tree tells the passages of a document.
    path, title, text, snapshot_hash, published, manual, first = reading.connection.execute(
        "SELECT path, title, text, snapshot_hash, published, manual, first_passage FROM documents WHERE id = ?",
        (lead.document,),
    ).fetchone()
    rows = reading.connection.execute(
        "SELECT start, stop FROM passages WHERE id = ? AND document = ?", (first, lead.document)
    )
    spans = tuple(Span(start=start, end=stop) for start, stop in rows)
    return Hit(
        path=path,
        title=title,
        text=text,
        snapshot_hash=snapshot_hash,
        published=date.fromisoformat(published) if published else None,
        passages=spans,
        score=0.0,
        relevance=min(1.0, lead.value),
        manual=manual,
        via=lead.via,
    )


@dataclass(frozen=True, slots=True)
class Lead:
    """A document that found ones name. ``value`` is larger the more of what they lack it has."""

    document: int
    name: str
    via: str
    value: float


def followed(
    reading: IndexSnapshot,
    documents: Iterable[tuple[str, str, Sequence[Spotted]]],
    term_weights: Mapping[str, float],
    *,
    known_ids: frozenset[int],
    limit: int,
) -> list[Lead]:
    """The best documents that the ``documents`` (title, text and names, best first) name and that have words of the
    query which these lack; none of ``known_ids``.

    ``term_weights`` are the stems of the query with their weights. Raises `sqlite3.Error`.
    """
    leads: dict[int, Lead] = {}
    finder = StemFinder(term_weights)
    presents: dict[int, set[str]] = {}
    for title, text, names in list(documents)[:MAX_FOLLOWED_HITS]:
        present_terms = finder(f"{title}\n{text}")
        lacking = {term: weight for term, weight in term_weights.items() if term not in present_terms}
        whole = sum(lacking.values())
        if not whole:
            continue
        candidates = _candidates(names, known_ids)
        openings = reading.openings(document for _, _, document in candidates if document not in presents)
        presents |= {document: finder.among(words) for document, words in openings.items()}
        for strength, name, document in candidates:
            present = presents[document]
            got = sum(weight for term, weight in lacking.items() if term in present)
            value = strength * got / whole
            if value >= MIN_VALUE and (document not in leads or leads[document].value < value):
                leads[document] = Lead(document, name, title or "untitled", value)
    best_first = sorted(leads.values(), key=lambda lead: (-lead.value, lead.name, lead.document))
    return best_first[:limit]


def _candidates(names: Iterable[Spotted], known_ids: frozenset[int]) -> list[tuple[float, str, int]]:
    candidates = [
        (strength * weight / sqrt(len(bearers)), name, document)
        for name, bearers, weight in names
        if 0 < len(bearers) <= MAX_BEARERS
        for document, strength in bearers
        if document not in known_ids
    ]
    return sorted(candidates, key=lambda c: (-c[0], c[1], c[2]))[:MAX_CANDIDATES]
