"""Logs and states to start a test from: a small run as the engine would write it, cut off where you want."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deep_research.state import (
    AbortReason,
    AgentDecision,
    Citation,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    FollowUpQuery,
    Gap,
    GapAnalysis,
    IterationRecommendation,
    KeyFact,
    Parking,
    Quote,
    ReportMetadata,
    RunOptions,
    Source,
    SourceQuality,
    SubQuery,
    Task,
    TaskFinding,
    TaskLimits,
    TaskReview,
    TaskStep,
    ToolUse,
    ValidationResult,
)
from deep_research.state import events as ev
from deep_research.state.identity import finding_id, gap_id, source_id, sub_query_id, task_id
from deep_research.state.journal import Clock, Content
from deep_research.state.reducer import fold
from deep_research.testing.doubles import FakeClock, page

RUN_ID = "deepres-000000000001"
QUESTION = "Who kept the light?"


def sample_state(
    phase: DeepResearchPhase | str = DeepResearchPhase.PLANNING,
    *,
    done: bool = False,
    iteration: int = 1,
    ending: str | None = None,
    **changes: Any,
) -> DeepResearchState:
    """A run that has just started ``phase`` of ``iteration``, or finished its work when ``done``.

    ``ending`` may be ``completed``, ``aborted`` or ``parked``. ``changes`` replace fields of the state.
    """
    state = fold(sample_log(phase, done=done, iteration=iteration, ending=ending)).snapshot()
    return state.model_copy(update=changes)


def sample_log(
    phase: DeepResearchPhase | str = DeepResearchPhase.PLANNING,
    *,
    done: bool = False,
    iteration: int = 1,
    ending: str | None = None,
    run_id: str = RUN_ID,
    clock: Clock | None = None,
) -> tuple[ev.Event, ...]:
    """The events that lead there, stamped."""
    clock = clock or FakeClock()
    target = DeepResearchPhase(phase)
    events = list(_until(target, done, iteration, run_id))
    if ending is not None:
        events.append(_ending(ending, target, iteration))
    return tuple(e.model_copy(update={"seq": n, "at": clock()}) for n, e in enumerate(events, start=1))


def sample_texts(iteration: int = 1) -> tuple[str, ...]:
    """The texts of the sources that the run found in an iteration."""
    return tuple(page(query) for query in _queries(iteration))


def sample_task(iteration: int = 1) -> tuple[ev.Event, ...]:
    """What happens to the first sub-query of an iteration that is worked on as a task: a step, a finding that is sent
    back, a second attempt that is approved. Its text is the first of `sample_texts`."""
    sub_query = _sub_queries(iteration)[0]
    source, finding = _source(sub_query), _finding(_source(sub_query), iteration)
    limits = TaskLimits(steps=3, seconds=60, searches=2, fetches=1)
    task = Task(
        id=task_id(sub_query.id, iteration, 0),
        sub_query_id=sub_query.id,
        question=sub_query.query,
        limits=limits,
    )
    again = task.model_copy(update={"attempt": 1, "critique": "Quote what answers."})
    use = ToolUse(tool="search", arguments={"query": sub_query.query}, result_hash=source.content_hash)
    step = TaskStep(number=1, thought="Begin.", uses=(use,), source_ids=(source.id,), searches=1)
    fact = KeyFact(content=finding.content, quotes=finding.quotes)
    none = TaskFinding(source_ids=(source.id,))
    task_finding = TaskFinding(answer=finding.content, facts=(fact,), source_ids=(source.id,))
    sent_back = TaskReview(approved=False, critique=again.critique)
    return (
        ev.TaskDispatched(task=task),
        ev.TaskStepped(task_id=task.id, attempt=0, step=step, sources=(source,)),
        ev.TaskFinished(task_id=task.id, attempt=0, finding=none),
        ev.TaskReviewed(task_id=task.id, attempt=0, review=sent_back),
        ev.TaskDispatched(task=again),
        ev.TaskStepped(task_id=task.id, attempt=1, step=step),
        ev.TaskFinished(task_id=task.id, attempt=1, finding=task_finding),
        ev.TaskReviewed(task_id=task.id, attempt=1, review=TaskReview(approved=True)),
        ev.SubQueryCompleted(sub_query_id=sub_query.id, task_id=task.id, sources=(), searches=0),
    )


def _until(target: DeepResearchPhase, is_finished: bool, last: int, run_id: str) -> Iterator[ev.Event]:
    yield ev.RunCreated(research_id=run_id, query=QUESTION, options=RunOptions(max_iterations=10))
    for iteration in range(1, last + 1):
        for phase in DeepResearchPhase:
            if phase is DeepResearchPhase.PLANNING and iteration > 1:
                yield ev.IterationStarted(iteration=iteration, sub_queries=_sub_queries(iteration))
                continue
            yield ev.PhaseStarted(phase=phase, iteration=iteration, decision=_decision(f"execute_{phase}"))
            arrived = phase is target and iteration == last
            if not arrived or is_finished:
                yield from _work(phase, iteration)
            if arrived:
                return
            yield ev.PhaseEnded(
                phase=phase,
                iteration=iteration,
                attempt=0,
                validation=ValidationResult(valid=True, quality_score=7.0),
                decision=_decision("evaluate_phase"),
            )


def _work(phase: DeepResearchPhase, iteration: int) -> Iterator[ev.Event]:
    match phase:
        case DeepResearchPhase.PLANNING:
            yield ev.PlanMade(research_brief="Ask everybody.", sub_queries=_sub_queries(iteration))
        case DeepResearchPhase.GATHERING:
            for query in _sub_queries(iteration):
                yield ev.SubQueryCompleted(sub_query_id=query.id, sources=(_source(query),))
        case DeepResearchPhase.ANALYSIS:
            sources = [_source(query) for query in _sub_queries(iteration)]
            findings = tuple(_finding(source, iteration) for source in sources)
            yield ev.SourcesAnalyzed(
                source_ids=tuple(s.id for s in sources), findings=findings, gaps=(_gap(iteration),)
            )
            earlier = (_finding(_source(q), n) for n in range(1, iteration) for q in _sub_queries(n))
            yield ev.EvidenceWeighed(findings=(*earlier, *findings))
        case DeepResearchPhase.SYNTHESIS:
            yield _report(iteration)
        case DeepResearchPhase.REFINEMENT:
            yield _assessment(iteration)


def _ending(name: str, phase: DeepResearchPhase, iteration: int) -> ev.Event:
    match name:
        case "completed":
            return ev.RunCompleted(rationale="No gap is open.")
        case "aborted":
            return ev.RunAborted(
                reason=AbortReason.CANCELLED, message="Cancelled.", phase=phase, iteration=iteration
            )
        case "parked":
            pause = f"{iteration}.{phase}.0.think_pause"
            return ev.RunParked(parking=Parking(waiting_for="a word", pause_id=pause))
    raise ValueError(f"{name!r} is no ending: completed, aborted, parked")


def _decision(action: str) -> AgentDecision:
    return AgentDecision(
        agent="supervisor", action=action, rationale="It is its turn.", timestamp=FakeClock()()
    )


def _queries(iteration: int) -> tuple[str, ...]:
    return tuple(f"{QUESTION} round {iteration} part {part}" for part in (1, 2, 3))


def _sub_queries(iteration: int) -> tuple[SubQuery, ...]:
    return tuple(
        SubQuery(id=sub_query_id(query), query=query, index=3 * (iteration - 1) + n, iteration=iteration)
        for n, query in enumerate(_queries(iteration))
    )


def _source(query: SubQuery) -> Source:
    address = f"https://example.org/{query.index}"
    text = page(query.query)
    return Source(
        id=source_id(address),
        sub_query_id=query.id,
        title=f"Page on {query.query}",
        url=address,
        quality=SourceQuality.HIGH,
        content_hash=Content.of(text).hash,
        length=len(text),
    )


def _finding(source: Source, iteration: int) -> Finding:
    quote = page(source.title.removeprefix("Page on ")).partition(". ")[0] + "."
    return Finding(
        id=finding_id(quote),
        content=quote,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=(source.id,),
        quotes=(
            Quote(
                source_id=source.id,
                quote=quote,
                start=0,
                end=len(quote),
                content_hash=source.content_hash or "",
            ),
        ),
        sub_query_id=source.sub_query_id,
        relevance=0.9,
        iteration=iteration,
    )


def _gap(iteration: int) -> Gap:
    text = f"Who kept it in round {iteration + 1}"
    return Gap(
        id=gap_id(text), description=text, suggested_queries=_queries(iteration + 1), iteration=iteration
    )


def _report(iteration: int) -> ev.ReportWritten:
    findings = [_finding(_source(q), n) for n in range(1, iteration + 1) for q in _sub_queries(n)]
    citations = tuple(
        Citation(number=n, finding_id=f.id, **f.quotes[0].model_dump())
        for n, f in enumerate(findings, start=1)
    )
    lines = "\n\n".join(f"{f.content} [{n}]" for n, f in enumerate(findings, start=1))
    return ev.ReportWritten(
        report=f"# {QUESTION}\n\n## Summary\n\n{lines}\n",
        metadata=ReportMetadata(sections=("Summary",), citations_count=len(citations), writer="sample"),
        citations=citations,
    )


def _assessment(iteration: int) -> ev.GapsAssessed:
    gap = _gap(iteration)
    return ev.GapsAssessed(
        gap_analysis=(
            GapAnalysis(
                gap_id=gap.id,
                follow_up_queries=tuple(FollowUpQuery(query=q) for q in gap.suggested_queries),
            ),
        ),
        recommendation=IterationRecommendation(should_iterate=True, priority_gaps=(gap.id,)),
    )
