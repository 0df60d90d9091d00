"""Allocation of tokens to items that do not all fit. Pure.

Chosen is what keeps the most *weight*: the sum over the items of priority times the share of its tokens that is kept.
Weight is linear in tokens, so that with a set of kept items given, filling them up by weight a token is best. What is
not linear is the way into the set: less than a sentence is of no use, so that an item is at its floor, or has at least
a sentence. Which items are let in is tried over sets that do not depend on the budget. Each set keeps more of a larger
budget, and so does the best of them: more budget never keeps less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from itertools import accumulate
from math import fsum
from types import MappingProxyType
from typing import Protocol

from deep_research.budget.fidelity import FidelityLevel, level_of_size
from deep_research.errors import WindowError
from deep_research.provenance.quality import is_named
from deep_research.state import ConfidenceLevel, Finding, Gap, SourceQuality

TOP_SOURCES = 5
FILLED = 90  # hundredths of its size that a text made shorter fills at least, but for very small sizes
SENTENCE = 25  # tokens of about one: less of an item says nothing
ALL_SETS = 8  # items up to which every set of them is tried
FEW = 64  # items up to which more sets are tried than a steady number
# The parts' weights in the spec, summing to 1.
RELEVANCE, RECENCY, QUALITY, USER = 0.4, 0.3, 0.2, 0.1
HALF_LIFE = 3 * 365.25  # days after which a publication is worth half of a new one
UNDATED = 0.5  # most pages bear no date: neither new nor old
UNRANKED = 0.5
_OF_QUALITY = MappingProxyType(
    {
        SourceQuality.HIGH: 1.0,
        SourceQuality.MEDIUM: 0.7,
        SourceQuality.UNKNOWN: 0.5,
        SourceQuality.LOW: 0.2,
    }
)
_OF_CONFIDENCE = MappingProxyType(
    {
        ConfidenceLevel.CONFIRMED: 1.0,
        ConfidenceLevel.HIGH: 0.9,
        ConfidenceLevel.MEDIUM: 0.6,
        ConfidenceLevel.LOW: 0.3,
        ConfidenceLevel.SPECULATION: 0.1,
    }
)


class ItemClass(StrEnum):
    """What an item is promised, those first whose promise is kept first."""

    PROTECTED = "protected"
    TOP = "top"
    REGULAR = "regular"

    @property
    def floor(self) -> int:
        """The least of its tokens that it keeps, in hundredths; a regular one only where nothing may be dropped."""
        return 30 if self is ItemClass.TOP else FidelityLevel.HEADLINE.percent


class Kept(StrEnum):
    """What regular items keep at least."""

    HEADLINE = "headline"  # a tenth
    SENTENCE = "sentence"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Item:
    """Something to send. ``tokens`` is its full size, ``priority`` (0 to 1) how much it matters."""

    id: str
    tokens: int
    priority: float
    klass: ItemClass = ItemClass.REGULAR

    @property
    def promised(self) -> int:
        """The fewest tokens that its class is promised, whatever else."""
        return self.floor(Kept.NOTHING)

    def floor(self, regular: Kept, least: int = SENTENCE) -> int:
        """The fewest tokens that it may be given: a sentence, and so many that its class has what it is promised when
        its text fills them as badly as can be."""
        share = self.klass.floor
        if self.klass is ItemClass.REGULAR and regular is not Kept.HEADLINE:
            if regular is Kept.NOTHING:
                return 0
            share = 0
        return max(-(-self.tokens * share // FILLED), min(self.tokens, least))


@dataclass(frozen=True, slots=True)
class Allocation:
    """``sizes`` are the tokens of each item by its id, in the order of the items; ``weight`` is what they keep of the
    priorities, in all."""

    sizes: Mapping[str, int]
    levels: Mapping[str, FidelityLevel]
    budget: int
    tokens: int
    weight: float

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(name for name, level in self.levels.items() if level is FidelityLevel.DROPPED)

    @property
    def utilization(self) -> float:
        """The used share of the budget, 0 to 1."""
        return self.tokens / self.budget if self.budget else 0.0


def with_top(items: Iterable[Item], most: int = TOP_SOURCES) -> list[Item]:
    """The items, in their order, with the ``most`` of highest priority made top ones. A protected item among them is
    promised more so, not less."""
    every = list(items)
    best = {item.id for item in sorted(every, key=lambda item: (-item.priority, item.id))[:most]}
    return [replace(item, klass=ItemClass.TOP) if item.id in best else item for item in every]


def allocate(
    items: Sequence[Item], budget: int, *, regular: Kept = Kept.NOTHING, least: int = SENTENCE
) -> Allocation:
    """The size of each item, within ``budget`` tokens. An item is at its floor (0 is dropped), or has at least ``least``
    tokens, or all of its own.

    Raises `WindowError` when the floors do not fit, with ``tokens`` (what they take), ``limit`` and ``items``, the
    class of items whose floors are too much. Raises `ValueError` for an id given twice, or a size below 0.
    """
    _check(items)
    entries = sorted(
        (_Entry.of(item, regular, least) for item in items),
        key=lambda entry: (-entry.density, entry.item.id),
    )
    spare = budget - _floors(entries, budget)
    best = max(_sets(entries, spare), key=lambda let_in: _gain(entries, let_in, spare))
    sizes = _filled(entries, best, spare)
    kept = {entry.item.id: size for entry, size in zip(entries, sizes, strict=True)}
    return Allocation(
        sizes=MappingProxyType({item.id: kept[item.id] for item in items}),
        levels=MappingProxyType({item.id: level_of_size(kept[item.id], item.tokens) for item in items}),
        budget=budget,
        tokens=sum(sizes),
        weight=fsum(_weight(entry.item, size) for entry, size in zip(entries, sizes, strict=True)),
    )


def allocate_what_fits(
    items: Sequence[Item], budget: int, *, allow_dropping: bool, top: int = TOP_SOURCES
) -> tuple[Allocation, ItemClass | None]:
    """The size of each item, with the ``top`` of highest priority promised more, where promises give way to the budget.
    First regular items have a sentence instead of a tenth; then the top ones are as others; then, though it is not
    allowed, something is dropped. Also the class that had less than it was promised, if any.

    Raises `WindowError` when not even the floors of protected items fit.
    """
    elevated = with_top(items, top)
    kept = () if allow_dropping else (Kept.HEADLINE, Kept.SENTENCE)
    ways: list[tuple[Sequence[Item], Kept, ItemClass | None]] = [
        *((elevated, regular, None) for regular in kept),
        *((items, regular, ItemClass.TOP) for regular in kept),
        (elevated, Kept.NOTHING, None if allow_dropping else ItemClass.REGULAR),
    ]
    for chosen, regular, gave_way in ways:
        try:
            return allocate(chosen, budget, regular=regular), gave_way
        except WindowError:
            continue
    return allocate(items, budget), ItemClass.TOP if allow_dropping else ItemClass.REGULAR


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item with its floor, the fewest tokens above that (``step``) with which it is of use, those it can have more
    (``slack``), and its weight a token."""

    item: Item
    floor: int
    step: int
    slack: int
    density: float

    @classmethod
    def of(cls, item: Item, regular: Kept, least: int) -> _Entry:
        floor = item.floor(regular, least)
        density = max(0.0, item.priority) / item.tokens if item.tokens else 0.0
        useful = max(floor, min(item.tokens, least))
        return cls(item, floor, useful - floor, item.tokens - useful, density)


def _check(items: Sequence[Item]) -> None:
    if len({item.id for item in items}) != len(items):
        raise ValueError("an id is given to two items")
    if any(item.tokens < 0 for item in items):
        raise ValueError("an item has a size below 0")


def _floors(entries: Sequence[_Entry], budget: int) -> int:
    """The tokens of all floors. Raises `WindowError`."""
    taken = 0
    for klass in ItemClass:
        floors = [entry.floor for entry in entries if entry.item.klass is klass]
        taken += sum(floors)
        if floors and taken > budget:
            raise WindowError(
                f"The floors of the {len(floors)} {klass} items do not fit: with what goes before them they take"
                f" {taken} tokens of {budget}.",
                hint="Use a model with a larger window, or fewer sources"
                + (", or window.allow_dropping." if klass is ItemClass.REGULAR else "."),
                tokens=taken,
                limit=budget,
                items=str(klass),
            )
    return taken


def _sets(entries: Sequence[_Entry], spare: int) -> Iterator[Sequence[int]]:
    """The sets, as places of entries in order, that may be let in above their floors. They are the same for every
    ``spare``, but for those that cannot be best."""
    free = [place for place, entry in enumerate(entries) if not entry.step]
    guarded = [place for place, entry in enumerate(entries) if entry.step]
    if len(guarded) <= ALL_SETS:
        for bits in range(1 << len(guarded)):
            yield sorted((*free, *(place for n, place in enumerate(guarded) if bits >> n & 1)))
        return
    # The first so many by weight a token. As long as all of them fit whole, each one more is better; and from the
    # second that does not fit on, each one more only takes tokens from a denser one.
    whole = bisect_right(list(accumulate(entry.step + entry.slack for entry in entries)), spare)
    for count in range(max(0, whole - 1), whole + 3):
        yield sorted((*free, *(place for place in guarded if place < count)))
    # With room for a few sentences that is not all: large steps first, small steps first, a few dense ones and another.
    by_priority = sorted(guarded, key=lambda place: (-entries[place].item.priority, place))
    by_step = sorted(guarded, key=lambda place: (entries[place].step, place))
    for order in (by_priority, by_step):
        for count in _counts(len(order)):
            yield sorted((*free, *order[:count]))
    if len(guarded) <= FEW:
        for order in (guarded, by_priority):
            for count in range(1, ALL_SETS):
                yield from (sorted((*free, *order[:count], place)) for place in order[count:])


def _counts(most: int) -> Iterator[int]:
    """1 to ``most``: all of few, and of many those that double."""
    if most <= FEW:
        yield from range(1, most + 1)
        return
    count = 1
    while count < 2 * most:
        yield count
        count *= 2


def _gain(entries: Sequence[_Entry], let_in: Sequence[int], spare: int) -> tuple[float, int]:
    """The weight and the tokens above all floors with these let in, filled in their order; less than nothing when there
    is no room for them."""
    left = spare - sum(entries[place].step for place in let_in)
    if left < 0:
        return -1.0, left
    gain = 0.0
    for place in let_in:
        entry = entries[place]
        more = min(left, entry.slack)
        gain += entry.density * (entry.step + more)
        left -= more
    return gain, spare - left


def _filled(entries: Sequence[_Entry], let_in: Sequence[int], spare: int) -> list[int]:
    """The size of each entry with these let in."""
    sizes = [entry.floor for entry in entries]
    left = spare - sum(entries[place].step for place in let_in)
    for place in let_in:
        more = min(left, entries[place].slack)
        sizes[place] += entries[place].step + more
        left -= more
    return sizes


def _weight(item: Item, size: int) -> float:
    return max(0.0, item.priority) * (size / item.tokens if item.tokens else 1.0)


class Ranked(Protocol):
    """What is looked at of a source."""

    @property
    def url(self) -> str | None: ...
    @property
    def relevance(self) -> float | None: ...
    @property
    def published(self) -> date | None: ...
    @property
    def quality(self) -> SourceQuality: ...


@dataclass(frozen=True, slots=True)
class Weights:
    """Weighs the items of one run: as of ``today``, with the sources that its owner wants ``protected`` (patterns)."""

    today: date | None = None
    protected: Sequence[str] = ()

    def is_protected(self, source: Ranked) -> bool:
        return bool(source.url) and is_named(source.url or "", self.protected)

    def source(self, source: Ranked) -> tuple[float, ItemClass]:
        kept = self.is_protected(source)
        weight = priority(
            relevance_score(source.relevance),
            self._recency(source.published),
            quality_score(source.quality),
            float(kept),
        )
        return weight, ItemClass.PROTECTED if kept else ItemClass.REGULAR

    def finding(self, finding: Finding, sources: Mapping[str, Ranked]) -> tuple[float, ItemClass]:
        """Its quality is how sure it is; a confirmed one is protected. ``sources`` are those it may rest on, by id."""
        behind = [sources[name] for name in finding.source_ids if name in sources]
        kept = any(map(self.is_protected, behind))
        weight = priority(
            finding.relevance or UNRANKED,
            max((self._recency(source.published) for source in behind), default=UNDATED),
            _OF_CONFIDENCE[finding.confidence],
            float(kept),
        )
        critical = kept or finding.confidence is ConfidenceLevel.CONFIRMED
        return weight, ItemClass.PROTECTED if critical else ItemClass.REGULAR

    def gap(self, gap: Gap) -> tuple[float, ItemClass]:
        """The first in priority matter most; they have neither age nor quality."""
        return priority(1.0 / max(1, gap.priority), UNDATED, UNRANKED), ItemClass.REGULAR

    def _recency(self, published: date | None) -> float:
        return UNDATED if self.today is None else recency_score(published, self.today)


def priority(relevance: float, recency: float, quality: float, user: float = 0.0) -> float:
    """The priority (0 to 1) from its four parts, each 0 to 1; what lies outside is brought to the nearer end."""
    return (
        RELEVANCE * _share(relevance)
        + RECENCY * _share(recency)
        + QUALITY * _share(quality)
        + USER * _share(user)
    )


def relevance_score(score: float | None) -> float:
    """From the ranking's score (0 to 1) of a source; None where it was not ranked."""
    return UNRANKED if score is None else _share(score)


def recency_score(published: date | None, today: date) -> float:
    """1 for what appeared today or is dated later, half of it for every `HALF_LIFE` before."""
    if published is None:
        return UNDATED
    return 1.0 if published >= today else float(0.5 ** ((today - published).days / HALF_LIFE))


def quality_score(quality: SourceQuality) -> float:
    """From the judged quality of a source; an unknown one lies between medium and low."""
    return _OF_QUALITY[quality]


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if value == value else 0.0  # what is no number counts for nothing
