"""A question and a source as trails see them: words by stem, names by key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from deep_research.evidence.inquiry import Inquiry
from deep_research.evidence.names import borne
from deep_research.evidence.related_words import related
from deep_research.evidence.words import stem, stems_of, words
from deep_research.state import Mention

NAMES_EACH = 10  # of a strong source
UNKNOWN_WORD = 0.6  # how telling a word is of which no corpus knows
KNOWN_NAME = 0.5  # of the weight of a name that the question has itself
BORNE = 1.5  # what a name is worth that a document bears, against another


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: its words by stem and its names by key, with how telling (0 to 1) each is.
    ``relations`` are the stems that are no part of a name; with ``sides`` the names are compared with each other, so that
    none of them is looked for where another leads. ``text`` is the question."""

    words: Mapping[str, float]
    names: Mapping[str, float] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()
    sides: bool = False
    text: str = ""

    def phrase(self, lacking: Iterable[str]) -> str:
        """The question's words for what is lacking, in their order."""
        wanted = set(lacking)
        return " ".join(word for word in words(self.text) if stem(word) in wanted)

    def is_named_in(self, entry: Entry) -> bool:
        """Whether a source has one of the names, where there are any."""
        every = [frozenset(map(stem, name.split())) for name in self.names]
        return not every or any(name <= entry.stems for name in every)

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
    it has, or others of the same relation for."""

    item: Item
    stems: set[str]
    ways: set[str]
    bears: Mapping[str, float]
    names: Mapping[str, Mention]


def asked(inquiry: Inquiry, rarity: Mapping[str, float], names: Iterable[Mention]) -> Asked:
    """What is asked. ``rarity`` tells how telling (0 to 1) a word in lower case is."""
    by_key = {mention.name: mention.weight for mention in names}
    inside = {stem(word) for name in by_key for word in name.split()}
    said = inquiry.telling(inquiry.text.casefold())
    comparing = inquiry.forms.comparing
    sides = len(by_key) > 1 and not comparing.isdisjoint(said)
    words_of = {stem(word): word for word in reversed(said) if not sides or word not in comparing}
    weights = {term: rarity.get(word, UNKNOWN_WORD) for term, word in words_of.items()}
    return Asked(weights, by_key, frozenset(weights) - inside, sides, inquiry.text)


def entry_of(item: Item, question: Asked) -> Entry:
    stems = stems_of(f"{item.title}\n{item.text}")
    return Entry(
        item,
        stems,
        {term for term in question.words if not stems.isdisjoint(related(term))},
        borne(item.title, item.text),
        {mention.name: mention for mention in item.mentions},
    )


def leading_names(entry: Entry, question: Asked) -> dict[str, float]:
    """The names that a source leads to, most promising first, with how much they promise."""
    promise: dict[str, float] = {}
    for name, mention in entry.names.items():
        known = name in question.names or all(stem(w) in question.words for w in name.split())
        promise[name] = mention.weight * (BORNE if mention.bearers else 1.0) * (KNOWN_NAME if known else 1.0)
    ranked = sorted(promise, key=lambda name: (-promise[name], name))
    return {name: promise[name] for name in ranked[:NAMES_EACH]}
