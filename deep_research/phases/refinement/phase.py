"""REFINEMENT: one call to the refiner about the gaps that are open, and what is said of those that stay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from deep_research.budget.metered import RunModels
from deep_research.phases.base import Phase, noted
from deep_research.phases.content_archiving import Original, usage_events
from deep_research.phases.handoff import evidence_of, shared
from deep_research.phases.quote_passages import around_quotes
from deep_research.phases.refinement.handoff import REFINE, REPORT, RefinerInput, RefinerOutput
from deep_research.phases.steering_plan import unfollowed
from deep_research.phases.steering_queries import split_searchable
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Gap,
    Remark,
    RemarkKind,
    SubQueryStatus,
    ValidationResult,
)
from deep_research.state.events import GapsAssessed, NoticeAdded
from deep_research.state.identity import gap_id
from deep_research.state.journal import Journal
from deep_research.state.notices import reported_notices
from deep_research.state.records import OF_MODEL, OF_REPORT
from deep_research.text.plain import plainly

MAX_REMARKS = 20


def validate_refinement(state: DeepResearchState) -> ValidationResult:
    """Pure and always valid."""
    open_gaps = len(state.unresolved_gaps())
    issues: tuple[str, ...] = ()
    if open_gaps and state.iteration >= state.max_iterations:
        issues = (f"{open_gaps} gaps are open and no iteration is left.",)
    return ValidationResult(valid=True, issues=issues, quality_score=10.0 - min(10.0, open_gaps * 2.0))


class RefinementPhase(Phase):
    phase = DeepResearchPhase.REFINEMENT
    operations = (REFINE,)

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        handoff = self.handoff(state)
        idle: list[NoticeAdded] = []
        if not self.spec.uses_model and handoff.steering:
            further, left = await split_searchable(handoff.steering, state, self.knows)
            handoff, idle = handoff.model_copy(update={"further": further}), unfollowed(left)
        if models and self.spec.uses_model:
            around = await around_quotes(state.findings, journal)
            handoff = handoff.model_copy(update={"passages": around})
        answer = await self.ask(REFINE, handoff, models)
        fresh = _gaps_of(answer, state)
        gap_ids = {g.id for g in (*state.gaps, *fresh)}
        recommended = answer.iteration_recommendation
        await journal.record(
            GapsAssessed(
                gap_analysis=tuple(g for g in answer.gap_analysis if g.gap_id in gap_ids),
                recommendation=recommended.model_copy(
                    update={"priority_gaps": tuple(i for i in recommended.priority_gaps if i in gap_ids)}
                ),
                report_improvements=answer.report_improvements,
                unknown_ids=answer.unknown,
                gaps=fresh,
                remarks=_placed(answer.remarks, state),
            ),
            *noted(answer.notes),
            *idle,
            *await usage_events(
                self.phase, answer.context_usage, partial(_originals, handoff), self.limits.archive
            ),
        )

    async def can_follow(self, steer: str, state: DeepResearchState) -> bool:
        return await self.can_search(steer, state)

    def handoff(self, state: DeepResearchState) -> RefinerInput:
        return RefinerInput(
            **shared(state, self.phase),
            **evidence_of(state),
            gaps=state.unresolved_gaps(),
            remaining_iterations=state.max_iterations - state.iteration,
            has_report_draft=bool(state.report),
            report=state.report,
            source_count=len(state.sources),
            notices=tuple(each for each in reported_notices(state) if each.name not in (OF_REPORT, OF_MODEL)),
            draft=state.report_draft,
            failing=tuple(claim for claim in state.claims if claim.is_marked),
            references=state.references,
            earlier_queries=tuple(
                s.query for s in state.sub_queries if s.status is not SubQueryStatus.SUPERSEDED
            ),
        )


def _gaps_of(answer: RefinerOutput, state: DeepResearchState) -> tuple[Gap, ...]:
    """The gaps that the refiner names, each once; one that is known stays as it is."""
    gap_ids = {gap.id for gap in state.gaps}
    fresh: dict[str, Gap] = {}
    for item in answer.gaps:
        text = " ".join(item.description.split())
        key = gap_id(text)
        if text and key not in gap_ids:
            rank = len(state.gaps) + len(fresh)
            gap = Gap(
                id=key,
                description=text,
                suggested_queries=item.suggested_queries,
                priority=item.priority,
                iteration=state.iteration,
                rank=rank,
            )
            fresh.setdefault(key, gap)
    return tuple(fresh.values())


def _placed(remarks: Sequence[Remark], state: DeepResearchState) -> tuple[Remark, ...]:
    """The remarks, each with the whole sentence of the report that it is about. One on a sentence that is not there is
    none, but for what is missing."""
    claims = {plainly(claim.text): claim for claim in state.claims}
    placed_remarks: dict[Remark, None] = {}
    for remark in remarks[:MAX_REMARKS]:
        sentence = plainly(remark.sentence)
        match = next((c for text, c in claims.items() if sentence and text.startswith(sentence)), None)
        match = match or next((c for text, c in claims.items() if sentence and sentence in text), None)
        if match is not None:
            place = {"sentence": match.text, "heading": match.heading.partition(" > ")[0]}
            placed_remarks[remark.model_copy(update=place)] = None
        elif remark.kind is RemarkKind.MISSING or (remark.heading and not sentence):
            placed_remarks[remark.model_copy(update={"sentence": ""})] = None
    return tuple(placed_remarks)


def _originals(handoff: RefinerInput) -> dict[str, Original]:
    gaps = {gap.id: Original(gap.description, "gap") for gap in handoff.gaps}
    return gaps | {REPORT: Original(handoff.report or "", "report")}
