"""Reducers of events about a run as a whole: its start, its owner's words, its stops and its end. Pure."""

from __future__ import annotations

from deep_research.state import events as ev
from deep_research.state.fold_state import FoldState, Reducers
from deep_research.state.phases import (
    AbortReason,
    DeepResearchPhase,
    RunStatus,
    SubQueryStatus,
)
from deep_research.state.raising import higher, pages_left, read_for_less, starts, told_of
from deep_research.state.records import (
    STEERED,
    Guidance,
)
from deep_research.state.report import ReportMetadata
from deep_research.state.run import Abort

reducers = Reducers()


@reducers.on(ev.RunCreated)
def _created(state: FoldState, event: ev.RunCreated) -> None:
    state.research_id = event.research_id
    state.query = event.query
    state.options = event.options
    state.setup = event.setup
    if event.queue is not None:
        state.queue, state.status = event.queue, RunStatus.QUEUED
    state.created_at = event.at


@reducers.on(ev.RunAdmitted)
def _admitted(state: FoldState, event: ev.RunAdmitted) -> None:
    state.admission = event.admission
    state.depth = event.admission.depth


@reducers.on(ev.QuestionResolved)
def _resolved(state: FoldState, event: ev.QuestionResolved) -> None:
    state.resolution = event.resolution
    state.query = event.resolution.question
    state.recalling = event.resolution.recalls


@reducers.on(ev.MemoryLoaded)
def _memory_loaded(state: FoldState, event: ev.MemoryLoaded) -> None:
    state.memories = event.entries


@reducers.on(ev.MemoryWritten)
def _memory_written(state: FoldState, event: ev.MemoryWritten) -> None:
    state.remembered = event.entries


@reducers.on(ev.DepthChanged)
def _depth_changed(state: FoldState, event: ev.DepthChanged) -> None:
    state.depth = event.depth


@reducers.on(ev.SetUpChanged)
def _set_up_anew(state: FoldState, event: ev.SetUpChanged) -> None:
    state.setup = event.new


@reducers.on(ev.RunResumed)
def _resumed(state: FoldState, event: ev.RunResumed) -> None:
    if state.abort is not None and state.abort.reason is AbortReason.ERROR:
        # What failed may have been mended: the phase's own step is done again, its finished units are not.
        state.phase_done = False
        state.attempt = 0
    if state.report_metadata is not None and state.report_metadata.partial:
        _lift_partial(state, state.report_metadata)
    state.charge_open()
    state.status = RunStatus.RUNNING
    state.abort = None
    state.parking = None
    state.completed_at = None
    if event.pause_id is not None and event.answer is not None:
        state.answers[event.pause_id] = event.answer


def holds_whole_report(phase: DeepResearchPhase, *, phase_done: bool) -> bool:
    """Whether the report of the state is the one this iteration's synthesizer wrote."""
    return phase is DeepResearchPhase.REFINEMENT or (phase is DeepResearchPhase.SYNTHESIS and phase_done)


def _lift_partial(state: FoldState, metadata: ReportMetadata) -> None:
    """A run that goes on has no partial report: a report of the whole iteration stands again as what it was, one
    that was put together at the stop is to be written properly."""
    if holds_whole_report(state.phase, phase_done=state.phase_done):
        state.report_metadata = metadata.model_copy(update={"partial": False})
    else:
        state.forget_report()


@reducers.on(ev.RunParked)
def _parked(state: FoldState, event: ev.RunParked) -> None:
    state.charge_open()
    state.status = RunStatus.PARKED
    state.parking = event.parking


@reducers.on(ev.RunSteered)
def _steered(state: FoldState, event: ev.RunSteered) -> None:
    if event.refused is not None:
        return
    if event.text:
        state.guidance.append(
            Guidance(
                phase=state.phase, iteration=state.iteration, text=event.text, origin=STEERED, lasting=True
            )
        )
    if event.dropped is not None:
        state.supersede((event.dropped,))
    if event.since is not None:
        state.options = state.options.model_copy(update={"since": event.since})
    if event.stop_searching:
        state.searching_stopped = True
        state.supersede(state.pending_ids())


@reducers.on(ev.PlanApproved)
def _plan_approved(state: FoldState, event: ev.PlanApproved) -> None:
    state.plan_approved = True
    if event.terms is not None:
        changed = event.terms.changes(state.options.budget)
        state.options = state.options.model_copy(update=changed)
    if event.sub_queries is None:
        return
    kept_ids = {s.id for s in event.sub_queries}
    state.supersede(i for i in state.pending_ids() if i not in kept_ids)
    for sub_query in event.sub_queries:
        current = state.sub_queries.get(sub_query.id)
        if current is None or current.status in (SubQueryStatus.PENDING, SubQueryStatus.SUPERSEDED):
            state.sub_queries[sub_query.id] = sub_query


@reducers.on(ev.BudgetRaised)
def _budget_raised(state: FoldState, event: ev.BudgetRaised) -> None:
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


@reducers.on(ev.RunCompleted)
def _completed(state: FoldState, event: ev.RunCompleted) -> None:
    state.charge_open()
    state.status = RunStatus.COMPLETED
    state.completed_at = event.at


@reducers.on(ev.RunAborted)
def _aborted(state: FoldState, event: ev.RunAborted) -> None:
    state.charge_open()
    state.status = RunStatus.ABORTED
    if event.reason is AbortReason.NO_EVIDENCE and event.phase is DeepResearchPhase.SYNTHESIS:
        state.forget_report()  # too little of it is supported: the draft is in the log, and resuming writes another
        state.phase_done = False
    state.abort = Abort(
        reason=event.reason, message=event.message, phase=event.phase, iteration=event.iteration
    )
