"""`serve`, `researcher`, `token` and `mcp`: the engine behind HTTP, the tokens of its users, and the engine as a server
of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from argparse import Namespace
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import UsageError
from deep_research.interfaces.cli.console import CommandError, Console, Exit
from deep_research.interfaces.cli.session import (
    Session,
    engine_arguments,
    folder_file_line,
    settings_in_force,
    whole_number,
)
from deep_research.presentation import phrases

if TYPE_CHECKING:
    from deep_research.mcp_server.standard_streams import Wire
    from deep_research.research import DeepResearch
    from deep_research.server.serving import ServerOptions

EXTRAS = {"server": ("fastapi", "uvicorn"), "mcp": ("mcp",)}  # the packages of each
EXIT_SECONDS = 5.0  # for threads to end, once the runs of an MCP client are parked
RESEARCHER_PORT = 8001


def check_extra(extra: str = "server", problem: str = "The server needs more packages.") -> None:
    """Raises `CommandError` where the packages of an extra are missing."""
    if any(find_spec(name) is None for name in EXTRAS[extra]):
        hint = f"pip install 'deep-research[{extra}]'"
        raise CommandError("missing_extra", problem, hint=hint, exit=Exit.WRONG_USE)


def serve_command(session: Session) -> None:
    """Serve until a signal comes. Raises `UsageError`, `ConfigurationError`."""
    asyncio.run(_serve(session))


async def _serve(session: Session) -> None:
    from deep_research.server.serving import serve

    async with session.engine:
        options = _options(session)

        def listening(address: str) -> None:
            if session.args.json:
                session.console.print(json.dumps({"address": address}))
            elif not session.args.quiet:
                who = "users with a token" if options.tokens is not None else "every user of this machine"
                session.console.note(f"Serving {session.settings.data_dir} on {address} for {who}.")

        await serve(session.engine, options, on_listening=listening)


def _options(session: Session) -> ServerOptions:
    from deep_research.server.serving import DRAIN_SECONDS, HOST, MAX_RUNS_AT_ONCE, PORT, ServerOptions
    from deep_research.server.token_file import TokenFile

    args, path = session.args, token_path(session.args, session.settings.data_dir)
    alone = args.command == "researcher"
    return ServerOptions(
        host=args.host or HOST,
        port=_number("--port", args.port, RESEARCHER_PORT if alone else PORT),
        concurrency=_number("--concurrency", args.concurrency, MAX_RUNS_AT_ONCE),
        drain_seconds=_number("--drain-seconds", args.drain_seconds, int(DRAIN_SECONDS)),
        allowed_hosts=args.allowed_host,
        tokens=TokenFile(path) if args.tokens or path.exists() else None,
        routes="researcher" if alone else "all",
    )


def _number(flag: str, value: str | None, default: int) -> int:
    return default if value is None else whole_number(flag, value, example=default)


def token_path(args: Namespace, data_dir: Path) -> Path:
    """The file that is named, else that of the data directory."""
    from deep_research.server.token_file import TOKEN_FILE

    return Path(args.tokens) if args.tokens else data_dir / TOKEN_FILE


def token_command(args: Namespace, console: Console) -> None:
    """Raises `UsageError`, `ConfigurationError`."""
    check_extra()
    action, name = args.action, args.name
    if action != "list" and name is None:
        raise UsageError(f"token {action} needs a name.", hint="For example: token add alice")
    if action == "list" and name is not None:
        raise UsageError("token list takes no name.", hint="Remove it.")
    if action != "add" and any((args.role, args.user, args.max_open_runs, args.max_usd_of_run)):
        raise UsageError(f"token {action} takes none of the options of add.", hint="Remove them.")
    path = token_path(args, settings_in_force(args).data_dir)
    if action == "list":
        _list(path, args, console)
    elif action == "add":
        _add(path, args, console)
    else:
        from deep_research.server.token_file import revoke_token

        revoke_token(path, name)
        console.print(json.dumps({"revoked": name}) if args.json else f"Revoked {name}.")


def _add(path: Path, args: Namespace, console: Console) -> None:
    from deep_research.server.token_file import add_token

    most = args.max_open_runs and _number("--max-open-runs", args.max_open_runs, 0)
    token = add_token(
        path,
        args.name,
        role=args.role or "runner",
        user=args.user,
        max_open_runs=most,
        max_usd=_dollars(args.max_usd_of_run),
    )
    console.print(json.dumps({"name": args.name, "token": token}) if args.json else token)
    if not (args.json or args.quiet):
        console.note(f"This token is shown only once; {path} keeps its hash.")


def _dollars(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        raise UsageError(
            f"--max-usd takes a number, got '{value[:40] if value else ''}'.",
            hint="For example: --max-usd 2.50",
        ) from None


def _list(path: Path, args: Namespace, console: Console) -> None:
    from deep_research.server.token_file import TokenFile

    entries = TokenFile(path).entries() if args.tokens or path.exists() else ()
    records = [entry.model_dump(mode="json", exclude={"sha256"}) for entry in entries]
    rows = [("NAME", "USER", "ROLE", "RUNS", "USD", "CREATED", "REVOKED")]
    rows += [
        (
            entry.name,
            entry.user,
            entry.role.value,
            "any" if entry.max_open_runs is None else str(entry.max_open_runs),
            "any" if entry.max_usd is None else f"{entry.max_usd:g}",
            phrases.moment(entry.created),
            phrases.moment(entry.revoked) if entry.revoked else "",
        )
        for entry in entries
    ]
    console.print_rows(args, records, rows, f"There are no tokens in {path}.")


# An MCP client over stdin and stdout


def mcp_command(args: Namespace, console: Console, make: Callable[..., DeepResearch] | None) -> None:
    """Serve until the client goes. Raises `CommandError` where the package of the extra is missing, `UsageError`,
    `ConfigurationError`."""
    check_extra("mcp", "The MCP server needs another package.")
    from deep_research.mcp_server.standard_streams import claim_standard_streams

    wire = claim_standard_streams()  # before anything is imported that may print
    asyncio.run(_serve_client(args, console, make, wire))


async def _serve_client(
    args: Namespace, console: Console, make: Callable[..., DeepResearch] | None, wire: Wire
) -> None:
    from deep_research.logs import configure
    from deep_research.mcp_server.stdio_serving import serve
    from deep_research.research import DeepResearch

    async with (make or DeepResearch)(**engine_arguments(args)) as engine:
        if not (args.log_level or engine.settings.settings.log_level):
            configure(
                "warning"
            )  # a client keeps what stands on stderr, and shows it to who looks for a fault
        if (line := folder_file_line(engine.settings)) and not args.quiet:
            console.note(line)  # a file that nobody named is in force without a word otherwise
        if os.isatty(wire.input) and not args.quiet:
            console.note(
                "Waiting for an MCP client on stdin. MCP clients start this command themselves. Ctrl-C ends it."
            )
        try:
            await serve(engine, wire)
        finally:
            _end_at_the_latest(EXIT_SECONDS)


def _end_at_the_latest(seconds: float) -> None:
    """End the process then, whatever its threads still do, such as indexing a large folder: its client is gone, and what
    its runs recorded is in the store."""
    timer = threading.Timer(seconds, os._exit, (Exit.FAILED,))
    timer.daemon = True
    timer.start()
