"""What of the sources a model reads, and in how many calls: so much of each as it matters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deep_research.budget.allocation import Item, ItemClass, allocate_what_fits
from deep_research.budget.fitting import ContentRules
from deep_research.budget.priority import Weights
from deep_research.budget.tokens import Counter
from deep_research.state import Source

PACKED = 0.9  # of calls that can be paid for, since not each is filled
WORTH = 100  # tokens of a source for which it is worth reading, where not all can be


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


@dataclass(frozen=True, slots=True)
class Calls:
    """What there is for sources: ``tokens`` of them in all, in calls of so many at most; a source that is larger is read
    by itself in a ``window``. ``around`` are the tokens that stand beside each source. ``most`` is how many calls can be
    paid for; None: any number."""

    tokens: int
    call: int
    window: int
    around: int = 0
    most: int | None = None

    def for_texts(self, sources: int) -> int:
        """Tokens for the texts of so many sources."""
        if self.most is None:
            return self.tokens
        return min(self.tokens, int(PACKED * self.most * self.call) - self.around * sources)

    @property
    def sources(self) -> int | None:
        """Of how many sources there is something to be read."""
        if self.most is None:
            return None
        return max(1, int(PACKED * self.most * self.call) // (self.around + WORTH))


def fitted(
    sources: Sequence[Source],
    wholes: Mapping[str, int],
    calls: Calls,
    *,
    weights: Weights,
    rules: ContentRules,
    counter: Counter,
) -> Reading:
    """The sources in order, in portions; of each as much as it matters. Raises `WindowError` when what is protected does
    not fit."""
    if not rules.enabled:
        return _packed(sources, wholes, wholes, calls, counter, tight=False)
    most = max(1, calls.window - calls.around)
    items = [Item(s.id, min(wholes[s.id], most), *weights.source(s)) for s in sources]
    read = sorted(items, key=lambda item: (-item.priority, item.id))[: calls.sources]
    budget = max(0, calls.for_texts(len(read)))
    tight = sum(item.tokens for item in items) > budget
    made, gave_way = allocate_what_fits(read, budget, allow_dropping=rules.allow_dropping)
    sizes = dict.fromkeys(wholes, 0) | dict(made.sizes)
    if len(read) < len(items) and not rules.allow_dropping:
        gave_way = ItemClass.REGULAR
    packed = _packed(sources, wholes, sizes, calls, counter, tight=tight)
    return replace(packed, budget=budget, gave_way=gave_way)


def _packed(
    sources: Sequence[Source],
    wholes: Mapping[str, int],
    sizes: Mapping[str, int],
    calls: Calls,
    counter: Counter,
    *,
    tight: bool,
) -> Reading:
    room = max(1, min(calls.call, calls.window))
    batches = list(batched(sources, sizes, room, calls.around))
    while calls.most is not None and len(batches) > calls.most:
        room += max(1, room // 20)  # their order may not let them fill each call
        batches = list(batched(sources, sizes, room, calls.around))
    portions = []
    for batch in batches:
        own = {source.id: sizes[source.id] for source in batch}
        used = sum(own.values())
        available = used if tight else max(used, room - calls.around * len(batch))
        portions.append(Portion(batch, own, {name: wholes[name] for name in own}, available, counter))
    return Reading(tuple(portions))


def batched(
    sources: Iterable[Source], sizes: Mapping[str, int], room: int, around: int = 0
) -> Iterator[tuple[Source, ...]]:
    """The sources in order, in batches as large as ``room`` allows; one without a size counts with its characters, and
    one of no size not at all."""
    batch: list[Source] = []
    taken = 0
    for source in sources:
        size = sizes.get(source.id, source.length)
        size += around if size else 0
        if batch and taken + size > room:
            yield tuple(batch)
            batch, taken = [], 0
        batch.append(source)
        taken += size
    if batch:
        yield tuple(batch)
