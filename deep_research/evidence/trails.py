"""Following a question through what was found: which sources belong together, what is still to be looked for. Pure.

A question such as "Where was the director of X born?" is answered by two sources, of which only the first has X. The
first names the director, the second is about him and has the word that the first lacks. So a source counts for what
it says itself (*direct*), and for being what a strong source leads to (*linked*): it bears a name that the strong one
mentions, and has words of the question that the strong one lacks. What strong sources lack and name makes the next
queries. The weights were chosen on the development half of a public set of such questions: see docs/evals.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from deep_research.evidence.entries import (
    KNOWN_NAME,
    Asked,
    Entry,
    Item,
    best_names,
    entry_of,
    lacking_in,
    named_by,
)
from deep_research.evidence.question import spelled
from deep_research.evidence.text import ASKING_WORDS, words

STRONG = 6  # sources from which trails are followed
ROUNDS = 2
ANCHOR = 0.7  # of the strength of the best source, for one that a name of the question is the name of
SURELY = 0.8  # how surely it must be its name
PHRASE = 0.3  # of what a source says of the question: how much of it stands together as in the question
NEARLY_ALL = 0.9  # of the question, for one source to answer it alone
TRAIL = 3  # sources of one trail: where it begins, and the best two that it leads to
UNMET = 0.1  # of the weight of what is asked of a name, to count as not found


@dataclass(frozen=True, slots=True)
class Weights:
    direct: float = 3.0
    link: float = 4.0
    asked: float = 2.0
    shared: float = 0.5


@dataclass(frozen=True, slots=True)
class Lead:
    """A query worth asking: names that a strong source mentions, and the words it lacks."""

    source: str
    names: tuple[str, ...]
    lacking: tuple[str, ...]
    value: float

    @property
    def query(self) -> str:
        """Each word once."""
        return " ".join(dict.fromkeys(" ".join((*self.names, *self.lacking)).split()))


@dataclass(frozen=True, slots=True)
class Trails:
    """``scores`` (0 to 1) by source id; ``leads`` best first; ``held`` (0 to 1) is how far the sources hold what is
    asked, in one place or in two that belong together; ``unmet`` are the names, or "" for the question itself, whose
    trail lacks words, with these."""

    scores: Mapping[str, float]
    leads: tuple[Lead, ...]
    held: float
    unmet: tuple[tuple[str, tuple[str, ...]], ...]


def follow(
    question: Asked,
    items: Sequence[Item],
    *,
    naming: frozenset[int] = frozenset(),
    following: frozenset[int] = frozenset(),
    weights: Weights = Weights(),
) -> Trails:
    """How the sources hang together. ``naming`` are the places of searches for a name of the question, ``following``
    those of earlier leads."""
    entries = [entry_of(item, question) for item in items]
    holders: dict[str, int] = {}
    for entry in entries:
        for name in entry.bears:
            holders[name] = holders.get(name, 0) + 1
    direct = {e.item.id: _direct(e, question, naming) for e in entries}
    scores = dict(direct)
    partners: dict[str, str] = {}
    for _ in range(ROUNDS):
        base = _relative(scores)
        strong = _strongest(entries, base, _anchors(base, entries, question))
        scores, partners = _linked(entries, strong, base, direct, question, holders, following, weights)
    scores = _relative(scores)
    strong = _strongest(entries, scores)
    return Trails(
        scores,
        _leads(strong, scores, question),
        _held(entries, strong, scores, holders, question),
        _unmet(entries, scores, partners, question),
    )


def _direct(entry: Entry, question: Asked, naming: frozenset[int]) -> float:
    """What a source is worth by itself, 0 to 1."""
    ranks = entry.item.ranks
    first = 1.0 / (1 + ranks[0]) if 0 in ranks else 0.0
    named = max((1.0 / (1 + rank) for place, rank in ranks.items() if place in naming), default=0.0)
    about = max(
        (strength * question.names[name] for name, strength in entry.bears.items() if name in question.names),
        default=0.0,
    )
    reach = (1.0 - PHRASE) * question.share(entry.stems) + PHRASE * entry.phrases
    return (reach + first + named + about) / 4


def _relative(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {key: score / best for key, score in scores.items()}


def _anchors(base: dict[str, float], entries: Sequence[Entry], question: Asked) -> list[Entry]:
    """The best source of each name in the question. They are strong, however the other names outshine them: each may
    begin a trail. Raises their ``base``."""
    anchors: list[Entry] = []
    for name, weight in question.names.items():
        bearers = [e for e in entries if e.bears.get(name, 0.0) >= SURELY]
        if bearers:
            best = max(bearers, key=lambda e: (base[e.item.id], e.item.id))
            base[best.item.id] = max(base[best.item.id], ANCHOR * weight)
            anchors.append(best)
    return anchors


def _strongest(
    entries: Sequence[Entry], base: Mapping[str, float], anchors: Sequence[Entry] = ()
) -> list[Entry]:
    ranked = sorted(entries, key=lambda e: (-base[e.item.id], e.item.id))[:STRONG]
    return [*ranked, *(anchor for anchor in anchors if anchor not in ranked)]


def _linked(
    entries: Sequence[Entry],
    strong: Sequence[Entry],
    base: Mapping[str, float],
    direct: Mapping[str, float],
    question: Asked,
    holders: Mapping[str, int],
    following: frozenset[int],
    weights: Weights,
) -> tuple[dict[str, float], dict[str, str]]:
    """The scores with the links from the strong sources, and for each source the strong one it is linked to."""
    ways = [(s, base[s.item.id], lacking_in(s, question), dict(named_by(s, question))) for s in strong]
    scores: dict[str, float] = {}
    partners: dict[str, str] = {}
    for entry in entries:
        link = shared = 0.0
        for source, strength, lacking, names in ways:
            if source is entry:
                continue
            got = sum(weight for term, weight in lacking.items() if term in entry.ways)
            share = got / (sum(lacking.values()) or 1.0)
            for name, surely in entry.bears.items():
                mention = names.get(name)
                if mention is not None:
                    value = (
                        strength * surely * mention.weight * share / sqrt(max(mention.bearers, holders[name]))
                    )
                    value *= KNOWN_NAME if name in question.names else 1.0
                    if value > link:
                        link, partners[entry.item.id] = value, source.item.id
            for name in names.keys() & entry.names.keys():
                if name not in entry.bears:
                    known = KNOWN_NAME if name in question.names else 1.0
                    shared = max(shared, strength * names[name].weight * known)
        ranks = entry.item.ranks
        followed = max((1.0 / (1 + rank) for place, rank in ranks.items() if place in following), default=0.0)
        scores[entry.item.id] = (
            weights.direct * direct[entry.item.id]
            + weights.link * link
            + weights.asked * followed
            + weights.shared * shared
        )
    return scores, partners


def _leads(strong: Sequence[Entry], base: Mapping[str, float], question: Asked) -> tuple[Lead, ...]:
    """For the three strongest sources all their names with what they lack, then the best single names."""
    together: list[Lead] = []
    single: dict[str, Lead] = {}
    small = _small(entry.item.text for entry in strong)
    for entry in strong:
        key = entry.item.id
        lacking = tuple(
            question.spelled[term]
            for term in lacking_in(entry, question)
            if question.spelled[term] not in ASKING_WORDS
        )
        # A single word that these texts write small more often is no name, unless a document bears it.
        names = [
            (promise, name)
            for promise, name in best_names(entry, question)
            if name not in small or entry.names[name].bearers
        ]
        if not lacking or not names:
            continue
        keys = [name for _, name in names]
        written = dict(zip(keys, spelled(entry.item.text, *keys), strict=True))
        together.append(Lead(key, tuple(written.values()), lacking, base[key]))
        for promise, name in names:
            if name in question.names or name in entry.bears:
                continue
            lead = Lead(key, (written[name],), lacking, base[key] * promise)
            if name not in single or single[name].value < lead.value:
                single[name] = lead
    ranked = sorted(single.values(), key=lambda lead: (-lead.value, lead.names))
    return (*together[:3], *ranked)


def _small(texts: Iterable[str]) -> set[str]:
    """The words that texts write small more often than with a capital."""
    small: Counter[str] = Counter()
    for text in texts:
        for word in words(text):
            if word.isalpha():
                small[word.casefold()] += 1 if word.islower() else -1
    return {word for word, times in small.items() if times > 0}


def _held(
    entries: Sequence[Entry],
    strong: Sequence[Entry],
    scores: Mapping[str, float],
    holders: Mapping[str, int],
    question: Asked,
) -> float:
    """The share of the question that the best two sources have, halved unless one of them has nearly all or a name
    ties a strong source firmly to one that has what it lacks."""
    best = sorted(entries, key=lambda e: (-scores[e.item.id], e.item.id))[:2]
    if not best:
        return 0.0
    first = question.share(best[0].stems)
    tie = first if first >= NEARLY_ALL else 0.0
    for source in strong:
        names = dict(named_by(source, question))
        for entry in entries:
            for name, surely in entry.bears.items():
                mention = names.get(name)
                if mention is not None and entry is not source and name not in question.names:
                    firm = surely * mention.weight / sqrt(max(mention.bearers, holders[name]))
                    reach = question.share(source.stems | entry.stems)
                    tie = max(tie, scores[source.item.id] * firm * reach)
    return question.share(set().union(*(entry.ways for entry in best))) * (0.5 + 0.5 * tie)


def _unmet(
    entries: Sequence[Entry],
    scores: Mapping[str, float],
    partners: Mapping[str, str],
    question: Asked,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each name that sources bear, or "" for the question itself, with the words that neither its best source nor
    those linked to that have."""
    ranked = sorted(entries, key=lambda e: (-scores[e.item.id], e.item.id))
    anchors = {name: next((e for e in ranked if name in e.bears), None) for name in question.names}
    roots = {name: entry for name, entry in anchors.items() if entry is not None}
    if not roots and ranked:
        roots = {"": ranked[0]}
    wanted = {term: weight for term, weight in question.words.items() if term in question.relations}
    unmet: list[tuple[str, tuple[str, ...]]] = []
    for name, root in roots.items():
        trail = [root, *(e for e in ranked if partners.get(e.item.id) == root.item.id)][:TRAIL]
        held = set().union(*(e.ways for e in trail))
        lacking = {term: weight for term, weight in wanted.items() if term not in held}
        if lacking and sum(lacking.values()) >= UNMET * sum(wanted.values()):
            unmet.append((name, tuple(question.spelled[term] for term in lacking)))
    return tuple(unmet)
