"""The words with which a statement names the sources that say it: "According to the documents, …". Pure."""

from __future__ import annotations

from collections.abc import Set

from deep_research.patterns import regex
from deep_research.provenance.alignment import small_words
from deep_research.text.statements import Reader
from deep_research.text.words import WORD

_HEAD = regex(r"\A(?P<label>[^.,;:!?]{1,200}+:\s+)??(?P<words>[^.,;:!?]{1,200}?(?:,| that))\s+(?=\S)")
_TAIL = regex(r"(?P<label>),(?P<words>[^.,;:!?]{1,200})(?=[.!?]?\Z)")


def unattributed(statement: str, reader: Reader, about: Set[str], language: str) -> str:
    """The statement without an opening or an end that only says which sources say it, or that it is true; the label of
    its row stays before it. ``about`` are the keys of what the sources are called. What doubts, denies or names somebody
    else stays."""
    for pattern in (_HEAD, _TAIL):
        found = pattern.search(statement.rstrip())
        if found is not None and _attributes(found["words"], reader, about, language):
            statement = f"{statement[: found.start()]}{found['label'] or ''}{statement[found.end() :]}"
    return statement


def _attributes(words: str, reader: Reader, about: Set[str], language: str) -> bool:
    marks = reader.vocabulary.marks
    said = [word.casefold() for word in WORD.findall(words)]
    opening = marks.saying | marks.affirming
    known = opening | marks.looked | small_words().get(language, frozenset())
    telling = [word for word in said if word not in known]
    if opening.isdisjoint(said) or any(not reader.tells(word) for word in telling):
        return False  # "both sources", "the document once said"
    named = reader.keys(" ".join(telling))
    names_source = bool(named) or not (marks.looked | marks.affirming).isdisjoint(said)
    return named <= about and names_source
