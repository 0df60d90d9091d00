"""The fold: how each event changes the state.

`Fold` is the live state of a run, changed in place by a table of one function per event class; frozen copies
per event would make long runs quadratic. Everybody else gets `Fold.snapshot()`, a frozen
`DeepResearchState` cached by sequence number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from deep_research.errors import LogDamagedError
from deep_research.state import events as ev
from deep_research.state.admission import Admission, Depth, Scope
from deep_research.state.claims import Claim, Draft, Judgement, PartJudgement, Repair, merge_parts
from deep_research.state.context_usage import ContextUsage, ReadDepth, ReadingPlan, SentItem
from deep_research.state.memory_refs import MemoryRef
from deep_research.state.parking import Parking
from deep_research.state.phases import (
    AbortReason,
    DeepResearchPhase,
    RunStatus,
    SourceQuality,
    SubQueryStatus,
)
from deep_research.state.question_parts import PartVerdict, QuestionPart
from deep_research.state.queue_place import QueuePlace
from deep_research.state.raising import higher, pages_left, read_for_less, starts, told_of
from deep_research.state.records import (
    ANSWERED,
    OF_PAGES,
    OF_REPORT,
    PAGES,
    STEERED,
    AgentDecision,
    Contradiction,
    Finding,
    FirstLook,
    Gap,
    GapAnalysis,
    Guidance,
    IterationRecommendation,
    Limit,
    Notice,
    QualityUpdate,
    Reference,
    Remark,
    Source,
    Span,
    SubQuery,
)
from deep_research.state.report import Citation, ReportMetadata
from deep_research.state.resolution import Resolution
from deep_research.state.run import Abort, DeepResearchState, RunOptions
from deep_research.state.setup import SetUp
from deep_research.state.spending import Reservation, Spent, Usage
from deep_research.state.tasks import TaskState

_COLLECTIONS = frozenset(
    {
        "sub_queries",
        "tasks",
        "sources",
        "analyzed",
        "analyzed_now",
        "sections_read",
        "irrelevant",
        "findings",
        "gaps",
        "contradictions",
        "references",
        "decisions",
        "guidance",
        "limits",
        "notices",
        "answers",
        "reservations",
        "context_usage",
    }
)
_SCALARS = tuple(name for name in DeepResearchState.model_fields if name not in _COLLECTIONS)


class Fold:
    """The live state of one run. Only a journal applies events to it. Its fields are those of
    `DeepResearchState`; the scalar ones are copied from it by name."""

    research_id: str
    query: str
    options: RunOptions
    setup: SetUp | None
    queue: QueuePlace | None
    admission: Admission | None
    resolution: Resolution | None
    recalling: bool
    memories: tuple[MemoryRef, ...]
    remembered: tuple[MemoryRef, ...]
    depth: Depth
    scope: Scope | None
    status: RunStatus
    phase: DeepResearchPhase
    iteration: int
    attempt: int
    phase_done: bool
    research_brief: str | None
    first_look: FirstLook | None
    parts: tuple[QuestionPart, ...]
    verdicts: tuple[PartVerdict, ...]
    completeness: float
    report: str | None
    report_metadata: ReportMetadata | None
    citations: tuple[Citation, ...]
    claims: tuple[Claim, ...]
    repairs: tuple[Repair, ...]
    pieces: dict[str, str]
    draft: Draft | None
    judgements: dict[str, Judgement]
    part_judgements: dict[str, PartJudgement]
    gap_analysis: tuple[GapAnalysis, ...]
    recommendation: IterationRecommendation | None
    report_improvements: tuple[str, ...]
    remarks: tuple[Remark, ...]
    report_draft: str
    usage: Usage
    reading: ReadingPlan | None
    iteration_spent: Spent
    phase_spent: Spent
    phase_answers: int
    bytes_a_token: dict[str, float]
    duplicates_skipped: int
    unfounded: int
    unknown_ids: int
    unlocated: int
    own_words: bool
    supervisor_retries: int
    replanned: bool
    refined: int
    pages_left: tuple[str, ...]
    plan_approved: bool
    searching_stopped: bool
    parking: Parking | None
    abort: Abort | None
    seconds: float
    seq: int
    created_at: datetime | None
    updated_at: datetime | None
    completed_at: datetime | None

    def __init__(self, base: DeepResearchState | None = None) -> None:
        self._reopened = False  # by what has to be followed by more money
        self._empty = base is None  # a log opens with run.created; a state made by hand does not
        base = base or DeepResearchState(query="")
        for name in _SCALARS:
            setattr(self, name, getattr(base, name))
        self.sub_queries: dict[str, SubQuery] = {s.id: s for s in base.sub_queries}
        self.tasks: dict[str, TaskState] = {t.task.id: t for t in base.tasks}
        self.sources: dict[str, Source] = {s.id: s for s in base.sources}
        self.analyzed: set[str] = set(base.analyzed)
        self.analyzed_now: set[str] = set(base.analyzed_now)
        self.sections_read: dict[str, tuple[Span, ...]] = dict(base.sections_read)
        self.irrelevant: set[str] = set(base.irrelevant)
        self.findings: dict[str, Finding] = {f.id: f for f in base.findings}
        self.gaps: dict[str, Gap] = {g.id: g for g in base.gaps}
        self.contradictions: dict[str, Contradiction] = {c.id: c for c in base.contradictions}
        self.references: dict[Reference, None] = dict.fromkeys(base.references)
        self.decisions: list[AgentDecision] = list(base.decisions)
        self.guidance: list[Guidance] = list(base.guidance)
        self.limits: dict[tuple[str, str], Limit] = {(x.name, x.message): x for x in base.limits}
        self.notices: dict[tuple[str, str], Notice] = {(x.name, x.message): x for x in base.notices}
        self.answers: dict[str, Any] = dict(base.answers)
        self.reservations: dict[str, Reservation] = {r.call_id: r for r in base.reservations}
        self.sent: dict[DeepResearchPhase, ContextUsage] = dict(base.context_usage)
        self._snapshot: DeepResearchState | None = None
        # Ranking is worth doing only when what is ranked has changed.
        self._sources: tuple[Source, ...] | None = None
        self._findings: tuple[Finding, ...] | None = None

    def apply(self, event: ev.Event) -> None:
        """Change the state by one event.

        Raises `LogDamagedError` when the event does not follow the last one or cannot happen now.
        """
        if event.seq != self.seq + 1:
            raise _damaged(f"event {event.seq} follows event {self.seq}", self.research_id)
        if self.status is RunStatus.COMPLETED and not isinstance(event, ev.RunResumed):
            raise _damaged(f"'{event.name}' after the run completed", self.research_id)
        if self._reopened and not isinstance(event, ev.BudgetRaised):  # nothing else opens a completed run
            raise _damaged(f"'{event.name}' of a completed run that was taken up", self.research_id)
        if self.status is RunStatus.ABORTED and not isinstance(event, ev.RunResumed):
            raise _damaged(f"'{event.name}' after the run was aborted", self.research_id)
        if isinstance(event, ev.RunCreated) is not (self._empty and event.seq == 1):
            raise _damaged(f"'{event.name}' as event {event.seq}", self.research_id)
        if not _fits(self, event):
            raise _damaged(
                f"'{event.name}' does not fit {self.phase} of iteration {self.iteration}", self.research_id
            )
        completed = self.status is RunStatus.COMPLETED
        try:
            _REDUCERS[type(event)](self, event)
        except KeyError as error:
            raise _damaged(f"'{event.name}' names an unknown {error}", self.research_id) from error
        self._reopened = completed
        self.seq = event.seq
        self.updated_at = event.at
        self._snapshot = None
        if isinstance(event, _RANKS):
            self._sources = None

    def snapshot(self) -> DeepResearchState:
        """The state as a frozen record; the same object until the next event."""
        if self._snapshot is None:
            if self._sources is None:
                self._sources, self._findings = self._ranked_sources(), None
            if self._findings is None:
                self._findings = self._ranked_findings(self._sources)
            self._snapshot = DeepResearchState(
                sub_queries=tuple(sorted(self.sub_queries.values(), key=lambda s: s.index)),
                tasks=tuple(sorted(self.tasks.values(), key=self._place_of_task)),
                sources=self._sources,
                analyzed=frozenset(self.analyzed),
                analyzed_now=frozenset(self.analyzed_now),
                sections_read=dict(self.sections_read),
                irrelevant=frozenset(self.irrelevant),
                findings=self._findings,
                gaps=tuple(sorted(self.gaps.values(), key=lambda g: (g.iteration, g.rank))),
                contradictions=tuple(self.contradictions.values()),
                references=tuple(sorted(self.references, key=lambda r: (r.source_id, r.target, r.text))),
                decisions=tuple(self.decisions),
                guidance=tuple(self.guidance),
                limits=tuple(self.limits[key] for key in sorted(self.limits)),
                notices=tuple(self.notices[key] for key in sorted(self.notices)),
                answers=dict(self.answers),
                reservations=tuple(self.reservations.values()),
                context_usage=dict(self.sent),
                **{name: getattr(self, name) for name in _SCALARS},
            )
        return self._snapshot

    def _place_of_task(self, task: TaskState) -> int:
        return self.sub_queries[task.task.sub_query_id].index

    def _ranked_sources(self) -> tuple[Source, ...]:
        """By score; those without one after them, by the sub-query that found them first, then by rank."""
        order = {s.id: s.index for s in self.sub_queries.values()}
        return tuple(
            sorted(
                self.sources.values(),
                key=lambda s: (
                    s.score is None,
                    -(s.score or 0.0),
                    order.get(s.sub_query_id, len(order)),
                    s.rank,
                ),
            )
        )

    def _ranked_findings(self, sources: tuple[Source, ...]) -> tuple[Finding, ...]:
        """By iteration, then by their first source. Which batch was read first does not show."""
        place = {s.id: n for n, s in enumerate(sources)}
        last = len(sources)
        return tuple(
            sorted(
                self.findings.values(),
                key=lambda f: (f.iteration, min([place.get(i, last) for i in f.source_ids], default=last)),
            )
        )


def fold(events: Iterable[ev.Event]) -> Fold:
    """The live state after a log."""
    state = Fold()
    for event in events:
        state.apply(event)
    return state


def _fits(state: Fold, event: ev.Event) -> bool:
    """Whether the machine can be where the event says: iterations come one by one, and only PLANNING may be
    done again from another phase."""
    match event:
        case ev.IterationStarted():
            return event.iteration == state.iteration + 1
        case ev.PhaseStarted():
            return event.iteration == state.iteration
        case ev.PhaseRetried(asked_by="resume"):  # searches that failed, for want of which nothing was found
            return event.phase in (state.phase, DeepResearchPhase.GATHERING)
        case ev.PhaseRetried():
            return event.phase in (state.phase, DeepResearchPhase.PLANNING)
        case _:
            return True


def _damaged(what: str, research_id: str) -> LogDamagedError:
    return LogDamagedError(
        f"The log of run '{research_id}' does not hold together: {what}.",
        hint="Restore the database from a backup, or delete the run.",
        research_id=research_id,
    )


_RANKS = (
    ev.PlanMade,
    ev.PhaseRetried,
    ev.SubQueriesAdded,
    ev.RunSteered,
    ev.PlanApproved,
    ev.IterationStarted,
    ev.SubQueryCompleted,
    ev.TaskStepped,
    ev.SourcesAnalyzed,
    ev.EvidenceWeighed,
)
_E = TypeVar("_E", bound=ev.Event)
_REDUCERS: dict[type[ev.Event], Callable[[Fold, Any], None]] = {}


def _on(kind: type[_E]) -> Callable[[Callable[[Fold, _E], None]], Callable[[Fold, _E], None]]:
    def register(function: Callable[[Fold, _E], None]) -> Callable[[Fold, _E], None]:
        _REDUCERS[kind] = function
        return function

    return register


@_on(ev.RunCreated)
def _created(state: Fold, event: ev.RunCreated) -> None:
    state.research_id = event.research_id
    state.query = event.query
    state.options = event.options
    state.setup = event.setup
    if event.queue is not None:
        state.queue, state.status = event.queue, RunStatus.QUEUED
    state.created_at = event.at


@_on(ev.RunAdmitted)
def _admitted(state: Fold, event: ev.RunAdmitted) -> None:
    state.admission = event.admission
    state.depth = event.admission.depth


@_on(ev.QuestionResolved)
def _resolved(state: Fold, event: ev.QuestionResolved) -> None:
    state.resolution = event.resolution
    state.query = event.resolution.question
    state.recalling = event.resolution.recalls


@_on(ev.MemoryLoaded)
def _memory_loaded(state: Fold, event: ev.MemoryLoaded) -> None:
    state.memories = event.entries


@_on(ev.MemoryWritten)
def _memory_written(state: Fold, event: ev.MemoryWritten) -> None:
    state.remembered = event.entries


@_on(ev.DepthChanged)
def _depth_changed(state: Fold, event: ev.DepthChanged) -> None:
    state.depth = event.depth


@_on(ev.SetUpChanged)
def _set_up_anew(state: Fold, event: ev.SetUpChanged) -> None:
    state.setup = event.new


@_on(ev.RunResumed)
def _resumed(state: Fold, event: ev.RunResumed) -> None:
    if state.abort is not None and state.abort.reason is AbortReason.ERROR:
        # What failed may have been mended: the phase's own step is done again, its finished units are not.
        state.phase_done = False
        state.attempt = 0
    if state.report_metadata is not None and state.report_metadata.partial:
        _lift_partial(state, state.report_metadata)
    _charge_open(state)
    state.status = RunStatus.RUNNING
    state.abort = None
    state.parking = None
    state.completed_at = None
    if event.pause_id is not None and event.answer is not None:
        state.answers[event.pause_id] = event.answer


def holds_whole_report(phase: DeepResearchPhase, *, phase_done: bool) -> bool:
    """Whether the report of the state is the one this iteration's synthesizer wrote."""
    return phase is DeepResearchPhase.REFINEMENT or (phase is DeepResearchPhase.SYNTHESIS and phase_done)


def _lift_partial(state: Fold, metadata: ReportMetadata) -> None:
    """A run that goes on has no partial report: a report of the whole iteration stands again as what it was, one
    that was put together at the stop is to be written properly."""
    if holds_whole_report(state.phase, phase_done=state.phase_done):
        state.report_metadata = metadata.model_copy(update={"partial": False})
    else:
        _forget_report(state)


def _forget_report(state: Fold) -> None:
    state.report, state.report_metadata, state.citations, state.claims, state.repairs = None, None, (), (), ()
    state.report_draft = ""


@_on(ev.PhaseStarted)
def _phase_started(state: Fold, event: ev.PhaseStarted) -> None:
    state.status = RunStatus.RUNNING
    state.phase = event.phase
    state.attempt = 0
    state.supervisor_retries = 0
    state.phase_done = False
    _forget_gates(state, event.phase)
    state.analyzed_now.clear()
    state.decisions.append(event.decision)
    _pass_begins(state)


def _forget_draft(state: Fold) -> None:
    state.pieces, state.draft, state.judgements = {}, None, {}


def _pass_begins(state: Fold) -> None:
    """What the shares of the phase are counted from."""
    _forget_draft(state)
    state.phase_spent = _spent(state)
    state.reading = None
    state.phase_answers = state.usage.answers(state.phase)
    state.bytes_a_token = state.usage.bytes_a_token()


def _spent(state: Fold) -> Spent:
    return Spent.of(state.usage, state.reservations.values())


@_on(ev.PlanMade)
def _planned(state: Fold, event: ev.PlanMade) -> None:
    for old in state.sub_queries.values():
        if old.status is SubQueryStatus.PENDING:
            state.sub_queries[old.id] = old.model_copy(update={"status": SubQueryStatus.SUPERSEDED})
    state.research_brief = event.research_brief
    look = event.first_look
    if look is not None and look.snippets and look != state.first_look:
        _count_searches(state, 1, fetches=0)
    state.first_look = look
    state.parts = event.parts
    state.scope = event.scope
    part_ids = {part.id for part in event.parts}
    state.verdicts = tuple(v for v in state.verdicts if v.part_id in part_ids)
    _add_sub_queries(state, event.sub_queries)
    state.phase_done = True


def _add_sub_queries(state: Fold, sub_queries: Iterable[SubQuery]) -> None:
    """New ones join; one that was superseded is pending again; a searched one stays searched."""
    for sub_query in sub_queries:
        current = state.sub_queries.get(sub_query.id)
        if current is None:
            state.sub_queries[sub_query.id] = sub_query
        elif current.status is SubQueryStatus.SUPERSEDED:
            state.sub_queries[sub_query.id] = sub_query.model_copy(update={"index": current.index})


@_on(ev.SubQueriesAdded)
def _sub_queries_added(state: Fold, event: ev.SubQueriesAdded) -> None:
    for replaced in event.replaced:
        old = state.sub_queries[replaced]
        state.sub_queries[replaced] = old.model_copy(update={"status": SubQueryStatus.SUPERSEDED})
    _add_sub_queries(state, event.sub_queries)


@_on(ev.SubQueryCompleted)
def _sub_query_completed(state: Fold, event: ev.SubQueryCompleted) -> None:
    sub_query = state.sub_queries[event.sub_query_id]
    source_ids = tuple(s.id for s in event.sources)
    if (
        sub_query.status is SubQueryStatus.COMPLETED
    ):  # pages that were left unread: the search is not made again
        source_ids = tuple(dict.fromkeys((*sub_query.source_ids, *source_ids)))
        state.pages_left = ()
    if event.task_id is not None:
        source_ids = (*_settle(state, event.task_id), *source_ids)
    state.sub_queries[sub_query.id] = sub_query.model_copy(
        update={
            "status": SubQueryStatus.COMPLETED,
            "error": None,
            "source_ids": source_ids,
            "wordings": event.wordings,
        }
    )
    _add_sources(state, event.sources)
    state.duplicates_skipped += event.duplicates
    _count_searches(state, event.searches, fetches=event.fetches, failed=event.failed)


def _add_sources(state: Fold, sources: Iterable[Source]) -> None:
    for source in sources:
        current = state.sources.get(source.id)
        if current is None:
            state.sources[source.id] = source
            continue
        state.duplicates_skipped += 1
        # First by plan, not by arrival: which search finished first must not show in the report.
        if current.id not in state.analyzed and _place(state, source) < _place(state, current):
            state.sources[source.id] = source


def _settle(state: Fold, task_id: str) -> tuple[str, ...]:
    """A task is over: the sources of all its attempts."""
    task = state.tasks[task_id]
    state.tasks[task_id] = task.model_copy(update={"is_settled": True})
    return task.source_ids


def _place(state: Fold, source: Source) -> tuple[int, int]:
    return state.sub_queries[source.sub_query_id].index, source.rank


def _count_searches(state: Fold, searches: int, *, fetches: int, failed: int = 0) -> None:
    usage = state.usage
    state.usage = usage.model_copy(
        update={
            "searches": usage.searches + searches,
            "failed_searches": usage.failed_searches + failed,
            "fetches": usage.fetches + fetches,
        }
    )


@_on(ev.SubQueryFailed)
def _sub_query_failed(state: Fold, event: ev.SubQueryFailed) -> None:
    failed = state.sub_queries[event.sub_query_id]
    state.sub_queries[failed.id] = failed.model_copy(
        update={"status": SubQueryStatus.FAILED, "error": event.error}
    )
    if event.task_id is not None:
        _settle(state, event.task_id)
    _count_searches(state, event.searches, failed=event.searches, fetches=event.fetches)


@_on(ev.TaskDispatched)
def _task_dispatched(state: Fold, event: ev.TaskDispatched) -> None:
    _ = state.sub_queries[event.task.sub_query_id]
    current = state.tasks.get(event.task.id)
    if current is None:
        state.tasks[event.task.id] = TaskState(task=event.task, private=event.task.private)
        return
    state.tasks[event.task.id] = TaskState(
        task=event.task,
        earlier=(*current.earlier, *((current.finding,) if current.finding else ())),
        questions=(*current.questions, current.task.question),
        private=current.private,
        offered=current.offered,
        refusals=current.refusals,
    )


def _at_work(state: Fold, event: ev.TaskStepped | ev.TaskFinished | ev.TaskReviewed) -> TaskState:
    """The attempt that an event is about. Raises `LogDamagedError` where another one is at work."""
    task = state.tasks[event.task_id]
    if task.task.attempt != event.attempt or task.is_settled:
        raise _damaged(
            f"'{event.name}' of attempt {event.attempt} at a task at attempt {task.task.attempt}",
            state.research_id,
        )
    return task


@_on(ev.TaskStepped)
def _task_stepped(state: Fold, event: ev.TaskStepped) -> None:
    task = _at_work(state, event)
    step = event.step
    state.tasks[event.task_id] = task.model_copy(
        update={
            "steps": (*task.steps, step),
            "private": tuple(dict.fromkeys((*task.private, *step.private))),
            "offered": (*task.offered, *step.offered),
            "refusals": task.refusals + sum(use.refused for use in step.uses),
        }
    )
    _add_sources(state, event.sources)
    _count_searches(state, step.searches, fetches=step.fetches, failed=step.failed_searches)


@_on(ev.TaskFinished)
def _task_finished(state: Fold, event: ev.TaskFinished) -> None:
    task = _at_work(state, event)
    state.tasks[event.task_id] = task.model_copy(update={"finding": event.finding, "review": None})


@_on(ev.TaskReviewed)
def _task_reviewed(state: Fold, event: ev.TaskReviewed) -> None:
    task = _at_work(state, event)
    state.tasks[event.task_id] = task.model_copy(update={"review": event.review})


@_on(ev.SourcesAnalyzed)
def _analyzed(state: Fold, event: ev.SourcesAnalyzed) -> None:
    if not event.task_ids:  # what a task found is not all that its sources tell
        state.analyzed.update(event.source_ids)
        state.analyzed_now.update(event.source_ids)
    if not event.findings:
        _passed_over(state, event.source_ids)
    state.irrelevant.update(event.irrelevant_ids)
    for finding in event.findings:
        current = state.findings.get(finding.id)
        state.findings[finding.id] = finding if current is None else _merge_findings(state, current, finding)
    for gap in event.gaps:
        current_gap = state.gaps.setdefault(gap.id, gap)
        if not current_gap.addressed and (gap.iteration, gap.rank) < (
            current_gap.iteration,
            current_gap.rank,
        ):
            state.gaps[gap.id] = gap
    for gap_id in event.addressed_gap_ids:
        gap = state.gaps[gap_id]
        state.gaps[gap_id] = gap.model_copy(update={"addressed": True})
    _update_qualities(state, event.quality_updates)
    state.unfounded += event.unfounded
    state.unknown_ids += event.unknown_ids
    state.own_words = state.own_words or event.own_words
    state.unlocated += event.unlocated
    state.contradictions.update((c.id, c) for c in event.contradictions)
    state.references.update((r, None) for r in event.references)
    for task_id in event.task_ids:
        state.tasks[task_id] = state.tasks[task_id].model_copy(update={"is_merged": True})


def _passed_over(state: Fold, source_ids: Iterable[str]) -> None:
    """Of what a plan has nothing read of, all remains to be read."""
    triage = state.reading.triage if state.reading else ()
    nothing = {item.source_id for item in triage if item.extent is ReadDepth.NOTHING}
    for source_id in source_ids:
        if source_id in nothing:
            state.sections_read.setdefault(source_id, ())


def _merge_findings(state: Fold, current: Finding, other: Finding) -> Finding:
    """One statement that two batches drew: all its sources and quotes, and the wording of who comes first by plan,
    not by arrival."""

    def place(source_id: str) -> tuple[int, int]:
        return _place(state, state.sources[source_id])

    first, second = sorted(
        (current, other), key=lambda f: (f.iteration, min((place(i) for i in f.source_ids), default=(0, 0)))
    )
    quotes = dict.fromkeys((*first.quotes, *second.quotes))
    return first.model_copy(
        update={
            "source_ids": tuple(sorted({*first.source_ids, *second.source_ids}, key=place)),
            "quotes": tuple(sorted(quotes, key=lambda q: (place(q.source_id), q.start))),
            "relevance": max(first.relevance, second.relevance),
        }
    )


def _update_qualities(state: Fold, updates: Iterable[QualityUpdate]) -> None:
    for update in updates:
        source = state.sources[update.source_id]
        if update.quality not in (source.quality, SourceQuality.UNKNOWN):
            state.sources[source.id] = source.model_copy(update={"quality": update.quality})


@_on(ev.EvidenceWeighed)
def _weighed(state: Fold, event: ev.EvidenceWeighed) -> None:
    for finding_id in event.dropped:
        del state.findings[finding_id]
    state.findings.update((f.id, f) for f in event.findings)
    state.gaps.update((g.id, g) for g in event.gaps)
    state.contradictions = {c.id: c for c in event.contradictions}
    for source_id, score in event.scores.items():
        state.sources[source_id] = state.sources[source_id].model_copy(update={"score": score})
    if event.completeness is not None:
        state.completeness = event.completeness
    if event.verdicts:
        state.parts, state.verdicts = event.parts or state.parts, event.verdicts
    state.unknown_ids += event.unknown_ids
    state.phase_done = True


@_on(ev.PieceWritten)
def _piece_written(state: Fold, event: ev.PieceWritten) -> None:
    state.pieces = state.pieces | {event.piece: event.content_hash}


@_on(ev.ReportDrafted)
def _report_drafted(state: Fold, event: ev.ReportDrafted) -> None:
    if state.draft is None:
        _drop_notices(state, OF_REPORT)
    state.draft = event.draft


@_on(ev.ClaimsJudged)
def _claims_judged(state: Fold, event: ev.ClaimsJudged) -> None:
    state.judgements = state.judgements | event.judgements
    state.part_judgements = merge_parts((*state.part_judgements.values(), *event.parts))


@_on(ev.ReportCompared)
def _report_compared(state: Fold, event: ev.ReportCompared) -> None:
    if not event.replaces_earlier:  # what was told with the new draft is not of the report that stays
        _drop_notices(state, OF_REPORT)


@_on(ev.ReportWritten)
def _report_written(state: Fold, event: ev.ReportWritten) -> None:
    # A whole one that a stop makes partial keeps its notices; those of a draft were told with it.
    if event.report != state.report and (state.draft is None or event.metadata.partial):
        _drop_notices(state, OF_REPORT)
    state.report = event.report
    state.report_metadata = event.metadata
    state.citations = event.citations
    state.claims, state.repairs = event.claims, event.repairs
    state.verdicts = event.verdicts or state.verdicts
    state.report_draft = event.draft
    if not event.metadata.partial:
        state.phase_done = True
        _forget_draft(state)


@_on(ev.GapsAssessed)
def _gaps_assessed(state: Fold, event: ev.GapsAssessed) -> None:
    state.gap_analysis = event.gap_analysis
    state.recommendation = event.recommendation
    state.report_improvements = event.report_improvements
    state.remarks = event.remarks
    state.refined = state.iteration
    state.gaps.update((gap.id, gap) for gap in event.gaps)
    state.unknown_ids += event.unknown_ids
    state.phase_done = True


@_on(ev.PhaseEnded)
def _phase_ended(state: Fold, event: ev.PhaseEnded) -> None:
    _fill_dispatch(state, event)
    state.decisions.append(event.decision)
    state.seconds = round(state.seconds + event.seconds, 3)
    name = f"gate:{event.phase}"
    _drop_notices(state, name)  # what a later pass of the same phase made good is told no more
    for issue in event.validation.advisory:
        state.notices[name, issue] = Notice(name=name, message=issue)


def _fill_dispatch(state: Fold, event: ev.PhaseEnded) -> None:
    """What an agent was dispatched for is told by what came of it: the figures of the phase's end."""
    action = f"execute_{event.phase}"
    place = next((n for n, d in reversed([*enumerate(state.decisions)]) if d.action == action), None)
    if place is not None:
        figures = {k: v for k, v in (event.decision.outputs or {}).items() if not k.startswith("quality_")}
        state.decisions[place] = state.decisions[place].model_copy(update={"outputs": figures})


def _drop_notices(state: Fold, *names: str) -> None:
    state.notices = {key: notice for key, notice in state.notices.items() if notice.name not in names}


def _forget_gates(state: Fold, phase: DeepResearchPhase) -> None:
    """A phase that begins anew makes void what gates said of its last pass, and of those that came after it."""
    order = tuple(DeepResearchPhase)
    _drop_notices(state, *(f"gate:{later}" for later in order[order.index(phase) :]))


@_on(ev.PhaseRetried)
def _phase_retried(state: Fold, event: ev.PhaseRetried) -> None:
    """Make the units of the phase remain: failed searches pend again, sources that no finding cites are
    unread again, a plan, a report or an assessment is to be made again."""
    state.attempt = event.attempt
    replanned = state.replanned
    if event.asked_by in ("hook", "supervisor"):
        state.supervisor_retries += 1
    if state.phase is not event.phase:
        state.phase = event.phase
        state.replanned = event.phase is DeepResearchPhase.PLANNING
        state.supervisor_retries = 0  # they are counted by phase
    if (
        event.asked_by == ANSWERED
    ):  # the owner's word takes no attempt of the gate, nor the new plan of a hook
        state.replanned = replanned
        state.supervisor_retries = event.attempt
    if event.phase is DeepResearchPhase.PLANNING and event.asked_by != ANSWERED:
        state.recalling = False
    state.phase_done = False
    _forget_gates(state, event.phase)
    state.analyzed_now.clear()
    _pass_begins(state)
    if event.phase is DeepResearchPhase.GATHERING:
        for old in state.sub_queries.values():
            if old.status is SubQueryStatus.FAILED:
                state.sub_queries[old.id] = old.model_copy(update={"status": SubQueryStatus.PENDING})
        _add_sub_queries(state, event.sub_queries)
    elif event.phase is DeepResearchPhase.ANALYSIS:
        cited_ids = {source_id for f in state.findings.values() for source_id in f.source_ids}
        state.analyzed &= cited_ids


@_on(ev.GuidanceGiven)
def _guidance_given(state: Fold, event: ev.GuidanceGiven) -> None:
    state.guidance.append(event.guidance)


@_on(ev.DecisionMade)
def _decision_made(state: Fold, event: ev.DecisionMade) -> None:
    state.decisions.append(event.decision)


@_on(ev.IterationStarted)
def _iteration_started(state: Fold, event: ev.IterationStarted) -> None:
    if state.phase is DeepResearchPhase.ANALYSIS:
        # What answered nothing by itself is read again together with what is found next.
        state.analyzed.clear()
    state.iteration = event.iteration
    state.iteration_spent = _spent(state)
    state.replanned = False
    _add_sub_queries(state, event.sub_queries)


@_on(ev.AgentFellBack)
def _fell_back(state: Fold, event: ev.AgentFellBack) -> None:
    if state.phase is not DeepResearchPhase.ANALYSIS:  # what models read of sources stays read
        state.sent.pop(state.phase, None)
    if event.limit is not None:
        _add_limit(state, event.limit)
        return
    message = (
        f"The {event.role} could not do its work ({event.error}); the extractive one did it. {event.hint}"
    )
    _add_notice(state, Notice(name="agent", message=message.rstrip()))


@_on(ev.ModelReserved)
def _reserved(state: Fold, event: ev.ModelReserved) -> None:
    state.reservations[event.reservation.call_id] = event.reservation


@_on(ev.ModelSettled)
def _model_settled(state: Fold, event: ev.ModelSettled) -> None:
    request = state.reservations.pop(event.call_id)
    state.usage = state.usage.charged(request, event.tokens, event.cost_usd, failed=event.failed)


def _charge_open(state: Fold) -> None:
    """Requests that were in flight when the run stopped may have been paid for: they stay charged."""
    for request in state.reservations.values():
        state.usage = state.usage.charged(request, request.tokens, request.cost_usd, failed=True)
    state.reservations.clear()


@_on(ev.ModelFellBack)
def _model_fell_back(state: Fold, event: ev.ModelFellBack) -> None:
    message = f"For the {event.role}, {event.model} gave no usable answer and {event.next_model} was asked."
    _add_notice(state, Notice(name="model", message=message))


@_on(ev.ReadingPlanned)
def _reading_planned(state: Fold, event: ev.ReadingPlanned) -> None:
    state.reading = event.plan


@_on(ev.ContentSent)
def _content_sent(state: Fold, event: ev.ContentSent) -> None:
    if event.phase is DeepResearchPhase.ANALYSIS:
        _sections_sent(state, event.sending)
    current = state.sent.get(event.phase)
    if current is None or event.phase is not DeepResearchPhase.ANALYSIS:
        state.sent[event.phase] = event.sending
        return
    before = {item.id: item for item in current.items}
    further = state.reading.read_on if state.reading else frozenset()
    now = [_more_of(before[i.id], i) if i.id in further & before.keys() else i for i in event.sending.items]
    items = before | {item.id: item for item in now}
    again = before.keys() & {item.id for item in now} - further
    # What is read once more counts as it was read last, and so does the room that it had.
    had = sum(item.current_tokens for item in current.items)
    left = sum(item.current_tokens for item in current.items if item.id not in again)
    state.sent[event.phase] = ContextUsage(
        items=tuple(items.values()),
        available=(current.available * left // had if had else 0 if again else current.available)
        + event.sending.available,
        archived=current.archived | event.sending.archived,
    )


def _more_of(before: SentItem, more: SentItem) -> SentItem:
    """What was sent of a source in two rounds, other sections in each."""
    return SentItem(
        id=before.id,
        original_tokens=before.original_tokens + more.original_tokens,
        current_tokens=before.current_tokens + more.current_tokens,
    )


def _sections_sent(state: Fold, sending: ContextUsage) -> None:
    """Which sections of sources were read, where not all was."""
    triage = {item.source_id: item for item in state.reading.triage} if state.reading else {}
    for item in sending.items:
        if not item.current_tokens:
            continue
        choice = triage.get(item.id)
        if choice is None or choice.extent is ReadDepth.WHOLE:
            state.sections_read.pop(item.id, None)
        else:
            state.sections_read[item.id] = (*state.sections_read.get(item.id, ()), *choice.spans)


@_on(ev.HookFailed)
def _hook_failed(state: Fold, event: ev.HookFailed) -> None:
    error = event.error.rstrip(".")
    message = (
        f"The hook {event.hook} failed and was ignored: {error}. Fix it; strict_hooks shows where it fails."
    )
    current = state.notices.get(("hook", message))
    _add_notice(state, Notice(name="hook", message=message, count=1 + (current.count if current else 0)))


@_on(ev.LimitReached)
def _limit_reached(state: Fold, event: ev.LimitReached) -> None:
    _add_limit(state, event.limit)


def _add_limit(state: Fold, limit: Limit) -> None:
    key = limit.name, limit.message
    if limit.name in OF_PAGES:
        skipped = _all_skipped(state.limits.get(key), limit)
        limit = limit.model_copy(update={"skipped": skipped, "usage": state.usage.fetches})
    state.limits[key] = limit


@_on(ev.NoticeAdded)
def _notice_added(state: Fold, event: ev.NoticeAdded) -> None:
    _add_notice(state, event.notice)


def _add_notice(state: Fold, notice: Notice) -> None:
    key = notice.name, notice.message
    if notice.name == PAGES:
        notice = notice.model_copy(update={"skipped": _all_skipped(state.notices.get(key), notice)})
    state.notices[key] = notice


def _all_skipped(current: Notice | None, notice: Notice) -> tuple[str, ...]:
    """The pages of a notice, with those of other searches that were left for the same reason."""
    return notice.skipped if current is None else tuple(sorted({*current.skipped, *notice.skipped}))


@_on(ev.RunParked)
def _parked(state: Fold, event: ev.RunParked) -> None:
    _charge_open(state)
    state.status = RunStatus.PARKED
    state.parking = event.parking


@_on(ev.RunSteered)
def _steered(state: Fold, event: ev.RunSteered) -> None:
    if event.refused is not None:
        return
    if event.text:
        state.guidance.append(
            Guidance(
                phase=state.phase, iteration=state.iteration, text=event.text, origin=STEERED, lasting=True
            )
        )
    if event.dropped is not None:
        _supersede(state, (event.dropped,))
    if event.since is not None:
        state.options = state.options.model_copy(update={"since": event.since})
    if event.stop_searching:
        state.searching_stopped = True
        _supersede(state, [s.id for s in state.sub_queries.values() if s.status is SubQueryStatus.PENDING])


def _supersede(state: Fold, ids: Iterable[str]) -> None:
    for sub_query_id in ids:
        old = state.sub_queries[sub_query_id]
        state.sub_queries[sub_query_id] = old.model_copy(update={"status": SubQueryStatus.SUPERSEDED})


@_on(ev.PlanApproved)
def _plan_approved(state: Fold, event: ev.PlanApproved) -> None:
    state.plan_approved = True
    if event.terms is not None:
        changed = event.terms.changes(state.options.budget)
        state.options = state.options.model_copy(update=changed)
    if event.sub_queries is None:
        return
    kept_ids = {s.id for s in event.sub_queries}
    pending = [s.id for s in state.sub_queries.values() if s.status is SubQueryStatus.PENDING]
    _supersede(state, [i for i in pending if i not in kept_ids])
    for sub_query in event.sub_queries:
        current = state.sub_queries.get(sub_query.id)
        if current is None or current.status in (SubQueryStatus.PENDING, SubQueryStatus.SUPERSEDED):
            state.sub_queries[sub_query.id] = sub_query


@_on(ev.BudgetRaised)
def _budget_raised(state: Fold, event: ev.BudgetRaised) -> None:
    """What was left out for want of the old caps remains, and nothing is told of it any more."""
    before = state.snapshot()
    caps = higher(before.options.budget, event.budget)
    if starts(before, event.budget) is not None:
        state.refined = min(state.refined, state.iteration - 1)  # there will be another report to look at
    state.pages_left = pages_left(before, caps)
    state.analyzed -= read_for_less(before, caps)
    state.limits = {key: limit for key, limit in state.limits.items() if not told_of(limit, caps)}
    state.notices = {key: notice for key, notice in state.notices.items() if not told_of(notice, caps)}
    state.options = state.options.model_copy(update={"budget": event.budget})


@_on(ev.RunCompleted)
def _completed(state: Fold, event: ev.RunCompleted) -> None:
    _charge_open(state)
    state.status = RunStatus.COMPLETED
    state.completed_at = event.at


@_on(ev.RunAborted)
def _aborted(state: Fold, event: ev.RunAborted) -> None:
    _charge_open(state)
    state.status = RunStatus.ABORTED
    if event.reason is AbortReason.NO_EVIDENCE and event.phase is DeepResearchPhase.SYNTHESIS:
        _forget_report(
            state
        )  # too little of it is supported: the draft is in the log, and resuming writes another
        state.phase_done = False
    state.abort = Abort(
        reason=event.reason, message=event.message, phase=event.phase, iteration=event.iteration
    )
