"""Which language a text is in, and the stems of its words. Pure.

A text is in the language that it has most function words of; English when nothing speaks clearly for another.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from deep_research.evidence.stemming import stemmed
from deep_research.patterns import regex

FILE = Path(__file__).with_name("function_words.toml")
ENGLISH = "en"

_LOOKED_AT = 2_000  # characters
_CLEAR_SHARE = 0.1  # of the different words, that function words must be at least
_ALSO_OTHERS = 1.5  # times its votes another language may have and the text be English: they share some words
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
_CALLED = {
    ENGLISH: "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "lo": "Lao",
    "my": "Burmese",
    "km": "Khmer",
    "el": "Greek",
    "he": "Hebrew",
    "ar": "Arabic",
    "ka": "Georgian",
    "hy": "Armenian",
    "ta": "Tamil",
    "te": "Telugu",
    "kn": "Kannada",
    "ml": "Malayalam",
    "gu": "Gujarati",
}
STEMMED = tuple(_NAMES)  # the languages besides English whose words can be stemmed
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


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """The function words by language, English first."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
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
    head = text[:_LOOKED_AT]
    words = set(_WORD.findall(head.lower()))  # each once: names repeat "de" and "la"
    languages, every = _languages(), _words()
    known = words & languages.keys()
    least = max(2, len(words) * _CLEAR_SHARE)
    if len(known) < least:
        return default
    english = len(known & every[ENGLISH])
    if english * _ALSO_OTHERS < len(known):  # else no language can have more
        votes = Counter(chain.from_iterable(map(languages.__getitem__, known)))
        # The first of equal ones in the order of the table: a set has another order in each process.
        best = max(every, key=votes.__getitem__)
        if english * _ALSO_OTHERS < votes[best]:
            return best if votes[best] >= least else default
    return ENGLISH if english >= least else default


def language_by_script(text: str) -> str:
    """The ISO 639-1 code of the language ``text`` begins in where its script says it: that of no other language that is
    much written. Empty when none does."""
    head = text[:_LOOKED_AT]
    letters = sum(map(str.isalpha, head))
    for language, script in _SCRIPTS:
        if 2 * len(script.findall(head)) > letters:
            if language == "zh" and 20 * len(_KANA.findall(head)) > letters:
                return "ja"
            return "" if language == "ar" and _NOT_ARABIC.search(head) else language
    return ""


def called(language: str) -> str:
    """What a language is called in English.

    Example:
        called("pt")  # "Portuguese"
    """
    return _CALLED.get(language) or _NAMES.get(language, language).capitalize()


def stemmer_of(language: str) -> str:
    """What the stemmer of one of the `STEMMED` languages is called."""
    return _NAMES[language]


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
