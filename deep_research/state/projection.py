"""The row by which a run is listed: where it stands, kept beside the log so that nobody folds it to look."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deep_research.state import events as ev
from deep_research.state.phases import AbortReason, DeepResearchPhase, RunStatus


@dataclass(frozen=True, slots=True)
class Projection:
    """Status, reason, phase and iteration after the last event handed in."""

    status: RunStatus = RunStatus.PENDING
    reason: AbortReason | None = None
    phase: DeepResearchPhase = DeepResearchPhase.PLANNING
    iteration: int = 1

    def after(self, event: ev.Event) -> Projection:
        match event:
            case ev.RunResumed():
                return replace(self, status=RunStatus.RUNNING, reason=None)
            case ev.PhaseStarted():
                return replace(self, status=RunStatus.RUNNING, phase=event.phase, iteration=event.iteration)
            case ev.PhaseRetried():
                return replace(self, phase=event.phase)
            case ev.IterationStarted():
                return replace(self, iteration=event.iteration)
            case ev.RunParked():
                return replace(self, status=RunStatus.PARKED)
            case ev.RunCompleted():
                return replace(self, status=RunStatus.COMPLETED)
            case ev.RunAborted():
                return replace(self, status=RunStatus.ABORTED, reason=event.reason)
            case _:
                return self
