"""Reading plan of a pass of ANALYSIS: which parts of which sources a model reads, in which calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deep_research.budget.allocation import Item, ItemClass, Weights, allocate_what_fits
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.metered import RunModels, shorter
from deep_research.budget.tokens import Counter
from deep_research.calls import off_loop
from deep_research.phases.analysis.handoff import AnalyzerInput, DoubtInput, DoubtOutput, SourceRoom
from deep_research.phases.analysis.quote_recovery import A_READING
from deep_research.phases.analysis.source_texts import Texts, batched
from deep_research.phases.analysis.triage import (
    Decide,
    ReadingChoice,
    choose_reading,
    named_places,
    notices_of,
)
from deep_research.state import (
    ContextUsage,
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    ModelRole,
    Notice,
    ReadDepth,
    ReadingBatch,
    ReadingPlan,
    Source,
)
from deep_research.state.events import Event, NoticeAdded, notice_event

PHASE = DeepResearchPhase.ANALYSIS
BESIDE_DOUBTS = (
    3  # requests that a cap has to leave: for the doubtful sources, a reading, what readings share
)

PACKED = 0.9  # of calls that can be paid for, since not each is filled
WORTH = 100  # tokens of a source for which it is worth reading, where not all can be
LEAST_CALL = 1_000  # tokens of sources, for less of which a call is not made smaller to be paid
USUAL_ANSWER = 3  # times that the longest answer is longer than the usual one

# How many requests of so many tokens of input and output each cap on models leaves room for, by its name.
Affordable = Callable[[int, int], Mapping[str, int]]


def unread(portion: ReadingBatch, plan: ReadingPlan, state: DeepResearchState) -> frozenset[str]:
    """The sources of a portion that are still to be read. One that an earlier round read in part is when this one has."""
    once = (state.analyzed_now if i in plan.read_on else state.analyzed for i in portion.source_ids)
    return frozenset(i for i, read in zip(portion.source_ids, once, strict=True) if i not in read)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What the calls of a pass have: each the ``room`` of a prompt for sources, whose tokens ``counter`` counts. Where it
    ``shortens``, a model makes long sources shorter, which has to be paid as well; ``decide`` asks the agent's model of
    doubtful sources."""

    room: SourceRoom
    counter: Counter
    models: RunModels | None
    shortens: bool
    decide: Decide

    async def plan(
        self,
        sources: Sequence[Source],
        known: Sequence[Source],
        state: DeepResearchState,
        told: AnalyzerInput,
        texts: Texts,
    ) -> tuple[ReadingPlan, tuple[NoticeAdded, ...]]:
        """What is read of new ``sources``, after them what further of ``known`` ones, and what is told of how that was
        chosen. Raises `WindowError` when what is protected does not fit."""
        rules = self.room.rules
        # When the phase is done again, the first choice gave too little: all is read.
        chooses = rules.enabled and rules.read_sections and not state.attempt
        places = named_places(state) if chooses else {}
        choice = (
            await choose_reading(sources, known, told, texts, rules, self._decided, places)
            if chooses
            else ReadingChoice()
        )
        triage = {item.source_id: item for item in choice.triage}
        read = [s for s in sources if s.id not in triage or triage[s.id].extent is not ReadDepth.NOTHING]
        read += [s for s in known if s.id in triage]
        plan = await off_loop(
            len(read),
            _planned,
            read,
            await texts.sizes(read, triage, self.counter),
            self._calls(made=choice.requests),
            weights=told.weights,
            rules=rules,
        )
        return plan.model_copy(update={"triage": choice.triage}), choice.notices

    async def _decided(self, handoff: DoubtInput) -> DoubtOutput | None:
        """What the agent's model says of doubtful sources, where the caps leave a request for that beside a reading and
        what all readings have in common."""
        models = self.models
        spare = models.affordable(ModelRole.ANALYZER, PHASE, *A_READING, now=True) if models else 0
        return None if spare is not None and spare < BESIDE_DOUBTS else await self.decide(handoff)

    def _calls(self, *, made: int) -> Calls:
        """The calls that there is room and money for; so many of them were ``made`` before the reading."""
        room, models = self.room, self.models
        calls = Calls(room.rules.reading_tokens, min(room.call, room.tokens), room.tokens, room.around)
        if models is None:
            return calls
        calls = _affordable_calls(
            calls,
            beside=room.beside,
            answers=tuple(shorter(room.answer)),
            at_most=1.0 if self.counter.exact else self.counter.bytes_a_token,
            affordable=partial(models.affordable_by_cap, ModelRole.ANALYZER, PHASE),
        )
        if calls.most is not None and made:
            calls = replace(calls, most=max(1, calls.most - made))
        if calls.most is not None and self.shortens:
            return replace(calls, most=max(1, calls.most // 2))  # the other half of the share is for that
        return calls


def left_out(plan: ReadingPlan, state: DeepResearchState) -> list[Event]:
    """What of the sources was not read, or not whole, and why."""
    usage = state.context_usage.get(DeepResearchPhase.ANALYSIS, ContextUsage())
    read = [i for i in usage.items if i.id in state.analyzed_now and i.current_tokens]
    cut = [item for item in read if item.current_tokens < item.original_tokens]
    why = f"To keep within {plan.cap}" if plan.cap else "For want of room"
    opening = why if state.iteration == 1 else f"{why}, in round {state.iteration},"
    name = f"{plan.cap}:{DeepResearchPhase.ANALYSIS}" if plan.cap else "window"
    notices: list[Notice] = []
    notice_class = Limit if plan.cap else Notice
    if cut:
        whole_ = sum(item.original_tokens for item in read)
        left = sum(min(item.current_tokens, item.original_tokens) for item in read)
        share = f"{100 * left / whole_:.0f} %" if 200 * left > whole_ else "less than 1 %"
        were = "1 source was" if len(cut) == 1 else f"{len(cut)} of {len(read)} sources were"
        message = f"{opening} {were} read in part: the model was given {share} of the text of all."
        notices.append(notice_class(name=name, message=message))
    dropped = [s for s in state.sources if s.id in plan.dropped and s.id not in state.analyzed]
    if dropped:
        were = "1 source was" if len(dropped) == 1 else f"{len(dropped)} sources were"
        skipped = tuple(source.url or source.title for source in dropped)
        notices.append(notice_class(name=name, message=f"{opening} {were} not read at all.", skipped=skipped))
    if plan.gave_way == ItemClass.TOP.value:
        message = f"{opening} less was read of the best sources than is meant to be."
        notices.append(notice_class(name=name, message=message))
    notices += notices_of(plan.triage, state.iteration)
    return [notice_event(notice) for notice in notices]


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


def _affordable_calls(
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
    return ReadingPlan(
        portions=tuple(ReadingBatch(source_ids=tuple(s.id for s in batch)) for batch in batches)
    )


def _planned(
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
    allocation, gave_way = allocate_what_fits(read, budget, allow_dropping=rules.allow_dropping)
    sizes = dict.fromkeys(wholes, 0) | dict(allocation.sizes)
    if len(read) < len(items) and not rules.allow_dropping:
        gave_way = ItemClass.REGULAR
    readable_sources = [s for s in sources if sizes[s.id] or not wholes[s.id]]
    return ReadingPlan(
        portions=_packed(readable_sources, wholes, sizes, calls, tight=tight),
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
) -> tuple[ReadingBatch, ...]:
    room = max(1, min(calls.call, calls.window))
    batches = list(batched(sources, sizes, room, calls.around))
    while calls.most is not None and len(batches) > calls.most:
        room += max(1, room // 20)  # their order may not let them fill each call
        batches = list(batched(sources, sizes, room, calls.around))
    portions = []
    for batch in batches:
        own = {source.id: sizes[source.id] for source in batch}
        tokens_used = sum(own.values())
        available = tokens_used if tight else max(tokens_used, room - calls.around * len(batch))
        whole_ones = {name: wholes[name] for name in own}
        portions.append(
            ReadingBatch(source_ids=tuple(own), sizes=own, wholes=whole_ones, available=available)
        )
    return tuple(portions)
