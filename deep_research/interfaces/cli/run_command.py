"""`run` and `resume`: a run carried out before the user's eyes."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable

from deep_research.errors import RunStateError, UsageError
from deep_research.interfaces.cli.estimate_command import estimate
from deep_research.interfaces.cli.exits import of_run
from deep_research.interfaces.cli.progress import Watching, watching
from deep_research.interfaces.cli.session import Interrupted, Session
from deep_research.interfaces.cli.summary import conclude, deliver
from deep_research.research import DeepResearch, ResearchResult
from deep_research.state import Budget, RunStatus

_LONGEST_STDIN = 1_000_000  # bytes; more than any question that is accepted
_PAUSE = 0.05  # seconds


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
    return _told(session, result)


async def resume(session: Session) -> int:
    run_id, answer = session.args.id, session.args.answer
    past = await session.engine.aevents(run_id)
    work = session.engine.aresume(
        run_id,
        answer,
        setup="new" if session.args.with_new_setup else "same",
        budget=_caps(session),
        take_over=session.args.take_over,
    )
    async with watching(session) as watch:
        watch.recall(past)
        result = await _carry_out(session, watch, run_id, work)
    return _told(session, result)


def _caps(session: Session) -> Budget | None:
    """The caps that are named here; None where none is."""
    named = {
        name: getattr(session.settings, name)
        for name in Budget.model_fields
        if getattr(session.args, name, None) is not None
    }
    return Budget(**named) if named else None


async def _carry_out(
    session: Session, watch: Watching, run_id: str, work: Awaitable[ResearchResult]
) -> ResearchResult:
    task = asyncio.ensure_future(work)
    try:
        await _follow(session.engine, run_id, task, watch)
        return await task
    except asyncio.CancelledError:
        await session.engine.aclose()
        raise _interrupted(session, run_id) from None
    except RunStateError:
        if (await session.engine.astatus(run_id)).status is not RunStatus.INTERRUPTED:
            raise
        raise _interrupted(session, run_id) from None  # it did not come to the end of a unit
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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
        async for event in engine.follow(run_id, watch.seen):
            watch.show(event)
        if not done:
            await asyncio.wait({task}, timeout=_PAUSE)


def _interrupted(session: Session, run_id: str) -> Interrupted:
    again = session.again("resume", run_id)
    if not again:
        return Interrupted("Interrupted.", hint="The run was kept in memory only and is lost.")
    return Interrupted(f"Interrupted; run {run_id} is saved.", hint=f"Go on with: {again}")


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
