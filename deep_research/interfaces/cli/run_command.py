"""`run`, `resume` and `answer`: a run carried out before the user's eyes."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from deep_research.budget.estimate import Dollars, Estimate, PhaseEstimate, Range
from deep_research.errors import (
    AppendRefusedError,
    RunBusyError,
    RunStateError,
    SetUpError,
    UsageError,
)
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Exit, of_run
from deep_research.interfaces.cli.plan_editor import PlanEditor, at_a_terminal, waits_for_approval
from deep_research.interfaces.cli.progress import Watching, watcher_for
from deep_research.interfaces.cli.session import (
    Interrupted,
    Session,
    flags_of_set_up,
    requests_note,
    setting_arguments,
)
from deep_research.interfaces.cli.summary import conclude, deliver
from deep_research.presentation import phrases
from deep_research.research import DeepResearch, ResearchResult
from deep_research.state import Budget, ModelRole, RunOptions, RunStatus
from deep_research.state.parking import value_of

_MAX_STDIN_BYTES = 1_000_000  # bytes; more than any question that is accepted
_PAUSE_SECONDS = 0.05  # seconds


def read_question(args: Namespace) -> None:
    """The question, or the request, from stdin, where "-" stands for it. Raises `UsageError`."""
    for name in ("question", "request"):
        if getattr(args, name, None) == "-":
            setattr(args, name, _from_stdin())


async def run(session: Session) -> int:
    if session.args.estimate:
        return await estimate(session)
    await _note_requests(session)
    return _conclude(session, await answered_before_user(session, session.args.question, {}))


async def answered_before_user(session: Session, question: str, options: Mapping[str, Any]) -> ResearchResult:
    """A run of the question, shown as it goes; at a terminal the user is asked for the word on its plan."""
    async with watcher_for(session) as watch:  # from here on: documents are indexed before a run begins
        handle = await session.engine.astart(question, **options)
        result = await _carry_out(session, watch, handle.research_id, handle.aresult())
    return await _ask_for_approval(session, result)


async def _note_requests(session: Session, run_id: str | None = None) -> None:
    """Only of what may surprise: another server than a service's own, or a file of the folder that had a part in it."""
    engine = session.engine
    is_over = run_id is not None and (await engine.summary(run_id)).status is RunStatus.COMPLETED
    if session.talks and not (is_over and _caps(session) is None):
        destinations = await engine._destinations(run_id, new=getattr(session.args, "with_new_setup", False))
        session.console.note(*requests_note(destinations, every=engine.settings.folder_file is not None))


async def resume(session: Session) -> int:
    answer = session.args.answer
    return await resume_with(session, None if answer is None else await typed_answer(session, answer))


async def answer(session: Session) -> int:
    """Queue the answer, or go on with the run at once."""
    args = session.args
    value = await typed_answer(session, args.value)
    if not args.no_run:
        return await resume_with(session, value)
    await session.engine.aanswer(args.id, value, run=False)
    if args.json:
        session.console.print(json.dumps({"answered": args.id}))
    elif session.talks:
        session.console.note(f"Queued. Continue with: {session.again('resume', args.id)}".rstrip())
    return 0


async def typed_answer(session: Session, words: str) -> Any:
    """What is typed as an answer, as the value that the run asks for, also when it was cancelled there: the words where
    it asks nothing."""
    question = (await session.engine.aresult(session.args.id)).state.question
    return words if question is None else value_of(words, question)


async def resume_with(session: Session, answer: Any) -> int:
    """Goes on with a run, with an answer to what it asks where there is one."""
    args = session.args
    await _check_options(session)
    work = partial(
        session.engine.aresume,
        args.id,
        answer,
        setup="new" if getattr(args, "with_new_setup", False) else "same",
        budget=_caps(session),
        take_over=getattr(args, "take_over", False),
    )
    try:
        await _note_requests(session, args.id)
        result = await _resume_watched(session, args.id, work)
    except SetUpError as error:
        raise SetUpError(error.problem, hint=_set_up_hint(args), **error.data) from None
    return _conclude(session, await _ask_for_approval(session, result))


def _set_up_hint(args: Namespace) -> str:
    """What can be done at a prompt about a set-up that is another one than the run's."""
    flags = " and ".join(flags_of_set_up(args))
    leave = f"Remove {flags}" if flags else "Change the settings back (`doctor` shows where each comes from)"
    return f"{leave} to continue as before, or add --with-new-setup to continue with the new set-up."


async def _check_options(session: Session) -> None:
    """A run keeps the options that it began with. Raises `UsageError` where another one is named."""
    run_options = (await session.engine.aresult(session.args.id)).state.options
    overrides = {k: v for k, v in setting_arguments(session.args).items() if k in RunOptions.model_fields}
    new_options = RunOptions(**overrides)
    for name in overrides:
        if getattr(new_options, name) != getattr(run_options, name):
            raise UsageError(
                f"The run began with {name}={getattr(run_options, name)} and keeps it.",
                hint=f"Remove {name}, or start another run.",
            )


async def _resume_watched(
    session: Session, run_id: str, work: Callable[[], Awaitable[ResearchResult]]
) -> ResearchResult:
    past = await session.engine.aevents(run_id)
    async with watcher_for(session) as watch:
        watch.recall(past)
        return await _carry_out(session, watch, run_id, work())


async def _ask_for_approval(session: Session, result: ResearchResult) -> ResearchResult:
    """Where a run waits for the word on its plan and somebody sits at the terminal, he is asked for it; planned again, it
    waits again."""
    editor, of = None, ""
    while waits_for_approval(result) and at_a_terminal(session):
        parking = result.state.parking
        assert parking is not None
        if editor is None or parking.pause_id != of:
            editor, of = PlanEditor(session, parking.about), parking.pause_id or ""
        answer = await editor.answer()
        if answer is None:
            return result
        try:
            work = partial(session.engine.aresume, result.research_id, answer)
            result = await _resume_watched(session, result.research_id, work)
        except UsageError as error:
            session.console.note(error.problem)
    return result


def _caps(session: Session) -> Budget | None:
    """The caps that are named here; None where none is."""
    caps = {
        name: getattr(session.settings, name)
        for name in Budget.model_fields
        if getattr(session.args, name, None) is not None
    }
    return Budget(**caps) if caps else None


async def _carry_out(
    session: Session, watch: Watching, run_id: str, work: Awaitable[ResearchResult]
) -> ResearchResult:
    task = asyncio.ensure_future(work)
    try:
        await _follow(session.engine, run_id, task, watch)
        return await task
    except asyncio.CancelledError:
        await session.engine.aclose()
        raise _interruption(session, run_id) from None
    except RunStateError:
        if (await session.engine.summary(run_id)).status is not RunStatus.INTERRUPTED:
            raise
        raise _interruption(session, run_id) from None  # it did not come to the end of a unit
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _conclude(session: Session, result: ResearchResult) -> int:
    deliver(session, result)
    conclude(session, result)
    return of_run(result.status, result.reason)


async def _follow(
    engine: DeepResearch, run_id: str, task: asyncio.Future[ResearchResult], watch: Watching
) -> None:
    """Show what happens until the work is done. A run that is taken up again may not be ours yet at first; one that is
    not ours to go on with is not looked at to the end that another process brings it to."""
    is_over = False
    while not is_over:
        is_over = task.done()
        display = asyncio.ensure_future(_show_events(engine, run_id, watch))
        try:
            both: set[asyncio.Future[Any]] = {display, task}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if _is_lost(task):
                return
            await display
        finally:
            display.cancel()
            await asyncio.gather(display, return_exceptions=True)
        if not is_over:
            await asyncio.wait({task}, timeout=_PAUSE_SECONDS)


async def _show_events(engine: DeepResearch, run_id: str, watch: Watching) -> None:
    async with aclosing(engine.follow(run_id, watch.last_seq)) as events:
        async for event in events:
            watch.show(event)


def _is_lost(task: asyncio.Future[ResearchResult]) -> bool:
    """Whether the run is another process's."""
    if not task.done() or task.cancelled():
        return False
    return isinstance(task.exception(), RunBusyError | AppendRefusedError)


def _interruption(session: Session, run_id: str) -> Interrupted:
    again = session.again("resume", run_id)
    if not again:
        return Interrupted("Interrupted.", hint="The run was only in memory and is lost.")
    return Interrupted(f"Interrupted; run {run_id} is saved.", hint=f"Continue with: {again}")


def _from_stdin() -> str:
    if sys.stdin is None:
        raise UsageError(
            "stdin is closed, so there is no question.", hint="Give the question as an argument."
        )
    raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(raw) > _MAX_STDIN_BYTES:
        raise UsageError(
            f"The question on stdin is longer than {_MAX_STDIN_BYTES:,} bytes.", hint="Shorten it."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("The question on stdin is not UTF-8 text.", hint="Save it as UTF-8.") from None


_HEAD = ("PHASE", "REQUESTS", "TOKENS IN", "TOKENS OUT", "DOLLARS")


async def estimate(session: Session) -> int:
    """Raises `UsageError`, `ConfigurationError`."""
    forecast = await session.engine.aestimate(session.args.question)
    console = session.console
    if session.args.json:
        console.print(forecast.model_dump_json())
    else:
        columns = min(text.COLUMNS, console.columns)
        console.print("\n".join(_lines(forecast, columns)))
    return Exit.COMPLETED


def _lines(forecast: Estimate, columns: int) -> Iterator[str]:
    scope = (
        f"{_count(forecast.iterations, 'iteration')}, {_count(forecast.searches, 'search', 'searches')},"
        f" {_count(forecast.fetches, 'page')} read."
    )
    yield from text.fold(f"The run may use: {scope}", columns)
    if forecast.phases:
        yield ""
        yield from text.figures([_HEAD, *map(_row, forecast.phases), _total(forecast)], columns)
        yield ""
        yield from text.fold(f"Asked: {_models(forecast.models)}.", columns)
    for note in forecast.notes:
        yield from text.fold(phrases.line(note), columns)


def _row(phase: PhaseEstimate) -> tuple[str, ...]:
    return _cells(phase.phase.value, phase)


def _total(forecast: Estimate) -> tuple[str, ...]:
    return _cells("in all", forecast)


def _cells(name: str, forecast: PhaseEstimate | Estimate) -> tuple[str, ...]:
    numbers = (forecast.model_calls, forecast.input_tokens, forecast.output_tokens)
    return (name, *map(_span, numbers), _money(forecast.cost_usd))


def _models(models: Mapping[ModelRole, str]) -> str:
    """Each model with the roles it has."""
    roles: dict[str, list[str]] = {}
    for role, model in models.items():
        roles.setdefault(phrases.line(model), []).append(role.value)
    return "; ".join(f"{model} ({', '.join(of)})" for model, of in roles.items())


def _count(span: Range, one: str, many: str = "") -> str:
    if span.low == span.high:
        return phrases.count(span.high, one, many)
    return f"{_span(span)} {many or one + 's'}"


def _span(span: Range) -> str:
    return f"{span.low:,}" if span.low == span.high else f"{span.low:,}–{span.high:,}"


def _money(span: Dollars | None) -> str:
    if span is None:
        return "unknown"
    low, high = phrases.dollars(span.low), phrases.dollars(span.high)
    return low if low == high else f"{low}–{high}"
