"""A section of the corpus by its number or title: the index finds the documents that have its words together, and of
these the headings decide."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from deep_research.retrieval.headings import Likeness, Section, SectionName, best_section, sections_of
from deep_research.sources.documents.lookup import Hit
from deep_research.state import Span

MAX_PASSAGES, MAX_DOCUMENTS = 600, 40  # that are looked at
MAX_WORDS = 12

# A heading stands in the title, above its passage or in it.
_CANDIDATES_OF_FOLDER = """
SELECT p.document, d.path FROM (
    SELECT rowid AS id, bm25(words, 8.0, 8.0, 1.0, 0.0, 0.0) AS score FROM words WHERE words MATCH ?
    AND +rowid IN (
        SELECT p.id FROM passages AS p JOIN documents AS d ON d.id = p.document WHERE substr(d.path, 1, ?) = ?
    )
    ORDER BY score LIMIT ?
) AS best JOIN passages AS p ON p.id = best.id JOIN documents AS d ON d.id = p.document
ORDER BY best.score, d.path, p.start
"""
_CANDIDATES = """
SELECT p.document, d.path FROM (
    SELECT rowid AS id, bm25(words, 8.0, 8.0, 1.0, 0.0, 0.0) AS score FROM words WHERE words MATCH ?
    ORDER BY score LIMIT ?
) AS best JOIN passages AS p ON p.id = best.id JOIN documents AS d ON d.id = p.document
ORDER BY best.score, d.path, p.start
"""
_DOCUMENT = """
SELECT path, title, text, published, snapshot_hash, author, manual, pages, page_labels FROM documents WHERE id = ?
"""
_TEXT = "SELECT title, text FROM documents WHERE id = ?"


@dataclass(frozen=True, slots=True)
class SectionPlace:
    """A section of a document. ``sections`` are all of the document, ``place`` is its place among them; ``others`` are
    the paths of further documents that fit as well."""

    document: int
    path: str
    sections: Sequence[Section]
    place: int
    likeness: Likeness
    others: tuple[str, ...] = ()

    @property
    def section(self) -> Section:
        return self.sections[self.place]


def find_section(connection: sqlite3.Connection, name: SectionName, near: str = "") -> SectionPlace | None:
    """The section that fits a name best; of equal ones that of a document in the folder of the path ``near``, then that
    with the shortest title. Raises `sqlite3.Error`."""
    best: list[SectionPlace] = []
    looked_at: set[int] = set()
    folder = near.rpartition("/")[0]
    for wording in _wordings(name):
        for document, path in _candidates(connection, wording, f"{folder}/" if folder else ""):
            if document in looked_at or len(looked_at) == MAX_DOCUMENTS:
                continue
            looked_at.add(document)
            ((title, text),) = connection.execute(_TEXT, (document,)).fetchall()
            sections = sections_of(text, title)
            match = best_section(name, sections)
            if match is None or (best and match[1] < best[0].likeness):
                continue
            if best and match[1] > best[0].likeness:
                best = []
            best.append(SectionPlace(document, path, sections, *match))
        if best and best[0].likeness >= Likeness.WORDS:
            break
    if not best:
        return None

    def order(each: SectionPlace) -> tuple[bool, int, int, str]:
        apart = bool(near) and each.path.rpartition("/")[0] != folder
        inner = -len(each.section.number) if each.likeness is Likeness.NEAR else 0
        return apart, inner, len(each.section.title), each.path

    first, *others = sorted(best, key=order)
    return replace(first, others=tuple(other.path for other in others))


def _candidates(connection: sqlite3.Connection, wording: str, folder: str) -> Iterator[tuple[int, str]]:
    """The documents with a wording, those in the folder first."""
    if folder:
        yield from connection.execute(_CANDIDATES_OF_FOLDER, (wording, len(folder), folder, MAX_PASSAGES))
    yield from connection.execute(_CANDIDATES, (wording, MAX_PASSAGES))


def hit_of(connection: sqlite3.Connection, place: SectionPlace) -> Hit:
    """The document of a section as a search would give it, with the section as its passage. Raises `sqlite3.Error`."""
    (row,) = connection.execute(_DOCUMENT, (place.document,)).fetchall()
    path, title, text, published, snapshot_hash, author, manual, pages, labels = row
    section = place.section
    return Hit(
        path=path,
        title=title,
        text=text,
        snapshot_hash=snapshot_hash,
        published=date.fromisoformat(published) if published else None,
        passages=(Span(start=section.start, end=section.end),),
        score=float(place.likeness),
        relevance=1.0,
        author=author,
        manual=manual,
        pages=tuple(map(int, pages.split())) if pages else (),
        page_labels=labels,
    )


def _wordings(name: SectionName) -> list[str]:
    """What is looked for, one after the other: the number and the words together, the number alone, the words apart, and
    the numbers that it would stand in."""
    number, words = name.number.replace(".", " ").lower().split(), name.words[:MAX_WORDS]
    phrases = [_phrase(number), _phrase(words)]
    inner = [_phrase(number[:count]) for count in range(len(number), 0, -1)]
    apart = " ".join(_phrase([word]) for word in words)
    return list(dict.fromkeys(filter(None, [" ".join(filter(None, phrases)), *inner[:1], apart, *inner[1:]])))


def _phrase(words: Sequence[str]) -> str:
    """A phrase of a query; words have letters, digits and ``_`` alone, so none breaks out of the quotes."""
    return f'"{" ".join(words)}"' if words else ""
