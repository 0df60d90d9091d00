"""The live state of a run, with the changes that several events have in common.

`FoldState` has the fields of `DeepResearchState`, changed in place: frozen copies per event would make long runs
quadratic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from deep_research.errors import LogDamagedError
from deep_research.state import events as ev
from deep_research.state.admission import Admission, Depth, Scope
from deep_research.state.claims import Claim, Draft, Judgement, PartJudgement, Repair
from deep_research.state.context_usage import ContextUsage, ReadingPlan
from deep_research.state.memory_refs import MemoryRef
from deep_research.state.parking import Parking
from deep_research.state.phases import (
    DeepResearchPhase,
    RunStatus,
    SubQueryStatus,
)
from deep_research.state.question_parts import PartVerdict, QuestionPart
from deep_research.state.queue_place import QueuePlace
from deep_research.state.records import (
    OF_PAGES,
    PAGES,
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
_E = TypeVar("_E", bound=ev.Event)
_Reducer = Callable[["FoldState", _E], None]


class FoldState:
    """The fields of `DeepResearchState`; the scalar ones are copied from it by name."""

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

    # Changes that several events have in common

    def place(self, source: Source) -> tuple[int, int]:
        return self.sub_queries[source.sub_query_id].index, source.rank

    def charge_open(self) -> None:
        """Requests that were in flight when the run stopped may have been paid for: they stay charged."""
        for request in self.reservations.values():
            self.usage = self.usage.charged(request, request.tokens, request.cost_usd, failed=True)
        self.reservations.clear()

    def drop_notices(self, *names: str) -> None:
        self.notices = {key: notice for key, notice in self.notices.items() if notice.name not in names}

    def add_notice(self, notice: Notice) -> None:
        key = notice.name, notice.message
        if notice.name == PAGES:
            notice = notice.model_copy(update={"skipped": _all_skipped(self.notices.get(key), notice)})
        self.notices[key] = notice

    def add_limit(self, limit: Limit) -> None:
        key = limit.name, limit.message
        if limit.name in OF_PAGES:
            skipped = _all_skipped(self.limits.get(key), limit)
            limit = limit.model_copy(update={"skipped": skipped, "usage": self.usage.fetches})
        self.limits[key] = limit

    def count_searches(self, searches: int, *, fetches: int, failed: int = 0) -> None:
        usage = self.usage
        self.usage = usage.model_copy(
            update={
                "searches": usage.searches + searches,
                "failed_searches": usage.failed_searches + failed,
                "fetches": usage.fetches + fetches,
            }
        )

    def add_sources(self, sources: Iterable[Source]) -> None:
        for source in sources:
            current = self.sources.get(source.id)
            if current is None:
                self.sources[source.id] = source
                continue
            self.duplicates_skipped += 1
            # First by plan, not by arrival: which search finished first must not show in the report.
            if current.id not in self.analyzed and self.place(source) < self.place(current):
                self.sources[source.id] = source

    def add_sub_queries(self, sub_queries: Iterable[SubQuery]) -> None:
        """New ones join; one that was superseded is pending again; a searched one stays searched."""
        for sub_query in sub_queries:
            current = self.sub_queries.get(sub_query.id)
            if current is None:
                self.sub_queries[sub_query.id] = sub_query
            elif current.status is SubQueryStatus.SUPERSEDED:
                self.sub_queries[sub_query.id] = sub_query.model_copy(update={"index": current.index})

    def pending_ids(self) -> list[str]:
        return [s.id for s in self.sub_queries.values() if s.status is SubQueryStatus.PENDING]

    def supersede(self, ids: Iterable[str]) -> None:
        for sub_query_id in ids:
            old = self.sub_queries[sub_query_id]
            self.sub_queries[sub_query_id] = old.model_copy(update={"status": SubQueryStatus.SUPERSEDED})

    def forget_draft(self) -> None:
        self.pieces, self.draft, self.judgements = {}, None, {}

    def forget_report(self) -> None:
        self.report, self.report_metadata, self.citations, self.claims, self.repairs = None, None, (), (), ()
        self.report_draft = ""

    def begin_pass(self) -> None:
        """What the shares of the phase are counted from."""
        self.forget_draft()
        self.phase_spent = self.total_spent()
        self.reading = None
        self.phase_answers = self.usage.answers(self.phase)
        self.bytes_a_token = self.usage.bytes_a_token()

    def total_spent(self) -> Spent:
        return Spent.of(self.usage, self.reservations.values())


def _all_skipped(current: Notice | None, notice: Notice) -> tuple[str, ...]:
    """The pages of a notice, with those of other searches that were left for the same reason."""
    return notice.skipped if current is None else tuple(sorted({*current.skipped, *notice.skipped}))


class Reducers(dict[type[ev.Event], Callable[[FoldState, Any], None]]):
    """One function for each class of events that it knows."""

    def on(self, kind: type[_E]) -> Callable[[_Reducer[_E]], _Reducer[_E]]:
        def register(function: _Reducer[_E]) -> _Reducer[_E]:
            self[kind] = function
            return function

        return register


def damaged(what: str, research_id: str) -> LogDamagedError:
    return LogDamagedError(
        f"The log of run '{research_id}' does not hold together: {what}.",
        hint="Restore the database from a backup, or delete the run.",
        research_id=research_id,
    )
