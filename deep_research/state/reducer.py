"""The fold: how each event changes the state.

`Fold` is the live state of a run, changed in place by a table of one function per event class. Everybody else gets
`Fold.snapshot()`, a frozen `DeepResearchState` cached by sequence number.
"""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.state import (
    analysis_reducers,
    gathering_reducers,
    phase_reducers,
    report_reducers,
    run_reducers,
)
from deep_research.state import events as ev
from deep_research.state.fold_state import FoldState, Reducers, damaged
from deep_research.state.phases import (
    DeepResearchPhase,
    RunStatus,
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
_REDUCERS = Reducers()
for _module in (run_reducers, phase_reducers, gathering_reducers, analysis_reducers, report_reducers):
    _REDUCERS |= _module.reducers


class Fold(FoldState):
    """The live state of one run. Only a journal applies events to it."""

    def apply(self, event: ev.Event) -> None:
        """Change the state by one event.

        Raises `LogDamagedError` when the event does not follow the last one or cannot happen now.
        """
        if event.seq != self.seq + 1:
            raise damaged(f"event {event.seq} follows event {self.seq}", self.research_id)
        if self.status is RunStatus.COMPLETED and not isinstance(event, ev.RunResumed):
            raise damaged(f"'{event.name}' after the run completed", self.research_id)
        if self._reopened and not isinstance(event, ev.BudgetRaised):  # nothing else opens a completed run
            raise damaged(f"'{event.name}' of a completed run that was taken up", self.research_id)
        if self.status is RunStatus.ABORTED and not isinstance(event, ev.RunResumed):
            raise damaged(f"'{event.name}' after the run was aborted", self.research_id)
        if isinstance(event, ev.RunCreated) is not (self._empty and event.seq == 1):
            raise damaged(f"'{event.name}' as event {event.seq}", self.research_id)
        if not _fits(self, event):
            raise damaged(
                f"'{event.name}' does not fit {self.phase} of iteration {self.iteration}", self.research_id
            )
        completed = self.status is RunStatus.COMPLETED
        try:
            _REDUCERS[type(event)](self, event)
        except KeyError as error:
            raise damaged(f"'{event.name}' names an unknown {error}", self.research_id) from error
        self._reopened = completed
        self.seq = event.seq
        self.updated_at = event.at
        self._snapshot = None
        if isinstance(event, _RANKS):
            self._sources = None


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
