"""An event of every type."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from deep_research.state import (
    Admission,
    Budget,
    ContextUsage,
    DeepResearchPhase,
    DeepResearchState,
    Draft,
    Guidance,
    Judgement,
    Limit,
    MemoryRef,
    Notice,
    Parking,
    ReadingPlan,
    Reservation,
    Resolution,
    SetUp,
    SubQuery,
    Task,
    TaskFinding,
    TaskLimits,
    TaskReview,
    TaskStep,
    TokenUsage,
    UserContext,
)
from deep_research.state import events as ev
from deep_research.supervisor import decisions
from deep_research.testing import sample_log

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATE = DeepResearchState(query="q")
NOTICE = Notice(name="sources", message="A file was not read.")
LIMIT = Limit(name="max_searches", message="The cap of 2 searches was reached.")
RESERVED = Reservation(
    call_id="call-1", role="planner", phase="planning", model="m", input_tokens=1, output_tokens=1
)
TASK = Task(id="task-1", sub_query_id="subq-0", question="wages", limits=TaskLimits(steps=3, seconds=9))
MISHAPS = [
    ev.QuestionResolved(resolution=Resolution(user_message="And it?", question="And Bell Rock?")),
    ev.MemoryLoaded(entries=(MemoryRef(id="mem-1", kind="profile", hash="0" * 16),)),
    ev.MemoryWritten(entries=(MemoryRef(id="mem-2", kind="episodes", hash="0" * 16),)),
    ev.DepthChanged(depth="standard", reason="Nothing was found."),
    ev.RunAdmitted(admission=Admission(user=UserContext(name="ann"))),
    ev.RunAdmitted(admission=Admission(safety_check=False, reason="Not here.")),
    ev.RunResumed(pause_id="1", answer="Yes."),
    ev.RunSteered(text="Mind the lens."),
    ev.RunSteered(dropped="subq-0"),
    ev.RunSteered(since=date(2024, 1, 1)),
    ev.RunSteered(stop_searching=True),
    ev.RunSteered(dropped="subq-9", refused="there is none"),
    ev.PlanApproved(),
    ev.BudgetRaised(budget=Budget(max_searches=9)),
    ev.TaskDispatched(task=TASK),
    ev.TaskStepped(task_id=TASK.id, attempt=0, step=TaskStep(number=1)),
    ev.TaskFinished(task_id=TASK.id, attempt=0, finding=TaskFinding()),
    ev.TaskReviewed(task_id=TASK.id, attempt=0, review=TaskReview(approved=True)),
    ev.SetUpChanged(old=None, new=SetUp()),
    ev.SubQueriesAdded(sub_queries=(SubQuery(id="subq-9", query="wages", origin="hook"),)),
    ev.PhaseRetried(phase="gathering", attempt=1, issues=("No source.",)),
    ev.SubQueryFailed(sub_query_id="subq-0", error="no answer"),
    ev.LimitReached(limit=LIMIT),
    ev.NoticeAdded(notice=NOTICE),
    ev.PieceWritten(piece="section 1 of 2 of 0123456789ab", content_hash="a" * 64),
    ev.ReportDrafted(draft=Draft(text="# T", writer="synthesizer")),
    ev.ClaimsJudged(judgements={"claim-1": Judgement(key="claim-1", verdict="supported")}),
    ev.ReportCompared(replaces_earlier=False, because=("a part less is told of",)),
    ev.AgentFellBack(role="planner", error="oops"),
    ev.ModelFellBack(role="planner", model="a", next_model="b", error="oops"),
    ev.HookFailed(hook="gate", error="oops"),
    ev.DecisionMade(action="complete", decision=decisions.dispatch(STATE, DeepResearchPhase.PLANNING, NOW)),
    ev.GuidanceGiven(guidance=Guidance(phase="analysis", iteration=1, text="Mind it.", origin="hook")),
    ev.ReadingPlanned(plan=ReadingPlan()),
    ev.ContentSent(phase="analysis", sending=ContextUsage()),
    ev.IterationStarted(iteration=2, sub_queries=()),
    ev.RunParked(parking=Parking(waiting_for="a word")),
    ev.RunAborted(reason="cancelled", message="m", phase="analysis", iteration=1),
    ev.RunCompleted(rationale="done"),
    ev.ModelReserved(reservation=RESERVED),
    ev.ModelSettled(call_id="call-1", outcome="end", tokens=TokenUsage(), cost_usd=None),
]


def every_event() -> Iterator[ev.Event]:
    """Those of a run without mishaps, and the others."""
    yield from sample_log("refinement", done=True)
    yield from MISHAPS
