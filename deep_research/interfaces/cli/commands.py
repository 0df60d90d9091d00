"""The commands that need an engine: which function does which, and how one is carried out."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable

from deep_research.interfaces.cli import looking, running
from deep_research.interfaces.cli.console import Console
from deep_research.interfaces.cli.session import Interrupted, Session, engine_arguments
from deep_research.interfaces.cli.signals import Signals
from deep_research.research import DeepResearch

HANDLERS: dict[str, Callable[[Session], Awaitable[int]]] = {
    "run": running.run,
    "resume": running.resume,
    "list": looking.list_runs,
    "status": looking.status,
    "show": looking.show,
    "events": looking.events,
    "cancel": looking.cancel,
    "delete": looking.delete,
}


def perform(args: Namespace, console: Console, make: Callable[..., DeepResearch] | None) -> int:
    """Carry out one command with an engine of its own. Raises `Interrupted` after a signal."""
    running.prepare(args)
    engine = (make or DeepResearch)(**engine_arguments(args))
    session = Session(args=args, console=console, engine=engine)
    with Signals() as signals:
        try:
            return asyncio.run(_within(session, signals))
        except asyncio.CancelledError:
            interrupted = Interrupted("Interrupted.")
        except Interrupted as error:
            interrupted = error
    interrupted.exit = signals.code
    raise interrupted


async def _within(session: Session, signals: Signals) -> int:
    signals.attach()
    async with session.engine:
        return await HANDLERS[session.args.command](session)
