"""Whether a text holds something of the kind that a question expects for an answer. Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.evidence.vocabulary import WORD, Vocabulary
from deep_research.evidence.words import NO_CAPITALS
from deep_research.patterns import regex

_NAMES = frozenset(("person", "place"))
# Kinds that show in the form of what is said: a text without a figure tells no number.
FORMAL = _NAMES | {"number", "date"}
_YEAR = regex(r"\b(?:1\d{3}|20\d\d)\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_NAMED = regex(rf"(?<![.!?]\s)(?<!^)\b[^\W\d_{NO_CAPITALS}][^\W\d_]+")
_NONE: frozenset[str] = frozenset()


def holds_kind(
    kind: str, text: str, words: Vocabulary, asked: Set[str], *, capitals: bool = True, shown: float = 0.0
) -> float:
    """How surely (0 to 1) the text has something of a kind beside the words that are ``asked``, by their stems. Names can
    be told where there are ``capitals``; ``shown`` is what its form says of its showing how something is done."""
    if not kind:
        return 0.0
    spoken = WORD.findall(text)
    low = {word.casefold() for word in spoken}
    fresh = " ".join(w for w in spoken if words.stem(w.casefold()) not in asked)
    if kind == "number":
        return 1.0 if any(map(str.isdecimal, fresh)) else 0.7 * bool(words.numerals & low)
    if kind == "date":
        return 1.0 if _YEAR.search(text) else 0.6 * bool(words.cues["date"] & low)
    if kind in ("person", "place", "list"):
        return min(1.0, len(_NAMED.findall(fresh)) / 2) if capitals else 0.5
    if kind == "definition":
        head = {words.stem(w.casefold()) for w in spoken[:7]}
        early = {w.casefold() for w in spoken[:12]}
        return float(bool(head & asked) and bool(words.cues["definition"] & early))
    if kind == "manner":
        return shown
    return float(bool(words.cues.get(kind, _NONE) & low))


def may_hold(kind: str, text: str, words: Vocabulary, asked: Set[str]) -> bool:
    """Whether the text can hold something of a kind at all: of a name any word will do that is written large, since a
    sentence may begin with it. Texts without capitals may hold any."""
    if kind not in FORMAL:
        return True
    if kind not in _NAMES:
        return holds_kind(kind, text, words, asked) > 0
    spoken = WORD.findall(text)
    large = (w for w in spoken if w[0].isupper() and w.casefold() not in words.function)
    return any(words.stem(w.casefold()) not in asked for w in large) or not any(map(str.isupper, text))
