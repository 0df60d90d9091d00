"""Context of a command: the arguments of the engine, and the signals that stop its work."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deep_research.errors import RunNotFoundError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import CommandError, Console, Exit
from deep_research.interfaces.cli.options import BY_NAME, COMMON, PROGRAM
from deep_research.logs import configure
from deep_research.setting_fields import fields_by_path, nest
from deep_research.settings import ResolvedSettings, Settings, join_path, load_settings, setting_from_text
from deep_research.state import RunOptions
from deep_research.state.identity import RUN_ID
from deep_research.store.factory import DATABASE

if TYPE_CHECKING:
    from deep_research.assembly import Destination
    from deep_research.research import DeepResearch
    from deep_research.research.sessions import Sessions
import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType

_OF_ALL_RUNS = ("list", "waiting", "wake", "sessions")
_OF_SET_UP = ("--corpus", "--search", "--local-only", "--model", "--preset", "--config", "--set")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A command that looks at runs: its arguments, its streams, the settings in force, the runs. ``packed`` says that
    its run is in a pack, with which nobody goes on."""

    args: Namespace
    console: Console
    settings: Settings
    runs: Sessions
    packed: bool = False

    @property
    def talks(self) -> bool:
        """Whether progress and closing lines are wanted: not beside JSON, which is for programs."""
        return bool(self.args.verbose or not (self.args.quiet or self.args.json))

    def again(self, verb: str, run_id: str) -> str:
        """The command that does something with a run of this session, "" when the run was kept in memory only, or is in a
        pack."""
        is_stored = self.settings.store != "memory" and not self.packed
        return command_line(self.args, verb, run_id) if is_stored else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Look):
    """A command that works with an engine."""

    engine: DeepResearch


class Interrupted(CommandError):  # noqa: N818 - as KeyboardInterrupt
    """A signal stopped the command."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__("interrupted", problem, hint=hint, exit=Exit.INTERRUPTED)


def command_line(args: Namespace, verb: str, run_id: str) -> str:
    """A command for a run of the same data directory. A run keeps its set-up; what was named for it is named again all
    the same, since that goes before what the environment or a file may name."""
    words = [PROGRAM, verb, run_id]
    options = [option for option in COMMON if option.metavar and option.flag != "--log-level"]
    if verb not in ("resume", "chat"):
        options = [option for option in options if option.flag in ("--data-dir", "--config", "--set")]
    if verb == "chat" and args.user:
        words += ["--user", args.user]
    else:
        words += [
            flag for flag in ("--sample", "--local-only") if getattr(args, flag[2:].replace("-", "_"), False)
        ]
    for option in options:
        value = getattr(args, option.dest)
        for item in value if option.repeats else [value] if value is not None else []:
            if option.flag != "--set" or _pair(item)[0] not in fields_by_path(
                RunOptions
            ):  # which a run keeps
                words += [option.flag, item]
    return shlex.join(words)


def flags_of_set_up(args: Namespace) -> list[str]:
    """The options of a command line that say what a run works with."""
    of_all = [option.flag for option in COMMON if option.flag in _OF_SET_UP and getattr(args, option.dest)]
    return of_all + ["--sample"] * bool(getattr(args, "sample", False))


def engine_arguments(args: Namespace) -> dict[str, Any]:
    """The keywords for `DeepResearch`. An option of its own goes before ``--set``.

    Raises `UsageError`, `ConfigurationError` without the sample corpus.
    """
    overrides = setting_arguments(args)
    return overrides | ({"config": args.config} if args.config is not None else {})


def setting_arguments(args: Namespace) -> dict[str, Any]:
    """The settings among the arguments, each read as an environment variable's text is, groups as dicts."""
    overrides = dict(_pair(pair) for pair in args.set)
    command = BY_NAME.get(
        getattr(args, "command", "")
    )  # None for the evaluations, which have the common options alone
    for option in (*COMMON, *(command.options if command else ())):
        value = getattr(args, option.dest)
        is_setting = option.dest in Settings.model_fields and not option.of_verb and option.dest != "corpus"
        if is_setting and value not in (None, False, []):
            overrides[option.dest] = value if option.repeats or value is True else _value(option.dest, value)
    corpus = [*args.corpus]
    if getattr(args, "sample", False):
        from deep_research.sources.documents.folder import sample_corpus

        corpus.append(sample_corpus())
    return nest(overrides) | ({"corpus": corpus} if corpus else {})


def _pair(pair: str) -> tuple[str, Any]:
    name, equals, text = pair.partition("=")
    name = join_path(name.strip().replace("-", "_"))
    if not equals or not name:
        raise UsageError(
            f"--set takes NAME=VALUE, got '{pair[:60]}'.", hint="For example: --set max_concurrent=2"
        )
    return setting_from_text(name, text)


def _value(name: str, text: str) -> Any:
    """Texts are taken as they stand; numbers are read."""
    return text if name in ("system_prompt", "data_dir", "preset") else setting_from_text(name, text)[1]


def settings_in_force(args: Namespace) -> Settings:
    """The settings of a command that needs no engine. Raises `SettingsError`, `ConfigurationError`."""
    overrides = setting_arguments(args)
    preset = overrides.pop("preset", None)
    settings = load_settings(overrides=overrides, config=args.config, preset=preset).settings
    if settings.log_level:
        configure(settings.log_level, settings.log_format)
    return settings


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
    if args.command not in _OF_ALL_RUNS or getattr(args, "action", "list") != "list":
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


def requests_note(destinations: Sequence[Destination], *, every: bool) -> list[str]:
    """A line, folded, that says which servers a run asks: ``every`` one, or those alone that are not their service's own.
    None where there is none to name, or all of them are this machine and get no key."""
    relevant = [each for each in destinations if every or each.is_stranger]
    if all(each.is_here and not each.key for each in relevant):
        return []
    keys_by_server = dict.fromkeys(
        (each.server, f" with {each.key}" if each.key else "") for each in relevant
    )
    places = ", ".join(f"{server}{key}" for server, key in keys_by_server)
    return text.fold(f"Requests go to {places}.", text.COLUMNS, indent="  ")


def folder_file_line(effective: ResolvedSettings) -> str:
    """Which settings are those of a file that nobody named; "" where none is."""
    if (file := effective.folder_file) is None:
        return ""
    names = [path for path in fields_by_path(Settings) if path in file.in_force]
    return f"Settings from {file.where} of this folder: {', '.join(names)}."


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """``with Signals() as signals``; within, `attach` names the task to cancel. ``code`` is the exit code of the
    signal that came, 0 without one.

    After a signal the handlers stay, so that a second one also ends a process that waits for its threads.
    """

    def __init__(self) -> None:
        self.code = 0
        self._stop: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}
        self._park: Callable[[], object] | None = None
        self._parking: asyncio.Future[None] | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop = self._park = None
        if not self.code:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def attach(self, park: Callable[[], Awaitable[int]] | None = None) -> None:
        """The current task is what a signal cancels. With ``park`` SIGTERM has that done instead, which gives how many
        runs it parked; where that is none, the task is cancelled all the same."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if park is not None:
            self._park = lambda: loop.call_soon_threadsafe(self._begin, park, task)
        if self.code:
            task.cancel()

    def _begin(self, park: Callable[[], Awaitable[int]], task: asyncio.Task[Any]) -> None:
        async def parked() -> None:
            if not await park():
                task.cancel()

        self._parking = asyncio.ensure_future(parked())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            os._exit(self.code)
        self.code = 128 + number
        stop = self._park if number == signal.SIGTERM and self._park is not None else self._stop
        if stop is not None:
            stop()
