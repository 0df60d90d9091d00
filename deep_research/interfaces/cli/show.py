"""The commands that look at runs, and those that end or remove them."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from deep_research.errors import UsageError
from deep_research.interfaces.cli import standing, text
from deep_research.interfaces.cli.describe import described
from deep_research.interfaces.cli.session import Look, Session
from deep_research.research import ResearchResult
from deep_research.research.runs import RunSummary
from deep_research.state.events import Event, encode
from deep_research.state.identity import RUN_ID


async def list_runs(session: Look) -> int:
    args, console = session.args, session.console
    limit = None if args.limit is None else _number("--limit", args.limit, "a number of runs", "20")
    given = {name: getattr(args, name) for name in ("status", "user", "session", "text")}
    # One more than wanted tells whether there are more.
    found = await session.runs.alist(limit=limit and limit + 1, after=args.after, **given)
    runs = found[:limit]
    if args.json:
        console.print(json.dumps([run.model_dump(mode="json") for run in runs], ensure_ascii=False))
    elif runs:
        console.print("\n".join(standing.listed(runs, console.columns)))
    elif session.talks:
        filtered = args.after or any(given.values())
        console.note("No runs fit." if filtered else "No runs yet.")
    if session.talks and len(found) > len(runs):
        console.note(f"There are more: add --after {runs[-1].research_id}")
    return 0


async def status(session: Look) -> int:
    _summary(session, await session.runs.astatus(session.args.id))
    return 0


async def show(session: Look) -> int:
    """A run of the data directory; or that of a pack, of which no more is believed than what is read."""
    given = session.args.id
    if not _is_file(given):
        return _shown(session, await session.runs.aresult(given))
    from deep_research.interfaces.cli.pack_command import result_in

    session.console.cleans = True
    return _shown(replace(session, packed=True), await asyncio.to_thread(result_in, given))


def _is_file(given: str) -> bool:
    """Whether a pack is meant, and not a run: a file that there is, or the name of one."""
    if not given or RUN_ID.match(given):
        return False
    return os.path.exists(given) or Path(given).suffix.casefold() == ".zip"


def _shown(session: Look, result: ResearchResult) -> int:
    from deep_research.interfaces.cli.summary import conclude, deliver, told_with

    if session.args.budget:
        from deep_research.interfaces.cli.cost import show_budget

        show_budget(session, result)
        return 0
    if session.args.claims:
        from deep_research.interfaces.cli.claim_list import show_claims

        show_claims(session, result)
        return 0
    deliver(session, result)
    if result.status != "completed":
        conclude(session, result)
    elif session.talks and (told := told_with(result)):
        session.console.note(*told)
    return 0


async def events(session: Look) -> int:
    for event in await session.runs.aevents(session.args.id, _after(session.args.after)):
        print_event(session, event)
    return 0


async def follow(session: Session) -> int:
    """The events of a run as they come, until it ends or nobody reads them."""
    after = _after(session.args.after)
    await session.engine.astatus(session.args.id)
    async with aclosing(session.engine.follow(session.args.id, after)) as told:
        async for event in told:
            if isinstance(event, Event):
                print_event(session, event)
            if session.console.gone:
                break
    return 0


async def cancel(session: Session) -> int:
    before = await session.engine.astatus(session.args.id)
    _summary(session, await session.engine.acancel(session.args.id))
    if before.status.ended and session.talks:
        session.console.note(f"Nothing was cancelled: the run is {before.status} already.")
    return 0


async def delete(session: Look) -> int:
    run_id = session.args.id
    await session.runs.adelete(run_id)
    session.console.print(json.dumps({"deleted": run_id}) if session.args.json else f"Deleted {run_id}.")
    return 0


def _summary(session: Look, run: RunSummary) -> None:
    if session.args.json:
        session.console.print(run.model_dump_json())
        return
    session.console.print("\n".join(standing.detailed(run, session.console.columns)))


def print_event(session: Look, event: Event) -> None:
    """As JSON where that is asked for, else in words."""
    if session.args.json:
        session.console.print(encode(event).decode())
    else:
        session.console.print(text.clip(described(event), session.console.columns))


def _after(given: str | None) -> int:
    return 0 if given is None else _number("--after", given, "the number of an event", "12")


def _number(flag: str, given: str, what: str, example: str) -> int:
    if not given.isdecimal():
        raise UsageError(f"{flag} takes {what}, got '{given[:40]}'.", hint=f"For example: {flag} {example}")
    return int(given)
