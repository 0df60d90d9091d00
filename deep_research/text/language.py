"""Detection of a text's language, and the vocabulary of each: function words, stems, question words, negations. Pure.

A text is in the language that it has most function words of; English when nothing speaks clearly for another.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from deep_research.patterns import regex
from deep_research.text import unspaced
from deep_research.text.units import UNIT_WORDS

_FUNCTION_WORDS = Path(__file__).with_name("function_words.toml")
ENGLISH = "en"

_LOOKED_AT_CHARS = 2_000
_CLEAR_SHARE = 0.1  # of the different words, that function words must be at least
_OTHER_VOTES_RATIO = (
    1.5  # times its votes another language may have and the text be English: they share some words
)
_WORD = regex(r"[^\W\d_]+")

_NAMES = {  # as snowball calls them
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "ru": "russian",
    "hu": "hungarian",
    "ro": "romanian",
    "tr": "turkish",
}
STEMMED = tuple(_NAMES)  # the languages besides English whose words can be stemmed
COMPOUNDING = frozenset(("de", "nl", "sv", "da", "no", "fi", "hu"))  # that write compounds in one word
_KANA = regex("[\u3041-\u3096\u30a1-\u30fa]")
_NOT_ARABIC = regex(
    "[\u0679\u067e\u0686\u0688\u0691\u0698\u06a9\u06af\u06ba\u06be\u06cc\u06d2]"
)  # Persian, Urdu
_SCRIPTS = tuple(
    (language, regex(f"[{letters}]"))
    for language, letters in (
        ("zh", "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff"),  # kana make it Japanese
        ("ko", "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"),
        ("th", "\u0e01-\u0e3a\u0e40-\u0e4e"),
        ("lo", "\u0e81-\u0ede"),
        ("my", "\u1000-\u109f"),
        ("km", "\u1780-\u17dd"),
        ("el", "\u0370-\u03ff\u1f00-\u1fff"),
        ("he", "\u05d0-\u05f2"),
        ("ar", "\u0620-\u064a\u0671-\u06d3"),
        ("ka", "\u10a0-\u10ff\u1c90-\u1cbf"),
        ("hy", "\u0531-\u0587"),
        ("ta", "\u0b80-\u0bff"),
        ("te", "\u0c00-\u0c7f"),
        ("kn", "\u0c80-\u0cff"),
        ("ml", "\u0d00-\u0d7f"),
        ("gu", "\u0a80-\u0aff"),
    )
)

LANGUAGES = Path(__file__).with_name("languages.toml")
WORD = regex(r"[^\W_]+(?:_[^\W_]+)*")
_LISTS = str.split(
    "denying prefixes hedging certain small lacking looked works publishing joining clauses stating roles saying "
    "affirming framing scope causing"
)
_NO_POLES: frozenset[tuple[int, int]] = frozenset()


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """The function words by language, English first."""
    table = tomllib.loads(_FUNCTION_WORDS.read_text(encoding="utf-8"))
    return {language: frozenset(words.split()) for language, words in table.items()}


@cache
def _languages() -> Mapping[str, tuple[str, ...]]:
    """The languages of each such word."""
    every = _words()
    return {
        word: tuple(language for language in every if word in every[language])
        for word in frozenset[str]().union(*every.values())
    }


def language_of(text: str, *, default: str = ENGLISH) -> str:
    """The ISO 639-1 code of the language ``text`` begins in, English or one of `STEMMED`; ``default`` when that is
    not clear."""
    head = text[:_LOOKED_AT_CHARS]
    words = set(_WORD.findall(head.lower()))  # each once: names repeat "de" and "la"
    languages, every = _languages(), _words()
    known = words & languages.keys()
    least = max(2, len(words) * _CLEAR_SHARE)
    if len(known) < least:
        return default
    english = len(known & every[ENGLISH])
    if english * _OTHER_VOTES_RATIO < len(known):  # else no language can have more
        votes = Counter(chain.from_iterable(map(languages.__getitem__, known)))
        # The first of equal ones in the order of the table: a set has another order in each process.
        best = max(every, key=votes.__getitem__)
        if english * _OTHER_VOTES_RATIO < votes[best]:
            return best if votes[best] >= least else default
    return ENGLISH if english >= least else default


def language_by_script(text: str) -> str:
    """The ISO 639-1 code of the language ``text`` begins in where its script says it: that of no other language that is
    much written. Empty when none does."""
    head = text[:_LOOKED_AT_CHARS]
    letters = sum(map(str.isalpha, head))
    for language, script in _SCRIPTS:
        if 2 * len(script.findall(head)) > letters:
            if language == "zh" and 20 * len(_KANA.findall(head)) > letters:
                return "ja"
            return "" if language == "ar" and _NOT_ARABIC.search(head) else language
    return ""


def written_in(text: str) -> str:
    """The language of a text where that is clear, else nothing."""
    return language_by_script(text) or language_of(text, default="")


def function_words(language: str) -> frozenset[str]:
    """The words of English or a `STEMMED` language that are in most of its texts and tell nothing."""
    return _words().get(language, frozenset())


def is_function_word(word: str) -> bool:
    """Whether a word in lower case is such a word of any language."""
    return word in _languages()


@lru_cache(maxsize=1 << 16)
def stem_in(language: str, word: str) -> str:
    """The stem of a word in lower case, in one of the `STEMMED` languages."""
    return stemmed(_NAMES[language], word)


def stems_in(language: str, text: str) -> list[str]:
    """The stems of the words of ``text`` in order, without function words, numbers and single letters."""
    left_out = _words()[language]
    return [
        stem_in(language, word)
        for word in _WORD.findall(text.lower())
        if len(word) > 1 and word not in left_out
    ]


def stemmed(algorithm: str, word: str) -> str:
    """The stem of a word in lower case; a word with half a character is its own."""
    import Stemmer  # loaded when first used: importing the package must stay cheap

    # A stemmer keeps the word it works on, so threads must not share one; making one is cheap, and its cache is not.
    try:
        found: str = Stemmer.Stemmer(algorithm, 0).stemWord(word)
    except UnicodeEncodeError:
        return word
    return found


@dataclass(frozen=True, slots=True)
class Marks:
    """Words by which a claim is set against a text. ``prefixes`` turn a word into its opposite, ``poles`` has for each
    word of two opposites its row and its side, ``values`` the numbers in letters. ``lacking`` words say that something
    is not known, and denials do beside ``looked`` ones; ``works`` name a source by its kind, ``publishing`` words say who
    made it and when; ``nouns``: a capital is on every noun, and tells no name.
    ``joining`` words and those that open ``clauses`` bound a clause, ``stating`` ones open what is said or found;
    ``roles`` and ``passive`` words say who does what to whom, the latter by the first word of their tense; ``saying``
    ones name who says it, ``affirming`` ones say that it is so, ``framing`` ones also whether; ``scope`` words say of how
    many it holds, ``causing`` ones that one thing follows from another."""

    denying: frozenset[str]
    prefixes: frozenset[str]
    hedging: frozenset[str]
    certain: frozenset[str]
    poles: Mapping[str, frozenset[tuple[int, int]]]
    units: frozenset[str]
    values: Mapping[str, float]
    months: tuple[str, ...]
    small: frozenset[str]
    lacking: frozenset[str]
    looked: frozenset[str]
    works: frozenset[str]
    publishing: frozenset[str]
    nouns: bool
    joining: frozenset[str]
    clauses: frozenset[str]
    stating: frozenset[str]
    roles: frozenset[str]
    passive: Mapping[str, str]
    saying: frozenset[str]
    affirming: frozenset[str]
    framing: frozenset[str]
    scope: frozenset[str]
    causing: frozenset[str]

    def opposed(self, one: str, other: str) -> bool:
        """Whether two words stand on the two sides of a row, and together on none."""
        a, b = self.poles.get(one, _NO_POLES), self.poles.get(other, _NO_POLES)
        return not a & b and any((row, 1 - side) in b for row, side in a)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The table of one language. ``opens`` are patterns of the beginnings of questions by kind of answer; ``cues`` are
    words that an answer of a kind is apt to hold, ``short`` has the words that abbreviations stand for. ``compounds`` are
    written in one word."""

    stemmer: str
    function: frozenset[str]
    leaning: frozenset[str]
    pointing: frozenset[str]
    polar: frozenset[str]
    opens: Mapping[str, tuple[str, ...]]
    cues: Mapping[str, frozenset[str]]
    numerals: frozenset[str]
    marks: Marks
    short: Mapping[str, str]
    compounds: bool

    def terms(self, text: str) -> list[str]:
        """The stems of the words of a text that tell something, in their order; of a script without spaces the pairs of
        characters that its words are looked for by."""
        found = unspaced.found_words(in_lower_case(text), WORD)
        return [self.stem(word) for word in found if word not in self.function]

    def opening(self, text: str) -> str:
        """Its first word, in lower case; none where it is the first piece of one, as of "so-called"."""
        word = WORD.search(text)
        return word.group().casefold() if word and text[word.end() : word.end() + 1] != "-" else ""

    def shortened(self, word: str) -> list[str]:
        """What a word is shortened to, whatever its form."""
        stem = self.stem(in_lower_case(word))
        return [short for short, whole in self.short.items() if self.stem(whole) == stem]

    def stem(self, word: str) -> str:
        return _stem(self.stemmer, self.short.get(word, word))


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
    tables = tomllib.loads(LANGUAGES.read_text(encoding="utf-8").casefold())  # as texts are compared
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
            short={short: row.split()[0] for row in table["short"] for short in row.split()[1:]},
            compounds=language in COMPOUNDING,
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
        **{name: frozenset(table[name].split()) for name in _LISTS},
        passive={word: form.split()[0] for form in table["passive"].split("|") for word in form.split()},
        poles={word: frozenset(sides) for word, sides in poles.items()},
        units=UNIT_WORDS | frozenset(table["units"].split()),
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
        stemmer=_NAMES[language],
        function=function_words(language),
        leaning=none,
        pointing=none,
        polar=none,
        opens={},
        short={},
        compounds=language in COMPOUNDING,
    )
