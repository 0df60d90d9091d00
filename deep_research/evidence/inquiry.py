"""What a question asks: its terms, the names among them, the kind of answer that it expects, its parts. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from deep_research.evidence.language import language_of
from deep_research.evidence.vocabulary import Vocabulary, vocabulary

# What is written as a name: a capital that opens no sentence, a figure or an identifier in it, an option; what is quoted.
_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[^\W\d_a-zß-ÿ][\w'’.-]*|\b\w*\d\w*|\b\w+_\w+|--?\w[\w-]+")
_QUOTED = re.compile(r"[\"“”«»„`]([^\"“”«»„`]{2,80})[\"“”«»„`]")
_CLAUSE = re.compile(r"[,;:]\s+")
_PART = re.compile(r"\?\s+|;\s+")
_WORDS_OF_A_TOPIC = 12  # a request that asks for nothing short and has more terms is one


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question: its words, its terms in their order, and the kind of answer it expects, "" for any."""

    text: str
    terms: tuple[str, ...]
    expects: str


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question as it is read. ``names`` are those of its terms that are written as names, figures or identifiers;
    ``parts`` has the question itself where it has no several."""

    text: str
    language: str
    terms: tuple[str, ...]
    names: frozenset[str]
    expects: str
    parts: tuple[Part, ...]

    @property
    def is_topic(self) -> bool:
        """Whether it is a topic rather than a question: nothing short answers it."""
        return not self.expects and len(self.terms) > _WORDS_OF_A_TOPIC

    @property
    def words(self) -> Vocabulary:
        return vocabulary(self.language)


@lru_cache(maxsize=256)
def read_question(text: str, language: str = "") -> Inquiry:
    """The question ``text``, in a language or the one that its words tell."""
    language = language or language_of(text)
    words = vocabulary(language)
    terms = tuple(words.terms(text))
    named = [match.group() for match in _NAME.finditer(text)]
    named += [match.group(1) for match in _QUOTED.finditer(text)]
    names = frozenset(term for name in named for term in words.terms(name)) & frozenset(terms)
    parts = tuple(_part(piece, words) for piece in _pieces(text, words))
    return Inquiry(text, language, terms, names, expected(text, words), parts)


def expected(text: str, words: Vocabulary) -> str:
    """The kind of answer: of the longest opening that the question, or its last clause, begins with; else of one that
    stands anywhere in a question."""
    low = text.casefold().strip()
    clauses = [low, _CLAUSE.split(low)[-1]] if "?" in low else [low]
    openings = [(len(o), kind, o) for kind, every in words.opens.items() for o in every]
    for _, kind, opening in sorted(openings, reverse=True):
        if any(re.match(rf"{re.escape(opening)}\b", clause) for clause in clauses):
            return kind
    if low.split(None, 1)[:1] and low.split(None, 1)[0] in words.polar:
        return "polar"
    if "?" in low:
        for _, kind, opening in sorted(openings, reverse=True):
            if kind in ("number", "date", "person", "place") and re.search(rf"\b{re.escape(opening)}\b", low):
                return kind
    return ""


def _pieces(text: str, words: Vocabulary) -> list[str]:
    """Sentences of the question, cut again before "and how …", "and when …"."""
    asking = "|".join(sorted({re.escape(o.split()[0]) for every in words.opens.values() for o in every}))
    pieces = [p.strip() for p in _PART.split(text) if p.strip()]
    found = [p for piece in pieces for p in re.split(rf",?\s+\w+\s+(?=(?:{asking})\b)", piece) if p.strip()]
    kept = [p for p in found if words.terms(p)]
    return kept if len(kept) > 1 else [text]


def _part(text: str, words: Vocabulary) -> Part:
    return Part(text, tuple(words.terms(text)), expected(text, words))
