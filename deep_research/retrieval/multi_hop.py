"""Following a question through what was found: which sources belong together, what is still to be looked for. Pure.

A question such as "Where was the director of X born?" is answered by two sources, of which only the first has X. The
first names the director, the second is about him and has the word that the first lacks. So a source counts for what
it says itself (*direct*), and for being what a strong source leads to (*linked*): it bears a name that the strong one
mentions, and has words of the question that the strong one lacks. What strong sources lack and name makes the next
queries. Question and sources are seen by the stems of their words and the keys of their names. The weights were chosen on
the development half of a public set of such questions: see docs/evals.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import sqrt

from deep_research.retrieval.parsed_question import ParsedQuestion
from deep_research.state import Mention
from deep_research.text.names import names_of_document, spelled
from deep_research.text.words import ASKING_WORDS, stem, stems_of, words

MAX_NAMES_PER_SOURCE = 10  # of a strong source
UNKNOWN_WORD_WEIGHT = 0.6  # how telling a word is of which no corpus knows
KNOWN_NAME_WEIGHT = 0.5  # of the weight of a name that the question has itself
BORNE_NAME_WEIGHT = 1.5  # what a name is worth that a document bears, against another

DIRECT, LINKED, FOLLOWED = 3.0, 4.0, 2.0  # the weights of what a source is worth
SHARED = 0.125  # of a link, for a name that two sources mention
MAX_STRONG_SOURCES = 6  # sources from which trails are followed
MAX_ROUNDS = 2
ANCHOR_SHARE = 0.7  # of the strength of the best source, for one that a name of the question is the name of
SURELY_SHARE = 0.8  # how surely it must be its name
NEARLY_ALL_SHARE = 0.9  # of the question, for one source to answer it alone


@dataclass(frozen=True, slots=True)
class AskedTerms:
    """What a question asks for: its words by stem and its names by key, with how telling (0 to 1) each is.
    ``relations`` are the stems that are no part of a name; with ``sides`` the names are compared with each other, so that
    none of them is looked for where another leads. ``text`` is the question."""

    words: Mapping[str, float]
    names: Mapping[str, float] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()
    sides: bool = False
    text: str = ""

    def phrase(self, lacking: Iterable[str]) -> str:
        """The question's words for what is lacking, in their order; nothing where they only ask, as "several" does."""
        wanted = set(lacking)
        found = [word for word in words(self.text) if stem(word) in wanted]
        return " ".join(found) if any(word.casefold() not in ASKING_WORDS for word in found) else ""

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
class _Entry:
    """An item with its stems, the names that it bears and those in its text; ``ways`` are the words of the question that
    it has."""

    item: Item
    stems: set[str]
    ways: set[str]
    bears: Mapping[str, float]
    names: Mapping[str, Mention]


def asked_terms(inquiry: ParsedQuestion, rarity: Mapping[str, float], names: Iterable[Mention]) -> AskedTerms:
    """What is asked. ``rarity`` tells how telling (0 to 1) a word in lower case is."""
    by_key = {mention.name: mention.weight for mention in names}
    inside = {stem(word) for name in by_key for word in name.split()}
    said = inquiry.telling(inquiry.text.casefold())
    comparing = inquiry.forms.comparing
    sides = len(by_key) > 1 and not comparing.isdisjoint(said)
    words_of = {stem(word): word for word in reversed(said) if not sides or word not in comparing}
    weights = {term: rarity.get(word, UNKNOWN_WORD_WEIGHT) for term, word in words_of.items()}
    return AskedTerms(weights, by_key, frozenset(weights) - inside, sides, inquiry.text)


def _entry_of(item: Item, question: AskedTerms) -> _Entry:
    stems = stems_of(f"{item.title}\n{item.text}")
    return _Entry(
        item,
        stems,
        stems & question.words.keys(),
        names_of_document(item.title, item.text),
        {mention.name: mention for mention in item.mentions},
    )


def _leading_names(entry: _Entry, question: AskedTerms) -> dict[str, float]:
    """The names that a source leads to, most promising first, with how much they promise."""
    promise: dict[str, float] = {}
    for name, mention in entry.names.items():
        known = name in question.names or all(stem(w) in question.words for w in name.split())
        promise[name] = (
            mention.weight
            * (BORNE_NAME_WEIGHT if mention.bearers else 1.0)
            * (KNOWN_NAME_WEIGHT if known else 1.0)
        )
    ranked = sorted(promise, key=lambda name: (-promise[name], name))
    return {name: promise[name] for name in ranked[:MAX_NAMES_PER_SOURCE]}


@dataclass(frozen=True, slots=True)
class Lead:
    """A query worth asking: what the question asks and a strong source lacks, of a name that it mentions."""

    name: str
    phrase: str
    value: float

    @property
    def query(self) -> str:
        return " ".join((*dict.fromkeys(self.name.split()), self.phrase))


@dataclass(frozen=True, slots=True)
class Trails:
    """``scores`` (0 to 1) by source id; ``leads`` best first; ``coverage`` (0 to 1) is how far the sources hold what is
    asked, in one place or in two that belong together."""

    scores: Mapping[str, float]
    leads: tuple[Lead, ...]
    coverage: float


def follow(
    question: AskedTerms,
    items: Sequence[Item],
    *,
    naming: frozenset[int] = frozenset(),
    following: frozenset[int] = frozenset(),
) -> Trails:
    """How the sources hang together. ``naming`` are the places of searches for a name of the question, ``following``
    those of earlier leads."""
    entries = [_entry_of(item, question) for item in items]
    holders = Counter(name for entry in entries for name in entry.bears)
    alone = {
        e.item.id: DIRECT * _direct(e, question, naming) + FOLLOWED * _rank(e, following) for e in entries
    }
    scores = {e.item.id: _direct(e, question, naming) for e in entries}
    for _ in range(MAX_ROUNDS):
        base = _relative(scores)
        strong = _strongest(entries, base, _anchors(base, entries, question))
        links = _links(entries, strong, base, question, holders)
        scores = {key: alone[key] + LINKED * links[key] for key in alone}
    scores = _relative(scores)
    strong = _strongest(entries, scores)
    return Trails(
        scores, _leads(strong, scores, question), _trails(entries, strong, scores, holders, question)
    )


def _direct(entry: _Entry, question: AskedTerms, naming: frozenset[int]) -> float:
    """What a source is worth by itself, 0 to 1: what it has of the question, its ranks, and whether it is about one of
    the question's names."""
    about = (surely * question.names.get(name, 0.0) for name, surely in entry.bears.items())
    first, named = _rank(entry, frozenset((0,))), _rank(entry, naming)
    return (question.share(entry.stems) + first + named + max(about, default=0.0)) / 4


def _rank(entry: _Entry, places: frozenset[int]) -> float:
    """1 for the first result of one of the searches, less for later ones, 0 where none found it."""
    return max((1.0 / (1 + rank) for place, rank in entry.item.ranks.items() if place in places), default=0.0)


def _relative(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {key: score / best for key, score in scores.items()}


def _anchors(base: dict[str, float], entries: Sequence[_Entry], question: AskedTerms) -> list[_Entry]:
    """The best source of each name in the question. They are strong, however the other names outshine them: each may
    begin a trail. Raises their ``base``."""
    anchors: list[_Entry] = []
    for name, weight in question.names.items():
        bearers = [e for e in entries if e.bears.get(name, 0.0) >= SURELY_SHARE]
        if bearers:
            best = max(bearers, key=lambda e: (base[e.item.id], e.item.id))
            base[best.item.id] = max(base[best.item.id], ANCHOR_SHARE * weight)
            anchors.append(best)
    return anchors


def _strongest(
    entries: Sequence[_Entry], base: Mapping[str, float], anchors: Sequence[_Entry] = ()
) -> list[_Entry]:
    ranked = sorted(entries, key=lambda e: (-base[e.item.id], e.item.id))[:MAX_STRONG_SOURCES]
    return [*ranked, *(anchor for anchor in anchors if anchor not in ranked)]


def _links(
    entries: Sequence[_Entry],
    strong: Sequence[_Entry],
    base: Mapping[str, float],
    question: AskedTerms,
    holders: Mapping[str, int],
) -> dict[str, float]:
    """How firmly each source is tied to a strong one: by a name that this one mentions and the source bears, where it has
    what this one lacks; a little by a name that both mention."""
    linked, shared = dict.fromkeys(base, 0.0), dict.fromkeys(base, 0.0)
    for source in strong:
        lacking = question.lacking(source.stems)
        names = _leading_names(source, question)
        for entry in (entry for entry in entries if entry is not source):
            key = entry.item.id
            got = sum(weight for term, weight in lacking.items() if term in entry.ways)
            share = got / (sum(lacking.values()) or 1.0)
            for name in names.keys() & (entry.bears.keys() | entry.names.keys()):
                worth = base[source.item.id] * (KNOWN_NAME_WEIGHT if name in question.names else 1.0)
                if name in entry.bears:
                    linked[key] = max(linked[key], worth * share * _tie(name, source, entry, holders))
                else:
                    shared[key] = max(shared[key], worth * source.names[name].weight)
    return {key: linked[key] + SHARED * shared[key] for key in base}


def _tie(name: str, source: _Entry, entry: _Entry, holders: Mapping[str, int]) -> float:
    """How firmly a name ties the source that mentions it to one that bears it: less where many bear it."""
    mention = source.names[name]
    return entry.bears[name] * mention.weight / sqrt(max(mention.bearers, holders[name]))


def _leads(strong: Sequence[_Entry], base: Mapping[str, float], question: AskedTerms) -> tuple[Lead, ...]:
    """The names that strong sources mention, each with what the best of these sources lacks."""
    found: dict[str, Lead] = {}
    for entry in strong:
        names = _leading_names(entry, question)
        phrase = question.phrase(question.lacking(entry.stems))
        fresh = [n for n in names if n not in question.names and n not in entry.bears] if phrase else []
        for name, written in zip(fresh, spelled(entry.item.text, *fresh), strict=True):
            lead = Lead(written, phrase, base[entry.item.id] * names[name])
            if name not in found or found[name].value < lead.value:
                found[name] = lead
    return tuple(sorted(found.values(), key=lambda lead: (-lead.value, lead.name)))


def _trails(
    entries: Sequence[_Entry],
    strong: Sequence[_Entry],
    scores: Mapping[str, float],
    holders: Mapping[str, int],
    question: AskedTerms,
) -> float:
    """The share of the question that the best two sources have, halved unless one of them has nearly all or a name
    ties a strong source firmly to one that has what it lacks."""
    best = sorted(entries, key=lambda e: (-scores[e.item.id], e.item.id))[:2]
    if not best:
        return 0.0
    first = question.share(best[0].stems)
    firmest = first if first >= NEARLY_ALL_SHARE else 0.0
    for source in strong:
        names = _leading_names(source, question).keys() - question.names.keys()
        for entry in entries:
            for name in names & entry.bears.keys() if entry is not source else ():
                reach = scores[source.item.id] * question.share(source.stems | entry.stems)
                firmest = max(firmest, reach * _tie(name, source, entry, holders))
    return question.share(set().union(*(entry.ways for entry in best))) * (0.5 + 0.5 * firmest)
