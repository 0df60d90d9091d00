"""A refiner without a model: a gap is worth a further iteration while it has a query not yet asked, and a steer
is a gap too."""

from __future__ import annotations

from collections.abc import Container, Iterable

from deep_research.phases.refinement.handoff import NamedGap, RefinerInput, RefinerOutput
from deep_research.phases.steering_plan import gap_of
from deep_research.phases.steering_queries import steering_query
from deep_research.state import FollowUpQuery, GapAnalysis, IterationRecommendation
from deep_research.state.identity import gap_id, sub_query_id

_SEVERITIES = {1: "critical", 2: "moderate"}


class ExtractiveRefiner:
    deterministic = True
    name = "extractive refiner"

    async def __call__(self, handoff: RefinerInput) -> RefinerOutput:
        query_ids = {sub_query_id(query) for query in handoff.earlier_queries}
        question, instructions = handoff.original_query, handoff.system_prompt
        queries = {steer: steering_query(steer, question, instructions) for steer in handoff.further}
        analysis = (
            *(
                _analysis(gap_id(gap_of(steer)), 1, (query,), steer, query_ids)
                for steer, query in queries.items()
            ),
            *(
                _analysis(g.id, g.priority, g.suggested_queries, g.description, query_ids)
                for g in handoff.gaps
            ),
        )
        promising = tuple(g.gap_id for g in analysis if g.addressable)
        return RefinerOutput(
            gap_analysis=analysis,
            gaps=tuple(NamedGap(description=gap_of(steer), priority=1) for steer in queries),
            iteration_recommendation=IterationRecommendation(
                should_iterate=bool(promising) and handoff.remaining_iterations > 0,
                rationale=f"{len(promising)} of {len(analysis)} gaps have a query that was not asked yet.",
                priority_gaps=promising,
            ),
        )


def _analysis(
    gap: str, priority: int, queries: Iterable[str], contribution: str, asked: Container[str]
) -> GapAnalysis:
    """Of the gap of this id, with those of its queries that were not ``asked`` yet."""
    fresh = [query for query in queries if sub_query_id(query) not in asked]
    return GapAnalysis(
        gap_id=gap,
        severity=_SEVERITIES.get(priority, "minor"),
        addressable=bool(fresh),
        follow_up_queries=tuple(FollowUpQuery(query=q, expected_contribution=contribution) for q in fresh),
    )
