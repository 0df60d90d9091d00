"""What happens in a run, in the words of those who watch it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.describe import gist
from deep_research.state import DeepResearchPhase, Gap, Limit, SubQuery, SubQueryStatus
from deep_research.state import events as ev
from deep_research.state.limitations import OF_SEARCHES
from deep_research.state.notices import is_same
from deep_research.state.reducer import Fold


def in_words(event: ev.Event, fold: Fold) -> str:
    """What everybody is told of an event, ``fold`` being the run after it; "" for a step of the work."""
    match event:
        case ev.RunCreated():
            return f"Run {fold.research_id}"
        case ev.RunResumed():
            return f"Resumed run {fold.research_id}"
        case ev.SetUpChanged():
            return f"Set up otherwise than before: {gist(event)}"
        case ev.RunSteered():
            return f"Heard: {gist(event)}"
        case ev.PlanApproved():
            return f"The plan was agreed to {gist(event)}"
        case ev.SubQueriesAdded():
            return f"Searched as well, since it was wished for: {gist(event)}"
        case ev.SubQueryCompleted():
            found = fold.sub_queries[event.sub_query_id].source_ids
            return f"{_query(event.sub_query_id, fold)}: {text.count(len(found), 'source')}"
        case ev.TaskReviewed() if not event.review.approved:
            return f"{_query(fold.tasks[event.task_id].task.sub_query_id, fold)}: sent back: {event.review.critique}"
        case ev.SubQueryFailed():
            return f"{_query(event.sub_query_id, fold)}: failed: {event.error}"
        case ev.PhaseEnded():
            return f"{event.phase}: {outcome(fold, event.phase)}"
        case ev.PhaseRetried():
            why = f": {' '.join(event.issues)}" if event.issues else ""
            return f"{event.phase}: once more, as the {event.asked_by} asked{why}"
        case ev.IterationStarted():
            searches = text.count(len(event.sub_queries), "further search", "further searches")
            return f"Round {event.iteration}: {searches}"
        case ev.LimitReached() if _told_before(event.limit, fold):
            return ""
        case ev.HookFailed() if _failed_before(event, fold):
            return ""
        case _:
            return _mishap(event)


def _told_before(limit: Limit, fold: Fold) -> bool:
    """Whether the same was told before, or by an earlier round of the same cap on searches: the report says how often,
    and how many were not made in the end."""
    if any(is_same(other, limit) for other in fold.limits.values()):
        return True
    return limit.of_cap in OF_SEARCHES and any(
        (other.name, other.cap) == (limit.name, limit.cap) and set(other.skipped) < set(limit.skipped)
        for other in fold.limits.values()
    )


def _failed_before(event: ev.HookFailed, fold: Fold) -> bool:
    told = f"The hook {event.hook} failed"
    return any(limit.message.startswith(told) and (limit.used or 0) > 1 for limit in fold.limits.values())


def _mishap(event: ev.Event) -> str:
    match event:
        case ev.LimitReached():
            return f"Limit: {event.limit.line}"
        case ev.AgentFellBack():
            return f"The {event.role} could not do its work; it is done without a model: {event.error}"
        case ev.ModelFellBack():
            return f"Model: for the {gist(event)}"
        case ev.BudgetRaised():
            return f"It goes on under another budget: {gist(event)}"
        case ev.HookFailed():
            return f"The hook {event.hook} failed and was passed over: {event.error}"
        case _:
            return ""


def steps(event: ev.Event, fold: Fold) -> Iterator[str]:
    """What is told besides to who wants to know more: the plan, reasons, and every step."""
    match event:
        case ev.RunResumed():
            yield from (f"Answer: {event.answer}" for _ in [0] if event.answer)
        case ev.PhaseStarted():
            yield f"{event.phase}: begins, round {event.iteration}"
        case ev.PlanMade():
            yield f"Plan: {event.research_brief or 'no brief'}"
            yield from (
                f"  - {q.query}" + (f" ({q.rationale})" if q.rationale else "") for q in event.sub_queries
            )
        case ev.TaskDispatched() | ev.TaskStepped() | ev.TaskFinished() | ev.TaskReviewed():
            yield f"  Task {gist(event)}"
        case ev.SourcesAnalyzed():
            yield f"Read {gist(event)}"
            yield from _missing(event.gaps)
        case ev.EvidenceWeighed():
            yield f"Weighed {gist(event)}"
            yield from _missing(event.gaps)
        case ev.PieceWritten():
            yield f"Written: {gist(event)}"
        case ev.ReportDrafted():
            yield f"Drafted {gist(event)}"
        case ev.ClaimsJudged():
            yield f"Judged {gist(event)}"
        case ev.ReportCompared():
            yield f"Compared with the version before: {gist(event)}"
        case ev.ReportWritten():
            yield f"Wrote {gist(event)}"
        case ev.GapsAssessed():
            yield f"Gaps: {gist(event)}"
            yield from _gaps(event, fold)
        case ev.PhaseEnded():
            yield f"  {event.decision.rationale}"
        case ev.DecisionMade():
            yield f"Decision: {gist(event)}"
        case ev.GuidanceGiven():
            yield f"Advice {gist(event)}"
        case _:
            yield from _asked(event)


def _missing(gaps: Iterable[Gap]) -> Iterator[str]:
    yield from (f"  - missing: {gap.description}" for gap in gaps if not gap.addressed)


def _gaps(event: ev.GapsAssessed, fold: Fold) -> Iterator[str]:
    for gap in event.gap_analysis:
        asked = "; ".join(follow_up.query for follow_up in gap.follow_up_queries)
        open_to = f"to be searched: {asked}" if asked else "nothing more to search"
        yield f"  - {gap.severity}: {fold.gaps[gap.gap_id].description} ({open_to})"


def _asked(event: ev.Event) -> Iterator[str]:
    """What models are asked and given, and how a run stops."""
    match event:
        case ev.ModelReserved():
            yield f"Asking {gist(event)}"
        case ev.ModelSettled():
            yield f"Answer {gist(event)}"
        case ev.ReadingPlanned():
            yield f"Reading in {text.count(len(event.plan.portions), 'request')}"
        case ev.ContentSent():
            yield f"{event.phase}: {text.count(len(event.sending.items), 'text')} sent"
        case ev.RunParked():
            yield f"Parked: the run waits for {gist(event)}"
        case ev.RunCompleted():
            yield f"Done: {gist(event)}"
        case ev.RunAborted():
            yield f"Aborted: {gist(event)}"


def _query(sub_query_id: str, fold: Fold) -> str:
    return f"'{fold.sub_queries[sub_query_id].query}'"


def outcome(fold: Fold, phase: DeepResearchPhase) -> str:
    """What a phase has brought so far."""
    queries = current_queries(fold)
    match phase:
        case DeepResearchPhase.PLANNING:
            return text.count(len(queries), "sub-query", "sub-queries") if queries else ""
        case DeepResearchPhase.GATHERING:
            searched = sum(query.status is not SubQueryStatus.PENDING for query in queries)
            return f"{searched} of {len(queries)} searched, {text.count(len(fold.sources), 'source')}"
        case DeepResearchPhase.ANALYSIS:
            return f"{len(fold.analyzed)} of {text.count(len(fold.sources), 'source')} read, " + text.count(
                len(fold.findings), "finding"
            )
        case DeepResearchPhase.SYNTHESIS:
            words = fold.report_metadata.word_count if fold.report_metadata else 0
            return f"{text.count(words, 'word')}, {text.count(len(fold.citations), 'citation')}"
        case DeepResearchPhase.REFINEMENT:
            return text.count(sum(not gap.addressed for gap in fold.gaps.values()), "open gap")


def current_queries(fold: Fold) -> list[SubQuery]:
    """The sub-queries of the current iteration, without those a new plan replaced."""
    return [
        query
        for query in fold.sub_queries.values()
        if query.iteration == fold.iteration and query.status is not SubQueryStatus.SUPERSEDED
    ]
