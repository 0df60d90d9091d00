"""The events of a run: one discriminated union of frozen records.

An event carries everything the state needs from it. The journal stamps ``seq`` (1, 2, 3 … without a gap) and ``at``
when the event is handed in. ``version`` is the version of that event type's shape, nested records included.
``tests/data/events`` pins every shape. Before 0.1.0 a shape changes in place: `python tests/golden/pin_shapes.py` writes
its file and `SHAPES` anew, and databases and packs of other shapes are refused. From 0.1.0 on a change of a shape
raises ``CURRENT`` and ``version``, adds the step from the version before to `UPCASTS`, and pins the new shape beside the
old one; a reader upgrades older shapes and refuses newer ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Protocol, cast, get_args

from pydantic import Field, TypeAdapter, ValidationError

from deep_research.errors import LogDamagedError, StoreVersionError
from deep_research.logs import holds_secret, masked, masked_value, placeless
from deep_research.secret_values import cut
from deep_research.state.admission import Admission, Depth, Scope
from deep_research.state.claims import Claim, Draft, Judgement, PartJudgement, Repair
from deep_research.state.context_usage import ContextUsage, ReadingPlan
from deep_research.state.memory_refs import MemoryRef
from deep_research.state.parking import Parking
from deep_research.state.phases import AbortReason, DeepResearchPhase, SupervisorAction
from deep_research.state.plan_terms import PlanTerms
from deep_research.state.question_parts import PartVerdict, QuestionPart
from deep_research.state.queue_place import QueuePlace
from deep_research.state.records import (
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
    Record,
    Reference,
    Remark,
    Source,
    SubQuery,
    ValidationResult,
)
from deep_research.state.report import Citation, ReportMetadata
from deep_research.state.resolution import Resolution
from deep_research.state.run import RunOptions
from deep_research.state.setup import SetUp
from deep_research.state.spending import Budget, Reservation, TokenUsage
from deep_research.state.tasks import Task, TaskFinding, TaskReview, TaskStep

# (type, version) -> the same body one version later. Empty before 0.1.0.
UPCASTS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
MAX_STARTED_CHARS = 500  # of an input
# What pydantic says of a field, or a member of an enumeration, that only a package newer than this one has.
_UNKNOWN = {"extra_forbidden": "the field", "enum": "another value of", "literal_error": "another value of"}


class Event(Record):
    """Base of all events."""

    terminal: ClassVar[bool] = False
    CURRENT: ClassVar[int] = 1

    version: int = 1
    seq: int = 0
    at: datetime | None = None

    @property
    def name(self) -> str:
        """The event's ``type``, as text."""
        return cast(str, self.type)  # type: ignore[attr-defined]


class RunCreated(Event):
    """``queue`` is the place of a run that was submitted for a worker; None for one that begins at once."""

    type: Literal["run.created"] = "run.created"
    research_id: str
    query: str
    options: RunOptions
    setup: SetUp | None = None
    queue: QueuePlace | None = None


class RunAdmitted(Event):
    """The run was let in for its user, or refused, before anything was spent."""

    type: Literal["run.admitted"] = "run.admitted"
    admission: Admission


class QuestionResolved(Event):
    """What the question means after the turns of its conversation; it is what the run researches from now on."""

    type: Literal["question.resolved"] = "question.resolved"
    resolution: Resolution


class MemoryLoaded(Event):
    """Planner and writer are shown these entries of the user's memory."""

    type: Literal["memory.loaded"] = "memory.loaded"
    entries: tuple[MemoryRef, ...]


class MemoryWritten(Event):
    """The run left these entries in the user's memory."""

    type: Literal["memory.written"] = "memory.written"
    entries: tuple[MemoryRef, ...]


class DepthChanged(Event):
    """The run is researched at another depth from now on, for this reason."""

    type: Literal["depth.changed"] = "depth.changed"
    depth: Depth
    reason: str


class RunResumed(Event):
    """The run was taken up again by a new owner. An answer, of the form that was asked for, ends the pause the run was
    parked at; ``by`` is who gave it: the owner of the run, or the default of the question when its time had come. A
    ``worker`` took the run from the queue of its store."""

    type: Literal["run.resumed"] = "run.resumed"
    pause_id: str | None = None
    answer: Any = None
    by: Literal["owner", "default", "worker"] = "owner"


class SetUpChanged(Event):
    """The run goes on with another set-up than before, with that of who resumed it. ``old`` is None where nobody
    knows."""

    type: Literal["setup.changed"] = "setup.changed"
    old: SetUp | None
    new: SetUp


class PhaseStarted(Event):
    type: Literal["phase.started"] = "phase.started"
    phase: DeepResearchPhase
    iteration: int
    decision: AgentDecision


class PlanMade(Event):
    """A plan; it supersedes the sub-queries that were not searched yet. ``parts`` are those of the question,
    ``first_look`` is what it was made with, ``scope`` what the question asks for, where the planner says so."""

    type: Literal["plan.made"] = "plan.made"
    research_brief: str
    sub_queries: tuple[SubQuery, ...]
    first_look: FirstLook | None = None
    parts: tuple[QuestionPart, ...] = ()
    scope: Scope | None = None


class SubQueriesAdded(Event):
    """Guidance adds searches, or the lead tasks. ``replaced`` are sub-queries that were not
    searched yet and whose places they take, where the plan has no more room."""

    type: Literal["sub_queries.added"] = "sub_queries.added"
    sub_queries: tuple[SubQuery, ...]
    replaced: tuple[str, ...] = ()


class SubQueryCompleted(Event):
    """One search with all it found, duplicates of other sub-queries included: the state keeps each source
    once, under the sub-query that comes first. Of its ``searches`` so many ``failed``; ``duplicates`` are what came more
    than once within it. One that a task worked on, ``task_id``, has that task's sources, which are not told again."""

    type: Literal["sub_query.completed"] = "sub_query.completed"
    sub_query_id: str
    task_id: str | None = None
    sources: tuple[Source, ...]
    searches: int = 1
    fetches: int = 0
    wordings: tuple[str, ...] = ()
    failed: int = 0
    duplicates: int = 0


class SubQueryFailed(Event):
    """A sub-query that could not be searched. What a task, ``task_id``, took for it was told with its steps."""

    type: Literal["sub_query.failed"] = "sub_query.failed"
    sub_query_id: str
    task_id: str | None = None
    error: str
    searches: int = 1
    fetches: int = 0


class TaskDispatched(Event):
    """A task begins, or is done again with what its reviewer said."""

    type: Literal["task.dispatched"] = "task.dispatched"
    task: Task


class TaskStepped(Event):
    """A step of a task is done: its tools have worked, and what they gave is saved. ``sources`` are those that came with
    it and were not known to the task."""

    type: Literal["task.step"] = "task.step"
    task_id: str
    attempt: int
    step: TaskStep
    sources: tuple[Source, ...] = ()


class TaskFinished(Event):
    type: Literal["task.finished"] = "task.finished"
    task_id: str
    attempt: int
    finding: TaskFinding


class TaskReviewed(Event):
    """The verdict on what a task found; a later one, of a hook, takes its place."""

    type: Literal["task.reviewed"] = "task.reviewed"
    task_id: str
    attempt: int
    review: TaskReview


class SourcesAnalyzed(Event):
    """One batch of sources was read. ``unfounded`` counts findings that were left out, since their quotes are in none
    of the sources or say something else, ``unknown_ids`` ids that the agent named and was never given;
    ``own_words`` says that the findings are worded by the agent, and not by the sources. ``unlocated`` counts quotes that
    were not found, also when they were asked for again; ``contradictions`` are those that the agent saw, ``references``
    where the sources point to for more. ``irrelevant_ids`` are sources of another matter, of which no more is read.
    ``task_ids`` are tasks whose findings these are."""

    type: Literal["sources.analyzed"] = "sources.analyzed"
    source_ids: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    quality_updates: tuple[QualityUpdate, ...] = ()
    irrelevant_ids: tuple[str, ...] = ()
    addressed_gap_ids: tuple[str, ...] = ()
    unfounded: int = 0
    unknown_ids: int = 0
    own_words: bool = False
    unlocated: int = 0
    contradictions: tuple[Contradiction, ...] = ()
    references: tuple[Reference, ...] = ()
    task_ids: tuple[str, ...] = ()


class EvidenceWeighed(Event):
    """All batches were put together. ``findings`` and ``gaps`` are those that changed, by id; ``dropped`` are
    findings that became part of another, or that do not answer after all; ``contradictions`` are all that are
    known. ``scores`` are those of sources by id, ``completeness`` (0 to 1) is the share of the question that the
    findings answer. ``unknown_ids`` counts ids that the agent named and was never given. ``verdicts`` are those on all
    parts of the question, ``parts`` these where no plan has them."""

    type: Literal["evidence.weighed"] = "evidence.weighed"
    findings: tuple[Finding, ...] = ()
    dropped: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    scores: dict[str, float] = Field(default_factory=dict)
    completeness: float | None = None
    unknown_ids: int = 0
    verdicts: tuple[PartVerdict, ...] = ()
    parts: tuple[QuestionPart, ...] = ()


class PieceWritten(Event):
    """A piece of a long report as its writer made it, the plan, a section, or what stands around the sections. ``piece``
    names it and what it was written from, ``content_hash`` is that of its text. It stands until the report is written."""

    type: Literal["piece.written"] = "piece.written"
    piece: str
    content_hash: str


class ReportDrafted(Event):
    """A draft that may not come out the same when it is asked for again; or what a model's repair made of it. The latest
    stands until the report is written."""

    type: Literal["report.drafted"] = "report.drafted"
    draft: Draft


class ClaimsJudged(Event):
    """What the judge's model says of claims of the draft, by their keys, and of the parts of the question."""

    type: Literal["claims.judged"] = "claims.judged"
    judgements: dict[str, Judgement]
    parts: tuple[PartJudgement, ...] = ()


class ReportCompared(Event):
    """The report was revised, and its two versions compared. Where the new one is ``replaces_earlier`` it is written
    with this; else the earlier one stays the report, and the new one is left in the log."""

    type: Literal["report.compared"] = "report.compared"
    replaces_earlier: bool
    because: tuple[str, ...]


class ReportWritten(Event):
    """The report with numbered references, the ``draft`` that it was made from, with ids of findings, and its ``claims``;
    ``repairs`` is what became of those that nothing carried. ``verdicts`` are those on the parts of the question, with
    the claims that tell of each."""

    type: Literal["report.written"] = "report.written"
    report: str
    metadata: ReportMetadata
    citations: tuple[Citation, ...] = ()
    draft: str = ""
    claims: tuple[Claim, ...] = ()
    repairs: tuple[Repair, ...] = ()
    verdicts: tuple[PartVerdict, ...] = ()


class GapsAssessed(Event):
    """The refiner's judgement, and the follow-up sub-queries a next iteration would search. ``gaps`` are new ones, which
    it named itself, ``remarks`` what it says of single places in the report. ``unknown_ids`` counts ids that it named and
    was never given."""

    type: Literal["gaps.assessed"] = "gaps.assessed"
    gap_analysis: tuple[GapAnalysis, ...]
    recommendation: IterationRecommendation
    report_improvements: tuple[str, ...] = ()
    unknown_ids: int = 0
    gaps: tuple[Gap, ...] = ()
    remarks: tuple[Remark, ...] = ()


class PhaseEnded(Event):
    """A phase is over. ``seconds`` is how long the run was worked on since the last phase ended, by whatever owners;
    the time in which nobody worked on it is not counted."""

    type: Literal["phase.ended"] = "phase.ended"
    phase: DeepResearchPhase
    iteration: int
    attempt: int
    validation: ValidationResult
    decision: AgentDecision
    seconds: float = Field(default=0.0, ge=0)


class PhaseRetried(Event):
    """The phase is done again; which of its units remain follows from its phase (see the reducer).
    ``sub_queries`` are reworded ones that replace searches that came back empty."""

    type: Literal["phase.retried"] = "phase.retried"
    phase: DeepResearchPhase
    attempt: int
    issues: tuple[str, ...] = ()
    sub_queries: tuple[SubQuery, ...] = ()
    asked_by: str = "gate"


class GuidanceGiven(Event):
    type: Literal["guidance.given"] = "guidance.given"
    guidance: Guidance
    pause_id: str | None = None


class DecisionMade(Event):
    """The supervisor decided what comes after a phase; or somebody asked for it, and it was ``refused`` for a reason:
    then it is a request and no decision."""

    type: Literal["decision.made"] = "decision.made"
    action: SupervisorAction
    decision: AgentDecision
    refused: str | None = None


class IterationStarted(Event):
    type: Literal["iteration.started"] = "iteration.started"
    iteration: int
    sub_queries: tuple[SubQuery, ...]


class AgentFellBack(Event):
    """An agent could not do its work and the extractive one did it instead. ``hint`` says what can be done about it;
    ``limit`` is the share of a cap that it used up, if it was that."""

    type: Literal["agent.fell_back"] = "agent.fell_back"
    role: str
    error: str
    hint: str = ""
    limit: Limit | None = None


class ModelReserved(Event):
    """A request to a model is about to be sent. Without a `ModelSettled` it stays charged with what was set aside."""

    type: Literal["model.reserved"] = "model.reserved"
    reservation: Reservation


class ModelSettled(Event):
    """What a request took, as its service says, or what was set aside for it where nobody knows. ``outcome`` is the
    reason why the answer ended (end, length, refusal, incomplete) or the verdict on the failure."""

    type: Literal["model.settled"] = "model.settled"
    call_id: str
    outcome: str
    failed: bool = False
    tokens: TokenUsage
    cost_usd: float | None
    seconds: float = 0.0
    request_id: str | None = None


class ReadingPlanned(Event):
    """What this pass of ANALYSIS reads in which calls: a resumed run reads the same."""

    type: Literal["reading.planned"] = "reading.planned"
    plan: ReadingPlan


class ContentSent(Event):
    """What an agent with a model was given of what there was for its phase. ANALYSIS reads in several calls, of which
    each says this of its own items; in other phases the latest stands."""

    type: Literal["content.sent"] = "content.sent"
    phase: DeepResearchPhase
    sending: ContextUsage


class ModelFellBack(Event):
    """A model of a chain gave nothing that can be used, and the next was asked."""

    type: Literal["model.fell_back"] = "model.fell_back"
    role: str
    model: str
    next_model: str
    error: str


class HookFailed(Event):
    type: Literal["hook.failed"] = "hook.failed"
    hook: str
    error: str


class LimitReached(Event):
    """A cap was reached, and something left out for want of it."""

    type: Literal["limit.reached"] = "limit.reached"
    limit: Limit


class NoticeAdded(Event):
    """Something came up that a reader of the run should know."""

    type: Literal["notice.added"] = "notice.added"
    notice: Notice


def notice_event(notice: Notice) -> LimitReached | NoticeAdded:
    """The event that records a notice, or a limit."""
    return LimitReached(limit=notice) if isinstance(notice, Limit) else NoticeAdded(notice=notice)


class RunParked(Event):
    type: Literal["run.parked"] = "run.parked"
    parking: Parking


class RunSteered(Event):
    """The owner of the run steers it: ``text`` is advice for those who work on it from now on;
    ``dropped`` is a sub-query that is not searched, ``since`` the first day of publication from now on, and
    ``stop_searching`` ends the searching. Where it could not be, ``refused`` says why and nothing changes."""

    type: Literal["run.steered"] = "run.steered"
    text: str = ""
    dropped: str | None = None
    since: date | None = None
    stop_searching: bool = False
    refused: str | None = None


class PlanApproved(Event):
    """The owner agreed to the plan: as it stands, or with ``sub_queries`` in place of those that were not searched yet,
    and under other ``terms`` where he gave any. ``by`` is who edited it."""

    type: Literal["plan.approved"] = "plan.approved"
    sub_queries: tuple[SubQuery, ...] | None = None
    terms: PlanTerms | None = None
    by: str = "owner"


class BudgetRaised(Event):
    """The run goes on under other caps; what was left out for want of them is searched and read."""

    type: Literal["budget.raised"] = "budget.raised"
    budget: Budget


class RunCompleted(Event):
    terminal: ClassVar[bool] = True
    type: Literal["run.completed"] = "run.completed"
    rationale: str = ""


class RunAborted(Event):
    terminal: ClassVar[bool] = True
    type: Literal["run.aborted"] = "run.aborted"
    reason: AbortReason
    message: str
    phase: DeepResearchPhase
    iteration: int


AnyEvent = (
    RunCreated
    | RunAdmitted
    | QuestionResolved
    | MemoryLoaded
    | MemoryWritten
    | DepthChanged
    | RunResumed
    | SetUpChanged
    | PhaseStarted
    | PlanMade
    | SubQueriesAdded
    | SubQueryCompleted
    | SubQueryFailed
    | TaskDispatched
    | TaskStepped
    | TaskFinished
    | TaskReviewed
    | SourcesAnalyzed
    | EvidenceWeighed
    | PieceWritten
    | ReportDrafted
    | ClaimsJudged
    | ReportCompared
    | ReportWritten
    | GapsAssessed
    | PhaseEnded
    | PhaseRetried
    | GuidanceGiven
    | DecisionMade
    | IterationStarted
    | AgentFellBack
    | ModelReserved
    | ModelSettled
    | ModelFellBack
    | ReadingPlanned
    | ContentSent
    | HookFailed
    | LimitReached
    | NoticeAdded
    | RunParked
    | RunSteered
    | PlanApproved
    | BudgetRaised
    | RunCompleted
    | RunAborted
)

EVENT_TYPES: dict[str, type[Event]] = {
    cast(str, kind.model_fields["type"].default): kind for kind in get_args(AnyEvent)
}


class Progress(Record):
    """A transient note for watchers: never stored, dropped first when nobody reads."""

    type: str = "progress"
    phase: DeepResearchPhase
    message: str
    done: int = 0
    total: int = 0
    step: str = ""  # of a task: what its agent does
    until: datetime | None = None  # of a wait: when it is over


class Written(Progress):
    """A piece of a text that a model writes, as it comes; ``text`` None: what came under this ``label`` is void, it
    begins anew."""

    type: str = "written"
    message: str = ""
    label: str = ""
    text: str | None = None


class Started(Progress):
    """A ``tool`` begins its work: a search, the reading of a page (fetch), or a tool of a task. ``input`` is what it was
    given, bounded."""

    type: str = "started"
    message: str = ""
    tool: str
    input: str = ""


class Missed(Progress):
    """Notes were dropped since their listener was slow: ``count`` of them, before the one that comes next."""

    type: str = "missed"
    message: str = ""
    count: int


def without_secrets(note: Progress) -> Progress:
    """The note without registered secrets. Of a text that comes in pieces they are looked for in each piece."""
    changed = {"message": masked(note.message), "step": masked(note.step)}
    if isinstance(note, Written) and note.text:
        changed["text"] = masked(note.text)
    if isinstance(note, Started):
        changed["input"] = cut(masked(note.input), MAX_STARTED_CHARS)
    return note.model_copy(update=changed)


@cache
def _adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


def encode(event: Event) -> bytes:
    """The event as it is stored: UTF-8 JSON."""
    return event.__pydantic_serializer__.to_json(event)


def event_type_of(kind: str, version: int) -> type[Event]:
    """The class of a stored event, by its row's own columns. Raises `StoreVersionError` for one of a newer package."""
    event_type = EVENT_TYPES.get(kind)
    if event_type is None or version > event_type.CURRENT:
        raise _newer(f"an event '{kind}' version {version}", kind, version)
    return event_type


# What is told in the words of errors, which name paths: a log is read on other machines too.
_OF_ERRORS = (
    SubQueryFailed | AgentFellBack | ModelFellBack | HookFailed | LimitReached | NoticeAdded | RunAborted
)


def storable(event: Event) -> tuple[Event, bytes]:
    """The event without registered secrets and without paths in the words of errors, and as it is stored. Raises
    `LogDamagedError` when what is left cannot be read back."""
    if isinstance(event, _OF_ERRORS):
        event = _without_paths(event)
    body = encode(event)
    if not holds_secret(body):
        return event, body
    event = decode(event.name, event.version, json.dumps(masked_value(json.loads(body))).encode())
    return event, encode(event)


def _without_paths(event: Event) -> Event:
    changed: dict[str, Any] = {
        name: placeless(text)
        for name in ("error", "message")
        if isinstance(text := getattr(event, name, None), str)
    }
    for name in ("limit", "notice"):
        if isinstance(notice := getattr(event, name, None), Notice):
            changed[name] = notice.model_copy(update={"message": placeless(notice.message)})
    same = all(getattr(event, name) == value for name, value in changed.items())
    return event if same else event.model_copy(update=changed)


def decode(kind: str, version: int, body: bytes) -> Event:
    """The stored event back. ``kind`` and ``version`` are the row's own columns.

    Raises `StoreVersionError` for a shape newer than this package, `LogDamagedError` for anything unreadable.
    """
    current = event_type_of(kind, version).CURRENT
    try:
        if version < current:
            body = _upcast(kind, version, current, body)
        event = _adapter().validate_json(body)
    except (ValidationError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, ValidationError) and (unknown := _unknown(error)):
            raise _newer(f"an event '{kind}' with {unknown}", kind, version) from error
        raise LogDamagedError(
            f"An event '{kind}' of the log cannot be read ({type(error).__name__}).",
            hint="Restore the database from a backup, or delete the run.",
            type=kind,
        ) from error
    if event.name != kind:
        raise LogDamagedError(
            f"A row says '{kind}' and its event says '{event.name}'.",
            hint="Restore the database from a backup, or delete the run.",
            type=kind,
        )
    return event


class Row(Protocol):
    """An event as a store keeps it."""

    @property
    def type(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def body(self) -> bytes: ...


def decode_log(rows: Sequence[Row]) -> list[Event]:
    """The stored events back, as `decode` does. What a newer package wrote is refused first, wherever it stands: an
    event before it may look damaged only because this package does not know what may follow what."""
    for row in rows:
        event_type_of(row.type, row.version)
    return [decode(row.type, row.version, row.body) for row in rows]


def _upcast(kind: str, version: int, current: int, body: bytes) -> bytes:
    data = json.loads(body)
    if not isinstance(data, dict):
        raise TypeError("an event is an object")
    for step in range(version, current):
        data = UPCASTS[kind, step](data)
    return json.dumps({**data, "version": current}).encode()


def _unknown(error: ValidationError) -> str:
    """The field that a newer package must have written, if that is all there is wrong with an event; else nothing."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if not all(fault["type"] in _UNKNOWN for fault in faults):
        return ""
    place = ".".join(str(part) for part in faults[0]["loc"][1:])  # the first part is the event's type
    return f"{_UNKNOWN[faults[0]['type']]} '{place}'"


def _newer(what: str, kind: str, version: int) -> StoreVersionError:
    return StoreVersionError(
        f"The log holds {what} that this version does not know.",
        hint="Upgrade deep-research to read this run.",
        type=kind,
        version=version,
    )
