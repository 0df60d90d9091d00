"""The words with which a statement names the sources that say it: "According to the documents, …". Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.evidence.statements import Reader
from deep_research.evidence.words import WORD
from deep_research.patterns import regex

_HEAD = regex(r"\A[^.,;:!?]{1,200}?(?:,| that)\s+(?=\S)")
_TAIL = regex(r"\s*,\s+[^.,;:!?]{1,200}(?=[.!?]?\s*\Z)")


def unattributed(statement: str, reader: Reader, about: Set[str]) -> str:
    """The statement without an opening or an end that only says which sources say it. ``about`` are the keys of what
    these are called. What doubts, denies or names somebody else stays."""
    for pattern in (_HEAD, _TAIL):
        found = pattern.search(statement)
        if found is not None and _attributes(found.group(), reader, about):
            statement = statement[: found.start()] + statement[found.end() :]
    return statement


def _attributes(words: str, reader: Reader, about: Set[str]) -> bool:
    marks = reader.vocabulary.marks
    said = [word.casefold() for word in WORD.findall(words)]
    telling = [word for word in said if reader.tells(word) and word not in marks.saying | marks.looked]
    if marks.saying.isdisjoint(said) or not (marks.denying | marks.hedging).isdisjoint(said):
        return False
    return reader.keys(" ".join(telling)) <= about
