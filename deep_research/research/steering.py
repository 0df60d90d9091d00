"""Input of a user to a run: guidance, answers and raised caps, checked and turned into events. Checked before they
are queued, and as events of its log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deep_research.errors import RunStateError, SettingsError, UsageError
from deep_research.state import (
    AbortReason,
    Budget,
    CommandKind,
    DeepResearchState,
    Notice,
    ParkedKind,
    RunStatus,
    SubQueryStatus,
)
from deep_research.state import events as ev
from deep_research.state.notices import TOO_LATE, guidance_notice
from deep_research.state.parking import Parking
from deep_research.state.raising import raised, starts
from deep_research.store import Command
from deep_research.supervisor.plan_approval import unfit
from deep_research.text.plain import clean

if TYPE_CHECKING:
    from deep_research.supervisor.orchestrator import SupervisorOrchestrator

MAX_GUIDANCE_CHARS = 20_000
MAX_KIND_CHARS = 40
UNREADABLE = "The guidance in the queue cannot be read."


def steering(
    text: str = "",
    *,
    drop_sub_query: str | None = None,
    since: date | str | None = None,
    stop_searching: bool = False,
) -> ev.RunSteered:
    """Guidance as the event that it becomes. Raises `UsageError` for what cannot be one."""
    if not isinstance(text, str):
        raise UsageError("The guidance is not a str.", hint="Give a str.")
    if "\0" in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise UsageError("The guidance holds characters that are not text.", hint="Remove them.")
    if len(text) > MAX_GUIDANCE_CHARS:
        raise UsageError(
            f"The guidance has {len(text):,} characters; {MAX_GUIDANCE_CHARS:,} are allowed.",
            hint="Shorten it.",
        )
    words = clean(text).strip()
    if not (words or drop_sub_query or since or stop_searching):
        raise UsageError(
            "The guidance is empty.",
            hint="Give a text, `drop_sub_query`, `since` or `stop_searching`.",
        )
    return ev.RunSteered(text=words, dropped=drop_sub_query, since=_day(since), stop_searching=stop_searching)


def _day(value: date | str | None) -> date | None:
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value).strip())
    except ValueError:
        raise UsageError(f"'{str(value)[:40]}' is not a day.", hint="Write a day as 2026-01-31.") from None


def payload(steered: ev.RunSteered) -> str:
    """Guidance as a row of the queue holds it."""
    return steered.model_dump_json(include={"text", "dropped", "since", "stop_searching"})


def steered(words: str) -> ev.RunSteered:
    """The event of a row. One that no version of this package wrote is refused in the log."""
    try:
        return ev.RunSteered.model_validate_json(words)
    except ValueError:
        return ev.RunSteered(refused=UNREADABLE)


def unapplied(command: Command, last_word: ev.Event) -> Sequence[ev.Event]:
    """The events that name a row of the queue which the end of the run leaves undone; none for one that the end fulfils,
    as an abort does a cancellation. A process that asked for the run's release sees by its end that there is nothing to
    take."""
    kind = command.kind
    is_cancelled = isinstance(last_word, ev.RunAborted) and last_word.reason is AbortReason.CANCELLED
    if (
        kind == CommandKind.RELEASE
        or isinstance(last_word, ev.RunParked)
        or (kind == CommandKind.CANCEL and is_cancelled)
    ):
        return ()
    if kind != CommandKind.STEER:
        name = {
            CommandKind.ANSWER: "an answer",
            CommandKind.PAUSE: "a pause",
            CommandKind.CANCEL: "to cancel it",
        }
        what = next((words for each, words in name.items() if each == kind), f"'{kind[:MAX_KIND_CHARS]}'")
        return (ev.NoticeAdded(notice=Notice(name="command", message=f"{TOO_LATE}: {what}.")),)
    guidance = steered(command.payload)
    refused = guidance.model_copy(update={"refused": guidance.refused or f"{TOO_LATE}."})
    return refused, ev.NoticeAdded(notice=guidance_notice(TOO_LATE, in_words(guidance) or UNREADABLE))


def in_words(steered: ev.RunSteered) -> str:
    """All of the guidance, in one line."""
    parts = [
        steered.text,
        f"without the sub-query {steered.dropped}" if steered.dropped else "",
        f"nothing from before {steered.since.isoformat()}" if steered.since else "",
        "no further searches" if steered.stop_searching else "",
    ]
    return "; ".join(filter(None, parts))


def answer_in(words: str) -> Any:
    """The value of an answer that was left; None for what is no JSON."""
    try:
        return json.loads(words)
    except ValueError:
        return None


def judged(steered: ev.RunSteered, state: DeepResearchState) -> ev.RunSteered:
    """The event with the reason why it changes nothing, where it cannot."""
    if steered.refused is not None or steered.dropped is None:
        return steered
    sub_query = next((s for s in state.sub_queries if s.id == steered.dropped), None)
    if sub_query is None:
        return steered.model_copy(update={"refused": f"There is no sub-query '{steered.dropped[:40]}'."})
    if sub_query.status is not SubQueryStatus.PENDING:
        return steered.model_copy(update={"refused": f"'{sub_query.query[:80]}' was searched already."})
    return steered


def refuse_ended(status: RunStatus, research_id: str, verb: str) -> None:
    """Raises `RunStateError` for a run that nobody will work on any more."""
    if status is RunStatus.COMPLETED:
        raise RunStateError(
            f"Run '{research_id}' is completed: there is nothing to {verb}.",
            hint="Start a new run, or resume this one with a larger budget.",
            research_id=research_id,
        )


def checked_answer(state: DeepResearchState, value: Any) -> Parking:
    """The pause that a value answers. Raises `RunStateError` where nothing is asked, `UsageError` for a value that does
    not fit."""
    parking = state.question
    if parking is None:
        raise RunStateError.no_question(state.research_id)
    problem = unfit(state, value)
    if problem:
        raise UsageError(
            f"The answer is invalid: {problem}.", hint=f"The run stays parked.{_answer_form(parking)}"
        )
    return parking


def _answer_form(parking: Parking) -> str:
    """In what form an answer is wanted, in words where the form is long."""
    if parking.kind is ParkedKind.PLAN:
        return " Wanted: approve, no, an edited plan, or a sentence on which it is planned again."
    return "" if parking.answer_schema is None else f" Wanted: {json.dumps(parking.answer_schema)[:300]}"


def checked_caps(budget: Budget | None) -> Budget | None:
    """Raises `SettingsError` for what is no budget, `UsageError` for one without a cap."""
    if budget is None:
        return None
    if not isinstance(budget, Budget):
        raise SettingsError(
            f"budget must be a Budget, got {type(budget).__name__}.", hint="For example: Budget(max_usd=2.0)"
        )
    if not budget.model_fields_set:
        raise UsageError("The budget names no cap.", hint="For example: Budget(max_usd=2.0)")
    return budget


def caps_of(question: Parking | None, answer: Any) -> Budget | None:
    """The caps of an answer to a run that waits for more; None where it is another one. Raises `UsageError`."""
    if question is None or question.kind is not ParkedKind.BUDGET or not isinstance(answer, Mapping):
        return None
    try:
        return Budget(**answer)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise UsageError(
            f"The answer is invalid: {place}: {fault['msg']}.", hint="The run stays parked."
        ) from None


def is_enough(question: Parking, answer: Any, state: DeepResearchState) -> bool:
    """Whether caps that an answer names, if it does, leave more room than the run had."""
    try:
        caps = caps_of(question, answer)
        return caps is None or bool(raised(state, caps))
    except UsageError:
        return False


def under(state: DeepResearchState, budget: Budget, orchestrator: SupervisorOrchestrator) -> list[ev.Event]:
    """What is recorded of a run that goes on under another budget. It stands where work remains first; a draft that was
    paid for is kept."""
    phase = starts(state, budget)
    events: list[ev.Event] = [ev.BudgetRaised(budget=budget)]
    if phase is None:
        return events
    return [*events, orchestrator.first_step(state, phase)]
