"""What of the sources a model reads, and in how many calls: so much of each as it matters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.budget.allocation import Item, ItemClass, allocate_what_fits
from deep_research.budget.fitting import ContentRules
from deep_research.budget.priority import Weights
from deep_research.budget.tokens import Counter
from deep_research.state import Source


@dataclass(frozen=True, slots=True)
class Portion:
    """The sources of one call. ``sizes`` are the tokens of each that are handed on, of the ``wholes`` it has, by id; an
    id that is not there stands for the whole text. ``available`` tokens, as ``counter`` counts them, are there for all of
    them."""

    sources: tuple[Source, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    wholes: Mapping[str, int] = field(default_factory=dict)
    available: int = 0
    counter: Counter = field(default_factory=Counter)

    def is_dropped(self, source: Source) -> bool:
        return self.sizes.get(source.id) == 0 and self.wholes[source.id] > 0

    def is_cut(self, source: Source) -> bool:
        """Whether it is given less than it has."""
        return source.id in self.sizes and self.sizes[source.id] < self.wholes[source.id]


@dataclass(frozen=True, slots=True)
class Reading:
    """All calls of a round, and the class whose promise gave way to the ``budget`` of tokens, if any."""

    portions: tuple[Portion, ...]
    budget: int = 0
    gave_way: ItemClass | None = None

    @property
    def dropped(self) -> tuple[Source, ...]:
        return tuple(s for portion in self.portions for s in portion.sources if portion.is_dropped(s))


def whole(sources: Iterable[Source], most: int) -> Reading:
    """The sources in order, whole, in portions of so many characters at most."""
    return Reading(tuple(Portion(batch) for batch in batched(sources, {}, most)))


def fitted(
    sources: Sequence[Source],
    wholes: Mapping[str, int],
    *,
    window: int,
    call: int,
    around: int,
    budget: int,
    weights: Weights,
    rules: ContentRules,
    counter: Counter,
) -> Reading:
    """The sources in order, in portions of ``call`` tokens; of each as much as it matters of a ``budget`` for all. One
    that is larger than a call is read by itself, in a ``window`` of so many tokens. ``around`` are those that stand
    beside each source. Raises `WindowError` when what is protected does not fit the budget."""
    most = max(1, window - around)
    if not rules.enabled:
        sizes, tight, gave_way = dict(wholes), False, None
    else:
        items = [Item(s.id, min(wholes[s.id], most), *weights.source(s)) for s in sources]
        tight = sum(item.tokens for item in items) > budget
        made, gave_way = allocate_what_fits(items, budget, allow_dropping=rules.allow_dropping)
        sizes = dict(made.sizes)
    room = max(1, min(call, window))
    portions = []
    for batch in batched(sources, sizes, room, around):
        own = {source.id: sizes[source.id] for source in batch}
        used = sum(own.values())
        available = used if tight else max(used, room - around * len(batch))
        portions.append(Portion(batch, own, {name: wholes[name] for name in own}, available, counter))
    return Reading(tuple(portions), budget, gave_way)


def batched(
    sources: Iterable[Source], sizes: Mapping[str, int], room: int, around: int = 0
) -> Iterator[tuple[Source, ...]]:
    """The sources in order, in batches as large as ``room`` allows; one without a size counts with its characters."""
    batch: list[Source] = []
    taken = 0
    for source in sources:
        size = around + sizes.get(source.id, source.length)
        if batch and taken + size > room:
            yield tuple(batch)
            batch, taken = [], 0
        batch.append(source)
        taken += size
    if batch:
        yield tuple(batch)
