"""Commands that work with runs which there are make no store where there is none: they say so."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from deep_research.errors import RunNotFoundError
from deep_research.interfaces.cli.console import Console
from deep_research.settings import Settings
from deep_research.state.identity import RUN_ID
from deep_research.store.factory import DATABASE

_OF_ALL_RUNS = ("list", "waiting", "wake")


def without_store(args: Namespace, console: Console, settings: Settings) -> bool:
    """Whether a command is done because there is no store to look at, which is told then. Raises `RunNotFoundError` for
    a command that names a run."""
    path = settings.data_dir / DATABASE
    if settings.store == "memory" or (_is_there(path) and not _is_empty(path)):
        return False
    lacking = (
        f"the database {path} is empty"
        if _is_there(path)
        else f"there is no store of runs in {settings.data_dir}"
    )
    run_id = getattr(args, "id", None) or getattr(args, "pack", None) or ""
    if RUN_ID.match(run_id):
        raise RunNotFoundError(
            f"No run '{run_id}': {lacking}.",
            hint="Name the folder of the run with --data-dir.",
            run_id=run_id,
        )
    if args.command not in _OF_ALL_RUNS:
        return False
    if args.json:
        console.print("[]")
    elif not args.quiet:
        console.note(f"No runs: {lacking}." if _is_there(path) else f"No runs yet: {lacking}.")
    return True


def _is_empty(path: Path) -> bool:
    """Whether a database was emptied: one that was ever used holds its tables."""
    try:
        return path.is_file() and not path.stat().st_size and not path.with_name(f"{path.name}-wal").exists()
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    """What cannot be looked at counts as there: opening it says what is wrong."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
