"""The words with which a statement names the sources that say it: "According to the documents, …". Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.evidence.statements import Reader
from deep_research.evidence.words import WORD
from deep_research.patterns import regex

_HEAD = regex(r"\A[^.,;:!?]{1,200}?(?:,| that)\s+(?=\S)")


def unattributed(statement: str, reader: Reader, about: Set[str]) -> str:
    """The statement without an opening that only says which sources say it. ``about`` are the keys of what these are
    called. An opening that doubts, denies or names somebody else stays."""
    head = _HEAD.match(statement)
    if head is None:
        return statement
    marks = reader.vocabulary.marks
    said = [word.casefold() for word in WORD.findall(head.group())]
    telling = [word for word in said if reader.tells(word) and word not in marks.saying | marks.looked]
    if (
        marks.saying.isdisjoint(said)
        or not marks.denying.isdisjoint(said)
        or not marks.hedging.isdisjoint(said)
    ):
        return statement
    if not reader.keys(" ".join(telling)) <= about:
        return statement
    return statement[head.end() :]
