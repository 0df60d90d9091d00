"""Context of a command: the arguments of the engine, and the signals that stop its work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from deep_research.errors import RunNotFoundError, UsageError
from deep_research.interfaces.cli.console import CommandError, Console, Exit
from deep_research.interfaces.cli.options import BY_NAME, COMMON, PROGRAM
from deep_research.logs import configure
from deep_research.presentation import phrases
from deep_research.setting_fields import fields_by_path, nest
from deep_research.settings import ResolvedSettings, Settings, join_path, load_settings, setting_from_text
from deep_research.state import RunOptions
from deep_research.state.identity import RUN_ID
from deep_research.store.factory import DATABASE

if TYPE_CHECKING:
    from deep_research.assembly import Destination
    from deep_research.research import DeepResearch
    from deep_research.research.sessions import Sessions

MAX_DIGITS = 9  # of a number
_OF_ALL_RUNS = ("list", "waiting", "wake", "sessions")
_PIECE_BYTES = 65_536
MAX_LINE_BYTES = 1_000_000
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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

    @property
    def is_at_terminal(self) -> bool:
        """Whether somebody sits there who can be asked: both ends are a terminal, and the output is not for a program."""
        streams = (sys.stdin, sys.stderr)
        return not self.args.json and all(stream is not None and stream.isatty() for stream in streams)

    def show(self, record: Callable[[], str], lines: Iterable[str]) -> None:
        """The JSON of a record where that is asked for, else lines."""
        self.console.print(record() if self.args.json else "\n".join(lines))

    def tell(self, record: object, words: str) -> None:
        """What was done, as JSON where that is asked for, else in words for who wants them."""
        if self.args.json:
            self.console.print(json.dumps(record))
        elif self.talks:
            self.console.note(words)

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
            is_text = option.dest in ("system_prompt", "data_dir", "preset")  # others are read
            as_is = option.repeats or value is True or is_text
            overrides[option.dest] = value if as_is else setting_from_text(option.dest, value)[1]
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


def whole_number(flag: str, value: str, *, natural: bool = True, example: int = 20) -> int:
    """The number that an option was given; a ``natural`` one has no sign. Raises `UsageError`."""
    digits = value if natural else value.removeprefix("-")
    if not (digits.isdecimal() and len(digits) <= MAX_DIGITS):
        raise UsageError(
            f"{flag} takes a whole number, got '{value[:40]}'.", hint=f"For example: {flag} {example}"
        )
    return int(value)


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
    if settings.store == "memory":
        return False
    is_there = True
    try:  # one that was ever used holds its tables
        if path.stat().st_size or not path.is_file() or path.with_name(f"{path.name}-wal").exists():
            return False
        lacking = f"the database {path} is empty"
    except (FileNotFoundError, NotADirectoryError):
        is_there, lacking = False, f"there is no store of runs in {settings.data_dir}"
    except OSError:
        return False  # opening it says what is wrong
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
        console.note(f"No runs: {lacking}." if is_there else f"No runs yet: {lacking}.")
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
    return phrases.fold(f"Requests go to {places}.", phrases.COLUMNS, indent="  ")


def folder_file_line(effective: ResolvedSettings) -> str:
    """Which settings are those of a file that nobody named; "" where none is."""
    if (file := effective.folder_file) is None:
        return ""
    names = [path for path in fields_by_path(Settings) if path in file.in_force]
    return f"Settings from {file.where} of this folder: {', '.join(names)}."


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


def run_with_signals(
    work: Callable[[], Coroutine[Any, Any, int | None]], park: Callable[[], Awaitable[int]] | None = None
) -> int | None:
    """``park`` is done on SIGTERM, and gives how many runs it parked: without one the work is cancelled."""

    async def cancellable() -> int | None:
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


class InputLines:
    """The lines of stdin, one after the other. Each piece is read in a thread of its own that nobody waits for, so that
    Ctrl-C ends the command at once."""

    def __init__(self) -> None:
        self._read = b""
        self._is_at_end = False

    async def next(self) -> str | None:
        """The next line without its end; None at the end of the input. Of one that is longer than `MAX_LINE_BYTES` the
        rest is the next line."""
        while b"\n" not in self._read and not self._is_at_end and len(self._read) < MAX_LINE_BYTES:
            piece = await self._piece()
            self._read += piece
            self._is_at_end = not piece
        if not self._read:
            return None
        line, _, self._read = self._read.partition(b"\n")
        if len(line) > MAX_LINE_BYTES:
            line, self._read = line[:MAX_LINE_BYTES], line[MAX_LINE_BYTES:] + self._read
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        read: asyncio.Future[bytes] = loop.create_future()

        def deliver(piece: bytes) -> None:
            if not read.done():
                read.set_result(piece)

        def wait() -> None:
            try:
                piece = os.read(sys.stdin.fileno(), _PIECE_BYTES)
            except (OSError, ValueError, AttributeError):  # the terminal is gone, or there is no stdin
                piece = b""
            with contextlib.suppress(RuntimeError):  # the command has ended meanwhile
                loop.call_soon_threadsafe(deliver, piece)

        threading.Thread(target=wait, name="input-line", daemon=True).start()
        return await read
