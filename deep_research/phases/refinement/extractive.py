"""A refiner without a model: a gap is worth a further iteration while it has a query not yet asked."""

from __future__ import annotations

from deep_research.phases.refinement.handoff import RefinerInput, RefinerOutput
from deep_research.state import FollowUpQuery, Gap, GapAnalysis, IterationRecommendation
from deep_research.state.identity import sub_query_id

_SEVERITIES = {1: "critical", 2: "moderate"}


class ExtractiveRefiner:
    deterministic = True
    name = "extractive refiner"

    async def __call__(self, handoff: RefinerInput) -> RefinerOutput:
        asked = {sub_query_id(query) for query in handoff.asked}
        analysis = tuple(_analysis(gap, asked) for gap in handoff.gaps)
        promising = tuple(g.gap_id for g in analysis if g.addressable)
        return RefinerOutput(
            gap_analysis=analysis,
            iteration_recommendation=IterationRecommendation(
                should_iterate=bool(promising) and handoff.remaining_iterations > 0,
                rationale=f"{len(promising)} of {len(analysis)} gaps have a query that was not asked yet.",
                priority_gaps=promising,
            ),
        )


def _analysis(gap: Gap, asked: set[str]) -> GapAnalysis:
    fresh = [q for q in gap.suggested_queries if sub_query_id(q) not in asked]
    return GapAnalysis(
        gap_id=gap.id,
        severity=_SEVERITIES.get(gap.priority, "minor"),
        addressable=bool(fresh),
        follow_up_queries=tuple(FollowUpQuery(query=q, expected_contribution=gap.description) for q in fresh),
    )
