"""The entry of the command line. Help and version are answered without loading the engine."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from deep_research import __version__
from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli import options
from deep_research.interfaces.cli.console import CommandError, Console, Exit, of_error

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

EngineFactory = Callable[..., "DeepResearch"]


def main(argv: Sequence[str] | None = None, *, engine: EngineFactory | None = None) -> int:
    """Carry out a command line and return the exit code. ``engine`` is called with the keywords of
    `DeepResearch`, which it is by default."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console(json="--json" in arguments)
    if arguments[:3] == [
        "completion",
        "words",
        "--",
    ]:  # a shell asks; the words are of a command that is not finished
        from deep_research.interfaces.cli.completion import candidates

        console.print(candidates(arguments[3:]))
        return Exit.COMPLETED
    return exit_code(lambda: _perform(options.parse(arguments), console, engine), console)


def exit_code(work: Callable[[], int], console: Console) -> int:
    """Do the ``work`` and return its exit code; an error is printed, and its own code returned."""
    try:
        return work()
    except KeyboardInterrupt:
        console.error("interrupted", "Interrupted.")
        return Exit.INTERRUPTED
    except DeepResearchError as error:
        console.error(error.code, error.problem, error.hint)
        return of_error(error)
    except CommandError as error:
        console.error(error.code, error.problem, error.hint)
        return error.exit
    except Exception as error:
        return _unexpected(error, console)


def _perform(args: Namespace, console: Console, engine: EngineFactory | None) -> int:
    if args.command is None:
        console.print(args.text if args.text != "version" else f"{options.PROGRAM} {__version__}")
        return Exit.COMPLETED
    if args.log_level:
        from deep_research.logs import configure

        configure(args.log_level)
    if args.command == "completion":
        from deep_research.interfaces.cli.completion import script

        console.print(script(args.shell))
        return Exit.COMPLETED
    if args.command == "doctor":
        from deep_research.interfaces.cli.doctor import doctor

        return doctor(args, console)
    if args.command == "archive":
        from deep_research.interfaces.cli.archive_command import archive_command

        return archive_command(args, console)
    if args.command == "memory":
        from deep_research.interfaces.cli.memory_command import memory_command

        return memory_command(args, console)
    if args.command == "token":
        from deep_research.interfaces.cli.server_command import token_command

        return token_command(args, console)
    if args.command == "mcp":
        from deep_research.interfaces.cli.mcp_command import mcp_command

        return mcp_command(args, console, engine)
    from deep_research.interfaces.cli.commands import perform

    return perform(args, console, engine)


def _unexpected(error: Exception, console: Console) -> int:
    from deep_research.logs import describe_error, get_log

    get_log("cli").debug("unexpected_error", exc_info=error)
    console.error(
        "unexpected",
        f"Unexpected {describe_error(error)}.",
        "This is a bug in deep-research; --log-level debug shows the traceback.",
    )
    return Exit.FAILED
