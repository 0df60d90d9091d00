"""What is known of each language, from `languages.toml`: its function words, its stems, how its questions open."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from deep_research.evidence import unspaced
from deep_research.evidence.language import ENGLISH, STEMMED, function_words, stemmer_of
from deep_research.evidence.stemming import stemmed
from deep_research.evidence.units import UNIT_WORDS
from deep_research.patterns import regex

FILE = Path(__file__).with_name("languages.toml")
WORD = regex(r"[^\W_]+(?:_[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Marks:
    """Words by which a claim is set against a text. ``poles`` has for each word of two opposites its row and its side,
    ``values`` the numbers in letters. ``lacking`` words say that something is not known, and denials do beside ``looked``
    ones; ``nouns``: a capital is on every noun, and tells no name."""

    denying: frozenset[str]
    hedging: frozenset[str]
    certain: frozenset[str]
    poles: Mapping[str, frozenset[tuple[int, int]]]
    units: frozenset[str]
    values: Mapping[str, float]
    months: tuple[str, ...]
    small: frozenset[str]
    lacking: frozenset[str]
    looked: frozenset[str]
    nouns: bool

    def opposed(self, one: str, other: str) -> bool:
        """Whether two words stand on the two sides of a row, and together on none."""
        a, b = self.poles.get(one, _NO_POLES), self.poles.get(other, _NO_POLES)
        return not a & b and any((row, 1 - side) in b for row, side in a)


_NO_POLES: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The table of one language. ``opens`` are patterns of the beginnings of questions by kind of answer; ``cues`` are
    words that an answer of a kind is apt to hold."""

    stemmer: str
    function: frozenset[str]
    leaning: frozenset[str]
    pointing: frozenset[str]
    polar: frozenset[str]
    opens: Mapping[str, tuple[str, ...]]
    cues: Mapping[str, frozenset[str]]
    numerals: frozenset[str]
    marks: Marks

    def terms(self, text: str) -> list[str]:
        """The stems of the words of a text that tell something, in their order; of a script without spaces the pairs of
        characters that its words are looked for by."""
        found = unspaced.found_words(in_lower_case(text), WORD)
        return [self.stem(word) for word in found if word not in self.function]

    def opening(self, text: str) -> str:
        """Its first word, in lower case; none where it is the first piece of one, as of "so-called"."""
        word = WORD.search(text)
        return word.group().casefold() if word and text[word.end() : word.end() + 1] != "-" else ""

    def stem(self, word: str) -> str:
        return _stem(self.stemmer, word)


def in_lower_case(text: str) -> str:
    """A text as its words are compared; a capital I with a dot loses it."""
    return text.casefold().replace("i\u0307", "i")


@lru_cache(maxsize=200_000)
def _stem(stemmer: str, word: str) -> str:
    """Of a word in lower case, without accents; identifiers and figures are their own."""
    if len(word) < 3 or not word.isalpha():
        return word
    stem = stemmed(stemmer, word)
    if stem.isascii():
        return stem
    return "".join(c for c in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(c))


@cache
def vocabularies() -> Mapping[str, Vocabulary]:
    tables = tomllib.loads(FILE.read_text(encoding="utf-8").casefold())  # as texts are compared
    return {
        language: Vocabulary(
            stemmer=table["stemmer"],
            function=frozenset(table["function"].split()),
            leaning=frozenset(table["leaning"].split()),
            pointing=frozenset(table["pointing"].split()),
            polar=frozenset(table["polar"].split()),
            opens={kind: tuple(openings) for kind, openings in table["opens"].items()},
            cues={kind: frozenset(words.split()) for kind, words in table["cues"].items()},
            numerals=frozenset(table["numerals"]["words"].split()),
            marks=_marks(table["marks"]),
        )
        for language, table in tables.items()
    }


def _marks(table: Mapping[str, Any]) -> Marks:
    poles: dict[str, set[tuple[int, int]]] = {}
    for row, opposites in enumerate(table["opposites"]):
        for side, words in enumerate(opposites.split("|")):
            for word in words.split():
                poles.setdefault(word, set()).add((row, side))
    names, numbers = table["values"].split()[::2], table["values"].split()[1::2]
    return Marks(
        denying=frozenset(table["denying"].split()),
        hedging=frozenset(table["hedging"].split()),
        certain=frozenset(table["certain"].split()),
        poles={word: frozenset(sides) for word, sides in poles.items()},
        units=UNIT_WORDS | frozenset(table["units"].split()),
        small=frozenset(table["small"].split()),
        lacking=frozenset(table["lacking"].split()),
        looked=frozenset(table["looked"].split()),
        nouns=table["nouns"],
        months=tuple(table["months"].split()),
        values={name: float(number) for name, number in zip(names, numbers, strict=True)},
    )


@cache
def vocabulary(language: str) -> Vocabulary:
    """That of a language. One without a table has its stems and function words where these are known, and else is read as
    English is."""
    known = vocabularies()
    if language in known or language not in STEMMED:
        return known.get(language, known[ENGLISH])
    none = frozenset[str]()
    return replace(
        known[ENGLISH],
        stemmer=stemmer_of(language),
        function=function_words(language),
        leaning=none,
        pointing=none,
        polar=none,
        opens={},
    )
