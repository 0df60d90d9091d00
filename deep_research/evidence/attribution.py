"""The words with which a statement names the sources that say it: "According to the documents, …". Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.evidence.alignment import small_words
from deep_research.evidence.statements import Reader
from deep_research.evidence.words import WORD
from deep_research.patterns import regex

_HEAD = regex(r"\A[^.,;:!?]{1,200}?(?:,| that)\s+(?=\S)")
_TAIL = regex(r",[^.,;:!?]{1,200}(?=[.!?]?\Z)")


def unattributed(statement: str, reader: Reader, about: Set[str], language: str) -> str:
    """The statement without an opening or an end that only says which sources say it. ``about`` are the keys of what
    these are called. What doubts, denies or names somebody else stays."""
    for pattern in (_HEAD, _TAIL):
        found = pattern.search(statement.rstrip())
        if found is not None and _attributes(found.group(), reader, about, language):
            statement = statement[: found.start()] + statement[found.end() :]
    return statement


def _attributes(words: str, reader: Reader, about: Set[str], language: str) -> bool:
    marks = reader.vocabulary.marks
    said = [word.casefold() for word in WORD.findall(words)]
    known = marks.saying | marks.looked | small_words().get(language, frozenset())
    telling = [word for word in said if word not in known]
    if marks.saying.isdisjoint(said) or any(not reader.tells(word) for word in telling):
        return False  # "both sources", "the document once said"
    named = reader.keys(" ".join(telling))
    return named <= about and bool(named or not marks.looked.isdisjoint(said))
