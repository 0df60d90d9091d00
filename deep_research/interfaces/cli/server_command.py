"""`serve`, `researcher` and `token`: the engine behind HTTP, and the tokens of its users."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import UnknownNameError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import CommandError, Console, Exit
from deep_research.interfaces.cli.session import Session, setting_arguments
from deep_research.presentation import phrases
from deep_research.settings import load_settings

if TYPE_CHECKING:
    from deep_research.server.serving import ServerOptions
    from deep_research.server.token_file import TokenEntry

PACKAGES = ("fastapi", "uvicorn")  # of the extra
RESEARCHER_PORT = 8001
_ACTIONS = ("add", "list", "revoke")


def check_extra() -> None:
    """Raises `CommandError` where the packages of the server are missing."""
    if any(find_spec(name) is None for name in PACKAGES):
        raise CommandError(
            "missing_extra",
            "The server needs more packages.",
            hint="pip install 'deep-research[server]'",
            exit=Exit.WRONG_USE,
        )


def serve_command(session: Session) -> int:
    """Serve until a signal comes. Raises `UsageError`, `ConfigurationError`."""
    asyncio.run(_serve(session))
    return Exit.COMPLETED


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
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise UsageError(
            f"{flag} takes a whole number, got '{value[:40]}'.", hint=f"For example: {flag} {default}"
        )
    return int(value)


def token_path(args: Namespace, data_dir: Path) -> Path:
    """The file that is named, else that of the data directory."""
    from deep_research.server.token_file import TOKEN_FILE

    return Path(args.tokens) if args.tokens else data_dir / TOKEN_FILE


def token_command(args: Namespace, console: Console) -> int:
    """Raises `UsageError`, `ConfigurationError`."""
    check_extra()
    _check_action(args)
    settings = load_settings(overrides=setting_arguments(args), config=args.config).settings
    path = token_path(args, settings.data_dir)
    if args.action == "list":
        _list(path, args, console)
    elif args.action == "add":
        _add(path, args, console)
    else:
        from deep_research.server.token_file import revoke_token

        revoke_token(path, args.name)
        console.print(json.dumps({"revoked": args.name}) if args.json else f"Revoked {args.name}.")
    return Exit.COMPLETED


def _check_action(args: Namespace) -> None:
    if args.action not in _ACTIONS:
        raise UnknownNameError.of("action", args.action, _ACTIONS)
    if args.action != "list" and args.name is None:
        raise UsageError(f"token {args.action} needs a name.", hint="For example: token add alice")
    if args.action == "list" and args.name is not None:
        raise UsageError("token list takes no name.", hint="Remove it.")
    if args.action != "add" and any((args.role, args.user, args.max_open_runs, args.max_usd_of_run)):
        raise UsageError(f"token {args.action} takes none of the options of add.", hint="Remove them.")


def _add(path: Path, args: Namespace, console: Console) -> None:
    from deep_research.server.token_file import add_token

    most = _number("--max-open-runs", args.max_open_runs, 0) if args.max_open_runs is not None else None
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
    if args.json:
        rows = [entry.model_dump(mode="json", exclude={"sha256"}) for entry in entries]
        console.print(json.dumps(rows))
    elif entries:
        console.print("\n".join(text.table([_HEAD, *map(_row, entries)], console.columns)))
    elif not args.quiet:
        console.note(f"There are no tokens in {path}.")


_HEAD = ("NAME", "USER", "ROLE", "RUNS", "USD", "CREATED", "REVOKED")


def _row(entry: TokenEntry) -> tuple[str, ...]:
    return (
        entry.name,
        entry.user,
        entry.role.value,
        "any" if entry.max_open_runs is None else str(entry.max_open_runs),
        "any" if entry.max_usd is None else f"{entry.max_usd:g}",
        phrases.moment(entry.created),
        phrases.moment(entry.revoked) if entry.revoked else "",
    )
