"""Input and output of the refiner."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from deep_research.phases.agent_contract import Operation
from deep_research.phases.handoff import Change, EvidenceInput, Proposal
from deep_research.state import (
    ContextUsage,
    FollowUpQuery,
    Gap,
    GapAnalysis,
    IterationRecommendation,
    Record,
    Reference,
    Remark,
)

REPORT = "report"  # the item that the report is, among those that a model is given


class RefinerInput(EvidenceInput):
    """``earlier_queries`` are all queries searched so far: none of them is worth asking again. ``further`` are those of
    the steers that can be searched; ``references`` tell where sources point to for more."""

    gaps: tuple[Gap, ...]
    remaining_iterations: int
    has_report_draft: bool
    report: str | None = None
    source_count: int = 0
    references: tuple[Reference, ...] = ()
    earlier_queries: tuple[str, ...] = ()
    further: tuple[str, ...] = ()


class FlatFollowUp(Record):
    gap_id: str
    query: str
    expected_contribution: str = ""


class NamedGap(Record):
    """A gap that the refiner sees and nobody named before."""

    description: str
    priority: int = Field(default=2, ge=1)
    suggested_queries: tuple[str, ...] = ()


class RefinerOutput(Proposal):
    """Follow-up queries stand under their gap; a flat list with gap ids is accepted too. ``unknown`` counts ids that
    were named and never given; ``notes`` are what a reader of the report should know; ``context_usage`` is what a model
    was given of the report and the gaps. ``gaps`` are new ones, whose analysis names them by `gap_id` of their
    description; ``remarks`` are on single places of the report.
    """

    gap_analysis: tuple[GapAnalysis, ...] = ()
    iteration_recommendation: IterationRecommendation
    report_improvements: tuple[str, ...] = ()
    follow_up_queries: tuple[FlatFollowUp, ...] = ()
    gaps: tuple[NamedGap, ...] = ()
    remarks: tuple[Remark, ...] = ()
    unknown: int = 0
    context_usage: ContextUsage = ContextUsage()

    def with_queries(self, change: Change) -> Self:
        return self.model_copy(
            update={"gap_analysis": tuple(_asking(gap, change) for gap in self.gap_analysis)}
        )

    @model_validator(mode="after")
    def _nest(self) -> RefinerOutput:
        if not self.follow_up_queries:
            return self
        by_gap = {g.gap_id: g for g in self.gap_analysis}
        for item in self.follow_up_queries:
            gap = by_gap.get(item.gap_id, GapAnalysis(gap_id=item.gap_id))
            query = FollowUpQuery(query=item.query, expected_contribution=item.expected_contribution)
            by_gap[item.gap_id] = gap.model_copy(
                update={"follow_up_queries": (*gap.follow_up_queries, query)}
            )
        return self.model_copy(update={"gap_analysis": tuple(by_gap.values()), "follow_up_queries": ()})


REFINE = Operation("refine", RefinerInput, RefinerOutput)


def _asking(gap: GapAnalysis, change: Change) -> GapAnalysis:
    changed = (item.model_copy(update={"query": change(item.query)}) for item in gap.follow_up_queries)
    return gap.model_copy(update={"follow_up_queries": tuple(item for item in changed if item.query)})
