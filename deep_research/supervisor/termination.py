"""The end of a run: why it does not complete, what it leaves behind, and whether it waits instead, for a service that
does not answer or for more at a cap."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.conversation.user_memory import UserMemory
from deep_research.errors import DeepResearchError, ModelError, RunStateError, StopResearch, WorkError
from deep_research.models.failures import Verdict, is_too_long
from deep_research.phases.synthesis.extractive_synthesizer import ExtractiveSynthesizer, draft
from deep_research.phases.synthesis.phase import partial_report, synthesizer_input, too_few_supported
from deep_research.report.report_notices import STOPPED
from deep_research.state import (
    AbortReason,
    AnswerCoverage,
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Gap,
    Limit,
    Notice,
    ParkedKind,
    Parking,
    SubQueryStatus,
    SupervisorAction,
    ValidationResult,
    WhenDue,
)
from deep_research.state import events as ev
from deep_research.state.identity import gap_id
from deep_research.state.journal import Journal
from deep_research.state.raising import is_last_iteration, pages_left
from deep_research.state.records import FETCHES, SHARED
from deep_research.state.run_reducers import holds_whole_report
from deep_research.state.spending import ON_MODELS
from deep_research.supervisor import decisions
from deep_research.supervisor.plan_approval import PlanEstimate

_EVIDENCE = (DeepResearchPhase.GATHERING, DeepResearchPhase.ANALYSIS)
MAX_NEAREST_SOURCES = 3  # sources that are named when none of them answers
# What a cap is on.
_COUNTED = dict.fromkeys(ON_MODELS, "requests to models") | {
    "max_searches": "searches",
    "max_fetches": "pages",
    "max_seconds": "time",
}

RETRY_SECONDS = 300.0  # seconds after which a service that did not say when is worth trying again
REPORT = "report"  # the answer that asks for the report of what there is
_ENDS = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
_MAX_NAMED = 50  # searches or pages that are named
_OF_PLAN = {"max_usd": "cost_usd", "max_tokens": "tokens", "max_model_calls": "model_calls"}
PAUSED = Parking(waiting_for="a resume: it was paused", kind=ParkedKind.PAUSE, then=WhenDue.STAY)


def blocked(
    state: DeepResearchState, phase: DeepResearchPhase, validation: ValidationResult
) -> tuple[AbortReason, str]:
    """The reason and message when a gate does not let a run pass."""
    issues = " ".join(validation.blocking or validation.issues)
    if phase is DeepResearchPhase.SYNTHESIS and too_few_supported(state):
        return AbortReason.NO_EVIDENCE, issues
    if phase is DeepResearchPhase.PLANNING and not state.sub_queries:
        return AbortReason.NO_EVIDENCE, issues
    if phase not in _EVIDENCE:
        return AbortReason.ERROR, issues
    if state.limits:
        return AbortReason.BUDGET, " ".join((issues, *_not_allowed(state.limits)))
    failed = [s for s in state.sub_queries if s.status is SubQueryStatus.FAILED]
    if failed:
        many = "1 search failed" if len(failed) == 1 else f"{len(failed)} searches failed"
        issues += f" {many}: {failed[0].error}"
    return AbortReason.NO_EVIDENCE, issues + _looked_for(state)


def _looked_for(state: DeepResearchState) -> str:
    """What was searched and read for nothing."""
    searched = sum(s.status is SubQueryStatus.COMPLETED for s in state.sub_queries)
    titles = [f"“{' '.join(source.title.split())}”" for source in state.sources if source.title][
        :MAX_NEAREST_SOURCES
    ]
    if not searched or not titles:
        return ""
    return (
        f" {_number_of(searched, 'search', 'searches')} found {_number_of(len(state.sources), 'source', 'sources')},"
        f" among them {' and '.join((', '.join(titles[:-1]), titles[-1]) if titles[1:] else titles)};"
        " none of them says it."
    )


def _number_of(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _not_allowed(limits: Sequence[Limit]) -> Iterator[str]:
    """What the run could do no more of, a sentence for its own budget and one for those that it shares."""
    for budget, shared in (("The budget", False), ("A budget that is shared with other runs", True)):
        of_it = [each.of_cap for each in limits if each.is_shared is shared]
        if of_it:
            things = dict.fromkeys(_COUNTED.get(name, name) for name in of_it)
            yield f"{budget} did not allow more {' or '.join(things)}."


def last_words(state: DeepResearchState, reason: AbortReason) -> list[ev.Event]:
    """What is recorded before the abort: a partial report when there are findings and somebody stopped the run,
    the open questions when there was no evidence."""
    if reason in STOPPED and state.findings:
        if (whole := made_partial(state)) is not None:
            return [whole]
        text = draft(synthesizer_input(state), notice=STOPPED[reason])
        return [partial_report(state, text, ExtractiveSynthesizer.name)]
    nothing = not state.findings or state.answer_coverage is AnswerCoverage.NO
    if reason in (AbortReason.NO_EVIDENCE, AbortReason.BUDGET) and nothing:
        return [ev.EvidenceWeighed(findings=(), gaps=_unanswered(state), contradictions=state.contradictions)]
    return []


def made_partial(state: DeepResearchState) -> ev.ReportWritten | None:
    """The event of the whole report that a stop makes partial; None where the run has none."""
    whole = holds_whole_report(state.phase, phase_done=state.phase_done)
    if not (state.report and state.report_metadata and whole):
        return None
    return ev.ReportWritten(
        report=state.report,
        metadata=state.report_metadata.model_copy(update={"partial": True}),
        citations=state.citations,
        draft=state.report_draft,
        claims=state.claims,
        repairs=state.repairs,
        verdicts=state.verdicts,
    )


def _unanswered(state: DeepResearchState) -> tuple[Gap, ...]:
    """A gap for each sub-query that nothing answers and no gap speaks of yet."""
    if state.gaps:
        return ()
    return tuple(
        Gap(
            id=gap_id(f"Not found: {s.query}"),
            description=f"Not found: {s.query}",
            priority=s.priority,
            iteration=state.iteration,
        )
        for s in state.current_sub_queries()
    )


class FailureAction(Enum):
    PARK = "the run waits for the service"
    GIVE_UP = "someone has to change a key, a name or an account"
    FALL_BACK = "the extractive agent does it"


def failure_action(error: WorkError, *, parks: bool) -> FailureAction:
    """``parks``: whether an outage parks a run, or the extractive agents go on."""
    if not isinstance(error, ModelError) or is_too_long(error):
        return FailureAction.FALL_BACK
    if error.verdict == Verdict.FATAL:
        return FailureAction.GIVE_UP
    if error.verdict in (Verdict.PARK, Verdict.TRANSIENT) and parks:
        return FailureAction.PARK
    return FailureAction.FALL_BACK


def parking_for(error: WorkError, now: datetime) -> Parking:
    seconds = error.data.get("retry_after")
    wait = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else RETRY_SECONDS
    return Parking(
        waiting_for=f"a language model: {error.problem}",
        until=now + timedelta(seconds=wait),
        kind=ParkedKind.OUTAGE,
    )


def is_spent(limits: tuple[Limit, ...]) -> bool:
    """Whether a cap on models was reached: another round would only pass it."""
    return any(limit.name.removeprefix(SHARED) in ON_MODELS for limit in limits)


async def asking(
    state: DeepResearchState, *limits: Limit, estimate: PlanEstimate | None = None
) -> Parking | None:
    """How a run whose owner wants to be asked parks at a cap of its own budget, one of ``limits`` or of those that the
    state has; None where no cap is reached of which it did not ask yet. ``estimate`` says what a run may take."""
    if state.options.on_budget_exhausted != "ask":
        return None
    by_name = {limit.name: limit for limit in (*state.limits, *limits)}
    if state.phase in _ENDS and state.phase_done and is_last_iteration(state):
        by_name["max_iterations"] = Limit(name="max_iterations", message="", usage=state.iteration)
    for name in Budget.model_fields:  # the name of a share or of a shared budget is another one
        cap = getattr(state.options.budget, name)
        if name in by_name and cap is not None:
            pause = f"cap.{name}.{cap:.10g}"  # it asks once for each value of a cap
            if pause not in state.answers:
                return await _parking(state, by_name[name], name, cap, pause, estimate)
    return None


async def _parking(
    state: DeepResearchState, limit: Limit, name: str, cap: float, pause: str, estimate: PlanEstimate | None
) -> Parking:
    left = _left(state, name)
    about: dict[str, Any] = {
        "name": name,
        "cap": cap,
        "usage": limit.usage if name == "max_seconds" else _usage_of(state, name),
        "done": {
            "searches": state.usage.searches,
            "sources": len(state.sources),
            "findings": len(state.findings),
            "model_calls": state.usage.model_calls,
            "cost_usd": state.usage.cost_usd,
        },
        "left": left,
        "estimate": await _estimate(state, name, left, estimate),
    }
    return Parking(
        waiting_for=f"a higher cap than {name} {cap:,.10g}, or '{REPORT}' for a report now",
        kind=ParkedKind.BUDGET,
        pause_id=pause,
        answer_schema=ANSWER,
        default=REPORT,
        about=about,
    )


def _usage_of(state: DeepResearchState, name: str) -> float | None:
    usage = state.usage
    return {
        "max_usd": usage.cost_usd,
        "max_tokens": usage.input_tokens + usage.output_tokens,
        "max_model_calls": usage.model_calls,
        "max_searches": usage.searches,
        "max_fetches": usage.fetches,
        "max_iterations": state.iteration,
    }.get(name)


def _left(state: DeepResearchState, name: str) -> dict[str, Any]:
    """What is not done yet, by its kind."""
    searches = [s.query for s in state.pending_sub_queries()]
    pages = list(pages_left(state, (FETCHES,) if name == FETCHES else ()))
    unread = sum(bool(s.content_hash) and s.id not in state.analyzed for s in state.sources)
    gaps = len(state.unresolved_gaps())
    counts = {
        "searches": searches[:_MAX_NAMED],
        "pages": pages[:_MAX_NAMED],
        "sources": unread,
        "gaps": gaps,
    }
    return {kind: much for kind, much in counts.items() if much} | (
        {"report": 1} if state.report is None else {}
    )


async def _estimate(
    state: DeepResearchState, name: str, left: dict[str, Any], of_run: PlanEstimate | None
) -> float | None:
    """The cap that would be enough for what is left, where that can be told."""
    match name:
        case "max_searches":
            return state.usage.searches + len(state.pending_sub_queries())
        case "max_fetches":
            return state.usage.fetches + len(left.get("pages", ()))
        case "max_iterations":
            return state.iteration + 1
        case _ if name in ON_MODELS and of_run is not None:
            return _at_most(state, name, (await of_run(state))["set_aside"][_OF_PLAN[name]])
        case _:
            return None


def _at_most(state: DeepResearchState, name: str, whole: float | None) -> float | None:
    """What was spent, and on top what the requests of a whole run have to be paid with: what is left is not more."""
    usage = _usage_of(state, name)
    if whole is None or usage is None:
        return None
    sum_ = usage + whole
    return math.ceil(sum_ * 100) / 100 if name == "max_usd" else math.ceil(sum_)


def _cap(of: type) -> dict[str, Any]:
    return {"anyOf": [{"type": "integer" if of is int else "number", "minimum": 0}, {"type": "null"}]}


ANSWER: dict[str, Any] = {
    "anyOf": [
        {"const": REPORT},
        {
            "type": "object",
            "properties": {
                name: _cap(float if name in ("max_usd", "max_seconds") else int)
                for name in Budget.model_fields
            },
            "additionalProperties": False,
            "minProperties": 1,
        },
    ]
}


def shut_down(now: datetime) -> Parking:
    waiting_for = "another process, since the one that worked on it was stopped"
    return Parking(waiting_for=waiting_for, until=now, kind=ParkedKind.SHUTDOWN)


async def abort(
    journal: Journal, reason: AbortReason, message: str, now: datetime, lead: Sequence[ev.Event] = ()
) -> None:
    """Record an abort with what it leaves behind, after the events of ``lead``."""
    await journal.settle()  # a call in flight when the run was stopped may just have been recorded
    state = journal.state
    if state.status.is_final:
        return
    events = await asyncio.to_thread(last_words, state, reason)
    outputs = {"reason": reason.value}
    decision = decisions.action(state, name="abort", rationale=message, outputs=outputs, at=now)
    decided = ev.DecisionMade(action=SupervisorAction.ABORT, decision=decision)
    aborted = ev.RunAborted(reason=reason, message=message, phase=state.phase, iteration=state.iteration)
    with suppress(RunStateError):  # its last word was being stored when it was stopped: it stands
        await journal.record(*lead, *events, decided, aborted)


async def remembered(
    memory: UserMemory | None, state: DeepResearchState, models: RunModels | None
) -> list[ev.Event]:
    """What a run leaves in its user's memory as it completes. It completes without a memory too, and says so."""
    if memory is None or not state.options.remember:
        return []
    try:
        entries = await memory.write(state, models)
    except StopResearch:
        raise
    except DeepResearchError as error:
        message = f"Nothing was remembered: {error.problem} {error.hint}".strip()
        return [ev.NoticeAdded(notice=Notice(name="memory", message=message))]
    return [ev.MemoryWritten(entries=entries)] if entries else []
