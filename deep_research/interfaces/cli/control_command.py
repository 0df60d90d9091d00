"""The commands with which somebody has a say in runs: answer, steer, pause, wake."""

from __future__ import annotations

import json

from deep_research.errors import UsageError
from deep_research.interfaces.cli import run_command
from deep_research.interfaces.cli.session import Look, Session


async def answer(session: Session) -> int:
    """Leaves the answer, or goes on with the run at once."""
    args, engine = session.args, session.engine
    value = await run_command.typed(session, args.value)
    if not args.no_run:
        return await run_command.resume_with(session, value)
    await engine.aanswer(args.id, value, run=False)
    _done(session, {"answered": args.id}, "The answer was left for the run. Go on with:", "resume")
    return 0


async def steer(session: Session) -> int:
    args = session.args
    if not (args.text or args.drop or args.from_day or args.stop_searching):
        raise UsageError(
            "Nothing is wished for.", hint="Say something, or give --drop, --since or --stop-searching."
        )
    await session.engine.asteer(
        args.id,
        args.text or "",
        drop_sub_query=args.drop,
        since=args.from_day,
        stop_searching=args.stop_searching,
    )
    _done(session, {"steered": args.id}, "It was left for the run, which hears it before its next step.")
    return 0


async def pause(session: Session) -> int:
    await session.engine.apause(session.args.id)
    _done(
        session,
        {"paused": session.args.id},
        "The run stands still before its next step. Go on with:",
        "resume",
    )
    return 0


async def wake(session: Session) -> int:
    woken = await session.engine.awake()
    if session.args.json:
        lines = [{"research_id": each.research_id, "status": each.status.value} for each in woken]
        session.console.print(json.dumps(lines))
    else:
        for each in woken:
            session.console.print(f"{each.research_id} {each.status.value}")
        if not woken and session.talks:
            session.console.note("Nothing was due.")
    return 0


def _done(session: Look, data: dict[str, str], said: str, verb: str = "") -> None:
    if session.args.json:
        session.console.print(json.dumps(data))
    elif session.talks:
        command = session.again(verb, session.args.id) if verb else ""
        session.console.note(f"{said} {command}".strip())
