"""The commands that look at runs, and those that end or remove them."""

from __future__ import annotations

import json
from datetime import datetime

from deep_research.errors import UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.describe import described
from deep_research.interfaces.cli.session import Look, Session
from deep_research.research.runs import RunSummary
from deep_research.state.events import Event, encode


async def list_runs(session: Look) -> int:
    runs = await session.runs.alist()
    console = session.console
    if session.args.json:
        console.print(json.dumps([run.model_dump(mode="json") for run in runs], ensure_ascii=False))
    elif runs:
        rows = [("RUN", "STATUS", "UPDATED", "QUESTION")]
        rows += [(r.research_id, _standing(r), _moment(r.updated_at), text.line(r.query)) for r in runs]
        console.print("\n".join(text.table(rows, console.columns)))
    elif session.talks:
        console.note("No runs yet.")
    return 0


async def status(session: Look) -> int:
    _summary(session, await session.runs.astatus(session.args.id))
    return 0


async def show(session: Look) -> int:
    from deep_research.interfaces.cli.fidelity_line import fidelity_line
    from deep_research.interfaces.cli.summary import conclude, deliver

    result = await session.runs.aresult(session.args.id)
    if session.args.budget:
        from deep_research.interfaces.cli.cost import show_budget

        show_budget(session, result)
        return 0
    deliver(session, result)
    if result.status != "completed":
        conclude(session, result)
    elif session.talks and (said := fidelity_line(result.fidelity)):
        session.console.note(said)
    return 0


async def events(session: Look) -> int:
    for event in await session.runs.aevents(session.args.id, _after(session.args.after)):
        _event(session, event)
    return 0


async def follow(session: Session) -> int:
    """The events of a run as they come, until it ends or nobody reads them."""
    after = _after(session.args.after)
    await session.engine.astatus(session.args.id)
    async for event in session.engine.follow(session.args.id, after):
        if isinstance(event, Event):
            _event(session, event)
        if session.console.gone:
            break
    return 0


async def cancel(session: Session) -> int:
    _summary(session, await session.engine.acancel(session.args.id))
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
    rows = [
        ("run", run.research_id),
        ("question", text.line(run.query)),
        ("status", _standing(run)),
        ("phase", f"{run.phase}, iteration {run.iteration}"),
        ("created", _moment(run.created_at)),
        ("updated", _moment(run.updated_at)),
    ]
    session.console.print("\n".join(text.table(rows, session.console.columns)))


def _event(session: Look, event: Event) -> None:
    if session.args.json:
        session.console.print(encode(event).decode())
    else:
        session.console.print(text.clip(described(event), session.console.columns))


def _standing(run: RunSummary) -> str:
    return f"{run.status} ({run.reason})" if run.reason else str(run.status)


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def _after(given: str | None) -> int:
    if given is None:
        return 0
    if not given.isdecimal():
        raise UsageError(
            f"--after takes the number of an event, got '{given[:40]}'.", hint="For example: --after 12"
        )
    return int(given)
