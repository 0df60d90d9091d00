"""Runs in words: how one stands and why, its figures, what it waits for, and whether it is as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deep_research.presentation import phrases
from deep_research.research.plan_edits import plan_lines
from deep_research.research.run_summary import RunDetail, RunSummary
from deep_research.research.runs import Waiting
from deep_research.state import AnswerCoverage, ParkedKind, RunStatus

if TYPE_CHECKING:
    from deep_research.packs import Verification

MAX_FAILURES = 10  # of a verification, that are named


def why(run: RunSummary) -> str:
    """The message of an abort, what a completed run did not find, or what a parked run waits for; else nothing."""
    if run.waiting_for is not None:
        until = f" until {phrases.moment(run.until)}" if run.until else ""
        return f"waits for {phrases.line(run.waiting_for) or 'an answer'}{until}"
    return phrases.line(run.message or "")


def figures(run: RunSummary) -> Iterator[str]:
    """How far a run came; nothing of what nobody counted."""
    if run.searches_planned is not None:
        yield f"searched {run.searches_done} of {run.searches_planned}"
    if run.sources is not None:
        yield phrases.count(run.sources, "source")
    if run.findings is not None:
        yield phrases.count(run.findings, "finding")
    if run.tokens:
        yield phrases.count(run.tokens, "token")
        yield phrases.dollars(run.cost_usd) if run.cost_usd is not None else "price unknown"
    if run.seconds is not None:
        yield f"{run.seconds:,.{run.seconds < 10:d}f} s"


def facts(run: RunSummary) -> Iterator[tuple[str, str]]:
    """The figures with their names; those that nobody counted are unknown."""
    of_plan = None if run.searches_planned is None else f"{run.searches_done} of {run.searches_planned}"
    yield "answered", run.answer_coverage or "unknown"
    yield "searches", of_plan or "unknown"
    for name, figure in (("sources", run.sources), ("findings", run.findings), ("tokens", run.tokens)):
        yield name, "unknown" if figure is None else f"{figure:,}"
    yield "dollars", phrases.dollars(run.cost_usd)
    yield "seconds", "unknown" if run.seconds is None else f"{run.seconds:,.1f}"


def answer_lines(run: RunDetail) -> Iterator[str]:
    """Each question with how far it is answered, and below it the answer so far, or why there is none."""
    for answer in run.answers:
        yield f"{phrases.line(answer.question).rstrip('.')} ({answer.state.value.replace('_', ' ')})"
        if answer.text:
            yield f"  {phrases.line(answer.text)}"
        if answer.reason:
            yield f"  {phrases.line(answer.reason)}"


def notice_lines(run: RunDetail) -> Iterator[str]:
    """What failed, was left out or is otherwise than was asked, limits first."""
    yield from (f"- {phrases.line(notice.line)}" for notice in (*run.limits, *run.notices))


def status(run: RunSummary) -> str:
    """The status with its reason, or with how far the question is answered."""
    partly = (
        "answered in part"
        if run.status is RunStatus.COMPLETED and run.answer_coverage is AnswerCoverage.PARTLY
        else ""
    )
    beside = run.reason or partly
    return f"{run.status} ({beside})" if beside else str(run.status)


def waiting_lines(waiting: Waiting) -> Iterator[str]:
    """A parked run without its id: what it waits for, then the form that its answer has to have, where it has one."""
    until = f" until {phrases.moment(waiting.until)}, then {_then(waiting)}" if waiting.until else ""
    queued = " (an answer is queued)" if waiting.has_answer else ""
    yield f"waits for {phrases.line(waiting.waiting_for)}{until}{queued}"
    if waiting.asks and not waiting.has_answer:
        if waiting.kind is ParkedKind.PLAN:
            yield from map(phrases.line, plan_lines(waiting.about))
            yield "approve, no, an edited list as JSON, or a sentence to plan again, with:"
        elif waiting.answer_schema is not None:
            yield f"form: {json.dumps(waiting.answer_schema)[:400]}"


def _then(waiting: Waiting) -> str:
    if waiting.then == "abort":
        return "aborted"
    if waiting.then == "stay":
        return "it stays parked"
    return "resumed" if waiting.default is None else f"answered with {json.dumps(waiting.default)[:60]}"


def verification_lines(found: Verification) -> Iterator[str]:
    """One line where all is as it was recorded; else each failure too, the first `MAX_FAILURES` of them."""
    if found.holds:
        yield f"{found.research_id} is unchanged: {_amounts(found)}.{_other_checker(found)}"
        return
    yield (
        f"{found.research_id} differs from its record: {phrases.count(len(found.failures), 'failure')}."
        f"{_other_checker(found)}"
    )
    for failure in found.failures[:MAX_FAILURES]:
        yield f"- {failure.line}"
    if len(found.failures) > MAX_FAILURES:
        yield f"- and {len(found.failures) - MAX_FAILURES:,} more"


def _amounts(found: Verification) -> str:
    verdicts = phrases.count(found.claims, "verdict") if found.claims else "no claims"
    files, quotes = phrases.count(found.members, "file"), phrases.count(found.quotes, "quoted passage")
    return f"{files}, {phrases.count(found.texts, 'text')}, {quotes}, {verdicts}"


def _other_checker(found: Verification) -> str:
    if not found.own_checker or found.checker == found.own_checker:
        return ""
    differ = f"{phrases.count(len(found.differing), 'verdict')} would change" if found.differing else ""
    return (
        f" Its claims were checked by {found.checker}, yours is {found.own_checker}:"
        f" {differ or 'no verdict would change'}; this is not damage."
    )
