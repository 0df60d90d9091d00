"""Reading plan of a pass of ANALYSIS: the sources of which a model reads something in calls that fit and can be paid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deep_research.budget.allocation import Item, ItemClass, Weights, allocate_what_fits
from deep_research.budget.archive import Archive
from deep_research.budget.content_budget import ContentRules
from deep_research.budget.metered import RunModels, shorter
from deep_research.budget.tokens import Counter
from deep_research.calls import off_loop
from deep_research.phases.analysis.handoff import AnalyzerInput, SourceRoom
from deep_research.phases.analysis.reading_choice import (
    NOT_NEAR,
    SAID,
    WINDOW,
    Decide,
    choose_reading,
    sources_were,
)
from deep_research.phases.analysis.source_texts import Texts, batched
from deep_research.phases.content_archiving import Original, keep, to_keep
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
    SentItem,
    Source,
    SourceTriage,
)
from deep_research.state.events import ContentSent, Event, NoticeAdded, SourcesAnalyzed, notice_event

PHASE = DeepResearchPhase.ANALYSIS
MAX_PACKED_SHARE = 0.9  # of calls that can be paid for, since not each is filled
MIN_WORTH_TOKENS = 100  # of a source for which it is worth reading, where not all can be
MIN_CALL_TOKENS = 1_000  # of sources, for less of which a call is not made smaller to be paid
USUAL_ANSWER = 3  # times that the longest answer is longer than the usual one

# How many requests of so many tokens of input and output each cap on models leaves room for, by its name.
Affordable = Callable[[int, int], Mapping[str, int]]


def unread(portion: ReadingBatch, plan: ReadingPlan, state: DeepResearchState) -> frozenset[str]:
    """The sources of a portion that are still to be read. One that an earlier round read in part is when this one has."""
    ids = portion.source_ids
    return frozenset(i for i in ids if i not in (state.analyzed_now if i in plan.read_on else state.analyzed))


async def plan_reading(
    sources: Sequence[Source],
    known: Sequence[Source],
    told: AnalyzerInput,
    texts: Texts,
    *,
    room: SourceRoom,
    counter: Counter,
    models: RunModels | None,
    shortens: bool,
    decide: Decide,
) -> tuple[ReadingPlan, tuple[NoticeAdded, ...]]:
    """What is read of new ``sources``, after them what further of ``known`` ones, in calls that each have ``room``, and
    what is told of how that was chosen. ``shortens``: a model makes long sources shorter, which has to be paid as well.
    Raises `WindowError` when what is protected does not fit."""
    choice = await choose_reading(sources, known, told, texts, room.rules, decide)
    sizes = await texts.sizes(choice.read, choice.by_id, counter)
    calls = Calls(room.rules.reading_tokens, min(room.call, room.tokens), room.tokens, room.around)
    if models is not None:
        affordable = partial(models.affordable_by_cap, ModelRole.ANALYZER, PHASE)
        at_most = 1.0 if counter.exact else counter.bytes_a_token
        calls = _affordable_calls(calls, room.beside, tuple(shorter(room.answer)), at_most, affordable)
    if calls.most is not None:
        calls = replace(calls, most=max(1, calls.most - choice.requests))
        if shortens:  # the other half of the share is for that
            calls = replace(calls, most=max(1, (calls.most or 0) // 2))
    plan = await off_loop(len(choice.read), _planned, choice.read, sizes, calls, told.weights, room.rules)
    return plan.model_copy(update={"triage": choice.triage}), choice.notices


async def left_out(plan: ReadingPlan, texts: Texts, archive: Archive | None) -> list[Event]:
    """What of the sources was not read, or not whole, and why. Those that a model is given nothing of count as read only
    once all others are: until then an agent that reads everything may take its place."""
    state = texts.journal.state
    dropped = [s for s in state.sources if s.id in plan.dropped and s.id not in state.analyzed]
    nothing = (t.source_id for t in plan.triage if t.extent is ReadDepth.NOTHING)
    passed = (*(i for i in nothing if i not in state.analyzed), *(s.id for s in dropped))
    events: list[Event] = [SourcesAnalyzed(source_ids=passed)] if passed else []
    if dropped:
        items = (SentItem(id=s.id, original_tokens=plan.dropped[s.id], current_tokens=0) for s in dropped)
        events += await usage_events(ContextUsage(items=tuple(items)), dropped, texts, archive)
    return [*events, *map(notice_event, _notices(plan, state, dropped))]


async def usage_events(
    sending: ContextUsage, sources: Sequence[Source], texts: Texts, archive: Archive | None
) -> list[Event]:
    """What a model was given of sources, and the originals of those of which it was little."""
    archive_hashes: dict[str, str] = {}
    notes: list[Event] = []
    if archive is not None:
        items = {item.id: item for item in to_keep(sending.items)}
        for batch in texts.batches(s for s in sources if s.id in items):
            contents = await texts.of(batch)
            originals = {
                s.id: Original(
                    contents[s.id], "source", {"title": s.title} | ({"url": s.url} if s.url else {})
                )
                for s in batch
            }
            hashes, notices = await keep(archive, [items[i] for i in originals], originals)
            archive_hashes |= hashes
            notes += notices
    return [ContentSent(phase=PHASE, sending=sending.model_copy(update={"archived": archive_hashes})), *notes]


def _notices(plan: ReadingPlan, state: DeepResearchState, dropped: Sequence[Source]) -> list[Notice | Limit]:
    usage = state.context_usage.get(PHASE, ContextUsage())
    read = [i for i in usage.items if i.id in state.analyzed_now and i.current_tokens]
    cut = [item for item in read if item.current_tokens < item.original_tokens]
    why = f"To keep within {plan.cap}" if plan.cap else "For want of room"
    opening = why if state.iteration == 1 else f"{why}, in round {state.iteration},"
    messages: list[tuple[str, tuple[str, ...]]] = []
    if cut:
        total = sum(item.original_tokens for item in read)
        left = sum(min(item.current_tokens, item.original_tokens) for item in read)
        share = f"{100 * left / total:.0f} %" if 200 * left > total else "less than 1 %"
        of_all = sources_were(len(cut), f"{len(cut)} of {len(read)}")
        messages.append((f"{of_all} read in part: the model was given {share} of the text of all.", ()))
    if dropped:
        skipped = tuple(source.url or source.title for source in dropped)
        messages.append((f"{sources_were(len(dropped))} not read at all.", skipped))
    if plan.gave_way == ItemClass.TOP.value:
        messages.append(("less was read of the best sources than is meant to be.", ()))
    notice_class, name = (Limit, f"{plan.cap}:{PHASE}") if plan.cap else (Notice, WINDOW)
    notices = [notice_class(name=name, message=f"{opening} {m}", skipped=skipped) for m, skipped in messages]
    of_choice = [Notice(name=WINDOW, message=m) for m in _of_choice(plan.triage, state.iteration)]
    return [*notices, *of_choice]


def _of_choice(triage: Sequence[SourceTriage], iteration: int) -> Iterator[str]:
    """What a reader of the report is told of the choice."""
    first = [item for item in triage if not item.further]
    counts = {
        "only in the sections that speak of what is asked": [i.extent is ReadDepth.SECTIONS for i in first],
        "not at all, since nothing in them comes near to it": [i.because == NOT_NEAR for i in first],
        "not at all, since a model saw nothing in them that helps": [
            i.because == SAID[ReadDepth.NOTHING] for i in first
        ],
    }
    parts = [f"{sum(each)} {how}" for how, each in counts.items() if any(each)]
    if parts:
        of_round = "" if iteration == 1 else f" of round {iteration}"
        yield f"Of {_many(len(first))}{of_round} a model read {'; '.join(parts)} (reading.sections)."
    if further := len(triage) - len(first):
        of_round = f"of earlier rounds a model read further sections in round {iteration}"
        yield f"Of {_many(further)} {of_round} (reading.sections)."


def _many(sources: int) -> str:
    return "1 source" if sources == 1 else f"{sources} sources"


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


def _affordable_calls(
    calls: Calls, beside: int, answers: Sequence[int], at_most: float, affordable: Affordable
) -> Calls:
    """The calls that the caps leave money for, of a size with which most is read. ``beside`` are the tokens that a call
    has beside its sources, ``answers`` how long its answer may be, the longest first; a prompt can take ``at_most`` times
    the tokens that are expected of it.

    A call has to be paid at its most. Once it is answered it has taken less, as a rule; so there are as many as can be
    paid at what is usual, the last of them at its most. Where that turns out too hopeful, what is left is read without a
    model."""
    best: Calls | None = None
    last = max(1, round(max(at_most, USUAL_ANSWER)))  # calls that one at its most takes the place of
    sizes = [calls.call]
    while sizes[-1] > MIN_CALL_TOKENS:
        sizes.append(max(MIN_CALL_TOKENS, sizes[-1] // 2))
    for call in sizes:
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
    weights: Weights,
    rules: ContentRules,
) -> ReadingPlan:
    """The sources in order, in portions; of each as much as it matters of the ``wholes`` that it has. Raises
    `WindowError` when what is protected does not fit."""
    if not rules.enabled:
        return ReadingPlan(portions=_packed(sources, wholes, wholes, replace(calls, most=None), tight=False))
    most = max(1, calls.window - calls.around)
    items = [Item(s.id, min(wholes[s.id], most), *weights.source(s)) for s in sources]
    read = sorted(items, key=lambda item: (-item.priority, item.id))
    if calls.most is None:  # what its owner protects may take more, where nobody said what it may cost
        protected = sum(item.promised for item in read if item.klass is ItemClass.PROTECTED)
        budget = max(calls.tokens, protected)
    else:
        paid_tokens = int(MAX_PACKED_SHARE * calls.most * calls.call)
        read = read[: max(1, paid_tokens // (calls.around + MIN_WORTH_TOKENS))]
        budget = max(0, min(calls.tokens, paid_tokens - calls.around * len(read)))
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

    def portion(batch: Sequence[Source]) -> ReadingBatch:
        ids = tuple(source.id for source in batch)
        own, of_all = {i: sizes[i] for i in ids}, {i: wholes[i] for i in ids}
        spare = 0 if tight else room - calls.around * len(batch)
        return ReadingBatch(source_ids=ids, sizes=own, wholes=of_all, available=max(sum(own.values()), spare))

    return tuple(map(portion, batches))
