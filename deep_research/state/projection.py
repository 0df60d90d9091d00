"""The row by which a run is listed: where it stands, why, and how far it came, kept beside the log so that nobody folds
it to look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deep_research.state import events as ev
from deep_research.state.figures import Figures
from deep_research.state.parking import Parking
from deep_research.state.phases import AbortReason, DeepResearchPhase, RunStatus, SubQueryStatus
from deep_research.state.question_parts import answer_coverage, lacking, told_lacking
from deep_research.state.queue_place import QueuePlace
from deep_research.state.reducer import Fold
from deep_research.state.spending import plus

_E = TypeVar("_E", bound=ev.Event)
_COUNTED: dict[type[ev.Event], Callable[[Projector, Any], None]] = {}


@dataclass(frozen=True, slots=True)
class Projection:
    """Where a run stands after the last event handed in. ``message`` is that of an abort, or what a completed run did not
    find, ``parking`` what a parked run waits for, ``queue`` the place of a submitted one. ``seconds`` is how long it was
    worked on, by all its owners; None where nobody counted."""

    status: RunStatus = RunStatus.PENDING
    reason: AbortReason | None = None
    phase: DeepResearchPhase = DeepResearchPhase.PLANNING
    iteration: int = 1
    message: str | None = None
    parking: Parking | None = None
    queue: QueuePlace | None = None
    seconds: float | None = None
    figures: Figures = field(default_factory=Figures)


class Projector:
    """Keeps the row of a run up with every event, from the ``state`` on: as soon as it is handed in, which is before
    the state may have it. So it counts from the events alone, and keeps the ids that must not count twice."""

    def __init__(self, state: Fold) -> None:
        self.status = state.status
        self.reason = state.abort.reason if state.abort else None
        self.phase = state.phase
        self.iteration = state.iteration
        self.message = state.abort.message if state.abort else None
        self.parts, self.verdicts = state.parts, state.verdicts
        if state.status is RunStatus.COMPLETED:
            self.message = told_lacking(lacking(self.parts, self.verdicts))
        self.parking = state.parking if state.status is RunStatus.PARKED else None
        self.queue = state.queue
        self.seconds = state.seconds
        queries = {s.id: s.status for s in state.sub_queries.values()}
        self.planned = {name for name, at in queries.items() if at is not SubQueryStatus.SUPERSEDED}
        self.completed = {name for name, at in queries.items() if at is SubQueryStatus.COMPLETED}
        self.failed = {name for name, at in queries.items() if at is SubQueryStatus.FAILED}
        self.sources = set(state.sources)
        self.findings = set(state.findings)
        self.reservations = dict(state.reservations)
        self.tokens = state.usage.input_tokens + state.usage.output_tokens
        self.cost_usd = state.usage.cost_usd

    def apply(self, event: ev.Event) -> None:
        """Count one more event in."""
        handler = _COUNTED.get(type(event))
        if handler is not None:
            handler(self, event)

    def projection(self, seconds: float | None = None) -> Projection:
        """The row as of now; ``seconds`` of work where they are known better than by the ends of phases."""
        return Projection(
            status=self.status,
            reason=self.reason,
            phase=self.phase,
            iteration=self.iteration,
            message=self.message,
            parking=self.parking,
            queue=self.queue,
            seconds=self.seconds if seconds is None else seconds,
            figures=Figures(
                searches_done=len(self.completed),
                searches_planned=len(self.planned),
                sources=len(self.sources),
                findings=len(self.findings),
                tokens=self.tokens,
                cost_usd=self.cost_usd,
                answer_coverage=answer_coverage(self.parts, self.verdicts),
            ),
        )

    def charge(self, tokens: int, cost_usd: float | None) -> None:
        self.tokens += tokens
        self.cost_usd = plus(self.cost_usd, cost_usd)

    def stop(self, status: RunStatus) -> None:
        """The run stops or is taken up again: what was in flight then may have been paid for."""
        self.status, self.parking = status, None
        for request in self.reservations.values():
            self.charge(request.input_tokens + request.output_tokens, request.cost_usd)
        self.reservations.clear()


def _on(kind: type[_E]) -> Callable[[Callable[[Projector, _E], None]], Callable[[Projector, _E], None]]:
    def register(function: Callable[[Projector, _E], None]) -> Callable[[Projector, _E], None]:
        _COUNTED[kind] = function
        return function

    return register


@_on(ev.RunCreated)
def _created(row: Projector, event: ev.RunCreated) -> None:
    if event.queue is not None:
        row.queue, row.status = event.queue, RunStatus.QUEUED


@_on(ev.RunResumed)
def _resumed(row: Projector, _: ev.RunResumed) -> None:
    row.stop(RunStatus.RUNNING)
    row.reason, row.message = None, None


@_on(ev.RunParked)
def _parked(row: Projector, event: ev.RunParked) -> None:
    row.stop(RunStatus.PARKED)
    row.parking = event.parking


@_on(ev.RunCompleted)
def _completed(row: Projector, _: ev.RunCompleted) -> None:
    row.stop(RunStatus.COMPLETED)
    row.message = told_lacking(lacking(row.parts, row.verdicts))


@_on(ev.RunAborted)
def _aborted(row: Projector, event: ev.RunAborted) -> None:
    row.stop(RunStatus.ABORTED)
    row.reason, row.message = event.reason, event.message


@_on(ev.PhaseStarted)
def _phase_started(row: Projector, event: ev.PhaseStarted) -> None:
    row.status, row.parking = RunStatus.RUNNING, None
    row.phase, row.iteration = event.phase, event.iteration


@_on(ev.PhaseEnded)
def _phase_ended(row: Projector, event: ev.PhaseEnded) -> None:
    row.seconds = round(row.seconds + event.seconds, 3)


@_on(ev.PhaseRetried)
def _phase_retried(row: Projector, event: ev.PhaseRetried) -> None:
    row.phase = event.phase
    if event.phase is DeepResearchPhase.GATHERING:
        row.failed.clear()  # they pend again
        row.planned.update(s.id for s in event.sub_queries)


@_on(ev.IterationStarted)
def _iteration_started(row: Projector, event: ev.IterationStarted) -> None:
    row.iteration = event.iteration
    row.planned.update(s.id for s in event.sub_queries)


@_on(ev.PlanMade)
def _planned(row: Projector, event: ev.PlanMade) -> None:
    row.planned = row.completed | row.failed | {s.id for s in event.sub_queries}
    row.parts = event.parts
    part_ids = {part.id for part in event.parts}
    row.verdicts = tuple(v for v in row.verdicts if v.part_id in part_ids)


@_on(ev.SubQueriesAdded)
def _added(row: Projector, event: ev.SubQueriesAdded) -> None:
    row.planned.difference_update(event.replaced)
    row.planned.update(s.id for s in event.sub_queries)


@_on(ev.RunSteered)
def _steered(row: Projector, event: ev.RunSteered) -> None:
    if event.refused is None:
        row.planned.discard(event.dropped or "")
        if event.stop_searching:
            row.planned &= row.completed | row.failed


@_on(ev.PlanApproved)
def _plan_approved(row: Projector, event: ev.PlanApproved) -> None:
    if event.sub_queries is not None:
        row.planned = row.completed | row.failed | {s.id for s in event.sub_queries}


@_on(ev.SubQueryCompleted)
def _sub_query_completed(row: Projector, event: ev.SubQueryCompleted) -> None:
    row.planned.add(event.sub_query_id)
    row.completed.add(event.sub_query_id)
    row.sources.update(source.id for source in event.sources)


@_on(ev.TaskStepped)
def _task_stepped(row: Projector, event: ev.TaskStepped) -> None:
    row.sources.update(source.id for source in event.sources)


@_on(ev.SubQueryFailed)
def _sub_query_failed(row: Projector, event: ev.SubQueryFailed) -> None:
    row.planned.add(event.sub_query_id)
    row.completed.discard(event.sub_query_id)
    row.failed.add(event.sub_query_id)


@_on(ev.SourcesAnalyzed)
def _analyzed(row: Projector, event: ev.SourcesAnalyzed) -> None:
    row.findings.update(finding.id for finding in event.findings)


@_on(ev.EvidenceWeighed)
def _weighed(row: Projector, event: ev.EvidenceWeighed) -> None:
    row.findings.difference_update(event.dropped)
    row.findings.update(finding.id for finding in event.findings)
    if event.verdicts:
        row.parts, row.verdicts = event.parts or row.parts, event.verdicts


@_on(ev.ReportWritten)
def _report_written(row: Projector, event: ev.ReportWritten) -> None:
    row.verdicts = event.verdicts or row.verdicts


@_on(ev.ModelReserved)
def _reserved(row: Projector, event: ev.ModelReserved) -> None:
    row.reservations[event.reservation.call_id] = event.reservation


@_on(ev.ModelSettled)
def _model_settled(row: Projector, event: ev.ModelSettled) -> None:
    row.reservations.pop(event.call_id, None)
    row.charge(event.tokens.total, event.cost_usd)
