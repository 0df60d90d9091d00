"""Reducers of events of SYNTHESIS and REFINEMENT: drafts, verdicts, reports and assessments. Pure."""

from __future__ import annotations

from deep_research.state import events as ev
from deep_research.state.claims import merge_parts
from deep_research.state.fold_state import FoldState, Reducers
from deep_research.state.records import (
    OF_REPORT,
)

reducers = Reducers()


@reducers.on(ev.PieceWritten)
def _piece_written(state: FoldState, event: ev.PieceWritten) -> None:
    state.pieces = state.pieces | {event.piece: event.content_hash}


@reducers.on(ev.ReportDrafted)
def _report_drafted(state: FoldState, event: ev.ReportDrafted) -> None:
    if state.draft is None:
        state.drop_notices(OF_REPORT)
    state.draft = event.draft


@reducers.on(ev.ClaimsJudged)
def _claims_judged(state: FoldState, event: ev.ClaimsJudged) -> None:
    state.judgements = state.judgements | event.judgements
    state.part_judgements = merge_parts((*state.part_judgements.values(), *event.parts))


@reducers.on(ev.ReportCompared)
def _report_compared(state: FoldState, event: ev.ReportCompared) -> None:
    if not event.replaces_earlier:  # what was told with the new draft is not of the report that stays
        state.drop_notices(OF_REPORT)


@reducers.on(ev.ReportWritten)
def _report_written(state: FoldState, event: ev.ReportWritten) -> None:
    # A whole one that a stop makes partial keeps its notices; those of a draft were told with it.
    if event.report != state.report and (state.draft is None or event.metadata.partial):
        state.drop_notices(OF_REPORT)
    state.report = event.report
    state.report_metadata = event.metadata
    state.citations = event.citations
    state.claims, state.repairs = event.claims, event.repairs
    state.verdicts = event.verdicts or state.verdicts
    state.report_draft = event.draft
    if not event.metadata.partial:
        state.phase_done = True
        state.forget_draft()


@reducers.on(ev.GapsAssessed)
def _gaps_assessed(state: FoldState, event: ev.GapsAssessed) -> None:
    state.gap_analysis = event.gap_analysis
    state.recommendation = event.recommendation
    state.report_improvements = event.report_improvements
    state.remarks = event.remarks
    state.refined = state.iteration
    state.gaps.update((gap.id, gap) for gap in event.gaps)
    state.unknown_ids += event.unknown_ids
    state.phase_done = True
