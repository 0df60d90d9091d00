"""The commands with which somebody has a say in runs: answer, steer, pause, wake."""

from __future__ import annotations

import json
from typing import Any

from deep_research.interfaces.cli import run_command
from deep_research.interfaces.cli.session import Look, Session
from deep_research.research.runs import Waiting
from deep_research.state.answers import misfit
from deep_research.state.parking import Parking


async def answer(session: Session) -> int:
    """Leaves the answer, or goes on with the run at once."""
    args, engine = session.args, session.engine
    asked = {waiting.research_id: waiting for waiting in await engine.awaiting()}
    value = value_of(args.value, asked[args.id]) if args.id in asked else args.value
    if not args.no_run:
        return await run_command.resume_with(session, value)
    await engine.aanswer(args.id, value, run=False)
    _done(session, {"answered": args.id}, "The answer was left for the run. Go on with:", "resume")
    return 0


async def steer(session: Session) -> int:
    args = session.args
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


def value_of(words: str, waiting: Waiting) -> Any:
    """What is typed as the value that is asked for. An object or a list of JSON is one, and no sentence; of the rest
    JSON is what fits only so."""
    if waiting.answer_schema is None:
        return words
    parking = Parking(waiting_for=waiting.waiting_for, answer_schema=waiting.answer_schema)
    try:
        value = json.loads(words)
    except ValueError:
        return words
    if isinstance(value, dict | list):
        return value
    return words if misfit(parking, value) and not misfit(parking, words) else value


def _done(session: Look, data: dict[str, str], said: str, verb: str = "") -> None:
    if session.args.json:
        session.console.print(json.dumps(data))
    elif session.talks:
        command = session.again(verb, session.args.id) if verb else ""
        session.console.note(f"{said} {command}".strip())
