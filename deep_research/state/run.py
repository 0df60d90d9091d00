"""A run as its owner sees it: the options it was started with, and the state its log folds to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from deep_research.setting_fields import ONE_OR_MANY
from deep_research.state.admission import Admission, Depth, Permissions, Scope, scaled
from deep_research.state.claims import Claim, Draft, Judgement, PartJudgement, Repair
from deep_research.state.context_usage import ContextUsage, ReadingPlan
from deep_research.state.memory_refs import MemoryRef
from deep_research.state.parking import Parking
from deep_research.state.phases import (
    AbortReason,
    DeepResearchPhase,
    ParkedKind,
    RunStatus,
    SourceQuality,
    SubQueryStatus,
)
from deep_research.state.question_parts import (
    AnswerCoverage,
    PartVerdict,
    QuestionPart,
    answer_coverage,
    lacking,
)
from deep_research.state.queue_place import QueuePlace
from deep_research.state.records import (
    ANSWERED,
    GATE,
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
    Record,
    Reference,
    Remark,
    Source,
    Span,
    SubQuery,
)
from deep_research.state.report import Citation, ReportMetadata
from deep_research.state.resolution import MAX_EXCHANGES, Exchange, Resolution
from deep_research.state.setup import SetUp
from deep_research.state.spending import Budget, Reservation, Spent, Usage
from deep_research.state.task_settings import TaskSettings
from deep_research.state.tasks import TaskState

QUICK_WORDS = 150  # of the report of a quick run
MIN_SUB_QUERIES, MAX_SUB_QUERIES = 2, 20  # of a plan
AUTO: Literal["auto"] = "auto"
SubQueryCount = Annotated[int, Field(ge=MIN_SUB_QUERIES, le=MAX_SUB_QUERIES)] | Literal["auto"]


class RunOptions(Record):
    """Options of one run. The log keeps them, so a resumed run has the same. Bounds are those of docs/settings.md.

    Attributes:
        max_sub_queries: Most sub-queries of a plan; ``auto``: the planner decides.
        min_supported: Least share of supported claims, 0 to 1; with fewer there is no report.
        depth: ``quick``, ``standard``, ``deep`` or ``auto``.
        provider_id: A model for all agents of this run, such as ``anthropic:MODEL``, before those of the engine.
        corpora: Names of documents (setting ``named_corpora``) that the run searches instead of the engine's.
        gathering: ``search``, or ``agents`` for tasks.
        tasks: How many tasks a run sends out, and what they may use.
        approve_plan: Whether the run waits until its plan is approved.
        clarify: Whether the run may ask what an unclear question means.
        on_budget_exhausted: What the run does at a cap: ``report`` or ``ask``.
        metadata: Your own data, kept with the run.
        user_id, session_id: Runs of one user and one session form a conversation.
        previous_run_id: The run that this one follows, outside of a session.
        history: Earlier turns that are not runs.
        remember: Whether findings, and what users say about themselves, go to the user's memory.

    Example:
        engine.run("Who built Bell Rock?", depth="quick", user_id="ann")
    """

    max_iterations: int = Field(default=3, ge=1, le=10)
    max_sub_queries: SubQueryCount = 5
    max_sources_per_query: int = Field(default=5, ge=1, le=50)
    gate_retries: int = Field(default=1, ge=0, le=3)
    max_supervisor_retries: int = Field(default=2, ge=0, le=10)
    report_words: int = Field(default=800, ge=100, le=20_000)
    depth: Literal["quick", "standard", "deep", "auto"] = "standard"
    min_supported: float | None = Field(default=None, gt=0, le=1)
    system_prompt: str | None = None
    language: str | None = None
    audience: str | None = None
    source_types: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    as_of: date | None = None
    domains: tuple[str, ...] = ()
    not_domains: tuple[str, ...] = ()
    source_language: str | None = None
    protected_sources: tuple[str, ...] = ()
    user_id: str | None = None
    session_id: str | None = Field(default=None, min_length=1, max_length=200)
    previous_run_id: str | None = Field(default=None, pattern=r"^deepres-(?:[0-9a-f]{12}|[0-9a-f]{24})$")
    history: tuple[Exchange, ...] = Field(default=(), max_length=MAX_EXCHANGES)
    remember: bool = False
    provider_id: str | None = Field(default=None, min_length=1)
    corpora: Annotated[tuple[str, ...], ONE_OR_MANY] = Field(default=(), max_length=8)
    gathering: Literal["search", "agents"] = "search"
    tasks: TaskSettings = TaskSettings()
    approve_plan: bool = False
    clarify: Literal["never", "when_unsure"] = "never"
    on_budget_exhausted: Literal["report", "ask"] = "report"
    budget: Budget = Budget()
    metadata: dict[
        Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=512)]
    ] = Field(default_factory=dict, max_length=20)

    def may_search(self, source: str) -> bool:
        """Whether a data source (corpus, web, one that was handed over) may be searched: tasks may be kept to some."""
        return self.gathering != "agents" or not self.tasks.sources or source in self.tasks.sources

    @property
    def task_retries(self) -> int:
        """How often a task may be done again."""
        own = self.tasks.max_retries
        return self.max_supervisor_retries if own is None else own


class Abort(Record):
    """How a run was aborted, and where it can be taken up again."""

    reason: AbortReason
    message: str
    phase: DeepResearchPhase
    iteration: int


class DeepResearchState(Record):
    """The state of a run after event number ``seq``. It is frozen.

    Attributes, besides those whose names explain them:
        phase, phase_done, attempt: The current phase, whether its work is done, and its retries in this iteration.
        analyzed, analyzed_now: All sources that were read, and those of this pass of ANALYSIS.
        refined: The last iteration whose gaps were assessed.
        sections_read: By source, the sections that a model read of sources that it did not read whole.
        completeness: 0 to 1, the share of the question that the findings answer.
        reservations: Requests to models without a known end: in flight, or lost.
        sent, reading: What agents with models received, by phase; what this pass of ANALYSIS gives them.
        iteration_spent, phase_spent: What was spent when the iteration and this pass of the phase began.
        parts, verdicts: The parts of the question, and how far each is answered.
        claims, repairs: The claims of the report, and how failing ones were repaired.
        pieces: Hashes of the finished sections of a long report, by name.
        draft, judgements, part_judgements: A draft without a report yet, and the judge's verdicts on it.
        report_draft: The draft of the report, with ids of findings.
        remarks, references: The refiner's remarks, and where the sources point to.
        pages_left: Addresses that a higher cap would read.
        plan_approved, searching_stopped: Whether the plan was approved, and whether a command stopped the search.
        phase_answers, bytes_a_token: Answers of the phase's agent so far, and measured bytes a token by model.
        setup: The set-up of the run; None if unknown.
        queue, admission: The place among submitted runs, and how the run was admitted.
        resolution, recalling: The meaning of the question in its conversation, and whether the run reads only what the
            conversation saved.
        memories, remembered: Entries of the user's memory that the run read and wrote.
        depth: The current depth.
        seconds: Seconds of work by all owners, when a phase last ended.

    Collections are in their order of rank: sub-queries and tasks by index; sources by score, then by (sub-query index,
    rank); findings by iteration and first source; gaps by (iteration, rank); limits by name.

    Example:
        state = DeepResearchState(query="Who built Bell Rock?")
    """

    research_id: str = ""
    query: str
    options: RunOptions = RunOptions()
    setup: SetUp | None = None
    queue: QueuePlace | None = None
    admission: Admission | None = None
    resolution: Resolution | None = None
    recalling: bool = False
    memories: tuple[MemoryRef, ...] = ()
    remembered: tuple[MemoryRef, ...] = ()
    depth: Depth = Depth.STANDARD
    scope: Scope | None = None
    status: RunStatus = RunStatus.PENDING
    phase: DeepResearchPhase = DeepResearchPhase.PLANNING
    iteration: int = 1
    attempt: int = 0
    phase_done: bool = False
    research_brief: str | None = None
    first_look: FirstLook | None = None
    parts: tuple[QuestionPart, ...] = ()
    verdicts: tuple[PartVerdict, ...] = ()
    sub_queries: tuple[SubQuery, ...] = ()
    tasks: tuple[TaskState, ...] = ()
    sources: tuple[Source, ...] = ()
    analyzed: frozenset[str] = frozenset()
    analyzed_now: frozenset[str] = frozenset()
    sections_read: dict[str, tuple[Span, ...]] = Field(default_factory=dict)
    irrelevant: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    completeness: float = 0.0
    report: str | None = None
    report_metadata: ReportMetadata | None = None
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    repairs: tuple[Repair, ...] = ()
    pieces: dict[str, str] = Field(default_factory=dict)
    draft: Draft | None = None
    report_draft: str = ""
    judgements: dict[str, Judgement] = Field(default_factory=dict)
    part_judgements: dict[str, PartJudgement] = Field(default_factory=dict)
    gap_analysis: tuple[GapAnalysis, ...] = ()
    recommendation: IterationRecommendation | None = None
    report_improvements: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    references: tuple[Reference, ...] = ()
    decisions: tuple[AgentDecision, ...] = ()
    guidance: tuple[Guidance, ...] = ()
    limits: tuple[Limit, ...] = ()
    notices: tuple[Notice, ...] = ()
    answers: dict[str, Any] = Field(default_factory=dict)
    pages_left: tuple[str, ...] = ()
    plan_approved: bool = False
    searching_stopped: bool = False
    usage: Usage = Usage()
    reservations: tuple[Reservation, ...] = ()
    context_usage: dict[DeepResearchPhase, ContextUsage] = Field(default_factory=dict)
    reading: ReadingPlan | None = None
    iteration_spent: Spent = Spent()
    phase_spent: Spent = Spent()
    phase_answers: int = 0
    bytes_a_token: dict[str, float] = Field(default_factory=dict)
    duplicates_skipped: int = 0
    unfounded: int = 0
    unknown_ids: int = 0
    unlocated: int = 0
    own_words: bool = False
    supervisor_retries: int = 0
    replanned: bool = False
    refined: int = 0
    parking: Parking | None = None
    abort: Abort | None = None
    seconds: float = 0.0
    seq: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    completed_at: datetime | None = None

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What tells states apart, on one line: all of it is pages long."""
        for name in ("research_id", "query", "status", "phase", "iteration", "seq"):
            yield name, getattr(self, name)
        yield from (
            (name, len(getattr(self, name))) for name in ("sub_queries", "sources", "findings", "gaps")
        )

    @property
    def original_query(self) -> str:
        """The spec's name of ``query``."""
        return self.query

    @property
    def max_iterations(self) -> int:
        if self.depth is Depth.QUICK or self.recalling:
            return 1
        cap = self.options.budget.max_iterations
        return min(self.options.max_iterations, cap) if cap else self.options.max_iterations

    @property
    def answer_coverage(self) -> AnswerCoverage | None:
        """How far the question is answered, by the verdicts on its parts; None before the evidence was weighed."""
        return answer_coverage(self.parts, self.verdicts)

    @property
    def next_index(self) -> int:
        """The place of the next sub-query."""
        return max((s.index for s in self.sub_queries), default=-1) + 1

    def not_found(self) -> tuple[QuestionPart, ...]:
        """The parts of the question of which nothing was found."""
        return lacking(self.parts, self.verdicts)

    @property
    def max_sub_queries(self) -> int:
        """Of a plan: one where the question is searched as it stands, the most there may be where the planner decides."""
        own = self.options.max_sub_queries
        if self.depth is Depth.QUICK:
            return 1
        return MAX_SUB_QUERIES if own == AUTO else max(MIN_SUB_QUERIES, scaled(own, self.scope))

    @property
    def max_follow_ups(self) -> int:
        """Of a further iteration: as many as of a plan; where the planner decides, as many as it planned."""
        if self.options.max_sub_queries != AUTO:
            return self.max_sub_queries
        planned = sum(s.iteration == 1 and not s.origin for s in self.current_sub_queries())
        return min(max(planned, MIN_SUB_QUERIES), self.max_sub_queries)

    @property
    def report_words(self) -> int:
        """The length that the report aims at."""
        own = self.options.report_words
        return min(own, QUICK_WORDS) if self.depth is Depth.QUICK else scaled(own, self.scope)

    @property
    def task_steps(self) -> int:
        """The steps that an agent may take at one attempt at a task."""
        return scaled(self.options.tasks.max_steps, self.scope)

    @property
    def metadata(self) -> dict[str, Any]:
        """The spec's metadata: the decisions and, after an abort, why and where."""
        keys: dict[str, Any] = {"agent_decisions": [d.model_dump(mode="json") for d in self.decisions]}
        if self.abort is not None:
            if self.abort.reason in (AbortReason.CANCELLED, AbortReason.TIMEOUT):
                keys[self.abort.reason.value] = True
            keys["abort_phase"] = self.abort.phase.value
            keys["abort_iteration"] = self.abort.iteration
        return keys

    @property
    def permissions(self) -> Permissions:
        """What the user of the run may."""
        user = self.setup.user if self.setup is not None else None
        return user.permissions if user is not None else Permissions()

    @property
    def pause_id(self) -> str:
        """A stable name of the current place, the same when a hook is called again after a crash and another when
        the run comes by once more in the same iteration: after a new plan, or to improve the report."""
        again = "r" * self.replanned
        if self.phase is DeepResearchPhase.SYNTHESIS and self.refined == self.iteration:
            again += "i"
        return f"{self.iteration}.{self.phase}.{self.attempt}{again}"

    @property
    def question(self) -> Parking | None:
        """The pause whose answer the run waits for, parked there or cancelled while it was."""
        return self.parking if self.parking is not None and self.parking.asks else None

    @property
    def passed_over(self) -> frozenset[str]:
        """The sources that agents of tasks were shown and neither quoted nor named as worth reading. They are kept, since
        what was shown of them can be looked at; nobody reads them."""
        tasks = [task for task in self.tasks if task.is_settled]
        of_tasks = {task.task.sub_query_id for task in tasks}
        shown_ids = {i for task in tasks for i in task.source_ids}
        read = {i for task in tasks for i in task.sources_to_read}
        searched = {i for s in self.sub_queries if s.id not in of_tasks for i in s.source_ids}
        return frozenset(shown_ids - read - searched)

    @property
    def is_waiting(self) -> bool:
        """Whether the run is parked until somebody answers or resumes it. One that was parked as its process stopped goes
        on by itself."""
        parking = self.parking
        return (
            self.status is RunStatus.PARKED
            and parking is not None
            and parking.kind is not ParkedKind.SHUTDOWN
        )

    def current_sub_queries(self) -> tuple[SubQuery, ...]:
        """All sub-queries of the plan, without those a new plan replaced."""
        return tuple(s for s in self.sub_queries if s.status is not SubQueryStatus.SUPERSEDED)

    def pending_sub_queries(self) -> tuple[SubQuery, ...]:
        return tuple(s for s in self.sub_queries if s.status is SubQueryStatus.PENDING)

    def task_of(self, sub_query_id: str) -> TaskState | None:
        """The latest task of a sub-query."""
        return next((t for t in reversed(self.tasks) if t.task.sub_query_id == sub_query_id), None)

    def completed_sub_queries(self) -> tuple[SubQuery, ...]:
        return tuple(s for s in self.sub_queries if s.status is SubQueryStatus.COMPLETED)

    def unresolved_gaps(self) -> tuple[Gap, ...]:
        return tuple(g for g in self.gaps if not g.addressed)

    def has_unresolved_gaps(self) -> bool:
        return any(not g.addressed for g in self.gaps)

    def should_continue(self) -> bool:
        """Whether a further iteration is allowed and has something to look for."""
        return self.has_unresolved_gaps() and self.iteration < self.max_iterations

    def high_quality_sources(self) -> int:
        return sum(s.quality is SourceQuality.HIGH for s in self.sources)

    def guidance_for(self, phase: DeepResearchPhase) -> tuple[str, ...]:
        """What was advised for this phase in the current iteration, oldest first; what was answered holds in all."""
        return tuple(
            g.text
            for g in self.guidance
            if (g.iteration == self.iteration or (g.lasting and g.origin == ANSWERED)) and g.reaches(phase)
        )

    def steering_for(self, phase: DeepResearchPhase) -> tuple[str, ...]:
        """Guidance for this phase from hooks, answers, steers and the supervisor, in any iteration so far: what an agent
        without a model made of it must not be lost with the next."""
        texts = (g.text for g in self.guidance if g.origin != GATE and g.reaches(phase))
        return tuple(dict.fromkeys(texts))
