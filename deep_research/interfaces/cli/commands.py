"""The commands that work with runs: which function does which, and how one is carried out."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from deep_research.interfaces.cli import sessions_command, show, verb_commands
from deep_research.interfaces.cli.console import Console, Exit
from deep_research.interfaces.cli.output_file import check_output
from deep_research.interfaces.cli.session import (
    Interrupted,
    Look,
    Session,
    Signals,
    engine_arguments,
    folder_file_line,
    settings_in_force,
    without_store,
)

if TYPE_CHECKING:
    from deep_research.research import DeepResearch
    from deep_research.settings import Settings

SERVERS = ("serve", "researcher")
PARKS = ("run", "chat", "resume", "answer", "worker", *SERVERS)  # commands that carry out runs
PARK_SECONDS = 10.0  # seconds in which a run is to come to the end of a unit

STORE_COMMANDS: dict[str, Callable[[Look], Awaitable[int]]] = {
    **dict.fromkeys(("waiting", "status", "delete", "pack", "steer", "pause"), verb_commands.perform),
    "list": verb_commands.list_runs,
    "sessions": sessions_command.sessions,
    "events": verb_commands.events,
    "show": show.show,
    "verify": verb_commands.verify,
    "replay": verb_commands.replay,
}


def perform(args: Namespace, console: Console, make: Callable[..., DeepResearch] | None) -> int:
    """Carry out one command: one of `STORE_COMMANDS` with the store alone, others with an engine, as all are where one is
    given. Raises `Interrupted` after a signal."""
    check_output(args)
    if args.command == "sessions":
        sessions_command.check(args)
    looks = args.command in STORE_COMMANDS and not getattr(args, "follow", False)
    if looks and make is None:
        settings = settings_in_force(args)
        if without_store(args, console, settings):
            return Exit.COMPLETED
        return _run_with_signals(lambda: _look(args, console, settings))
    from deep_research.interfaces.cli import chat_command, run_command, server_command
    from deep_research.research import DeepResearch

    run_command.read_question(args)
    if args.command == "assist":
        from deep_research.interfaces.cli import assist_command

        assist_command.check(args)
    if args.command in SERVERS:
        server_command.check_extra()
    engine = (make or DeepResearch)(**engine_arguments(args))
    settings = engine.settings.settings
    if make is None and without_store(args, console, settings):
        return Exit.COMPLETED
    session = Session(args=args, console=console, settings=settings, runs=engine, engine=engine)
    _note_folder_file(session)
    if args.command in SERVERS:
        return server_command.serve_command(session)
    if args.command == "assist":
        return _run_with_signals(lambda: _work(session, assist_command.assist))
    works = {
        "wake": verb_commands.perform,
        "run": run_command.run,
        "chat": chat_command.chat,
        "submit": verb_commands.submit,
        "worker": verb_commands.work,
        "resume": run_command.resume,
        "answer": run_command.answer,
        "events": verb_commands.follow,
        "cancel": verb_commands.cancel,
    }
    park = partial(engine.adrain, PARK_SECONDS) if args.command in PARKS else None
    return _run_with_signals(
        lambda: _work(session, STORE_COMMANDS[args.command] if looks else works[args.command]), park
    )


def _note_folder_file(session: Session) -> None:
    """A file that nobody named is in force without a word otherwise."""
    line = folder_file_line(session.engine.settings)
    if line and session.args.command in PARKS and session.talks:
        session.console.note(line)


def _run_with_signals(
    work: Callable[[], Coroutine[Any, Any, int]], park: Callable[[], Awaitable[int]] | None = None
) -> int:
    """``park`` is done on SIGTERM, and gives how many runs it parked: without one the work is cancelled."""

    async def cancellable() -> int:
        signals.attach(park)
        return await work()

    with Signals() as signals:
        try:
            code = asyncio.run(cancellable())
            return signals.code if signals.code and code == Exit.PARKED else code
        except asyncio.CancelledError:
            interrupted = Interrupted("Interrupted.")
        except Interrupted as error:
            interrupted = error
    interrupted.exit = signals.code
    raise interrupted


async def _look(args: Namespace, console: Console, settings: Settings) -> int:
    from deep_research.memory.memory_registry import make_memory
    from deep_research.research.sessions import Sessions
    from deep_research.store.factory import make_store

    store = make_store(settings)
    memory = make_memory(settings.memory, settings.data_dir, local_only=settings.local_only)
    look = Look(args=args, console=console, settings=settings, runs=Sessions(store, memory))
    try:
        return await STORE_COMMANDS[args.command](look)
    finally:
        await asyncio.to_thread(store.close)
        await asyncio.to_thread(memory.close)


async def _work(session: Session, handler: Callable[[Session], Awaitable[int]]) -> int:
    async with session.engine:
        return await handler(session)
