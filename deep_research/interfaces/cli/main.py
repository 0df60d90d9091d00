"""The entry of the command line: which function carries out which command. Help and version are answered without loading
the engine."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from deep_research import __version__
from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli import parsing
from deep_research.interfaces.cli.console import CommandError, Console, Exit, check_output, of_error
from deep_research.interfaces.cli.options import PROGRAM

if TYPE_CHECKING:
    from deep_research.interfaces.cli.session import Look, Session
    from deep_research.research import DeepResearch
    from deep_research.settings import Settings

EngineFactory = Callable[..., "DeepResearch"]
SERVERS = ("serve", "researcher")
PARKS = ("run", "chat", "resume", "answer", "worker", *SERVERS)  # commands that carry out runs
PARK_SECONDS = 10.0  # seconds in which a run is to come to the end of a unit


def main(argv: Sequence[str] | None = None, *, engine: EngineFactory | None = None) -> int:
    """Carry out a command line and return the exit code. ``engine`` is called with the keywords of
    `DeepResearch`, which it is by default."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console(json="--json" in arguments)
    if arguments[:3] == ["completion", "words", "--"]:  # a shell asks of a command that is not finished
        console.print(parsing.candidates(arguments[3:]))
        return Exit.COMPLETED
    return exit_code(lambda: _perform(parsing.parse(arguments), console, engine), console)


def exit_code(work: Callable[[], int], console: Console) -> int:
    """Do the ``work`` and return its exit code; an error is printed, and its own code returned."""
    try:
        return work()
    except KeyboardInterrupt:
        console.error("interrupted", "Interrupted.")
        return Exit.INTERRUPTED
    except (DeepResearchError, CommandError) as error:
        console.error(error.code, error.problem, error.hint)
        return error.exit if isinstance(error, CommandError) else of_error(error)
    except Exception as error:
        from deep_research.logs import describe_error, get_log

        get_log("cli").debug("unexpected_error", exc_info=error)
        hint = "This is a bug in deep-research; --log-level debug shows the traceback."
        console.error("unexpected", f"Unexpected {describe_error(error)}.", hint)
        return Exit.FAILED


def _perform(args: Namespace, console: Console, engine: EngineFactory | None) -> int:
    if getattr(args, "log_level", None):
        from deep_research.logs import configure

        configure(args.log_level)
    match args.command:
        case None:
            console.print(args.text if args.text != "version" else f"{PROGRAM} {__version__}")
        case "completion":
            console.print(parsing.script(args.shell))
        case "doctor":
            from deep_research.interfaces.cli.doctor import doctor

            return doctor(args, console)
        case "archive":
            from deep_research.interfaces.cli.archive_command import archive_command

            archive_command(args, console)
        case "memory":
            from deep_research.interfaces.cli.memory_command import memory_command

            memory_command(args, console)
        case "token":
            from deep_research.interfaces.cli.server_command import token_command

            token_command(args, console)
        case "mcp":
            from deep_research.interfaces.cli.server_command import mcp_command

            mcp_command(args, console, engine)
        case _:
            return _perform_on_runs(args, console, engine) or Exit.COMPLETED
    return Exit.COMPLETED


def _perform_on_runs(args: Namespace, console: Console, make: EngineFactory | None) -> int | None:
    """Carry out a command that looks at runs with the store alone, others with an engine, as all are where one is given.
    Raises `Interrupted` after a signal."""
    from deep_research.interfaces.cli import session, session_commands, show, verb_commands

    look_commands: dict[str, Callable[[Look], Awaitable[int | None]]] = {
        **dict.fromkeys(("waiting", "status", "delete", "pack", "steer", "pause"), verb_commands.perform),
        "list": verb_commands.list_runs,
        "sessions": session_commands.sessions,
        "events": verb_commands.events,
        "show": show.show,
        "verify": verb_commands.verify,
        "replay": verb_commands.replay,
    }
    check_output(args)
    if args.command == "sessions":
        session_commands.check_sessions(args)
    look_command = None if getattr(args, "follow", False) else look_commands.get(args.command)
    if look_command is not None and make is None:
        settings = session.settings_in_force(args)
        if session.without_store(args, console, settings):
            return None
        return session.run_with_signals(lambda: _look(args, console, settings, look_command))
    from deep_research.interfaces.cli import assist_command, run_command, server_command
    from deep_research.research import DeepResearch

    run_command.read_question(args)
    if args.command == "assist":
        assist_command.check(args)
    if args.command in SERVERS:
        server_command.check_extra()
    engine = (make or DeepResearch)(**session.engine_arguments(args))
    settings = engine.settings.settings
    if make is None and session.without_store(args, console, settings):
        return None
    work = session.Session(args=args, console=console, settings=settings, runs=engine, engine=engine)
    # A file that nobody named is in force without a word otherwise.
    if args.command in PARKS and work.talks and (line := session.folder_file_line(engine.settings)):
        console.note(line)
    if args.command in SERVERS:
        server_command.serve_command(work)
        return None
    commands: dict[str, Callable[[Session], Awaitable[int | None]]] = {
        "assist": assist_command.assist,
        "wake": verb_commands.perform,
        "run": run_command.run,
        "chat": run_command.chat,
        "submit": verb_commands.submit,
        "worker": verb_commands.work,
        "resume": run_command.resume,
        "answer": run_command.answer,
        "events": verb_commands.follow,
        "cancel": verb_commands.cancel,
    }
    park = partial(engine.adrain, PARK_SECONDS) if args.command in PARKS else None
    command = look_command or commands[args.command]
    return session.run_with_signals(lambda: _work(work, command), park)


async def _look(
    args: Namespace, console: Console, settings: Settings, command: Callable[[Look], Awaitable[int | None]]
) -> int | None:
    import asyncio

    from deep_research.interfaces.cli.session import Look
    from deep_research.memory.memory_registry import make_memory
    from deep_research.research.sessions import Sessions
    from deep_research.store.factory import make_store

    store = make_store(settings)
    memory = make_memory(settings.memory, settings.data_dir, local_only=settings.local_only)
    try:
        return await command(
            Look(args=args, console=console, settings=settings, runs=Sessions(store, memory))
        )
    finally:
        await asyncio.to_thread(store.close)
        await asyncio.to_thread(memory.close)


async def _work(session: Session, command: Callable[[Session], Awaitable[int | None]]) -> int | None:
    async with session.engine:
        return await command(session)
