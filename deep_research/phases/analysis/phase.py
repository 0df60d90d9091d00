"""ANALYSIS: sources in portions, one unit each, then all of it weighed together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from deep_research.budget.allocation import ItemClass
from deep_research.budget.metered import RunModels, shorter
from deep_research.phases.analysis.handoff import (
    AnalyzerInput,
    AnalyzerOutput,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.loading import Shortening, Texts
from deep_research.phases.analysis.portions import Calls, Portion, Reading, fitted, whole
from deep_research.phases.analysis.weighing import analyzed, finding_of, weighed, with_survey
from deep_research.phases.base import Agent, Phase, WorkLimits, noted, off_loop, shared, together
from deep_research.phases.keeping import Original, keep, to_keep
from deep_research.phases.prompting import Room
from deep_research.phases.summarizing import Summarizer
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Gap,
    Limit,
    ModelRole,
    Sending,
    SentItem,
    Source,
)
from deep_research.state.events import ContentSent, Event, EvidenceWeighed, LimitReached, Progress
from deep_research.state.journal import Journal

LEAST_CALL = 1_000  # tokens of sources, for less of which a call is not made smaller to be paid
SURVEYED = 200  # sources that are looked at together, the best by what is known of them


class AnalysisPhase(Phase[AnalyzerInput, AnalyzerOutput]):
    """Reads what no earlier unit has read. Ids that were not given are dropped, quotes are looked up in the
    saved text, and what cannot be found there is not evidence."""

    phase = DeepResearchPhase.ANALYSIS
    answer_type = AnalyzerOutput

    def __init__(
        self,
        agent: Agent[AnalyzerInput, AnalyzerOutput],
        *,
        limits: WorkLimits | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        """With a ``summarizer``, the model of that role chooses what is kept of sources that are too long."""
        super().__init__(agent, limits=limits)
        self._summarizer = summarizer

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        if state.phase_done:
            return
        # All portions of this pass, also those read before a crash: what remains must be what it would have been.
        earlier = state.analyzed - state.analyzed_now
        sources = [s for s in state.sources if s.id not in earlier and s.content_hash]
        texts = Texts(journal, self.limits.batch_bytes)
        reading = await self._reading(sources, state, texts, models)
        total = len(reading.portions)
        unread = [p for p in reading.portions if any(s.id not in state.analyzed for s in p.sources)]
        await together(
            (partial(self._unit, portion, state, texts, total, models) for portion in unread),
            at_once=self.limits.max_concurrent,
        )
        # What was found in earlier rounds, or before a retry, was not read together with this.
        left_out = _left_out(reading, journal.state)
        await self._weigh(journal.state, total, total + bool(earlier), texts, models, left_out)

    async def _reading(
        self, sources: Sequence[Source], state: DeepResearchState, texts: Texts, models: RunModels | None
    ) -> Reading:
        """What is read in which calls. An agent may set its own ``batch_bytes``; or, if it uses a model, tell by
        ``room_for_sources`` what a call has room for, of which it takes ``call_tokens`` at most."""
        if not hasattr(self.agent, "room_for_sources"):
            return whole(sources, int(getattr(self.agent, "batch_bytes", self.limits.batch_bytes)))
        if not sources:
            return Reading(())
        told = self._told(state)
        room = await self.agent.room_for_sources(told, self._model(models))
        return await off_loop(
            len(sources),
            fitted,
            sources,
            await texts.counted(sources, room.counter),
            self._calls(room, models),
            weights=told.weights,
            rules=room.rules,
            counter=room.counter,
        )

    def _calls(self, room: Room, models: RunModels | None) -> Calls:
        """What of the sources is read in how many calls, as far as the caps leave money for them. Answers and calls are
        made smaller until one can be paid at its most; then there are as many as can be paid at what they are expected to
        take, the last of them at its most."""
        largest = min(getattr(self.agent, "call_tokens", room.tokens), room.tokens)
        around, tokens = getattr(self.agent, "around_source", 0), room.rules.reading_tokens
        if models is None:
            return Calls(tokens, largest, room.tokens, around)
        many = partial(models.affordable, ModelRole.ANALYZER, self.phase)
        at_most = 1.0 if room.counter.exact else room.counter.bytes_a_token

        def paid(answer: int) -> int:
            size = largest
            while size > LEAST_CALL and many(int(at_most * (room.beside + size)), answer) == 0:
                size = max(LEAST_CALL, size // 2)
            return size

        call, answer = max((paid(each), each) for each in shorter(room.answer))
        sent = room.beside + call
        calls = many(sent, answer)
        if calls is None:
            return Calls(tokens, call, room.tokens, around)
        last = math.ceil((at_most * sent + answer) / (sent + answer))
        window = room.tokens if call == largest else call
        return Calls(tokens, call, window, around, max(1, calls - last + 1))

    async def _unit(
        self,
        portion: Portion,
        state: DeepResearchState,
        texts: Texts,
        total: int,
        models: RunModels | None,
    ) -> None:
        many = len(portion.sources)
        texts.journal.progress(Progress(phase=self.phase, message=f"reading {many} sources", total=total))
        told = self._told(state)
        shortening = self._shortening(told.looked_for, models)
        # Texts are loaded only now, and dropped before recording: a thousand waiting runs hold none.
        handoff = told.model_copy(update={"sources": await texts.given(portion, shortening)})
        answer = await self.ask(handoff, models)
        quoted = {q.source_id for finding in answer.findings for q in finding.quotes}
        known = {s.id: s.content for s in handoff.sources if not s.tokens}
        known |= await texts.of([s for s in portion.sources if s.id in quoted and s.id not in known])
        event = await off_loop(len(answer.findings), analyzed, answer, handoff, portion.sources, known, state)
        events: list[Event] = [event, *noted(answer.notes), *_problems(shortening)]
        del handoff, known
        if portion.sizes:
            events += await self._sent(answer, portion, texts)
        del answer
        await texts.journal.record(*events)

    def _shortening(self, query: str, models: RunModels | None) -> Shortening:
        if self._summarizer is None or models is None or not models.roles.by_role.get(ModelRole.SUMMARIZER):
            return Shortening(query)
        return Shortening(query, self._summarizer, models.model(ModelRole.SUMMARIZER, self.phase))

    def _told(self, state: DeepResearchState) -> AnalyzerInput:
        """What a call is told beside its sources."""
        return AnalyzerInput(
            **shared(state, self.phase),
            research_brief=state.research_brief,
            source_count=len(state.sources),
            high_quality_sources=state.high_quality_sources(),
            sub_queries=state.current_sub_queries(),
            open_gaps=_open_at_start(state),
            findings=tuple(f for f in state.findings if f.iteration < state.iteration),
        )

    async def _sent(self, answer: AnalyzerOutput, portion: Portion, texts: Texts) -> list[Event]:
        """What a model was given of the sources, those for which there was no room included."""
        dropped = (
            SentItem(id=s.id, original_tokens=portion.wholes[s.id], current_tokens=0)
            for s in portion.sources
            if portion.is_dropped(s)
        )
        items = (*answer.sent.items, *dropped)
        kept: dict[str, str] = {}
        notes: list[Event] = []
        if self.limits.archive is not None:
            wanted = {item.id: item for item in to_keep(items)}
            for batch in texts.batches(s for s in portion.sources if s.id in wanted):
                found = await texts.of(batch)
                originals = {s.id: _original(s, found[s.id]) for s in batch}
                hashes, told = await keep(self.limits.archive, [wanted[i] for i in originals], originals)
                kept |= hashes
                notes += told
        sending = Sending(items=items, available=portion.available, archived=kept)
        return [ContentSent(phase=self.phase, sending=sending), *notes]

    async def _weigh(
        self,
        state: DeepResearchState,
        batches: int,
        readings: int,
        texts: Texts,
        models: RunModels | None,
        limits: Sequence[Event],
    ) -> None:
        """All batches put together, and looked at once more by an agent that does so."""
        event = await off_loop(len(state.findings), weighed, state, several=batches > 1)
        survey = await self._survey(state, event, readings, texts, models)
        notes = list(limits)
        if survey is not None:
            event = with_survey(event, survey, state)
            notes += noted(survey.notes)
            found = await self._found_together(survey, state, texts)
            fresh = {f.id for f in found}
            known = {f.id for f in state.findings} - set(event.dropped)
            dropped = [i for i in dict.fromkeys(survey.dropped) if i in known and i not in fresh]
            event = event.model_copy(
                update={
                    "findings": (*(f for f in event.findings if f.id not in {*fresh, *dropped}), *found),
                    "dropped": (*event.dropped, *dropped),
                }
            )
        await texts.journal.record(event, *notes)

    async def _found_together(
        self, survey: SurveyOutput, state: DeepResearchState, texts: Texts
    ) -> list[Finding]:
        """What the survey found, with its quotes in place; a finding that stands already is not there twice."""
        given = {s.id: s for s in state.sources if s.content_hash}
        named = {i for item in survey.findings for i in item.source_ids} & given.keys()
        held = {i: given[i] for i in sorted(named)}
        known = await texts.of(list(held.values()))
        found = (finding_of(item, held, known, state) for item in survey.findings)
        return [f for f in found if f is not None]

    async def _survey(
        self,
        state: DeepResearchState,
        event: EvidenceWeighed,
        readings: int,
        texts: Texts,
        models: RunModels | None,
    ) -> SurveyOutput | None:
        """The agent's look at everything together, when it has one."""
        if not hasattr(self.agent, "survey") or not state.sources:
            return None
        changed = {g.id: g for g in event.gaps}
        findings = {f.id: f for f in (*state.findings, *event.findings)}
        handoff = SurveyInput(
            **shared(state, self.phase),
            sub_queries=state.current_sub_queries(),
            sources=await texts.matched(state.sources[:SURVEYED]),
            findings=tuple(f for f in findings.values() if f.id not in event.dropped),
            gaps=tuple(changed.get(g.id, g) for g in state.gaps),
            first_look=state.first_look,
            follow_ups=state.max_sub_queries if state.iteration < state.max_iterations else 0,
            readings=readings,
            read_by_model=state.own_words,
        )
        return await self.ask_also("survey", handoff, SurveyOutput, models)


def _open_at_start(state: DeepResearchState) -> tuple[Gap, ...]:
    """The gaps of earlier iterations as they stood when the phase began: a unit is told the same after a crash as
    before, whatever the units already stored have found or filled."""
    return tuple(
        gap.model_copy(update={"addressed": False})
        for gap in state.gaps
        if gap.iteration < state.iteration and (not gap.addressed or gap.resolution is None)
    )


def _original(source: Source, text: str) -> Original:
    about = {"title": source.title} | ({"url": source.url} if source.url else {})
    return Original(text, "source", about)


def _problems(shortening: Shortening) -> list[LimitReached]:
    """Why a model that was to choose what is kept of sources could not."""
    messages = (f"Sources were shortened without a model: {problem}" for problem in shortening.problems)
    return [LimitReached(limit=Limit(name="summarizer", message=message)) for message in messages]


def _left_out(reading: Reading, state: DeepResearchState) -> list[Event]:
    """What of the sources was not read, or not whole, for want of room."""
    limits = []
    given = {item.id: item for item in state.sent.get(DeepResearchPhase.ANALYSIS, Sending()).items}
    read = [given[s.id] for portion in reading.portions for s in portion.sources if s.id in given]
    cut = sum(0 < item.current_tokens < item.original_tokens for item in read)
    opening = "For want of room" if state.iteration == 1 else f"For want of room, in round {state.iteration},"
    if cut:
        whole = sum(item.original_tokens for item in read)
        left = sum(min(item.current_tokens, item.original_tokens) for item in read)
        share = f"{100 * left / whole:.0f} %" if 200 * left > whole else "less than 1 %"
        were = "1 source was" if cut == 1 else f"{cut} of {len(read)} sources were"
        message = f"{opening} {were} read in part: the model was given {share} of the text of all."
        limits.append(Limit(name="window", message=message, cap=reading.budget))
    if dropped := reading.dropped:
        were = "1 source was" if len(dropped) == 1 else f"{len(dropped)} sources were"
        skipped = tuple(source.url or source.title for source in dropped)
        message = f"{opening} {were} not read at all."
        limits.append(Limit(name="window", message=message, cap=reading.budget, skipped=skipped))
    if reading.gave_way is ItemClass.TOP:
        message = f"{opening} less was read of the best sources than is meant to be."
        limits.append(Limit(name="window", message=message, cap=reading.budget))
    return [LimitReached(limit=limit) for limit in limits]
