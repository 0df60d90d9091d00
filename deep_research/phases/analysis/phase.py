"""ANALYSIS: sources in portions, one unit each, then all of it weighed together, and the rules for findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from deep_research.budget.content_budget import ContentRules
from deep_research.budget.metered import RunModels
from deep_research.budget.tokens import Counter
from deep_research.calls import off_loop
from deep_research.errors import BudgetError, ModelError, WindowError
from deep_research.logs import get_log
from deep_research.phases.agent_contract import Agent
from deep_research.phases.analysis.handoff import (
    ANALYZE,
    DECIDE,
    REQUOTE,
    ROOM_FOR_SOURCES,
    SURVEY,
    AnalyzerInput,
    AnalyzerOutput,
    DoubtInput,
    DoubtOutput,
    RequoteInput,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.quote_recovery import (
    TOKENS_PER_READING,
    apply_requotes,
    doubtful_findings,
    locate_quotes,
)
from deep_research.phases.analysis.reading_choice import choose_reading, found_again
from deep_research.phases.analysis.reading_plan import left_out, plan_reading, unread, usage_events, whole
from deep_research.phases.analysis.recorded_findings import (
    Findings,
    analyzed,
    as_answer,
    taken_now,
    untaken,
)
from deep_research.phases.analysis.source_texts import Shortening, Texts
from deep_research.phases.analysis.weighed_evidence import (
    fillings,
    open_at_start,
    standing_findings,
    weighed,
    with_findings,
    with_lacking,
    with_survey,
)
from deep_research.phases.base import Phase, WorkLimits, judged, noted
from deep_research.phases.concurrency import together
from deep_research.phases.handoff import shared, with_latest
from deep_research.phases.prompting import counter_of, today
from deep_research.phases.steering_plan import unfollowed
from deep_research.phases.summarizing import Summarizer
from deep_research.state import (
    AnswerCoverage,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    ModelRole,
    ReadingBatch,
    ReadingPlan,
    Source,
    ValidationResult,
)
from deep_research.state.events import (
    Event,
    EvidenceWeighed,
    Progress,
    ReadingPlanned,
    SourcesAnalyzed,
    notice_event,
)
from deep_research.state.journal import Journal

MIN_FINDINGS = 2
MIN_COVERAGE = 0.3
STRONG = (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)

TEXT_UNIT = 250  # characters of findings that are weighed, or of texts that they are set against, in the time of one item
BESIDE_DOUBTS = (
    3  # requests that a cap has to leave: for the doubtful sources, a reading, what readings share
)
SURVEYED = 200  # sources that are looked at together, the best by what is known of them
log = get_log("analysis")


def validate_analysis(state: DeepResearchState) -> ValidationResult:
    """Pure. No finding at all blocks; all else is advice."""
    count = len(state.findings)
    strong = sum(f.confidence in STRONG for f in state.findings)
    issues: list[str] = []
    blocking: list[str] = []
    if not count or state.answer_coverage is AnswerCoverage.NO:
        blocking.append("No finding answers the question.")
    elif count < MIN_FINDINGS:
        issues.append("Only one finding speaks to the question.")
    if count and not strong:
        issues.append("No finding is of high confidence.")
    cited_ids = {source_id for f in state.findings for source_id in f.source_ids}
    share = len(cited_ids) / max(1, len(state.sources) - len(state.passed_over))
    if share < MIN_COVERAGE:
        issues.append(f"Findings cite only {share:.0%} of the sources.")
    return judged(blocking, issues, count * 2.0 + strong)


class AnalysisPhase(Phase):
    """Reads what no earlier unit has read. Ids that were not given are dropped, quotes are looked up in the
    saved text, and what cannot be found there is not evidence."""

    phase = DeepResearchPhase.ANALYSIS
    operations = (ANALYZE, ROOM_FOR_SOURCES, DECIDE, REQUOTE, SURVEY)

    def __init__(
        self,
        agent: Agent | Callable[..., Any],
        *,
        limits: WorkLimits | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        """With a ``summarizer``, the model of that role chooses what is kept of sources that are too long."""
        super().__init__(agent, limits=limits)
        self._summarizer = summarizer

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        texts = Texts(journal, self.limits.batch_bytes)
        task_events = await self._take_tasks(texts, models)
        state = journal.state
        read_on = state.reading.read_on if state.reading is not None else frozenset()
        earlier = (state.analyzed - state.analyzed_now) | read_on
        # When the phase is done again, what was chosen before gave too little.
        passed_over = state.passed_over if not state.attempt else frozenset()
        sources = [s for s in state.sources if s.id not in earlier | passed_over and s.content_hash]
        again = [s for s in found_again(state) if s.id not in passed_over]
        plan, counter = await self._plan(sources, again, state, texts, models)
        total = len(plan.portions)
        remaining = [p for p in plan.portions if unread(p, plan, state)]
        await together(
            (partial(self._unit, portion, plan, state, texts, counter, models) for portion in remaining),
            at_once=self.limits.max_concurrent,
            check=journal.check,
        )
        left = await left_out(plan, texts, self.limits.archive)
        # What was found in earlier rounds, or before a retry, was not read together with this.
        # Each task's findings are a reading of their own; gaps are named when all of them are put together.
        readings = max(total + task_events + bool(earlier), 2 * bool(task_events))
        await self._weigh(journal.state, total + task_events, readings, texts, models, left)

    async def _take_tasks(self, texts: Texts, models: RunModels | None) -> int:
        """What tasks found becomes findings, a unit for each task; of how many that was in this iteration."""
        state = texts.journal.state
        for stands in untaken(state):
            by_id = {s.id: s for s in state.sources}
            sub_query = next(s for s in state.sub_queries if s.id == stands.task.sub_query_id)
            sources = [by_id[i] for i in sorted(stands.quoted_source_ids) if i in by_id]
            handoff = self._input(state).model_copy(update={"sources": await texts.whole(sources)})
            stated_answer = as_answer(stands, sub_query)
            _, event = await self._analyzed(stated_answer, handoff, sources, state, texts, models)
            await texts.journal.record(event.model_copy(update={"task_ids": (stands.task.id,)}))
        return taken_now(texts.journal.state)

    async def _plan(
        self,
        sources: Sequence[Source],
        known: Sequence[Source],
        state: DeepResearchState,
        texts: Texts,
        models: RunModels | None,
    ) -> tuple[ReadingPlan, Counter]:
        """What is read in which calls, and how it is counted. An agent may set its own ``batch_bytes``; or, if it uses a
        model, tell what a call has room for. Then the plan is in the log: what remains after a crash is what it would
        have been."""
        if not (self.spec.uses_model and self.spec.can(ROOM_FOR_SOURCES)):
            return whole(sources, self.spec.batch_bytes or self.limits.batch_bytes), Counter()
        if not sources and not known and state.reading is None:
            return ReadingPlan(), Counter()
        handoff = self._input(state)
        counter = await counter_of(self._model(models))
        if state.reading is not None:
            return state.reading, counter
        plan, notes = await plan_reading(
            sources,
            known,
            handoff,
            texts,
            room=await self.ask(ROOM_FOR_SOURCES, handoff, models),
            counter=counter,
            models=models,
            shortens=self._shortens(models),
            decide=partial(self._decide, models),
        )
        await texts.journal.record(ReadingPlanned(plan=plan), *notes)
        return plan, counter

    async def sizes(self, journal: Journal, rules: ContentRules, counter: Counter) -> dict[str, int]:
        """About how many tokens a model would read of each source that was gathered, as far as code chooses them."""
        state, texts = journal.state, Texts(journal, self.limits.batch_bytes)
        sources = [source for source in state.sources if source.content_hash]
        choice = await choose_reading(sources, (), self._input(state), texts, rules)
        return await texts.sizes(choice.read, choice.by_id, counter)

    async def _decide(self, models: RunModels | None, handoff: DoubtInput) -> DoubtOutput | None:
        """What the agent's model says of doubtful sources, where the caps leave a request for that beside a reading and
        what all readings have in common."""
        spare = (
            models.affordable(ModelRole.ANALYZER, self.phase, *TOKENS_PER_READING, now=True) if models else 0
        )
        if not self.spec.can(DECIDE) or (spare is not None and spare < BESIDE_DOUBTS):
            return None
        return await self.ask(DECIDE, handoff, models)

    def _shortens(self, models: RunModels | None) -> bool:
        """Whether a model chooses what is kept of sources that are too long."""
        if self._summarizer is None or models is None:
            return False
        return bool(models.roles.by_role.get(ModelRole.SUMMARIZER))

    async def _unit(
        self,
        portion: ReadingBatch,
        plan: ReadingPlan,
        state: DeepResearchState,
        texts: Texts,
        counter: Counter,
        models: RunModels | None,
    ) -> None:
        by_id = {s.id: s for s in state.sources}
        # Of a portion that was planned for a model some may have been read without one.
        remaining = unread(portion, plan, state)
        sources = [by_id[i] for i in portion.source_ids if i in remaining]
        note = f"reading {len(sources)} sources"
        texts.journal.progress(Progress(phase=self.phase, message=note, total=len(plan.portions)))
        alone = len(plan.portions) == 1 and state.analyzed <= state.analyzed_now
        alone = alone and not taken_now(state)
        base_handoff = with_latest(self._input(state), texts.journal.state).model_copy(
            update={"names_gaps": alone}
        )
        shortening = self._shortening(base_handoff, counter, models)
        triage = {item.source_id: item for item in plan.triage}
        # Texts are loaded only now, and dropped before recording: a thousand waiting runs hold none.
        batch_texts = await texts.batch_texts(sources, portion, triage, shortening)
        handoff = base_handoff.model_copy(update={"sources": batch_texts})
        first_answer = await self.ask(ANALYZE, handoff, models)
        answer, event = await self._analyzed(first_answer, handoff, sources, state, texts, models)
        problems = (f"Sources were shortened without a model: {why}" for why in shortening.problems)
        events: list[Event] = [event, *noted(answer.notes), *noted(problems, "summarizer")]
        del handoff, batch_texts
        if portion.sizes:
            sending = answer.context_usage.model_copy(update={"available": portion.available})
            events += await usage_events(sending, sources, texts, self.limits.archive)
        del answer, first_answer
        await texts.journal.record(*events)

    async def _analyzed(
        self,
        given: AnalyzerOutput,
        handoff: AnalyzerInput,
        sources: Sequence[Source],
        state: DeepResearchState,
        texts: Texts,
        models: RunModels | None,
    ) -> tuple[AnalyzerOutput, SourcesAnalyzed]:
        """The answer with its quotes located, and what the log has of it."""
        answer, asked_places = await self._locate_quotes(given, handoff, texts.journal, models)
        quoted_ids = {q.source_id for finding in answer.findings for q in finding.quotes}
        contents = {s.id: s.content for s in handoff.sources if not s.tokens and not s.in_part}
        contents |= await texts.of([s for s in sources if s.id in quoted_ids and s.id not in contents])
        size = sum(map(len, contents.values())) // TEXT_UNIT  # findings may be set against all of it
        return answer, await off_loop(size, analyzed, answer, handoff, sources, contents, state, asked_places)

    async def _locate_quotes(
        self, answer: AnalyzerOutput, handoff: AnalyzerInput, journal: Journal, models: RunModels | None
    ) -> tuple[AnalyzerOutput, frozenset[int]]:
        """The answer with its quotes as the sources have them; findings that they do not carry are asked for once more,
        all together, where that takes nothing from the readings to come. Without it what was answered stands. And the
        places of the findings that were asked for."""
        if not answer.has_quotes:
            return answer, frozenset()
        size = sum(len(source.content) for source in handoff.sources) // TEXT_UNIT
        located = await off_loop(size, locate_quotes, answer, handoff)
        may_ask = self._can_ask_again(journal.state, models)
        doubtful = await off_loop(size, doubtful_findings, located, handoff) if may_ask else {}
        if not doubtful:
            return located.answer, frozenset()
        request = RequoteInput(**handoff.common, findings=tuple(doubtful.values()))
        try:
            requotes = await self.ask(REQUOTE, request, models)
        except (BudgetError, ModelError, WindowError) as error:
            log.info("findings_not_asked_again", findings=len(doubtful), error=error.problem)
            return located.answer, frozenset()
        answers = zip(doubtful, requotes.findings, strict=False)
        asked_places = frozenset(place for place, again in answers if again is not None)
        return await off_loop(size, apply_requotes, located, doubtful, requotes, handoff), asked_places

    def _can_ask_again(self, state: DeepResearchState, models: RunModels | None) -> bool:
        """Whether the caps leave a request beside one for each other reading that is not recorded, and one for what all
        have in common. Several may ask at a time: each of them counts among those that are not recorded."""
        if models is None or not (self.spec.uses_model and self.spec.can(REQUOTE)):
            return False
        plan = state.reading or ReadingPlan()
        remaining = sum(bool(unread(portion, plan, state)) for portion in plan.portions)
        spare = models.affordable(ModelRole.ANALYZER, self.phase, *TOKENS_PER_READING, now=True)
        return spare is None or spare >= max(1, remaining) + (len(plan.portions) > 1)

    def _shortening(self, told: AnalyzerInput, counter: Counter, models: RunModels | None) -> Shortening:
        query, summarizer = told.looked_for, self._summarizer
        if models is None or summarizer is None or not self._shortens(models):
            return Shortening(query, counter)
        model, day = models.model(ModelRole.SUMMARIZER, self.phase), today(told.day, told.as_of)
        by_model = partial(summarizer.condensed, query=query, counter=counter, model=model, day=day)
        return Shortening(query, counter, by_model)

    def _input(self, state: DeepResearchState) -> AnalyzerInput:
        """What a call is told beside its sources."""
        return AnalyzerInput(
            **shared(state, self.phase),
            research_brief=state.research_brief,
            source_count=len(state.sources),
            high_quality_sources=state.high_quality_sources(),
            sub_queries=state.current_sub_queries(),
            open_gaps=open_at_start(state),
            findings=tuple(f for f in state.findings if f.iteration < state.iteration),
        )

    async def _weigh(
        self,
        state: DeepResearchState,
        batches: int,
        readings: int,
        texts: Texts,
        models: RunModels | None,
        told: Sequence[Event],
    ) -> None:
        """All batches put together, and looked at once more by an agent that does so."""
        size = _size(state.findings)
        event = await off_loop(size, weighed, state, several=batches > 1, by_model=self.spec.uses_model)
        survey = await self._survey(state, event, readings, texts, models)
        notes = list(told)
        if survey is None:
            event = with_lacking(event, state)
        else:
            contradictions = await self._found_together(survey, state, texts)
            size = _size([*state.findings, *contradictions])
            event = await off_loop(size, with_findings, event, survey, contradictions, state)
            # A survey may name a gap of a part, and cannot close that of one that nothing answers.
            event = with_lacking(with_survey(with_lacking(event, state), survey, state), state)
            notes += [*noted(survey.notes), *unfollowed(survey.unfollowed)]
            notes += [notice_event(notice) for notice in survey.notices]
        await texts.journal.record(event, *notes)

    async def _found_together(
        self, survey: SurveyOutput, state: DeepResearchState, texts: Texts
    ) -> list[Finding]:
        """What the survey found, with its quotes in place; a finding that stands already is not there twice."""
        sources = {s.id: s for s in state.sources if s.content_hash}
        cited_ids = {i for item in survey.findings for i in item.source_ids} & sources.keys()
        cited_sources = {i: sources[i] for i in sorted(cited_ids)}
        contents = await texts.of(list(cited_sources.values()))
        findings = Findings(cited_sources, contents, state)
        return [f for item in survey.findings if (f := findings.finding(item)) is not None]

    async def _survey(
        self,
        state: DeepResearchState,
        event: EvidenceWeighed,
        readings: int,
        texts: Texts,
        models: RunModels | None,
    ) -> SurveyOutput | None:
        """The agent's look at everything together, when it has one."""
        if not self.spec.can(SURVEY) or not state.sources:
            return None
        changed = {g.id: g for g in event.gaps}
        stand = standing_findings(event, state)
        handoff = SurveyInput(
            **shared(state, self.phase),
            sub_queries=state.current_sub_queries(),
            sources=await texts.matched(state.sources[:SURVEYED]),
            findings=stand,
            gaps=tuple(changed.get(g.id, g) for g in state.gaps),
            first_look=state.first_look,
            follow_ups=state.max_follow_ups if state.iteration < state.max_iterations else 0,
            readings=readings,
            read_by_model=state.own_words,
            whole=await self._read_again(state.sources[:SURVEYED], texts),
            words=state.report_words,
            research_brief=state.research_brief,
            fillings=fillings(state, stand) if self.spec.uses_model else {},
            contradictions=event.contradictions,
            references=state.references,
        )
        return await self.ask(SURVEY, handoff, models)

    async def _read_again(self, sources: Sequence[Source], texts: Texts) -> tuple[SourceText, ...]:
        """The whole texts of the best sources, as many as fit into a batch, for an agent that looks at them once more."""
        batches = texts.batches(s for s in sources if s.content_hash and self.spec.reads_again)
        return await texts.whole(next(iter(batches), ()))


def _size(findings: Iterable[Finding]) -> int:
    """How much work it is to weigh findings: they are compared word for word, and so are their quotes."""
    texts = (text for f in findings for text in (f.content, *(quote.quote for quote in f.quotes)))
    return sum(map(len, texts)) // TEXT_UNIT
