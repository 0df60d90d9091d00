"""What of the sources a model reads, and in how many calls: so much of each as it matters, and as can be paid for.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deep_research.budget.allocation import Item, ItemClass, allocate_what_fits
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.priority import Weights
from deep_research.state import Portion, ReadingPlan, Source

PACKED = 0.9  # of calls that can be paid for, since not each is filled
WORTH = 100  # tokens of a source for which it is worth reading, where not all can be
LEAST_CALL = 1_000  # tokens of sources, for less of which a call is not made smaller to be paid
USUAL_ANSWER = 3  # times that the longest answer is longer than the usual one

# How many requests of so many tokens of input and output each cap on models leaves room for, by its name.
Affordable = Callable[[int, int], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Calls:
    """What there is for sources: ``tokens`` of them in all, in calls of so many at most; a source that is larger is read
    by itself in a ``window``. ``around`` are the tokens that stand beside each source. ``most`` is how many calls can be
    paid for, which the cap of that name bounds; None: any number."""

    tokens: int
    call: int
    window: int
    around: int = 0
    most: int | None = None
    cap: str | None = None

    def for_texts(self, sources: int) -> int:
        """Tokens for the texts of so many sources."""
        if self.most is None:
            return self.tokens
        return max(0, min(self.tokens, int(PACKED * self.most * self.call) - self.around * sources))

    @property
    def sources(self) -> int | None:
        """Of how many sources there is something to be read."""
        if self.most is None:
            return None
        return max(1, int(PACKED * self.most * self.call) // (self.around + WORTH))


def paid(
    calls: Calls, *, beside: int, answers: Iterable[int], at_most: float, affordable: Affordable
) -> Calls:
    """The calls that the caps leave money for, of a size with which most is read. ``beside`` are the tokens that a call
    has beside its sources, ``answers`` how long its answer may be, the longest first; a prompt can take ``at_most`` times
    the tokens that are expected of it.

    A call has to be paid at its most. Once it is answered it has taken less, as a rule; so there are as many as can be
    paid at what is usual, the last of them at its most. Where that turns out too hopeful, what is left is read without a
    model."""
    best: Calls | None = None
    last = max(1, round(max(at_most, USUAL_ANSWER)))  # calls that one at its most takes the place of
    for call in _sizes(calls.call):
        for answer in answers:
            at_once = affordable(int(at_most * (beside + call)), answer)
            if not at_once:
                return calls
            if min(at_once.values()) < 1:
                continue
            usual = affordable(beside + call, answer // USUAL_ANSWER)
            counts = {
                # A request is one request, however long it is.
                cap: count if cap == "max_model_calls" else max(1, count - last + 1)
                for cap, count in usual.items()
            }
            cap = min(counts, key=lambda name: counts[name])
            if best is None or counts[cap] * call > (best.most or 0) * best.call:
                window = calls.window if call == calls.call else call
                best = replace(calls, call=call, window=window, most=counts[cap], cap=cap)
            break
    if best is not None:
        return best
    cap = min(at_once, key=lambda name: at_once[name])
    return replace(calls, call=call, window=call, most=1, cap=cap)


def _sizes(call: int) -> Iterator[int]:
    """The sizes of calls that are tried, the largest first."""
    yield call
    while call > LEAST_CALL:
        call = max(LEAST_CALL, call // 2)
        yield call


def whole(sources: Iterable[Source], most: int) -> ReadingPlan:
    """The sources in order, whole, in portions of so many characters at most."""
    batches = batched(sources, {}, most)
    return ReadingPlan(portions=tuple(Portion(source_ids=tuple(s.id for s in batch)) for batch in batches))


def planned(
    sources: Sequence[Source],
    wholes: Mapping[str, int],
    calls: Calls,
    *,
    weights: Weights,
    rules: ContentRules,
) -> ReadingPlan:
    """The sources in order, in portions; of each as much as it matters of the ``wholes`` that it has. Raises
    `WindowError` when what is protected does not fit."""
    if not rules.enabled:
        return ReadingPlan(portions=_packed(sources, wholes, wholes, replace(calls, most=None), tight=False))
    most = max(1, calls.window - calls.around)
    items = [Item(s.id, min(wholes[s.id], most), *weights.source(s)) for s in sources]
    read = sorted(items, key=lambda item: (-item.priority, item.id))[: calls.sources]
    budget = calls.for_texts(len(read))
    if calls.most is None:  # what its owner protects may take more, where nobody said what it may cost
        budget = max(budget, sum(item.promised for item in read if item.klass is ItemClass.PROTECTED))
    tight = sum(item.tokens for item in items) > budget
    made, gave_way = allocate_what_fits(read, budget, allow_dropping=rules.allow_dropping)
    sizes = dict.fromkeys(wholes, 0) | dict(made.sizes)
    if len(read) < len(items) and not rules.allow_dropping:
        gave_way = ItemClass.REGULAR
    kept = [s for s in sources if sizes[s.id] or not wholes[s.id]]
    return ReadingPlan(
        portions=_packed(kept, wholes, sizes, calls, tight=tight),
        dropped={s.id: wholes[s.id] for s in sources if wholes[s.id] and not sizes[s.id]},
        budget=budget,
        cap=calls.cap if tight and budget < calls.tokens else None,
        gave_way=gave_way.value if gave_way else None,
    )


def _packed(
    sources: Sequence[Source],
    wholes: Mapping[str, int],
    sizes: Mapping[str, int],
    calls: Calls,
    *,
    tight: bool,
) -> tuple[Portion, ...]:
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
        whole_ones = {name: wholes[name] for name in own}
        portions.append(Portion(source_ids=tuple(own), sizes=own, wholes=whole_ones, available=available))
    return tuple(portions)


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
