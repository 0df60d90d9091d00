"""PLANNING: one call to the planner, one plan."""

from __future__ import annotations

from deep_research.phases.base import Phase
from deep_research.phases.planning.handoff import PlannedQuery, PlannerInput, PlannerOutput
from deep_research.state import DeepResearchPhase, DeepResearchState, SubQuery, SubQueryStatus
from deep_research.state.events import PlanMade
from deep_research.state.identity import sub_query_id
from deep_research.state.journal import Journal


class PlanningPhase(Phase[PlannerInput, PlannerOutput]):
    phase = DeepResearchPhase.PLANNING
    answer_type = PlannerOutput

    async def run(self, state: DeepResearchState, journal: Journal) -> None:
        if state.phase_done:
            return
        answer = await self.ask(self.handoff(state))
        await journal.record(
            PlanMade(
                research_brief=answer.research_brief.strip(),
                sub_queries=numbered(answer.sub_queries, state),
            )
        )

    def handoff(self, state: DeepResearchState) -> PlannerInput:
        return PlannerInput(
            research_id=state.research_id,
            original_query=state.query,
            current_phase=self.phase,
            iteration=state.iteration,
            guidance=state.guidance_for(self.phase),
            system_prompt=state.options.system_prompt,
            max_sub_queries=state.max_sub_queries,
            asked=tuple(s.query for s in state.sub_queries if s.status is SubQueryStatus.COMPLETED),
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
