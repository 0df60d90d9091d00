"""The words with which a statement names the sources that say it: "According to the documents, …". Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.evidence.statements import Reader
from deep_research.evidence.words import WORD
from deep_research.patterns import regex

_HEAD = regex(r"\A(?P<label>[^.,;:!?]{1,200}+:\s+)??(?P<opening>[^.,;:!?]{1,200}?(?:,| that))\s+(?=\S)")


def unattributed(statement: str, reader: Reader, about: Set[str]) -> str:
    """The statement without an opening that only says which sources say it, or that it is true; the label of its row
    stays before it. ``about`` are the keys of what the sources are called. An opening that doubts, denies or names
    somebody else stays."""
    head = _HEAD.match(statement)
    if head is None:
        return statement
    marks = reader.vocabulary.marks
    said = [word.casefold() for word in WORD.findall(head["opening"])]
    opening = marks.saying | marks.affirming
    telling = [word for word in said if reader.tells(word) and word not in opening | marks.looked]
    if opening.isdisjoint(said) or not marks.denying.isdisjoint(said) or not marks.hedging.isdisjoint(said):
        return statement
    if not reader.keys(" ".join(telling)) <= about:
        return statement
    return f"{head['label'] or ''}{statement[head.end() :]}"
