"""`run`, `resume`, `answer` and `chat`: runs carried out before the user's eyes."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Any

from deep_research.errors import (
    AppendRefusedError,
    ConfigurationError,
    DeepResearchError,
    RunBusyError,
    RunStateError,
    SetUpError,
    UsageError,
)
from deep_research.interfaces.cli.console import Exit, of_error, of_run, read_stdin, terminal_size
from deep_research.interfaces.cli.options import COMMON
from deep_research.interfaces.cli.progress import Watching, watcher_for
from deep_research.interfaces.cli.session import (
    InputLines,
    Interrupted,
    Session,
    command_line,
    requests_note,
    setting_arguments,
)
from deep_research.interfaces.cli.show import show_estimate
from deep_research.interfaces.cli.summary import conclude, deliver
from deep_research.presentation import phrases
from deep_research.report.reference_marks import reference_marks
from deep_research.research import DeepResearch, ResearchResult
from deep_research.research.plan_edits import HELP, PlanDraft, SlipError, plan_lines
from deep_research.research.sessions import checked_session
from deep_research.setting_fields import flatten, value_at
from deep_research.state import Budget, ParkedKind, RunOptions, RunStatus
from deep_research.state.parking import value_of

_PAUSE_SECONDS = 0.05
MAX_TURNS = 10_000  # of one call of `chat`
MAX_LINES = 500  # that are read for one plan
_ENDS = ("quit", "exit")


def read_question(args: Namespace) -> None:
    """The question, or the request, from stdin, where "-" stands for it. Raises `UsageError`."""
    for name in ("question", "request"):
        if getattr(args, name, None) == "-":
            setattr(args, name, read_stdin())


async def run(session: Session) -> int:
    if session.args.estimate:
        show_estimate(session, await session.engine.aestimate(session.args.question))
        return Exit.COMPLETED
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
    words = f"Queued. Continue with: {session.again('resume', args.id)}".rstrip()
    session.tell({"answered": args.id}, words)
    return Exit.COMPLETED


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
    of_set_up = ("--corpus", "--search", "--local-only", "--model", "--preset", "--config", "--set")
    names = [option.flag for option in COMMON if option.flag in of_set_up and getattr(args, option.dest)]
    flags = " and ".join(names + ["--sample"] * args.sample)
    leave = f"Remove {flags}" if flags else "Change the settings back (`doctor` shows where each comes from)"
    return f"{leave} to continue as before, or add --with-new-setup to continue with the new set-up."


async def _check_options(session: Session) -> None:
    """A run keeps the options that it began with. Raises `UsageError` where another one is named."""
    run_options = (await session.engine.aresult(session.args.id)).state.options
    overrides = {k: v for k, v in setting_arguments(session.args).items() if k in RunOptions.model_fields}
    new_options = RunOptions(**overrides)
    for name in flatten(RunOptions, overrides):
        if (value := value_at(run_options, name)) != value_at(new_options, name):
            raise UsageError(
                f"The run began with {name}={value} and keeps it.",
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
    while result.status is RunStatus.PARKED and session.is_at_terminal:
        parking = result.state.question
        if parking is None or parking.kind is not ParkedKind.PLAN:
            break
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
            error = task.exception() if task.done() and not task.cancelled() else None
            if isinstance(error, RunBusyError | AppendRefusedError):  # the run is another process's
                return
            await display
        finally:
            display.cancel()
            await asyncio.gather(display, return_exceptions=True)
        if not is_over:
            await asyncio.wait({task}, timeout=_PAUSE_SECONDS)


async def _show_events(engine: DeepResearch, run_id: str, watch: Watching) -> None:
    async with aclosing(engine.follow(run_id, watch.fold.seq)) as events:
        async for event in events:
            watch.show(event)


def _interruption(session: Session, run_id: str) -> Interrupted:
    again = session.again("resume", run_id)
    if not again:
        return Interrupted("Interrupted.", hint="The run was only in memory and is lost.")
    return Interrupted(f"Interrupted; run {run_id} is saved.", hint=f"Continue with: {again}")


# Plans


class PlanEditor:
    """Asks for the word on one plan; of an answer that the engine refused it asks again with the list as it was left."""

    def __init__(self, session: Session, about: Mapping[str, Any]) -> None:
        self._console = session.console
        self._about = about
        self._draft = PlanDraft(about)
        self._left = MAX_LINES
        self._lines = InputLines()

    async def answer(self) -> Any:
        """The answer, None where the plan is left as it is: at the end of the input, or of patience."""
        self._show(brief=True)
        while self._left:
            self._left -= 1
            self._console.draw("plan> ")
            line = await self._lines.next()
            if line is None:
                self._console.draw("\n")
                return None
            word = line.strip().casefold()
            if word in ("help", "?"):
                self._console.note(*HELP)
                continue
            try:
                answer = None if word == "show" else self._draft.take(line)
            except SlipError as slip:
                self._console.note(str(slip))
                continue
            if answer is not None:
                return answer
            self._show()
        self._console.note(f"{MAX_LINES} lines are the limit; the run stays parked.")
        return None

    def _show(self, *, brief: bool = False) -> None:
        columns = terminal_size(sys.stderr).columns - 1
        lines = [*self._draft.lines()]
        if brief:
            lines = plan_lines(self._about)
            lines += ["ok, no, drop 2, add QUERY, reword 3 QUERY, move 4 1, a sentence to plan again, help"]
        self._console.draw(
            "".join(
                f"{part}\n"
                for line in lines
                if line
                for part in phrases.fold(phrases.clean(line), columns, "     ")
            )
        )


# Conversations


async def chat(session: Session) -> int:
    """Ask what is typed until the end of the input, and give the exit code of the last question where nobody sits at a
    terminal. An error of one question does not end the chat, but for one of the set-up. Raises `ConfigurationError`."""
    args = session.args
    name = checked_session(args.session or f"chat-{datetime.now():%Y%m%d-%H%M%S}")
    lines, at_terminal = InputLines(), session.is_at_terminal
    if at_terminal:
        session.console.note(f"Session {name}. An empty line, quit or Ctrl-D ends it.")
    code = Exit.COMPLETED
    for _ in range(MAX_TURNS):
        if at_terminal:
            session.console.draw("> ")
        line = await lines.next()
        if line is None or line.strip().casefold() in (("", *_ENDS) if at_terminal else _ENDS):
            break
        if line.strip():
            code = await _turn(session, name, line)
    if session.talks and session.settings.store != "memory":
        session.console.note(f"Continue with: {command_line(args, 'chat', f'--session={name}')}")
    return Exit.COMPLETED if at_terminal else code


async def _turn(session: Session, name: str, question: str) -> Exit:
    options = {"session_id": name, "user_id": session.args.user, "depth": session.args.depth or "auto"}
    try:
        result = await answered_before_user(session, question, options)
    except ConfigurationError:
        raise
    except DeepResearchError as error:
        session.console.error(error.code, error.problem, error.hint)
        return of_error(error)
    code = of_run(result.status, result.reason)
    if session.args.json:
        turns = await session.engine.asession_turns(name, user_id=session.args.user)
        own = [turn for turn in turns if turn.research_id == result.research_id]
        session.console.print("\n".join(turn.model_dump_json() for turn in own))
        return code
    resolution = result.state.resolution
    if resolution is not None and resolution.question != resolution.user_message and session.is_at_terminal:
        # The picture of the run, where it stood, is gone with its end.
        session.console.note(f"Question: {resolution.question}")
    if result.answer:
        session.console.print_report("\n".join([result.answer, "", *_sources(result)]))
    if result.status != "completed":
        conclude(session, result)
    return code


def _sources(result: ResearchResult) -> list[str]:
    """A line for each source that the answer cites."""
    answer = result.answer or ""
    numbers = {citation.number: citation.source_id for citation in result.citations}
    cited_numbers = {mark.number for mark in reference_marks(answer, list(numbers))}
    sources = {source.id: source for source in result.sources}
    lines = []
    for number in sorted(cited_numbers):
        source = sources[numbers[number]]
        lines.append(f"[{number}] {phrases.line(source.title)}{f', {source.url}' if source.url else ''}  ")
    return lines
