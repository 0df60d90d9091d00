"""`run` and `resume`: a run carried out before the user's eyes."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

from pydantic import ValidationError

from deep_research.errors import RunStateError, UsageError
from deep_research.interfaces.cli.estimate_command import estimate
from deep_research.interfaces.cli.exits import of_run
from deep_research.interfaces.cli.plan_editor import PlanEditor, at_a_terminal, waits_for_word
from deep_research.interfaces.cli.progress import Watching, watching
from deep_research.interfaces.cli.session import Interrupted, Session
from deep_research.interfaces.cli.summary import conclude, deliver
from deep_research.research import DeepResearch, ResearchResult
from deep_research.settings import setting_from_text
from deep_research.state import Budget, ParkedKind
from deep_research.state.spending import ON_MODELS

_LONGEST_STDIN = 1_000_000  # bytes; more than any question that is accepted
_PAUSE = 0.05  # seconds
PARKING_WAIT = 5.0  # seconds for a unit that is under way; who stops a process waits 10 at the least


def read_question(args: Namespace) -> None:
    """The question from stdin, where "-" stands for it. Raises `UsageError`."""
    if getattr(args, "question", None) == "-":
        args.question = _from_stdin()


async def run(session: Session) -> int:
    if session.args.estimate:
        return estimate(session)
    async with watching(session) as watch:  # from here on: documents are indexed before a run begins
        handle = await session.engine.astart(session.args.question)
        result = await _carry_out(session, watch, handle.research_id, handle.aresult())
    return _told(session, await _agreed(session, result))


async def resume(session: Session) -> int:
    return await resume_with(session, session.args.answer)


async def resume_with(session: Session, answer: Any) -> int:
    """Goes on with a run, with an answer to what it asks where there is one."""
    args = session.args
    budget = _more(args)
    work = partial(
        session.engine.aresume,
        args.id,
        answer,
        setup="new" if getattr(args, "with_new_setup", False) else "same",
        take_over=getattr(args, "take_over", False),
        budget=budget,
    )
    result = await _taken_up(session, args.id, work)
    return _told(session, await _agreed(session, result))


async def _taken_up(
    session: Session, run_id: str, work: Callable[[], Awaitable[ResearchResult]]
) -> ResearchResult:
    past = await session.engine.aevents(run_id)
    async with watching(session) as watch:
        watch.recall(past)
        return await _carry_out(session, watch, run_id, work())


async def _agreed(session: Session, result: ResearchResult) -> ResearchResult:
    """Where a run waits for the word on its plan and somebody sits at the terminal, he is asked for it; planned again, it
    waits again."""
    editor, of = None, ""
    while waits_for_word(result) and at_a_terminal(session):
        parking = result.state.parking
        assert parking is not None
        if editor is None or parking.pause_id != of:
            editor, of = PlanEditor(session, parking.about), parking.pause_id or ""
        answer = await editor.answer()
        if answer is None:
            return result
        try:
            work = partial(session.engine.aresume, result.research_id, answer)
            result = await _taken_up(session, result.research_id, work)
        except UsageError as error:
            session.console.note(error.problem)
    return result


def _more(args: Namespace) -> Budget | None:
    """The higher caps that were named; None without any. Raises `UsageError`."""
    given = {
        name: getattr(args, name.replace("max_", "more_"), None) for name in (*ON_MODELS, "max_searches")
    }
    caps = {name: setting_from_text(name, text) for name, text in given.items() if text is not None}
    if not caps:
        return None
    try:
        return Budget(**caps)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise UsageError(
            f"--{name.replace('_', '-')} must be a number, 0 or more, got '{str(given[name])[:40]}'.",
            hint="Name the new cap of the whole run.",
        ) from None


async def _carry_out(
    session: Session, watch: Watching, run_id: str, work: Awaitable[ResearchResult]
) -> ResearchResult:
    task = asyncio.ensure_future(work)
    draining: list[asyncio.Task[int]] = []

    def park() -> None:
        draining.append(asyncio.create_task(session.engine.adrain(PARKING_WAIT)))

    try:
        with session.signals.parking(park):
            await _follow(session.engine, run_id, task, watch)
            result = await task
    except asyncio.CancelledError:
        await session.engine.aclose()
        raise _interrupted(session, run_id) from None
    except RunStateError:
        if not draining:
            raise
        raise _interrupted(session, run_id) from None
    finally:
        task.cancel()
        await asyncio.gather(task, *draining, return_exceptions=True)
    if draining and (await session.engine.astatus(run_id)).parked_kind is ParkedKind.SHUTDOWN:
        raise _interrupted(session, run_id, "Parked")
    return result


def _told(session: Session, result: ResearchResult) -> int:
    deliver(session, result)
    conclude(session, result)
    return of_run(result.status, result.reason)


async def _follow(
    engine: DeepResearch, run_id: str, task: asyncio.Future[ResearchResult], watch: Watching
) -> None:
    """Show what happens until the work is done. A run that is taken up again may not be ours yet at first."""
    done = False
    while not done:
        done = task.done()
        async with aclosing(engine.follow(run_id, watch.seen)) as events:
            async for event in events:
                watch.show(event)
        if not done:
            await asyncio.wait({task}, timeout=_PAUSE)


def _interrupted(session: Session, run_id: str, how: str = "Interrupted") -> Interrupted:
    again = session.again("resume", run_id)
    if not again:
        return Interrupted(f"{how}.", hint="The run was kept in memory only and is lost.")
    return Interrupted(f"{how}; run {run_id} is saved.", hint=f"Go on with: {again}")


def _from_stdin() -> str:
    if sys.stdin is None:
        raise UsageError("There is no stdin to read the question from.", hint="Give it as an argument.")
    raw = sys.stdin.buffer.read(_LONGEST_STDIN + 1)
    if len(raw) > _LONGEST_STDIN:
        raise UsageError(
            f"The question on stdin is longer than {_LONGEST_STDIN:,} bytes.", hint="Shorten it."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("The question on stdin is not UTF-8 text.", hint="Save it as UTF-8.") from None
