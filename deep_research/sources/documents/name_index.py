"""Names in the index: which documents bear a name, and what a text of the corpus names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import log
from typing import Any, NamedTuple

from deep_research.patterns import regex
from deep_research.sources.documents.terms import Statistics, count, frequencies, languages_of
from deep_research.state import Mention
from deep_research.text.names import MAX_WORDS, key, runs, telling
from deep_research.text.plain import unjoined
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.words import STOP_WORDS, filed_words

MAX_MENTIONS = 16
MAX_BEARERS = 20  # a name that more documents bear leads nowhere
UNKNOWN_SHARE = 0.75  # of the weight of a name that no document bears
_NAMES_PER_STATEMENT = 384
_PADDING_SIZE = 64
_MAX_WORDS = 50_000  # remembered
_MAX_TEXTS = 500
_MAX_MATCHED = 16
_OPENING_CHARS = 6_000  # characters of a document that tell what it is about
_OPENINGS = "SELECT id, title, substr(text, 1, ?) FROM documents WHERE id IN (SELECT value FROM json_each(?))"
_WORD = regex(r"[^\W_]+(?:['’]s\b)?")

Bearers = dict[str, list[tuple[int, float]]]  # key -> (document, strength)
Places = dict[tuple[int, int], str]  # the words of a text, from and to, that may be a name -> its key


class Spotted(NamedTuple):
    """A name found in a text: its key, the documents that bear it, and how telling it is (0 to 1)."""

    name: str
    bearers: Sequence[tuple[int, float]]
    weight: float


def bearers_of(connection: sqlite3.Connection, names: Iterable[str]) -> Bearers:
    """The documents that bear each of ``names`` (keys); names that none bears are missing. Raises
    `sqlite3.Error`."""
    unique_names = list(dict.fromkeys(names))
    bearers: Bearers = {}
    for start in range(0, len(unique_names), _NAMES_PER_STATEMENT):
        part = unique_names[start : start + _NAMES_PER_STATEMENT]
        part += part[-1:] * (
            -len(part) % _PADDING_SIZE
        )  # few different numbers, so that SQLite knows the statement
        marks = ",".join("?" * len(part))
        for name, document, strength in connection.execute(
            f"SELECT name, document, strength FROM names WHERE name IN ({marks})",  # noqa: S608 - only marks
            part,
        ):
            bearers.setdefault(name, []).append((document, strength))
    return bearers


class _Word(NamedTuple):
    key: str
    capital: bool  # or a digit
    tells: bool
    may_open: bool


@lru_cache(maxsize=1 << 14)
def _looked_at(token: str) -> _Word:
    """What is asked of each word of a text, which mostly has been asked of it before."""
    word = key(token)
    capital = token[:1].isupper() or token[:1].isdigit()
    return _Word(word, capital, telling(word), word not in STOP_WORDS or word in ("the", "a", "an"))


def _places(text: str, *, any_case: bool) -> Places:
    """What in a text may be a name that documents bear. With ``any_case`` it needs no capitals, as in a question, nor
    does it in a text that has none."""
    tokens = _WORD.findall(unjoined(text))
    looked = [_looked_at(token) for token in tokens]
    keys = [word.key for word in looked]
    telling_counts = [0, *accumulate(word.tells for word in looked)]
    has_none = not any_case and not any(map(str.isupper, text))
    closing = [place for place, word in enumerate(looked) if any_case or has_none or word.capital]
    places: Places = {}
    for n, start in enumerate(closing):
        if not looked[start].may_open:
            continue
        if looked[start].tells and (not any_case or _capital(tokens, start)):
            places[start, start + 1] = keys[start]
        for last in closing[n + 1 : n + MAX_WORDS]:
            if last - start >= MAX_WORDS:
                break
            if telling_counts[last + 1] > telling_counts[start]:
                places[start, last + 1] = " ".join(keys[start : last + 1])
    return places


def _names_in(
    text: str, places: Places, bearers: Bearers, *, any_case: bool
) -> list[tuple[str, Sequence[tuple[int, float]]]]:
    """The names in a text in order, each once, with the documents that bear them: those that some bear, longest first
    where they overlap, and, but for ``any_case``, runs of capitalised words that none bears."""
    matches = [(place, name) for place, name in places.items() if name in bearers]
    positions: set[int] = set()
    names: list[tuple[int, str]] = []
    for (start, end), name in sorted(matches, key=lambda item: (item[0][0] - item[0][1], item[0])):
        if positions.isdisjoint(range(start, end)):
            positions.update(range(start, end))
            names.append((start, name))
    ordered = dict.fromkeys(name for _, name in sorted(names))
    if not any_case:
        ordered |= dict.fromkeys(name for _, name in runs(text))
    return [
        (name, bearers.get(name, ()))
        for name in ordered
        if not name.startswith("the ") or name[4:] not in ordered
    ]


def _capital(tokens: Sequence[str], place: int) -> bool:
    """Whether one word of a question is written like a name; its first word is capitalised by rule."""
    return tokens[place][:1].isdigit() or (place > 0 and tokens[place][:1].isupper())


def most_telling(spots: Iterable[Spotted]) -> tuple[Mention, ...]:
    """The most telling of the names, best first."""
    rounded = ((round(spot.weight, 4), len(spot.bearers), spot.name) for spot in spots)
    best_first = sorted(rounded, key=lambda spot: (-spot[0] * (1.0 if spot[1] else UNKNOWN_SHARE), spot[2]))
    return tuple(Mention(name=n, weight=weight, bearers=b) for weight, b, n in best_first[:MAX_MENTIONS])


@dataclass(frozen=True, slots=True)
class NamesOfText:
    """The names in what was matched of a text, and the most telling of them."""

    spots: list[Spotted]
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of one edition of an index. ``openings`` are the words documents begin with; ``matched``
    the best rows of expressions, and how many were asked for."""

    edition: int
    languages: tuple[str, ...]
    frequencies: dict[str, int] = field(default_factory=dict)
    names: dict[str, NamesOfText] = field(default_factory=dict)
    openings: dict[int, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    matched: dict[str, tuple[int, list[Any]]] = field(default_factory=dict)

    def full(self) -> bool:
        return len(self.names) > _MAX_TEXTS or len(self.openings) > _MAX_TEXTS


class Register:
    """What is known of an index's words and names, remembered while the index stays as it is: the same documents come
    up again and again in the searches of one run."""

    def __init__(self) -> None:
        self._cache = _Known(-1, ())

    def open(self, connection: sqlite3.Connection) -> IndexSnapshot:
        """For use with one connection. Raises `sqlite3.Error`."""
        total, edition = connection.execute("SELECT passages, edition FROM totals").fetchone()
        cache = self._cache  # read once: another thread may put that of another edition in its place
        if cache.edition != edition or len(cache.frequencies) > _MAX_WORDS:
            cache = self._cache = _Known(edition, languages_of(connection))
        elif cache.full():
            cache = self._cache = _Known(edition, cache.languages, cache.frequencies)
        if len(cache.matched) > _MAX_MATCHED:
            cache.matched.clear()
        return IndexSnapshot(connection, total, cache)


class IndexSnapshot:
    """One state of the index. All methods raise `sqlite3.Error`. ``total`` is its number of passages."""

    def __init__(self, connection: sqlite3.Connection, total: int, cache: _Known) -> None:
        self.connection = connection
        self.total = total
        self._cache = cache

    @property
    def languages(self) -> tuple[str, ...]:
        """Those of the documents, besides English."""
        return self._cache.languages

    @property
    def matched(self) -> dict[str, tuple[int, list[Any]]]:
        """The best rows of the last expressions, for `look_up`."""
        return self._cache.matched

    def count(self, terms: Iterable[str], languages: Sequence[str]) -> Statistics:
        """How often the terms occur, stems of the languages counted too."""
        if languages:
            return count(self.connection, terms, languages)
        return Statistics(self.total, self._frequencies(terms))

    def frequency(self, word: str) -> int:
        """In how many passages a word occurs."""
        return self._frequencies((word,))[word]

    def rarity(self, word: str) -> float:
        """How telling a word is, 0 to 1."""
        return min(1.0, self._rarity(self.frequency(word)))

    def spotted(self, texts: Sequence[str], *, any_case: bool = False) -> list[list[Spotted]]:
        """The names in each text, looked up for all of them at once."""
        places = [_places(text, any_case=any_case) for text in texts]
        bearers = bearers_of(self.connection, (name for spans in places for name in spans.values()))
        names_by_text = [
            _names_in(text, spans, bearers, any_case=any_case)
            for text, spans in zip(texts, places, strict=True)
        ]
        words = {name: _telling_words(name) for names in names_by_text for name, _ in names}
        counts = self._frequencies(word for several in words.values() for word in several)
        rarest = {name: min(counts[word] for word in several) for name, several in words.items()}
        return [
            [Spotted(name, by, self._weight(rarest[name], name, len(by))) for name, by in names]
            for names in names_by_text
        ]

    def names(self, matched: Sequence[str]) -> list[NamesOfText]:
        """The names in what was matched of each text."""
        cache = self._cache.names
        missing = [text for text in dict.fromkeys(matched) if text not in cache]
        for text, spots in zip(missing, self.spotted(missing), strict=True):
            cache[text] = NamesOfText(spots, most_telling(spots))
        return [cache[text] for text in matched]

    def openings(self, documents: Iterable[int]) -> dict[int, Mapping[str, Sequence[str]]]:
        """The `filed_words` of the titles and of the first some thousand characters of documents."""
        cache = self._cache.openings
        unique_documents = dict.fromkeys(documents)
        missing = [document for document in unique_documents if document not in cache]
        if missing:
            rows = self.connection.execute(_OPENINGS, (_OPENING_CHARS, json.dumps(missing)))
            for document, title, text in rows:
                cache[document] = filed_words(f"{title}\n{text}")
        return {document: cache.get(document, {}) for document in unique_documents}

    def _frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """In how many passages each of the words occurs."""
        cache = self._cache.frequencies
        unique_words = dict.fromkeys(words)
        missing = [word for word in unique_words if word not in cache]
        if missing:
            cache.update(frequencies(self.connection, "words", missing, ()))
        return {word: cache[word] for word in unique_words}

    def _rarity(self, frequency: int) -> float:
        return inverse_frequency(self.total, min(frequency, self.total)) / log(max(self.total, 2))

    def _weight(self, rarest: int, name: str, bearers: int) -> float:
        """How telling a name is, 0 to 1: by its rarest word, or, for one of several words, by how few bear it."""
        by_words = self._rarity(rarest)
        several = bearers and " " in name
        by_bearers = 1.0 - log(1 + bearers) / log(max(self.total, 2)) if several else 0.0
        return min(1.0, max(by_words, by_bearers))


def _telling_words(name: str) -> list[str]:
    words = name.split()
    return [word for word in words if word not in STOP_WORDS] or words
