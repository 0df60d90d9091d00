"""The words of a query: what to look for in the index, and how much of it a passage covers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from deep_research.evidence.plain import clean
from deep_research.sources.documents.plaintext import words

MAX_TERMS = 32

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Chinese and Japanese have no spaces: each character is indexed as a word, and a query looks for pairs of
# them.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(f"([{_UNSPACED}]+)")
_CHARACTER = re.compile(f"([{_UNSPACED}])")

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


def query_terms(query: str) -> list[str]:
    """The words to look for, in order, repeated ones kept, at most `MAX_TERMS`.

    Stop words are left out, unless there is nothing else. A run of an unspaced script gives its pairs of
    characters.
    """
    found = [
        term for word in _WORD.findall(clean(query[:20_000])) for term in _split(word) if term.strip("_")
    ]
    telling = [term for term in found if term.lower() not in STOP_WORDS]
    return (telling or found)[:MAX_TERMS]


def match_expression(terms: Iterable[str]) -> str:
    """An FTS5 query that any of ``terms`` satisfies. They hold only word characters, so none can break out of
    its quotes."""
    return " OR ".join(f'"{spaced(term)}"' for term in terms)


def spaced(text: str) -> str:
    """``text`` with each character of an unspaced script as a word of its own."""
    return text if text.isascii() else _CHARACTER.sub(r" \1 ", text)


def coverage(weighted: Mapping[str, float], text: str) -> float:
    """The share (0 to 1) of the weight of the terms that occur in ``text``: single words by their stems,
    others (``snake_case``, a pair of characters) as they are."""
    whole = sum(weighted.values())
    if not whole:
        return 0.0
    parts = {term: _folded(term) for term in weighted}
    present = _folded(text)
    # Stemming is slow and keeps the first letters, so only words that begin like a term are stemmed.
    beginnings = {words[0][:2] for words in parts.values() if len(words) == 1}
    stems = {stem(word) for word in set(present) if word[:2] in beginnings}
    sequence = f" {' '.join(present)} " if any(len(words) > 1 for words in parts.values()) else ""

    def occurs(words: list[str]) -> bool:
        return (
            stem(words[0]) in stems if len(words) == 1 else bool(words) and f" {' '.join(words)} " in sequence
        )

    covered = sum(weight for term, weight in weighted.items() if occurs(parts[term]))
    return min(1.0, covered / whole)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a folded word, as FTS5's ``porter`` makes it."""
    if len(word) < 3:
        return word
    import snowballstemmer  # here because only a search needs it

    # A stemmer keeps the word it works on, so threads must not share one; making one is cheap.
    found: str = snowballstemmer.stemmer("porter").stemWord(word)
    return found[:-1] if found.endswith(("logi", "bli")) else found


def _split(word: str) -> Iterator[str]:
    if word.isascii():
        yield word
        return
    for piece in _RUN.split(word):
        if len(piece) > 2 and _RUN.fullmatch(piece):
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        elif piece:
            yield piece


def _folded(text: str) -> list[str]:
    """The words of ``text`` in lower case and without accents, as the index has them before stemming."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFD", spaced(text)))
        text = unicodedata.normalize("NFC", text)
    return _PART.findall(text.lower())
