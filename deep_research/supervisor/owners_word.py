"""What the owner of a run is asked between its planning and its searches, and what is done with what he says."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.budget.metered import RunModels
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole
from deep_research.state.events import Event
from deep_research.state.journal import Clock
from deep_research.supervisor.clarifying import of_question
from deep_research.supervisor.plan_approval import PlanEstimate, of_plan


class OwnersWord:
    """First whether it is clear what is asked, then the plan. ``estimate`` says what the run may take from here, and
    ``data_sources`` are the names that an edited plan may use."""

    def __init__(
        self, clock: Clock, *, estimate: PlanEstimate | None = None, data_sources: Sequence[str] = ()
    ) -> None:
        self._clock = clock
        self._estimate = estimate
        self._data_sources = data_sources

    async def before_searching(self, state: DeepResearchState, models: RunModels | None) -> list[Event]:
        """What is to be recorded before the searches begin, after which the run has to be looked at again: it is parked,
        planned again, or its plan is approved. Empty where nothing is. Raises `Halted`, `StoreError`."""
        if state.phase is not DeepResearchPhase.GATHERING or state.iteration != 1:
            return []
        asks_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
        events = await of_question(state, models, self._clock, asks_model=asks_model)
        return events or await of_plan(state, self._clock(), self._estimate, self._data_sources)
