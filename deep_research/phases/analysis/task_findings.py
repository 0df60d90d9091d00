"""What tasks found, as the analyzer's own answer: their facts are findings of the run, what they miss are gaps. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerOutput,
)
from deep_research.state import ConfidenceLevel, DeepResearchState, SubQuery, TaskState

OF_OWNER = "Only the owner of the research can say: "  # opens the gap of a question that a task has to ask
FOR_OWNER, MISSING = 1, 2  # priorities


def untaken(state: DeepResearchState) -> tuple[TaskState, ...]:
    """The settled tasks that have something for the run which is not among its findings yet."""
    return tuple(t for t in state.tasks if t.settled and not t.taken and _has_something(t))


def taken_now(state: DeepResearchState) -> int:
    """How many tasks of this iteration have facts among the findings."""
    now = {s.id for s in state.sub_queries if s.iteration == state.iteration}
    return sum(t.taken and bool(t.outcome.facts) and t.task.sub_query_id in now for t in state.tasks)


def quoted_by_tasks(state: DeepResearchState) -> frozenset[str]:
    """The sources that settled tasks quote: nobody reads them again."""
    return frozenset(i for task in state.tasks if task.settled for i in task.quoted_source_ids)


def as_answer(stands: TaskState, sub_query: SubQuery) -> AnalyzerOutput:
    """A task's facts with their quotes, and a gap for each thing that it could not find, or that only the owner knows."""
    outcome = stands.outcome
    rejected = stands.review is not None and not stands.review.approved
    findings = tuple(
        AnalyzedFinding(
            content=fact.content,
            confidence=ConfidenceLevel.SPECULATION if rejected else fact.confidence,
            source_ids=tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)),
            quotes=tuple(
                AnalyzedQuote(source_id=quote.source_id, quote=quote.quote, start=quote.start)
                for quote in fact.quotes
            ),
            sub_query_id=sub_query.id,
            part_id=sub_query.part_id,
        )
        for fact in outcome.facts
    )
    return AnalyzerOutput(findings=findings, gaps=_gaps(stands, sub_query), quoted=True)


def _has_something(stands: TaskState) -> bool:
    return bool(stands.outcome.facts) or bool(_lacking(stands))


def _gaps(stands: TaskState, sub_query: SubQuery) -> tuple[AnalyzedGap, ...]:
    return tuple(
        AnalyzedGap(description=description, priority=priority, part_id=sub_query.part_id)
        for description, priority in _lacking(stands)
    )


def _lacking(stands: TaskState) -> Sequence[tuple[str, int]]:
    """What is to be said of what a task did not find, each with its priority."""
    outcome, review = stands.outcome, stands.review
    latest = stands.finding or outcome
    told = [(missing, MISSING) for missing in dict.fromkeys((*outcome.missing, *latest.missing))]
    question = latest.owner_question or outcome.owner_question
    if question:
        told.insert(0, (f"{OF_OWNER}{question}", FOR_OWNER))
    elif review is not None and not review.approved:
        what = "Not settled" if outcome.facts else "Not found"
        told.insert(0, (f"{what} by its task: {stands.task.question}", MISSING))
    return told
