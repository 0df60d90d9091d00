"""ANALYSIS: sources in batches, one unit each, then all of it weighed together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from deep_research.budget.allocation import ItemClass
from deep_research.budget.condense import condense
from deep_research.budget.counts import counts
from deep_research.budget.metered import RunModels
from deep_research.budget.tokens import Counter
from deep_research.evidence.agreement import confidence, filled, merged
from deep_research.evidence.citations import locate
from deep_research.evidence.contradictions import contradictions
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.portions import Portion, Reading, batched, fitted, whole
from deep_research.phases.base import Phase, noted, off_loop, shared, together
from deep_research.phases.keeping import Original, keep, to_keep
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Gap,
    Limit,
    QualityUpdate,
    Sending,
    SentItem,
    Source,
)
from deep_research.state.events import (
    ContentSent,
    Event,
    EvidenceWeighed,
    LimitReached,
    Progress,
    SourcesAnalyzed,
)
from deep_research.state.identity import finding_id, gap_id
from deep_research.state.journal import Journal

SURVEYED = 200  # sources that are looked at together, the best by what is known of them
OPENING = 2_400  # characters of a source without matched passages
MATCHED = 10_000  # characters of a source's matched passages
LONGEST_FINDING = 2_000  # characters of a statement that an agent made in its own words
TEXT_UNIT = 5_000  # characters that are counted or condensed in the time of one small item
GAPS_PER_SOURCE = 1_000  # room between the ranks of two batches' gaps


class AnalysisPhase(Phase[AnalyzerInput, AnalyzerOutput]):
    """Reads what no earlier unit has read. Ids that were not given are dropped, quotes are looked up in the
    saved text, and what cannot be found there is not evidence."""

    phase = DeepResearchPhase.ANALYSIS
    answer_type = AnalyzerOutput

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        if state.phase_done:
            return
        # All portions of this pass, also those read before a crash: what remains must be what it would have been.
        earlier = state.analyzed - state.analyzed_now
        sources = [s for s in state.sources if s.id not in earlier and s.content_hash]
        reading = await self._reading(sources, state, journal, models)
        unread = [p for p in reading.portions if any(s.id not in state.analyzed for s in p.sources)]
        await together(
            (
                partial(self._unit, portion, state, journal, len(reading.portions), models)
                for portion in unread
            ),
            at_once=self.limits.max_concurrent,
        )
        state = journal.state
        weighed = await off_loop(len(state.findings), _weigh, state, several=len(reading.portions) > 1)
        # What was found in earlier rounds, or before a retry, was not read together with this.
        readings = len(reading.portions) + bool(earlier)
        survey = await self._survey(journal.state, weighed, readings, journal, models)
        notes: list[Event] = list(_left_out(reading))
        if survey is not None:
            weighed = _with_survey(weighed, survey, state)
            notes += noted(survey.notes)
            found = await self._found_together(survey, state, journal)
            fresh = {f.id for f in found}
            known = {f.id for f in state.findings} - set(weighed.dropped)
            dropped = [i for i in dict.fromkeys(survey.dropped) if i in known and i not in fresh]
            weighed = weighed.model_copy(
                update={
                    "findings": (*(f for f in weighed.findings if f.id not in {*fresh, *dropped}), *found),
                    "dropped": (*weighed.dropped, *dropped),
                }
            )
        await journal.record(weighed, *notes)

    async def _found_together(
        self, survey: SurveyOutput, state: DeepResearchState, journal: Journal
    ) -> list[Finding]:
        """What the survey found, with its quotes in place; a finding that stands already is not there twice."""
        given = {s.id: s for s in state.sources if s.content_hash}
        named = {i for item in survey.findings for i in item.source_ids} & given.keys()
        held = [given[i] for i in sorted(named)]
        texts = dict(
            zip((s.id for s in held), await journal.texts([s.content_hash or "" for s in held]), strict=True)
        )
        found = (_finding(item, {s.id: s for s in held}, texts, state) for item in survey.findings)
        return [f for f in found if f is not None]

    async def _survey(
        self,
        state: DeepResearchState,
        weighed: EvidenceWeighed,
        readings: int,
        journal: Journal,
        models: RunModels | None,
    ) -> SurveyOutput | None:
        """The agent's look at everything together, when it has one."""
        if not hasattr(self.agent, "survey") or not state.sources:
            return None
        changed = {g.id: g for g in weighed.gaps}
        findings = {f.id: f for f in (*state.findings, *weighed.findings)}
        handoff = SurveyInput(
            **shared(state, self.phase),
            sub_queries=state.current_sub_queries(),
            sources=await self._matched(state.sources[:SURVEYED], journal),
            findings=tuple(f for f in findings.values() if f.id not in weighed.dropped),
            gaps=tuple(changed.get(g.id, g) for g in state.gaps),
            first_look=state.first_look,
            follow_ups=state.max_sub_queries if state.iteration < state.max_iterations else 0,
            readings=readings,
        )
        return await self.ask_also("survey", handoff, SurveyOutput, models)

    async def _matched(self, sources: Sequence[Source], journal: Journal) -> tuple[SourceText, ...]:
        """The sources with what the searches matched of their texts, which are loaded a few at a time."""
        held = [s for s in sources if s.content_hash]
        matched: list[SourceText] = []
        for batch in self._loaded(held):
            texts = await journal.texts([s.content_hash for s in batch if s.content_hash])
            matched += [_with_text(s, _passages(s, text)) for s, text in zip(batch, texts, strict=True)]
        return tuple(matched)

    async def _reading(
        self,
        sources: Sequence[Source],
        state: DeepResearchState,
        journal: Journal,
        models: RunModels | None,
    ) -> Reading:
        """What is read in which calls. An agent may set its own ``batch_bytes``; or, if it uses a model, tell by
        ``room_for_sources`` what a call has room for, ``call_tokens`` at most."""
        if not hasattr(self.agent, "room_for_sources"):
            return whole(sources, int(getattr(self.agent, "batch_bytes", self.limits.batch_bytes)))
        if not sources:
            return Reading(())
        room = await self.agent.room_for_sources(self._told(state), self._model(models))
        wholes = await self._counted(sources, journal, room.counter)
        return await off_loop(
            len(sources),
            fitted,
            sources,
            wholes,
            window=room.tokens,
            call=getattr(self.agent, "call_tokens", room.tokens),
            around=getattr(self.agent, "around_source", 0),
            budget=room.rules.reading_tokens,
            weights=self._told(state).weights,
            rules=room.rules,
            counter=room.counter,
        )

    async def _counted(self, sources: Sequence[Source], journal: Journal, counter: Counter) -> dict[str, int]:
        """About how many tokens each source has. Texts are loaded a few at a time, and counted once a process."""
        known = {s.id: counts().known(s.content_hash or "", counter) for s in sources}
        for batch in self._loaded([s for s in sources if known[s.id] is None]):
            texts = await journal.texts([s.content_hash for s in batch if s.content_hash])

            def count(batch: Sequence[Source] = batch, texts: Sequence[str] = texts) -> list[int]:
                pairs = zip(batch, texts, strict=True)
                return [counts().count(s.content_hash or "", text, counter) for s, text in pairs]

            size = sum(map(len, texts)) // TEXT_UNIT
            known |= zip((s.id for s in batch), await off_loop(size, count), strict=True)
        return {name: size or 0 for name, size in known.items()}

    def _loaded(self, sources: Iterable[Source]) -> Iterable[tuple[Source, ...]]:
        """The sources in as many at a time as are held in memory."""
        return batched(sources, {}, self.limits.batch_bytes)

    async def _unit(
        self,
        portion: Portion,
        state: DeepResearchState,
        journal: Journal,
        total: int,
        models: RunModels | None,
    ) -> None:
        many = len(portion.sources)
        journal.progress(Progress(phase=self.phase, message=f"reading {many} sources", total=total))
        # Texts are loaded only now, and dropped before recording: a thousand waiting runs hold none.
        handoff = await self.handoff(portion, state, journal)
        answer = await self.ask(handoff, models)
        texts = await self._quoted(answer, handoff, portion, journal)
        event = await off_loop(len(answer.findings), _event, answer, handoff, portion.sources, texts, state)
        events: list[Event] = [event, *noted(answer.notes)]
        del handoff, texts
        if portion.sizes:
            events += await self._sent(answer, portion, journal)
        del answer
        await journal.record(*events)

    async def handoff(self, portion: Portion, state: DeepResearchState, journal: Journal) -> AnalyzerInput:
        """The sources of a portion, those that are too long condensed to what they are given."""
        told = self._told(state)
        given: list[SourceText] = []
        for batch in self._loaded(s for s in portion.sources if not portion.is_dropped(s)):
            texts = await journal.texts([s.content_hash for s in batch if s.content_hash])
            size = sum(len(t) for s, t in zip(batch, texts, strict=True) if _is_cut(s, portion)) // TEXT_UNIT
            given += await off_loop(size, _shortened, batch, texts, portion, told.looked_for)
        return told.model_copy(update={"sources": tuple(given)})

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

    async def _quoted(
        self, answer: AnalyzerOutput, handoff: AnalyzerInput, portion: Portion, journal: Journal
    ) -> dict[str, str]:
        """The whole texts of the sources that findings quote, by id."""
        texts = {s.id: s.content for s in handoff.sources if not s.tokens}
        named = {quote.source_id for finding in answer.findings for quote in finding.quotes}
        missing = [s for s in portion.sources if s.id in named and s.id not in texts]
        found = await journal.texts([s.content_hash for s in missing if s.content_hash])
        return texts | dict(zip((s.id for s in missing), found, strict=True))

    async def _sent(self, answer: AnalyzerOutput, portion: Portion, journal: Journal) -> list[Event]:
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
            for batch in self._loaded(s for s in portion.sources if s.id in wanted):
                texts = await journal.texts([s.content_hash for s in batch if s.content_hash])
                originals = {s.id: _original(s, text) for s, text in zip(batch, texts, strict=True)}
                hashes, told = await keep(self.limits.archive, [wanted[i] for i in originals], originals)
                kept |= hashes
                notes += told
        sending = Sending(items=items, available=max(portion.available, answer.sent.available), archived=kept)
        return [ContentSent(phase=self.phase, sending=sending), *notes]


def _is_cut(source: Source, portion: Portion) -> bool:
    return source.id in portion.sizes and portion.sizes[source.id] < portion.wholes[source.id]


def _shortened(
    batch: Sequence[Source], texts: Sequence[str], portion: Portion, query: str
) -> list[SourceText]:
    """The sources with their texts, those that are given less condensed."""
    given = []
    for source, text in zip(batch, texts, strict=True):
        if not _is_cut(source, portion):
            given.append(_with_text(source, text))
            continue
        room = portion.sizes[source.id]
        content = condense(text, room, query=query, measure=portion.counter.expected).text
        given.append(_with_text(source, content).model_copy(update={"tokens": portion.wholes[source.id]}))
    return given


def _original(source: Source, text: str) -> Original:
    about = {"title": source.title} | ({"url": source.url} if source.url else {})
    return Original(text, "source", about)


def _left_out(reading: Reading) -> list[LimitReached]:
    """What there was no room for, though it was not to be left out, is told of as much as what was."""
    limits = []
    if dropped := reading.dropped:
        many = "1 source was" if len(dropped) == 1 else f"{len(dropped)} sources were"
        message = f"{many} not read, for want of room: a model reads {reading.budget:,} tokens in a round."
        skipped = tuple(source.url or source.title for source in dropped)
        limits.append(Limit(name="window", message=message, cap=reading.budget, skipped=skipped))
    if reading.gave_way is ItemClass.TOP:
        message = "Of the best sources less was read than is meant to be, for want of room."
        limits.append(Limit(name="window", message=message, cap=reading.budget))
    return [LimitReached(limit=limit) for limit in limits]


def _passages(source: Source, text: str) -> str:
    """What the searches matched, or the opening where they do not say."""
    return "\n".join(text[p.start : p.end] for p in source.passages)[:MATCHED] or text[:OPENING]


def _open_at_start(state: DeepResearchState) -> tuple[Gap, ...]:
    """The gaps of earlier iterations as they stood when the phase began: a unit is told the same after a crash as
    before, whatever the units already stored have found or filled."""
    return tuple(
        gap.model_copy(update={"addressed": False})
        for gap in state.gaps
        if gap.iteration < state.iteration and (not gap.addressed or gap.resolution is None)
    )


def _with_text(source: Source, text: str) -> SourceText:
    return SourceText(
        id=source.id,
        title=source.title,
        url=source.url,
        snippet=source.snippet,
        content=text,
        quality=source.quality,
        published=source.published,
        sub_query_id=source.sub_query_id,
        relevance=source.relevance,
        passages=source.passages,
        mentions=source.mentions,
    )


def _event(
    answer: AnalyzerOutput,
    handoff: AnalyzerInput,
    batch: Sequence[Source],
    texts: dict[str, str],
    state: DeepResearchState,
) -> SourcesAnalyzed:
    given = {s.id: s for s in batch}
    findings = [_finding(item, given, texts, state, quoted=answer.quoted) for item in answer.findings]
    open_gaps = {g.id for g in handoff.open_gaps}
    first = next((n for n, s in enumerate(state.sources) if s.id in given), 0) * GAPS_PER_SOURCE
    return SourcesAnalyzed(
        source_ids=tuple(given),
        findings=tuple(f for f in findings if f is not None),
        gaps=tuple(
            _gap(item, state, first + number)
            for number, item in enumerate(answer.gaps)
            if item.description.strip()
        ),
        quality_updates=tuple(
            QualityUpdate(source_id=u.source_id, quality=u.quality)
            for u in answer.quality_updates
            if u.source_id in given
        ),
        addressed_gap_ids=tuple(i for i in dict.fromkeys(answer.addressed_gap_ids) if i in open_gaps),
        unfounded=sum(finding is None for finding in findings),
        unknown_ids=answer.unknown,
        own_words=answer.quoted and any(findings),
    )


def _gap(item: AnalyzedGap, state: DeepResearchState, rank: int) -> Gap:
    return Gap(
        id=gap_id(item.description),
        description=" ".join(item.description.split()),
        suggested_queries=item.suggested_queries,
        priority=item.priority,
        iteration=state.iteration,
        rank=rank,
    )


def _finding(
    item: AnalyzedFinding,
    given: dict[str, Source],
    texts: dict[str, str],
    state: DeepResearchState,
    *,
    quoted: bool = False,
) -> Finding | None:
    """The finding with its quotes in place, or None when no source that was given carries it. Where it has to be
    ``quoted``, only a source whose quote was found does."""
    content = " ".join(item.content.split())
    source_ids = tuple(i for i in dict.fromkeys(item.source_ids) if i in given)
    if not content or not source_ids or (quoted and len(content) > LONGEST_FINDING):
        return None
    located = (
        locate(
            q.quote,
            texts[q.source_id],
            source_id=q.source_id,
            content_hash=given[q.source_id].content_hash or "",
            hint=q.start,
        )
        for q in item.quotes
        if q.source_id in source_ids
    )
    quotes = tuple(q for q in located if q is not None)
    if quoted:
        source_ids = tuple(i for i in source_ids if any(q.source_id == i for q in quotes))
        if not source_ids:
            return None
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=confidence(item.confidence, source_ids, given),
        source_ids=source_ids,
        category=item.category,
        quotes=quotes,
        sub_query_id=item.sub_query_id,
        relevance=item.relevance,
        iteration=item.iteration or state.iteration,
    )


def _weigh(state: DeepResearchState, *, several: bool) -> EvidenceWeighed:
    """Put the batches together. When there were several, a gap that one of them saw may be filled by another."""
    known = {f.id: f for f in state.findings}
    findings = merged(state.findings, {s.id: s for s in state.sources})
    kept = {f.id for f in findings}
    by_others = filled(state.unresolved_gaps(), [f.content for f in findings]) if several else set()
    gaps: list[Gap] = []
    for gap in state.gaps:
        if gap.id in by_others or (gap.addressed and gap.resolution is None):
            resolution = f"Evidence was found in iteration {state.iteration}."
            gaps.append(gap.model_copy(update={"addressed": True, "resolution": resolution}))
    return EvidenceWeighed(
        findings=tuple(f for f in findings if known[f.id] != f),
        dropped=tuple(i for i in known if i not in kept),
        gaps=tuple(gaps),
        contradictions=contradictions(findings),
    )


def _with_survey(weighed: EvidenceWeighed, survey: SurveyOutput, state: DeepResearchState) -> EvidenceWeighed:
    """The event with the survey's scores, and its follow-up queries at the first gap that is still open."""
    known = {s.id for s in state.sources}
    changed = {g.id: g for g in weighed.gaps}
    current = {g.id: g for g in state.gaps} | changed
    for gap_id_ in survey.addressed_gap_ids:
        if gap_id_ in current and not current[gap_id_].addressed:
            resolution = f"Evidence was found in iteration {state.iteration}."
            changed[gap_id_] = current[gap_id_].model_copy(
                update={"addressed": True, "resolution": resolution}
            )
    for number, item in enumerate(survey.gaps):
        gap = _gap(item, state, len(state.gaps) + number)
        changed.setdefault(gap.id, gap)
    still_open = [g for g in ({g.id: g for g in state.gaps} | changed).values() if not g.addressed]
    if still_open and survey.follow_ups:
        first = min(still_open, key=lambda g: (g.priority, g.iteration, g.rank))
        changed[first.id] = first.model_copy(update={"suggested_queries": survey.follow_ups})
    return weighed.model_copy(
        update={
            "gaps": tuple(changed.values()),
            "scores": {key: score for key, score in survey.scores.items() if key in known},
            "completeness": survey.completeness,
            "unknown_ids": survey.unknown,
        }
    )
