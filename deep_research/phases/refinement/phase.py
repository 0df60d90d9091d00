"""REFINEMENT: one call to the refiner about the gaps that are open."""

from __future__ import annotations

from functools import partial

from deep_research.budget.metered import RunModels
from deep_research.phases.base import Phase, noted, shared
from deep_research.phases.keeping import Original, sent
from deep_research.phases.refinement.handoff import REPORT, RefinerInput, RefinerOutput
from deep_research.state import DeepResearchPhase, DeepResearchState, SubQueryStatus
from deep_research.state.events import GapsAssessed
from deep_research.state.journal import Journal


class RefinementPhase(Phase[RefinerInput, RefinerOutput]):
    phase = DeepResearchPhase.REFINEMENT
    answer_type = RefinerOutput

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        handoff = self.handoff(state)
        answer = await self.ask(handoff, models)
        known = {g.id for g in state.gaps}
        recommended = answer.iteration_recommendation
        await journal.record(
            GapsAssessed(
                gap_analysis=tuple(g for g in answer.gap_analysis if g.gap_id in known),
                recommendation=recommended.model_copy(
                    update={"priority_gaps": tuple(i for i in recommended.priority_gaps if i in known)}
                ),
                report_improvements=answer.report_improvements,
                unknown_ids=answer.unknown,
            ),
            *noted(answer.notes),
            *await sent(self.phase, answer.sent, partial(_originals, handoff), self.limits.archive),
        )

    def handoff(self, state: DeepResearchState) -> RefinerInput:
        return RefinerInput(
            **shared(state, self.phase),
            gaps=state.unresolved_gaps(),
            max_iterations=state.max_iterations,
            remaining_iterations=state.max_iterations - state.iteration,
            has_report_draft=bool(state.report),
            report=state.report,
            source_count=len(state.sources),
            findings=state.findings,
            asked=tuple(s.query for s in state.sub_queries if s.status is not SubQueryStatus.SUPERSEDED),
        )


def _originals(handoff: RefinerInput) -> dict[str, Original]:
    gaps = {gap.id: Original(gap.description, "gap") for gap in handoff.gaps}
    return gaps | {REPORT: Original(handoff.report or "", "report")}
