"""PLANNING: one call to the planner, one plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from deep_research.budget.metered import RunModels
from deep_research.errors import SearchError
from deep_research.logs import get_log, told
from deep_research.phases.base import Agent, Phase, WorkLimits, noted, shared
from deep_research.phases.planning.handoff import PlannedQuery, PlannerInput, PlannerOutput
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    FirstLook,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import PlanMade
from deep_research.state.identity import sub_query_id
from deep_research.state.journal import Journal

log = get_log("planning")

Look = Callable[[str], Awaitable[FirstLook | None]]


class PlanningPhase(Phase[PlannerInput, PlannerOutput]):
    """``look`` tells what the corpus says of the question, so that the plan stands on what there is."""

    phase = DeepResearchPhase.PLANNING
    must_propose = True
    answer_type = PlannerOutput

    def __init__(
        self,
        agent: Agent[PlannerInput, PlannerOutput],
        *,
        limits: WorkLimits | None = None,
        look: Look | None = None,
    ) -> None:
        super().__init__(agent, limits=limits)
        self._look = look

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        look = await self._first_look(state.query)
        answer = await self.ask(self.handoff(state, look), models)
        await journal.record(
            PlanMade(
                research_brief=answer.research_brief.strip(),
                sub_queries=numbered(answer.sub_queries, state),
                first_look=look,
            ),
            *noted(answer.notes),
        )

    async def _first_look(self, question: str) -> FirstLook | None:
        """None too when the corpus cannot be read: the searches will fail for the same reason, and say so."""
        if self._look is None:
            return None
        try:
            look: FirstLook | None = await self.limits.calls(
                self._look, question, timeout=self.limits.operation_timeout
            )
            return look
        except (SearchError, TimeoutError) as error:
            log.warning("no_first_look", error=told(error))
            return None

    def handoff(self, state: DeepResearchState, look: FirstLook | None = None) -> PlannerInput:
        return PlannerInput(
            **shared(state, self.phase),
            max_sub_queries=state.max_sub_queries,
            asked=tuple(s.query for s in state.sub_queries if s.status is SubQueryStatus.COMPLETED),
            first_look=look,
        )


def numbered(planned: tuple[PlannedQuery, ...], state: DeepResearchState) -> tuple[SubQuery, ...]:
    """The plan as sub-queries: by priority, each text once, placed behind those the run already has."""
    first = len(state.sub_queries)
    seen: dict[str, SubQuery] = {}
    for item in sorted(planned, key=lambda p: p.priority):
        text = " ".join(item.query.split())
        key = sub_query_id(text)
        if text and key not in seen:
            seen[key] = SubQuery(
                id=key,
                query=text,
                rationale=item.rationale,
                priority=item.priority,
                index=first + len(seen),
                iteration=state.iteration,
            )
    return tuple(seen.values())
