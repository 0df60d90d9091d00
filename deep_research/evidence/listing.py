"""Questions for all things of which something is true, and where a text says so of one of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from deep_research.evidence.dates import YEAR, date_of, opens_with_date
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import (
    ASKING_WEIGHT,
    NAME_WEIGHT,
    STOP_WORDS,
    StemFinder,
    denies,
    question_terms,
    stem,
    words,
)
from deep_research.state import Span

COLLECTED = "one by one"  # the category of a finding that says of one thing what is asked of all
ENTERED = "entry by entry"  # the same, where it tells the thing's name itself
# "Which lighthouses were …", "Name the lamps that …"
_OF_THINGS = re.compile(
    r"\s*(?:(?:which|what)|(?:please )?(?:list|name)(?: all)?(?: the)?)"
    r" (?P<kind>(?!(?:of|do|does|did|has|is|was|this|these|those)\b)(?:[a-z-]+ ){0,2}?[a-z-]{2,}(?<!s)s)"
    r" (?:that |which |who )?(?P<rest>(?!(?:of|in|on|at|from|for|to|and|or|as)\b)[a-z]+\b.*)",
    re.IGNORECASE | re.DOTALL,
)
# "List the values for lamps."
_LIST_FOR = re.compile(
    r"\s*(?:please )?(?:list|name)(?: all)?(?: the)? (?P<kind>(?:[a-z-]+ ){0,2}?[a-z-]{2,}(?<!s)s)"
    r" (?P<rest>(?:of|in|on|from|for)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
# "When were lighthouses automated?" has an answer for each of them.
_NO_KIND = r"(?!(?:the|this|his|its|these|those|is|was|has|does)\b)"
_PLURAL = r"[a-z-]{2,}(?<!s)s"
_WHEN = re.compile(
    rf"\s*[Ww]hen (?:were (?:the )?(?P<kind>{_NO_KIND}(?:[a-z-]+ ){{0,2}}?{_PLURAL})"
    rf" (?P<rest>[a-z]+(?:ed|en|ilt|ost|it)\b.*)|did (?:the )?(?P<doers>{_NO_KIND}{_PLURAL}) (?P<did>[a-z]+\b.*))",
    re.DOTALL,
)
# "were automatic in 1990", and not "were built in 1990": what became so before counts as well.
_STATE = re.compile(
    r"(?:is|are|was|were)(?: (?:already|still))? (?!\w+(?:ed|en|ilt|ost|it|unk)\b)\w", re.IGNORECASE
)
# Words that say nothing of their own: "Which are there?", "Which became automatic?"
_SILENT = frozenset(
    map(stem, (*STOP_WORDS, *("become", "became", "becomes", "got", "went", "go", "made", "make", "family")))
)
# What says no more than that there are such things: "Which lamps does it provide?"
THERE_ARE = frozenset(
    map(stem, words("provide offer support define include contain exist list available use stand stood lie"))
)
NEAR = 4  # words from the things to what is said of all of them
_AGAINST = frozenset(("against", "refused", "rejected"))
_SMALL = frozenset(
    (
        *("a", "an", "and", "also", "at", "both", "by", "first", "in", "last"),
        *("near", "of", "off", "on", "the", "then"),
    )
)


@dataclass(frozen=True, slots=True)
class Listed:
    """What is asked for: things of a ``kind`` of which ``said`` is true, with the ``names`` and by the ``year`` that the
    question has; with ``state`` also what became so before that year. ``dated``: it is asked when. ``plural`` is the
    kind as it is written."""

    kind: frozenset[str]
    said: frozenset[str]
    names: frozenset[str]
    year: int | None = None
    state: bool = False
    dated: bool = False
    plural: str = ""

    def is_told(self, sentence: str, present: AbstractSet[str], under: AbstractSet[str]) -> bool:
        """Whether a sentence with these of its `stems`, under a heading, says it of something."""
        return (
            self.is_named(present, frozenset() if self.dated else under)
            and self.is_of_time(sentence)
            and not _is_denied(sentence)
            and not (self.dated and self._is_intended(sentence))
        )

    def says_of_all(self, sentence: str) -> bool:
        """Whether a sentence says it of the things in general: "Lamps were automated in the 1980s"."""
        every = [*map(str.casefold, words(sentence))]
        at = {place for place, word in enumerate(every) if word == self.plural}
        return any(
            not at.isdisjoint(range(place - NEAR, place))
            for place, word in enumerate(every)
            if stem(word) in self.said
        )

    def _is_intended(self, sentence: str) -> bool:
        """Whether it is only meant to be: "to build"."""
        every = [*map(str.casefold, words(sentence))]
        return all(before == "to" for before, word in pairwise(["", *every]) if stem(word) in self.said)

    def is_named(self, present: AbstractSet[str], under: AbstractSet[str] = frozenset()) -> bool:
        """Whether a text with these of its stems may say so of anything, at whatever time."""
        said = present | under
        if self.dated:  # what was designed then was not yet built
            return self.names <= present and self.said <= said
        return self.names <= present and all(not related(term).isdisjoint(said) for term in self.said)

    def is_of_time(self, sentence: str) -> bool:
        when = date_of(sentence)
        if self.year is None:
            return when is not None or not self.dated
        told = when[0] if when else None
        return str(self.year) in words(sentence) or (self.state and told is not None and told <= self.year)

    def stems(self) -> frozenset[str]:
        """All by which a text may say it."""
        return self.kind.union(self.names, *map(related, self.said))


def listed(question: str) -> Listed | None:
    """What a question wants to have listed of which it says something; None where it asks for something else."""
    found = things(question)
    return found if found and found.said else None


def things(question: str) -> Listed | None:
    """The same, also where nothing is said of the things, as in "Which lamps are there?"."""
    line = " ".join(question.split())
    match = _OF_THINGS.match(line) or _LIST_FOR.match(line)
    when = None if match else _WHEN.match(line)
    if denies(question):
        return None
    if match:
        named, rest = match["kind"], match["rest"]
    elif when:
        named, rest = when["kind"] or when["doers"], when["rest"] or when["did"]
    else:
        return None
    kind = frozenset(map(stem, named.split()))
    terms = {t: w for t, w in question_terms(f"Which {rest}").items() if t not in kind}
    years = {term for term in terms if YEAR.fullmatch(term)}
    names = frozenset(t for t, w in terms.items() if w >= NAME_WEIGHT) - years
    said = frozenset(t for t, w in terms.items() if ASKING_WEIGHT < w < NAME_WEIGHT) - _SILENT
    if len(years) > 1:
        return None
    year = int(years.pop()) if years else None
    return Listed(
        kind,
        said,
        names,
        year,
        state=_STATE.match(rest) is not None,
        dated=match is None,
        plural=named.split()[-1],
    )


def told_of(text: str, span: Span, wanted: Listed, *, items: bool) -> Iterator[Span]:
    """The sentences of a passage, those of its items or of its paragraphs, that say it of something; in a list of dates
    also the entries that only name what it is true of, after one that says it."""
    finder = StemFinder(wanted.stems())
    under = frozenset[str]()
    says_so = False
    for block in blocks(text, span.start, span.end):
        if block.kind is BlockKind.HEADING:
            heading = text[block.start : block.end]
            under = frozenset() if heading.startswith("# ") else frozenset(stems_of(heading))
        if block.kind is not BlockKind.ITEM:
            says_so = False
        if block.kind is not (BlockKind.ITEM if items else BlockKind.PARAGRAPH) or not (
            says_so or wanted.is_named(finder(text[block.start : block.end]), under)
        ):
            continue
        for start, end in block.sentences(text):
            said = " ".join(text[start:end].split())
            entry = block.kind is BlockKind.ITEM and opens_with_date(said)
            present = finder(said)
            says_so = says_so or (entry and wanted.is_named(present))
            named = entry and says_so and _is_named(said) and wanted.is_of_time(said)
            if named or wanted.is_told(said, present, under):
                yield Span(start=start, end=end)


def _is_denied(sentence: str) -> bool:
    return denies(sentence) or not _AGAINST.isdisjoint(map(str.casefold, words(sentence)))


def _is_named(entry: str) -> bool:
    """Whether an entry tells no more than a date and names."""
    told = re.split(r"\s[—–:-]\s", entry, maxsplit=1)[-1]
    return all(word[:1].isupper() or word.casefold() in _SMALL for word in words(told))
