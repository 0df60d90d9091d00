"""Events in words: in one line each, and as those who watch a run are told."""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.presentation import phrases
from deep_research.presentation.report_text import claims_line
from deep_research.state import DeepResearchPhase, Limit, Notice, SubQuery, SubQueryStatus
from deep_research.state import events as ev
from deep_research.state.notices import OF_SEARCHES, is_same
from deep_research.state.records import EVIDENCE
from deep_research.state.reducer import Fold
from deep_research.state.setup import differences
from deep_research.text import unspaced

# How the line of an event begins; its gist follows.
_FOR_ALL: dict[type[ev.Event], str] = {
    ev.SetUpChanged: "The set-up changed: ",
    ev.RunSteered: "Guidance: ",
    ev.PlanApproved: "Plan approved ",
    ev.SubQueriesAdded: "Also searched, on request: ",
    ev.ModelFellBack: "Model: for the ",
    ev.BudgetRaised: "New budget: ",
    ev.DepthChanged: "Depth: ",
}
_FOR_VERBOSE: dict[type[ev.Event], str] = {
    ev.RunAdmitted: "Admission: ",
    ev.MemoryLoaded: "From the user's memory it reads ",
    ev.MemoryWritten: "It writes to the user's memory ",
    **dict.fromkeys((ev.TaskDispatched, ev.TaskStepped, ev.TaskFinished, ev.TaskReviewed), "  Task "),
    ev.SourcesAnalyzed: "Read ",
    ev.EvidenceWeighed: "Weighed ",
    ev.PieceWritten: "Written: ",
    ev.ReportDrafted: "Drafted ",
    ev.ClaimsJudged: "Judged ",
    ev.ReportCompared: "Compared with the previous version: ",
    ev.ReportWritten: "Wrote ",
    ev.GapsAssessed: "Gaps: ",
    ev.DecisionMade: "Decision: ",
    ev.GuidanceGiven: "Advice ",
    ev.ModelReserved: "Asking ",
    ev.ModelSettled: "Answer ",
    ev.RunParked: "Parked: the run waits for ",
    ev.RunCompleted: "Done: ",
    ev.RunAborted: "Aborted: ",
}


def described(event: ev.Event) -> str:
    """Number, time, type and the gist of an event."""
    at = f"{event.at.astimezone():%H:%M:%S}" if event.at else ""
    return f"{event.seq:>4} {at} {event.name:<19} {phrases.line(gist(event))}".rstrip()


def gist(event: ev.Event) -> str:
    """The gist of an event, without its type."""
    match event:
        case ev.RunCreated():
            return event.query
        case ev.RunResumed():
            return event.answer or ""
        case ev.QuestionResolved():
            return event.resolution.question
        case ev.MemoryLoaded() | ev.MemoryWritten():
            return phrases.count(len(event.entries), "entry", "entries")
        case ev.DepthChanged():
            return f"{event.depth}: {event.reason}"
        case ev.RunAdmitted():
            admission = event.admission
            if not admission.safety_check:
                return f"refused: {admission.reason}"
            depth = f"{admission.depth}. {admission.depth_reason}" if admission.depth_reason else ""
            return ", ".join(filter(None, (admission.user.name, depth)))
        case ev.SetUpChanged():
            found = differences(event.old, event.new) if event.old else ()
            return "; ".join(difference.line for difference in found)
        case ev.PhaseStarted():
            return f"{event.phase}, iteration {event.iteration}"
        case ev.PlanMade():
            return _queries(len(event.sub_queries))
        case ev.SubQueryCompleted():
            return f"{event.sub_query_id}: {phrases.count(len(event.sources), 'source')}"
        case ev.SubQueryFailed():
            return f"{event.sub_query_id}: {event.error}"
        case ev.TaskDispatched() | ev.TaskStepped() | ev.TaskFinished() | ev.TaskReviewed():
            return _task(event)
        case ev.SourcesAnalyzed():
            return f"{phrases.count(len(event.source_ids), 'source')}, {phrases.count(len(event.findings), 'finding')}"
        case ev.EvidenceWeighed():
            return f"{phrases.count(len(event.findings), 'finding')}, {phrases.count(len(event.gaps), 'gap')}"
        case ev.PieceWritten():
            return event.piece.rpartition(" of ")[0]
        case ev.ReportDrafted():
            return f"a report of {phrases.count(unspaced.size(event.draft.text), 'word')}"
        case ev.ClaimsJudged():
            return phrases.count(len(event.judgements), "claim")
        case ev.ReportCompared():
            return (
                f"the {'new' if event.replaces_earlier else 'earlier'} one stays, {'; '.join(event.because)}"
            )
        case ev.ReportWritten():
            words = phrases.count(event.metadata.word_count, "word")
            citations = phrases.count(len(event.citations), "citation")
            return ", ".join(filter(None, (words, citations, claims_line(event.metadata.claims))))
        case _:
            return _decision(event)


def _task(event: ev.TaskDispatched | ev.TaskStepped | ev.TaskFinished | ev.TaskReviewed) -> str:
    match event:
        case ev.TaskDispatched():
            attempt = f", attempt {event.task.attempt + 1}" if event.task.attempt else ""
            return f"{event.task.id}{attempt}: {event.task.question}"
        case ev.TaskStepped():
            uses = ", ".join(
                f"{use.tool} {' '.join(map(str, use.arguments.values()))}".strip()
                + (" refused" if use.refused else " failed" * use.failed)
                for use in event.step.uses
            )
            return f"{event.task_id} step {event.step.number}: {uses or 'done'}"
        case ev.TaskFinished():
            facts = phrases.count(len(event.finding.facts), "fact")
            why = event.finding.error or event.finding.stopped
            return f"{event.task_id} found {facts}" + (f": {why}" if why else "")
        case ev.TaskReviewed():
            verdict = "approved" if event.review.approved else f"sent back: {event.review.critique}"
            return f"{event.task_id} {verdict} (by {event.review.by})"


def _decision(event: ev.Event) -> str:
    match event:
        case ev.GapsAssessed():
            return event.recommendation.rationale
        case ev.PhaseEnded():
            return " ".join([f"{event.phase}, iteration {event.iteration}.", *event.validation.issues])
        case ev.PhaseRetried():
            return " ".join([f"{event.phase}, asked by {event.asked_by}.", *event.issues])
        case ev.GuidanceGiven():
            return f"for {event.guidance.phase}: {event.guidance.text}"
        case ev.DecisionMade():
            if event.refused is not None:
                return f"{event.action} was requested but not done: {event.refused}"
            return f"{event.action}: {event.decision.rationale}"
        case ev.SubQueriesAdded():
            return "; ".join(sub_query.query for sub_query in event.sub_queries)
        case ev.IterationStarted():
            return f"iteration {event.iteration}, {_queries(len(event.sub_queries))}"
        case ev.AgentFellBack():
            return f"{event.role}: {event.error}"
        case ev.HookFailed():
            return f"{event.hook}: {event.error}"
        case ev.RunSteered() | ev.PlanApproved():
            return _user_input(event)
        case _:
            return _outcome_gist(event)


def _user_input(event: ev.RunSteered | ev.PlanApproved) -> str:
    """Guidance, or the approval of a plan."""
    match event:
        case ev.PlanApproved():
            return f"by the {event.by}" + (
                ", changed" if event.sub_queries is not None or event.terms is not None else ""
            )
        case ev.RunSteered():
            parts = [event.text] if event.text else []
            parts += [f"drop {event.dropped}"] if event.dropped else []
            parts += [f"nothing from before {event.since.isoformat()}"] if event.since else []
            parts += ["stop searching"] if event.stop_searching else []
            return "; ".join(parts) + (f" (not done: {event.refused})" if event.refused else "")


def _outcome_gist(event: ev.Event) -> str:
    """Requests to models, caps, and how a run ends."""
    match event:
        case ev.ModelReserved():
            request = event.reservation
            return f"{request.call_id} {request.role}: {request.model}"
        case ev.ModelSettled():
            took = f"{event.tokens.input:,} tokens in, {event.tokens.output:,} out"
            return f"{event.call_id} {event.outcome}: {took}, {event.seconds:.1f} s"
        case ev.ModelFellBack():
            return (
                f"{event.role}: {event.model} gave nothing usable; asking {event.next_model}: {event.error}"
            )
        case ev.LimitReached():
            return event.limit.line
        case ev.NoticeAdded():
            return event.notice.line
        case ev.RunParked():
            return event.parking.waiting_for
        case ev.BudgetRaised():
            caps = {name: cap for name, cap in event.budget if cap is not None}
            return ", ".join(f"{name} {cap:,.10g}" for name, cap in caps.items()) or "no cap any more"
        case ev.RunCompleted():
            return event.rationale
        case ev.RunAborted():
            return f"{event.reason}: {event.message}"
        case _:
            return ""


def _queries(number: int) -> str:
    return phrases.count(number, "sub-query", "sub-queries")


def in_words(event: ev.Event, fold: Fold) -> str:
    """An event for everybody, ``fold`` being the run after it; "" for a step of the work."""
    if (opening := _FOR_ALL.get(type(event))) is not None:
        return opening + gist(event)
    match event:
        case ev.RunCreated():
            return f"Run {fold.research_id}"
        case ev.RunResumed(by="worker"):
            return f"A worker took run {fold.research_id}"
        case ev.RunResumed():
            return f"Resumed run {fold.research_id}"
        case ev.SubQueryCompleted():
            found = fold.sub_queries[event.sub_query_id].source_ids
            return f"{_query(event.sub_query_id, fold)}: {phrases.count(len(found), 'source')}"
        case ev.TaskReviewed() if not event.review.approved:
            return f"{_query(fold.tasks[event.task_id].task.sub_query_id, fold)}: sent back: {event.review.critique}"
        case ev.SubQueryFailed():
            return f"{_query(event.sub_query_id, fold)}: failed: {event.error}"
        case ev.PhaseEnded():
            return f"{event.phase}: {outcome(fold, event.phase)}"
        case ev.QuestionResolved() if event.resolution.question != event.resolution.user_message:
            return f"Question: {event.resolution.question}"
        case ev.PhaseRetried():
            why = f": {' '.join(event.issues)}" if event.issues else ""
            by = "" if event.asked_by == EVIDENCE else f", as the {event.asked_by} asked"
            return f"{event.phase}: repeated{by}{why}"
        case ev.IterationStarted():
            searches = phrases.count(len(event.sub_queries), "further search", "further searches")
            return f"Round {event.iteration}: {searches}"
        case ev.LimitReached() if not _limit_shown_before(event.limit, fold):
            return f"Limit: {event.limit.line}"
        case ev.NoticeAdded() if not _notice_shown_before(event.notice, fold):
            return f"Notice: {event.notice.line}"
        case ev.AgentFellBack():
            return f"The {event.role} failed; the agent without a model takes over: {event.error}"
        case ev.HookFailed() if not _failed_before(event, fold):
            return f"The hook {event.hook} failed and was ignored: {event.error}"
        case _:
            return ""


def _notice_shown_before(notice: Notice, fold: Fold) -> bool:
    """Whether the same was shown before: the report says how often."""
    return any(is_same(other, notice) for other in fold.notices.values())


def _limit_shown_before(limit: Limit, fold: Fold) -> bool:
    """Whether an earlier round of the same cap on searches was shown: the report says how many were not made in the
    end."""
    return limit.of_cap in OF_SEARCHES and any(
        (other.name, other.cap) == (limit.name, limit.cap) and set(other.skipped) < set(limit.skipped)
        for other in fold.limits.values()
    )


def _failed_before(event: ev.HookFailed, fold: Fold) -> bool:
    told = f"The hook {event.hook} failed"
    return any(notice.message.startswith(told) and notice.count > 1 for notice in fold.notices.values())


def steps(event: ev.Event, fold: Fold) -> Iterator[str]:
    """More of an event, for who wants to know: the plan, reasons, and every step."""
    if (opening := _FOR_VERBOSE.get(type(event))) is not None:
        yield opening + gist(event)
    match event:
        case ev.RunResumed() if event.answer:
            yield f"Answer: {event.answer}"
        case ev.PhaseStarted():
            yield f"{event.phase}: starts, round {event.iteration}"
        case ev.PlanMade():
            yield f"Plan: {event.research_brief or 'no brief'}"
            for query in event.sub_queries:
                yield f"  - {query.query}" + (f" ({query.rationale})" if query.rationale else "")
        case ev.SourcesAnalyzed() | ev.EvidenceWeighed():
            yield from (f"  - missing: {gap.description}" for gap in event.gaps if not gap.addressed)
        case ev.GapsAssessed():
            yield from _gaps(event, fold)
        case ev.PhaseEnded():
            yield f"  {event.decision.rationale}"
        case ev.ReadingPlanned():
            yield f"Reading in {phrases.count(len(event.plan.portions), 'request')}"
        case ev.ContentSent():
            yield f"{event.phase}: {phrases.count(len(event.sending.items), 'text')} sent"


def _gaps(event: ev.GapsAssessed, fold: Fold) -> Iterator[str]:
    for gap in event.gap_analysis:
        asked = "; ".join(follow_up.query for follow_up in gap.follow_up_queries)
        open_to = f"to search: {asked}" if asked else "nothing more to search"
        yield f"  - {gap.severity}: {fold.gaps[gap.gap_id].description} ({open_to})"


def _query(sub_query_id: str, fold: Fold) -> str:
    return f"'{fold.sub_queries[sub_query_id].query}'"


def outcome(fold: Fold, phase: DeepResearchPhase) -> str:
    """The outcome of a phase so far."""
    queries = current_queries(fold)
    match phase:
        case DeepResearchPhase.PLANNING:
            return phrases.count(len(queries), "sub-query", "sub-queries") if queries else ""
        case DeepResearchPhase.GATHERING:
            searched = sum(query.status is not SubQueryStatus.PENDING for query in queries)
            return f"{searched} of {len(queries)} searched, {phrases.count(len(fold.sources), 'source')}"
        case DeepResearchPhase.ANALYSIS:
            return (
                f"{len(fold.analyzed)} of {phrases.count(len(fold.sources), 'source')} read, "
                + phrases.count(len(fold.findings), "finding")
            )
        case DeepResearchPhase.SYNTHESIS:
            words = fold.report_metadata.word_count if fold.report_metadata else 0
            return f"{phrases.count(words, 'word')}, {phrases.count(len(fold.citations), 'citation')}"
        case DeepResearchPhase.REFINEMENT:
            return phrases.count(sum(not gap.addressed for gap in fold.gaps.values()), "open gap")


def current_queries(fold: Fold) -> list[SubQuery]:
    """The sub-queries of the current iteration, without those a new plan replaced."""
    return [
        query
        for query in fold.sub_queries.values()
        if query.iteration == fold.iteration and query.status is not SubQueryStatus.SUPERSEDED
    ]
