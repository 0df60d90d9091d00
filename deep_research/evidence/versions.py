"""Questions for what changed from one version to another, and where a text tells it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deep_research.evidence.dates import MONTHS
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.text import NAME_WEIGHT, question_terms, stem, words

Version = tuple[int, ...]
_NUMBER = r"\d{1,6}(?:\.\d{1,6}){1,3}"
_VERSION = re.compile(rf"(?<![\w.])v?(?P<number>{_NUMBER})(?!\w|\.\d)")
_CHANGED = re.compile(
    r"\b(?:changed?|changes|new|differ\w*|added|removed|deprecated|dropped|introduced|improved|fixed)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(rf"\b(?:since|after)\b[^.?]{{0,60}}?v?{_NUMBER}", re.IGNORECASE)
_FROM = re.compile(r"\b(?:between|from)\b", re.IGNORECASE)
MAX_HEADING = 80
_OF_VERSIONS = frozenset(map(stem, ("version", "release", "released", "changes", "changelog", "unreleased")))
CHANGED = frozenset(
    map(stem, ("changed", "new", "different", "difference", "added", "removed", "introduced"))
)


@dataclass(frozen=True, slots=True)
class Changes:
    """What came after the version ``after`` up to ``upto``, None for no end, of what has the ``name`` (stems). ``named``
    are the versions of the question, as it writes them."""

    name: frozenset[str]
    after: Version
    upto: Version | None
    named: tuple[str, ...]

    def holds(self, version: Version) -> bool:
        own = _whole(version)
        return own > self.after and (self.upto is None or own <= self.upto)


@dataclass(frozen=True, slots=True)
class Change:
    """``text[start:end]`` is told of a ``version``, in a list under its ``heading``, or in a sentence that names it."""

    version: Version
    heading: str
    start: int
    end: int


def changes(question: str) -> Changes | None:
    """What a question wants to know of versions; None where it asks something else."""
    numbers = [match["number"] for match in _VERSION.finditer(question)]
    if not 0 < len(numbers) < 3 or not _CHANGED.search(question):
        return None
    terms = question_terms(question)
    name = frozenset(t for t, w in terms.items() if w >= NAME_WEIGHT and not t[0].isdigit())
    first, last = sorted(map(version, numbers))[0], sorted(map(version, numbers))[-1]
    if len(numbers) == 1:
        since = _SINCE.search(question) is not None
        after = first if since else (*first[:-1], first[-1] - 1, 999_999)
        return Changes(name, after, None if since else last, tuple(numbers))
    return Changes(name, first, last, tuple(numbers)) if _FROM.search(question) else None


def version(number: str) -> Version:
    """The parts of a version, of which 1.0 and 1.0.0 have the same."""
    return _whole(tuple(map(int, number.split("."))))


def changes_in(text: str, asked: Changes) -> Iterator[Change]:
    """What stands under the headings of such versions, item by item or paragraph by paragraph."""
    heading, level = "", 0
    of: Version | None = None
    for block in blocks(text):
        if block.kind is BlockKind.HEADING:
            title = text[block.start : block.end].strip("# ")
            match = _heads(title, asked)
            if match and asked.holds(version(match["number"])):
                heading, level, of = title, block.level, version(match["number"])
            elif match or block.level <= level:
                of = None
        elif of is not None and block.kind in (BlockKind.ITEM, BlockKind.PARAGRAPH):
            told = list(block.sentences(text))
            if told:
                yield Change(of, heading, told[0][0], told[-1][1])


def said_of(text: str, asked: Changes) -> Iterator[Change]:
    """The sentences that say something of a version that the question names, by the name of what it is of."""
    numbers = "|".join(map(re.escape, asked.named))
    named = re.compile(rf"\b(?P<before>\w+) v?(?P<number>{numbers})(?!\w|\.\d)")
    for block in blocks(text):
        if block.kind is not BlockKind.PARAGRAPH or not named.search(text, block.start, block.end):
            continue
        for start, end in block.sentences(text):
            match = named.search(text, start, end)
            if match and stems_of(match["before"]) <= (asked.name or stems_of("version")):
                yield Change(version(match["number"]), "", start, end)


def _heads(title: str, asked: Changes) -> re.Match[str] | None:
    """The version that a heading is of; None for the number of a chapter, "1.1 Introduction"."""
    match = _VERSION.search(title) if len(title) <= MAX_HEADING else None
    if match is None:
        return None
    others = [w for w in words(title[: match.start()] + title[match.end() :]) if not w[0].isdigit()]
    said = {stem(word) for word in others if word.casefold() not in MONTHS}
    return match if not said or said & (asked.name | _OF_VERSIONS) else None


def _whole(parts: Version) -> Version:
    while len(parts) > 1 and not parts[-1]:
        parts = parts[:-1]
    return parts
