"""Events in words: one line each."""

from __future__ import annotations

from deep_research.evidence import unspaced
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.claim_list import claims_line
from deep_research.state import events as ev
from deep_research.state.setup import differences


def described(event: ev.Event) -> str:
    """Number, time, type and the gist of an event."""
    at = f"{event.at.astimezone():%H:%M:%S}" if event.at else ""
    return f"{event.seq:>4} {at} {event.name:<19} {text.line(gist(event))}".rstrip()


def gist(event: ev.Event) -> str:
    """What an event says, without its type."""
    match event:
        case ev.RunCreated():
            return event.query
        case ev.RunResumed():
            return event.answer or ""
        case ev.SetUpChanged():
            found = differences(event.old, event.new) if event.old else ()
            return "; ".join(difference.line for difference in found)
        case ev.PhaseStarted():
            return f"{event.phase}, iteration {event.iteration}"
        case ev.PlanMade():
            return _queries(len(event.sub_queries))
        case ev.SubQueryCompleted():
            return f"{event.sub_query_id}: {text.count(len(event.sources), 'source')}"
        case ev.SubQueryFailed():
            return f"{event.sub_query_id}: {event.error}"
        case ev.TaskDispatched() | ev.TaskStepped() | ev.TaskFinished() | ev.TaskReviewed():
            return _task(event)
        case ev.SourcesAnalyzed():
            return (
                f"{text.count(len(event.source_ids), 'source')}, {text.count(len(event.findings), 'finding')}"
            )
        case ev.EvidenceWeighed():
            return f"{text.count(len(event.findings), 'finding')}, {text.count(len(event.gaps), 'gap')}"
        case ev.PieceWritten():
            return event.piece.rpartition(" of ")[0]
        case ev.ReportDrafted():
            return f"a report of {text.count(unspaced.size(event.draft.text), 'word')}"
        case ev.ClaimsJudged():
            return text.count(len(event.judgements), "claim")
        case ev.ReportCompared():
            return f"the {'new' if event.kept else 'earlier'} one stays, {'; '.join(event.because)}"
        case ev.ReportWritten():
            words = text.count(event.metadata.word_count, "word")
            citations = text.count(len(event.citations), "citation")
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
            facts = text.count(len(event.finding.facts), "fact")
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
                return f"{event.action} was wished for and not done: {event.refused}"
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
            return _said(event)
        case _:
            return _asked(event)


def _said(event: ev.RunSteered | ev.PlanApproved) -> str:
    """What somebody had to say of a run."""
    match event:
        case ev.PlanApproved():
            return f"by the {event.by}" + (
                ", changed" if event.sub_queries is not None or event.terms is not None else ""
            )
        case ev.RunSteered():
            wishes = [event.text] if event.text else []
            wishes += [f"drop {event.dropped}"] if event.dropped else []
            wishes += [f"nothing from before {event.since.isoformat()}"] if event.since else []
            wishes += ["search no more"] if event.stop_searching else []
            return "; ".join(wishes) + (f" (not done: {event.refused})" if event.refused else "")


def _asked(event: ev.Event) -> str:
    """What was asked of models, and how a run ends."""
    match event:
        case ev.ModelReserved():
            request = event.reservation
            return f"{request.call_id} {request.role}: {request.model}"
        case ev.ModelSettled():
            took = f"{event.tokens.input:,} tokens in, {event.tokens.output:,} out"
            return f"{event.call_id} {event.outcome}: {took}, {event.seconds:.1f} s"
        case ev.ModelFellBack():
            return (
                f"{event.role}: {event.model} gave nothing usable, {event.next_model} is asked: {event.error}"
            )
        case ev.LimitReached():
            return event.limit.line
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
    return text.count(number, "sub-query", "sub-queries")
