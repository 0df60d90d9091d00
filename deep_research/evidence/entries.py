"""A question and a source as trails see them: words by stem, names by key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from deep_research.evidence.names import borne
from deep_research.evidence.question import COMPARING, QuestionKind, kind_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import ASKING_WORDS, STOP_WORDS, asked_words, stem, words
from deep_research.state import Mention

NAMES_EACH = 10  # of a strong source
NEAR = 9  # words between a name and a word of the question that it may answer
ASKING = 0.25  # of the weight of a word that says what kind of answer is wanted
KNOWN_NAME = 0.5  # of the weight of a name that the question has itself
CLOSE = 3  # words apart, to stand together


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: its words by stem and its names by key, with how telling (0 to 1) each is.
    ``relations`` are the stems that are no part of a name; with ``sides`` the names are compared with each other, so
    that none of them is looked for where another leads. ``beside`` are the words right before each word."""

    words: Mapping[str, float]
    names: Mapping[str, float] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()
    spelled: Mapping[str, str] = field(default_factory=dict)
    sides: bool = False
    beside: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def share(self, present: AbstractSet[str]) -> float:
        """The share of the weight of its words that is present."""
        whole = sum(self.words.values()) or 1.0
        return sum(weight for term, weight in self.words.items() if term in present) / whole


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
    item: Item
    stems: set[str]
    ways: set[str]
    bears: Mapping[str, float]
    names: Mapping[str, Mention]
    phrases: float = 0.0
    near: dict[str, int] = field(
        default_factory=dict
    )  # names, and how many words from one that asks for them


def asked(question: str, rarity: Mapping[str, float], names: Iterable[Mention]) -> Asked:
    """What is asked. ``rarity`` tells how telling (0 to 1) a word in lower case is; unknown ones count 0.6."""
    by_key = {mention.name: mention.weight for mention in names}
    inside = {stem(word) for name in by_key for word in name.split()}
    compares = kind_of(question) is QuestionKind.COMPARISON
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for word in asked_words(question):
        lower = word.casefold()
        if lower in STOP_WORDS or (compares and lower in COMPARING):
            continue
        key = stem(word)
        weight = rarity.get(lower, 0.6) * (ASKING if lower in ASKING_WORDS else 1.0)
        weights[key] = max(weight, weights.get(key, 0.0))
        written.setdefault(key, lower.removesuffix("'s").removesuffix("’s"))
    order = [stem(w) for w in asked_words(question) if stem(w) in weights]
    beside: dict[str, set[str]] = {}
    for one, other in pairwise(order):
        if one != other:
            beside.setdefault(other, set()).add(one)
    return Asked(
        weights,
        by_key,
        frozenset(weights) - inside,
        written,
        sides=compares and len(by_key) > 1,
        beside={key: frozenset(before) for key, before in beside.items()},
    )


def entry_of(item: Item, question: Asked) -> Entry:
    tokens = [stem(word) for word in words(item.text)]
    stems = set(tokens) | {stem(word) for word in words(item.title)}
    ways = {term for term in question.words if not stems.isdisjoint(related(term))}
    entry = Entry(item, stems, ways, borne(item.title, item.text), {m.name: m for m in item.mentions})
    entry.phrases = _phrases(tokens, question)
    asked_about = (
        set().union(*(related(term) for term in question.relations)) if question.relations else set()
    )
    apart: dict[str, int] = {}  # each word around there, how far at least
    for place in (place for place, token in enumerate(tokens) if token in asked_about):
        for other in range(max(0, place - NEAR), min(len(tokens), place + NEAR + 1)):
            distance = abs(other - place)
            if distance < apart.get(tokens[other], NEAR + 1):
                apart[tokens[other]] = distance
    begin = ((name, stem(name.partition(" ")[0])) for name in entry.names)
    entry.near = {name: apart[first] for name, first in begin if first in apart}
    return entry


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


def lacking_in(entry: Entry, question: Asked) -> dict[str, float]:
    """The words of the question that a source lacks, with their weights."""
    wanted = question.relations if question.sides else question.words
    return {
        term: weight for term, weight in question.words.items() if term in wanted and term not in entry.stems
    }


def best_names(entry: Entry, question: Asked) -> list[tuple[float, str]]:
    """The names that a strong source leads to, most promising first."""

    def promise(name: str, mention: Mention) -> float:
        value = mention.weight * (1.5 if mention.bearers else 1.0) * (1.5 if name in entry.near else 1.0)
        known = name in question.names or all(stem(w) in question.words for w in name.split())
        return value * (KNOWN_NAME if known else 1.0)

    ranked = sorted(
        ((promise(n, m), n) for n, m in entry.names.items()), key=lambda pair: (-pair[0], pair[1])
    )
    return ranked[:NAMES_EACH]


def named_by(entry: Entry, question: Asked) -> Iterable[tuple[str, Mention]]:
    return ((name, entry.names[name]) for _, name in best_names(entry, question))
