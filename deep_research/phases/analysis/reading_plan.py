"""What a pass of ANALYSIS has a model read, in which calls, and what of the sources that leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from deep_research.budget.allocation import ItemClass
from deep_research.budget.metered import RunModels, shorter
from deep_research.phases.analysis.doubts import DoubtInput, DoubtOutput
from deep_research.phases.analysis.handoff import AnalyzerInput
from deep_research.phases.analysis.lost_quotes import A_READING
from deep_research.phases.analysis.portions import Calls, paid, planned
from deep_research.phases.analysis.reading_choice import Chosen, Decide, chosen
from deep_research.phases.analysis.source_texts import Texts
from deep_research.phases.analysis.triage import limits_of
from deep_research.phases.base import off_loop
from deep_research.phases.prompting import Room
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Extent,
    Limit,
    ModelRole,
    Portion,
    ReadingPlan,
    Sending,
    Source,
)
from deep_research.state.events import Event, LimitReached

PHASE = DeepResearchPhase.ANALYSIS
BESIDE_DOUBTS = (
    3  # requests that a cap has to leave: for the doubtful sources, a reading, and what readings share
)


def unread(portion: Portion, plan: ReadingPlan, state: DeepResearchState) -> frozenset[str]:
    """The sources of a portion that are still to be read. One that an earlier round read in part is when this one has."""
    once = (state.analyzed_now if i in plan.read_on else state.analyzed for i in portion.source_ids)
    return frozenset(i for i, read in zip(portion.source_ids, once, strict=True) if i not in read)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What the calls of a pass have: each the ``room`` of a prompt for sources, of which at most ``call`` tokens are
    taken, ``around`` of them beside each source. Where it ``shortens``, a model makes long sources shorter, which has
    to be paid as well; ``decide`` asks the agent's model of doubtful sources."""

    room: Room
    call: int
    around: int
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
    ) -> tuple[ReadingPlan, tuple[LimitReached, ...]]:
        """What is read of new ``sources``, after them what further of ``known`` ones, and what is told of how that was
        chosen. Raises `WindowError` when what is protected does not fit."""
        choice = await self._chosen(sources, known, state, told, texts)
        triage = {item.source_id: item for item in choice.triage}
        read = [s for s in sources if s.id not in triage or triage[s.id].extent is not Extent.NOTHING]
        read += [s for s in known if s.id in triage]
        plan = await off_loop(
            len(read),
            planned,
            read,
            await texts.sizes(read, triage, self.room.counter),
            self._calls(made=choice.requests),
            weights=told.weights,
            rules=self.room.rules,
        )
        return plan.model_copy(update={"triage": choice.triage}), choice.told

    async def _chosen(
        self,
        sources: Sequence[Source],
        known: Sequence[Source],
        state: DeepResearchState,
        told: AnalyzerInput,
        texts: Texts,
    ) -> Chosen:
        """How much of each source is read. When the phase is done again, the first choice gave too little: all is."""
        rules = self.room.rules
        if not (rules.enabled and rules.read_sections) or state.attempt:
            return Chosen()
        return await chosen(sources, known, told, texts, rules, self._decided)

    async def _decided(self, handoff: DoubtInput) -> DoubtOutput | None:
        """What the agent's model says of doubtful sources, where the caps leave a request for that beside a reading and
        what all readings have in common."""
        models = self.models
        spare = models.affordable(ModelRole.ANALYZER, PHASE, *A_READING, now=True) if models else 0
        return None if spare is not None and spare < BESIDE_DOUBTS else await self.decide(handoff)

    def _calls(self, *, made: int) -> Calls:
        """The calls that there is room and money for; so many of them were ``made`` before the reading."""
        room, models = self.room, self.models
        calls = Calls(room.rules.reading_tokens, min(self.call, room.tokens), room.tokens, self.around)
        if models is None:
            return calls
        calls = paid(
            calls,
            beside=room.beside,
            answers=tuple(shorter(room.answer)),
            at_most=1.0 if room.counter.exact else room.counter.bytes_a_token,
            affordable=partial(models.affordable_by_cap, ModelRole.ANALYZER, PHASE),
        )
        if calls.most is not None and made:
            calls = replace(calls, most=max(1, calls.most - made))
        if calls.most is not None and self.shortens:
            return replace(calls, most=max(1, calls.most // 2))  # the other half of the share is for that
        return calls


def left_out(plan: ReadingPlan, state: DeepResearchState) -> list[Event]:
    """What of the sources was not read, or not whole, and why."""
    sent = state.sent.get(DeepResearchPhase.ANALYSIS, Sending())
    read = [i for i in sent.items if i.id in state.analyzed_now and i.current_tokens]
    cut = [item for item in read if item.current_tokens < item.original_tokens]
    why = f"To keep within {plan.cap}" if plan.cap else "For want of room"
    opening = why if state.iteration == 1 else f"{why}, in round {state.iteration},"
    name = f"{plan.cap}:{DeepResearchPhase.ANALYSIS}" if plan.cap else "window"
    limits = []
    if cut:
        whole_ = sum(item.original_tokens for item in read)
        left = sum(min(item.current_tokens, item.original_tokens) for item in read)
        share = f"{100 * left / whole_:.0f} %" if 200 * left > whole_ else "less than 1 %"
        were = "1 source was" if len(cut) == 1 else f"{len(cut)} of {len(read)} sources were"
        message = f"{opening} {were} read in part: the model was given {share} of the text of all."
        limits.append(Limit(name=name, message=message))
    dropped = [s for s in state.sources if s.id in plan.dropped and s.id not in state.analyzed]
    if dropped:
        were = "1 source was" if len(dropped) == 1 else f"{len(dropped)} sources were"
        skipped = tuple(source.url or source.title for source in dropped)
        limits.append(Limit(name=name, message=f"{opening} {were} not read at all.", skipped=skipped))
    if plan.gave_way == ItemClass.TOP.value:
        message = f"{opening} less was read of the best sources than is meant to be."
        limits.append(Limit(name=name, message=message))
    limits += limits_of(plan.triage, state.iteration)
    return [LimitReached(limit=limit) for limit in limits]
