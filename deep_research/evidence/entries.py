"""A question and a source as trails see them: words by stem, names by key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from deep_research.evidence.inquiry import Inquiry
from deep_research.evidence.names import borne
from deep_research.evidence.relations import related
from deep_research.evidence.text import stem, words
from deep_research.state import Mention

NAMES_EACH = 10  # of a strong source
NEAR = 9  # words between a name and a word of the question that it may answer
UNKNOWN_WORD = 0.6  # how telling a word is of which no corpus knows
KNOWN_NAME = 0.5  # of the weight of a name that the question has itself
CLOSE = 3  # words apart, to stand together
PROMISING = 1.5  # what a name is worth more that a document bears, or that stands near what is asked


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: its words by stem and its names by key, with how telling (0 to 1) each is.
    ``relations`` are the stems that are no part of a name; with ``sides`` the names are compared with each other, so that
    none of them is looked for where another leads. ``beside`` are the words right before each word."""

    words: Mapping[str, float]
    names: Mapping[str, float] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()
    spelled: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sides: bool = False

    def share(self, present: AbstractSet[str]) -> float:
        """The share of the weight of its words that is present."""
        whole = sum(self.words.values()) or 1.0
        return sum(weight for term, weight in self.words.items() if term in present) / whole

    def lacking(self, present: AbstractSet[str]) -> dict[str, float]:
        """Its words that are not present, with their weights."""
        wanted = self.relations if self.sides else self.words
        return {term: w for term, w in self.words.items() if term in wanted and term not in present}


@dataclass(frozen=True, slots=True)
class Item:
    """A source as trails see it: what was matched of it, the names in that, and its rank (from 0) in each search that
    found it, by the search's place; place 0 is the whole question."""

    id: str
    title: str
    text: str
    mentions: Sequence[Mention] = ()
    ranks: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Entry:
    """An item with its stems, the names that it bears and those in its text; ``ways`` are the words of the question that
    it has or has others of the same relation for, ``phrases`` (0 to 1) is how much of the question stands together in it
    as asked, ``near`` are the names that stand near what is asked."""

    item: Item
    stems: set[str]
    ways: set[str]
    bears: Mapping[str, float]
    names: Mapping[str, Mention]
    phrases: float
    near: frozenset[str]


def asked(inquiry: Inquiry, rarity: Mapping[str, float], names: Iterable[Mention]) -> Asked:
    """What is asked. ``rarity`` tells how telling (0 to 1) a word in lower case is."""
    by_key = {mention.name: mention.weight for mention in names}
    inside = {stem(word) for name in by_key for word in name.split()}
    said = inquiry.telling(inquiry.text.casefold())
    comparing = inquiry.forms.comparing
    sides = len(by_key) > 1 and not comparing.isdisjoint(said)
    order = [stem(word) for word in said if not sides or word not in comparing]
    spelled = {stem(word): word for word in reversed(said)}
    weights = {term: rarity.get(spelled[term], UNKNOWN_WORD) for term in order}
    beside: dict[str, set[str]] = {}
    for one, other in pairwise(order):
        if one != other:
            beside.setdefault(other, set()).add(one)
    return Asked(
        weights,
        by_key,
        frozenset(weights) - inside,
        spelled,
        {key: frozenset(before) for key, before in beside.items()},
        sides,
    )


def entry_of(item: Item, question: Asked) -> Entry:
    tokens = [stem(word) for word in words(item.text)]
    stems = {*tokens, *(stem(word) for word in words(item.title))}
    mentions = {mention.name: mention for mention in item.mentions}
    near = _near(tokens, question.relations)
    return Entry(
        item,
        stems,
        {term for term in question.words if not stems.isdisjoint(related(term))},
        borne(item.title, item.text),
        mentions,
        _phrases(tokens, question),
        frozenset(name for name in mentions if stem(name.partition(" ")[0]) in near),
    )


def _near(tokens: Sequence[str], wanted: AbstractSet[str]) -> set[str]:
    """The words that stand near one of those wanted."""
    places = (place for place, token in enumerate(tokens) if token in wanted)
    return {token for at in places for token in tokens[max(0, at - NEAR) : at + NEAR + 1]}


def _phrases(tokens: Sequence[str], question: Asked) -> float:
    """The share of the pairs of neighbours in the question, by weight, that stand near each other in the text too."""
    last: dict[str, int] = {}
    found: set[tuple[str, str]] = set()
    for place, token in enumerate(tokens):
        if token in question.words:
            for before in question.beside.get(token, ()):
                if place - last.get(before, -CLOSE - 1) <= CLOSE:
                    found.add((before, token))
            last[token] = place
    pairs = {(one, other) for other, before in question.beside.items() for one in before}
    weigh = question.words
    # Sums that do not depend on the order of a set.
    whole = fsum(weigh[one] * weigh[other] for one, other in pairs)
    return fsum(weigh[one] * weigh[other] for one, other in found) / whole if whole else 0.0


def leading_names(entry: Entry, question: Asked) -> dict[str, float]:
    """The names that a source leads to, most promising first, with how much they promise."""
    promise: dict[str, float] = {}
    for name, mention in entry.names.items():
        known = name in question.names or all(stem(w) in question.words for w in name.split())
        several = (mention.bearers > 0) + (name in entry.near)
        promise[name] = mention.weight * PROMISING**several * (KNOWN_NAME if known else 1.0)
    ranked = sorted(promise, key=lambda name: (-promise[name], name))
    return {name: promise[name] for name in ranked[:NAMES_EACH]}
