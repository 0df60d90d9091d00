"""The words of a query: what to look for in the index, and how much of it a passage covers, and how often its
words occur."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from deep_research.patterns import regex
from deep_research.sources.documents.folder import SUFFIXES
from deep_research.sources.extract.plaintext import words
from deep_research.text import unspaced
from deep_research.text.language import COMPOUNDING, ENGLISH, STEMMED, stemmed, stems_in, vocabulary
from deep_research.text.plain import clean, unjoined
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.words import MIN_COMPOUND_PART_CHARS, AskedWords, beginning

MAX_TERMS = 128
MAX_REPEATS = 12  # of one of them: the time of a search grows with the square of its repeats

_MIN_ABBREVIATION_CHARS = 3  # letters of an abbreviation that is looked for

_WORD = regex(r"\w+")
_CODE_NAME = regex(
    r"(?<![\w-])(?:[^\W\d_]+-\d\w*|\d+-[^\W\d_]\w*)(?![\w-])"
)  # letters and digits at a hyphen
_PART = regex(r"[^\W_]+")
_UNSPACED_PART = regex(f"(?:[^\\W_]|[{unspaced.STAND_INS}])+")
_ACCENTS = regex("[\u0300-\u036f]")
_SIGNS = regex("[\xa0\xab\xbb\xb0\xb1\xb7\xd7\u2000-\u206f]")  # no letters or digits
_LOWER = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
# Where a name is cut although no sign stands there: camelCase, report2024.
_SEAM = regex(r"[a-z][A-Z0-9]|[A-Z][A-Z][a-z]|[0-9][A-Za-z]")
_NAME_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LANGUAGE_MARKS = {language: chr(0xE100 + number) for number, language in enumerate(STEMMED)}

STOP_WORDS = words(
    "a about above after again against all also am an and any are as at be because been before being below "
    "between both but by can cannot could did do does doing done down during each either else ever every few "
    "for from further get give given had has have having he her here hers herself him himself his how "
    "however i if in into is it its itself just let may me might mine more most much must my myself neither "
    "no nor not of off on once only or other our ours ourselves out over own per please shall she should "
    "since so some such tell than that the their theirs them themselves then there these they this those "
    "though through thus to too under until up upon us very via was we were what whatever when where whether "
    "which while who whom whose why will with within without would you your yours yourself describe explain "
    "s t re ve ll d m"
)
_COMMON_SHARE = 0.1
_MIN_COMMON_PASSAGES = 1_000


def query_terms(query: str) -> list[str]:
    """The words to look for, in order, repeated ones kept, at most `MAX_TERMS` and each at most `MAX_REPEATS` times.

    Stop words are left out, unless there is nothing else. A run of an unspaced script gives its pairs of
    characters, a name such as P-300 its parts and ``P_300``: for the index that is one part right after the other.
    """
    text = unjoined(clean(query[:20_000]))
    codes = (name.replace("-", "_") for name in _CODE_NAME.findall(text) if not unspaced.occur_in(name))
    terms = [term for term in (*_terms(text), *codes) if term.strip("_")]
    telling = [term for term in terms if term.lower() not in STOP_WORDS]
    return list(islice(_few_of_each(telling or terms), MAX_TERMS))


def _few_of_each(terms: Iterable[str]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for term in terms:
        counts[term.lower()] += 1
        if counts[term.lower()] <= MAX_REPEATS:
            yield term


def match_expression(terms: Iterable[str], languages: Sequence[str] = ()) -> str:
    """An FTS5 query that any of ``terms`` satisfies, or a word of the same stem in one of ``languages``. They hold
    only letters, digits, marks and ``_``, so none can break out of its quotes."""
    return " OR ".join(form for term in terms for form in _forms(term, languages))


def _forms(term: str, languages: Sequence[str]) -> Iterator[str]:
    if pair := unspaced.pair_of(term):
        # One character begins a pair wherever it stands.
        yield f'"{pair}" *' if unspaced.is_single(term) else f'"{pair}"'
        return
    yield f'"{term}"'
    for language in languages:
        for stem_ in _marked_stems(language, term):
            yield f'"{stem_}"'
            # What begins a compound; what ends one no index can look for.
            if language in COMPOUNDING and len(stem_) > MIN_COMPOUND_PART_CHARS:
                yield f'"{stem_[:-1]}" *'
    for language in (ENGLISH, *languages):
        for short in shortened(language, term):
            yield f'"{short}"'


@lru_cache(maxsize=1 << 12)
def shortened(language: str, term: str) -> tuple[str, ...]:
    """What a term is shortened to that is no common word of another language."""
    return tuple(
        word for word in vocabulary(language).shortened(term) if len(word) >= _MIN_ABBREVIATION_CHARS
    )


class Fields(NamedTuple):
    """What the index is told of a passage, column by column: a word is in one of the first three, and what these
    cannot find, stems of other languages than English and pairs of characters, in one of its own."""

    title: str
    heading: str
    body: str
    stems: str | None = None
    pairs: str | None = None


def fields(title: str, heading: str, body: str, language: str) -> Fields:
    """The same values for the same text always: the index has to be told them again to forget them."""
    title, heading, body = map(unjoined, (title, heading, body))
    stems = pairs = None
    if language != ENGLISH:
        # The title counts twice, here too.
        stems = " ".join(_marked_stems(language, f"{title}\n{title}\n{heading}\n{body}"))
    if any(map(unspaced.occur_in, (title, heading, body))):
        pair_words = [*unspaced.pairs(title) * 2, *unspaced.pairs(heading), *unspaced.pairs(body)]
        if pair_words:
            pairs = " ".join(pair_words)
            title, heading, body = map(unspaced.without, (title, heading, body))
    return Fields(title, heading, body, stems, pairs)


def path_words(path: str, published: date | None) -> str:
    """What a document can be found by besides its text: the words of its path, without the suffix, and of its
    date."""
    stop = path.rfind(".")
    text = path[:stop] if path[stop:].lower() in SUFFIXES else path
    if _SEAM.search(text):
        text = f"{text} {' '.join(_NAME_PART.findall(text))}"
    if published:
        text = f"{text} {published.isoformat()} {published.day} {MONTHS[published.month - 1]}"
    if not text.isascii() and (pair_words := unspaced.pairs(text)):
        text = " ".join((unspaced.without(text), *pair_words))
    return text


class Cover:
    """Which of some weighted terms occur in a text, looked for in many: single words by their stems, others
    (``snake_case``, a pair of characters) as they are."""

    def __init__(self, weighted: Mapping[str, float]) -> None:
        self._weighted = weighted
        self._whole = sum(weighted.values())
        parts = {term: _folded(term) for term in weighted}
        self._stems = {term: stem(words[0]) for term, words in parts.items() if len(words) == 1}
        self._short = {term: frozenset(shortened(ENGLISH, term)) for term in self._stems}
        self._sequences = {term: f" {' '.join(words)} " for term, words in parts.items() if len(words) > 1}
        self._by_language: dict[str, AskedWords] = {}  # by language
        # Stemming is slow, so only words that begin like a term are stemmed.
        self._beginnings = set(map(beginning, chain(self._stems.values(), *self._short.values())))
        self._first_two = {opening[:2] for opening in self._beginnings}

    def share(self, text: str, language: str = ENGLISH) -> float:
        """The share (0 to 1) of the weight of the terms that occur in ``text``."""
        if not self._whole:
            return 0.0
        return min(1.0, sum(self._weighted[term] for term in self.terms(text, language)) / self._whole)

    def terms(self, text: str, language: str = ENGLISH) -> list[str]:
        """The terms that occur in ``text``."""
        present = _folded(text)
        beginnings, first_two = self._beginnings, self._first_two
        near = [word for word in set(present) if word[:2] in first_two]
        stems = {stem(word) for word in near if word[:3] in beginnings or word[:2] in beginnings}
        sequence = f" {' '.join(present)} " if self._sequences else ""
        foreign = self._foreign(text, language) if language != ENGLISH else frozenset()

        def occurs(term: str) -> bool:
            if own := self._stems.get(term):
                if own in stems or not stems.isdisjoint(self._short[term]):
                    return True
                return bool(foreign) and not foreign.isdisjoint(vocabulary(language).terms(term))
            return term in self._sequences and self._sequences[term] in sequence

        return [term for term in self._weighted if occurs(term)]

    def _foreign(self, text: str, language: str) -> frozenset[str]:
        """The stems of terms that a text in another language than English speaks of."""
        if language not in self._by_language:
            words, terms = vocabulary(language), " ".join(self._stems)
            self._by_language[language] = AskedWords(frozenset(words.terms(terms)), frozenset(), words, terms)
        return self._by_language[language].of(text)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a folded word, as FTS5's ``porter`` makes it."""
    if len(word) < 3:
        return word
    porter_stem = stemmed("porter", word)
    return porter_stem[:-1] if porter_stem.endswith(("logi", "bli")) else porter_stem


def _terms(query: str) -> Iterator[str]:
    if query.isascii():
        yield from _WORD.findall(query)
        return
    for place, piece in enumerate(unspaced.RUN.split(query)):
        if place % 2:
            yield from unspaced.neighbours(piece)
        else:
            yield from _WORD.findall(piece)


def _marked_stems(language: str, text: str) -> list[str]:
    """Stems that end in a letter of private use that stands for their language. So none is taken for a word, nor for
    a stem of another language, and FTS5 does not stem it again."""
    mark = _LANGUAGE_MARKS[language]
    return [key + mark for key in stems_in(language, text)]


def _folded(text: str) -> list[str]:
    """The words of ``text`` in lower case and without accents, as the index has them before stemming."""
    if not text.isascii():
        text = unjoined(text)
        # Most texts that are not in ASCII have nothing else than accents and dashes.
        plain = _SIGNS.sub(" ", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
        if not plain.isascii():
            return _folded_letters(text)
        text = plain
    return text.translate(_LOWER).split()


def _folded_letters(text: str) -> list[str]:
    text = _ACCENTS.sub("", unicodedata.normalize("NFD", unspaced.spaced(text)))
    part = _UNSPACED_PART if unspaced.HAS_STAND_IN.search(text) else _PART
    return part.findall(unicodedata.normalize("NFC", text).lower())


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
