"""The two streams of a command, what was asked for on stdout and everything else on stderr; and its exit codes.

A reader that went away (``| head``) is no error: the stream falls silent, and the work ends as it would have.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO

from deep_research.errors import ConfigurationError, DeepResearchError, UsageError
from deep_research.files import beside, whole
from deep_research.interfaces.cli.options import PROGRAM
from deep_research.presentation import phrases

MAX_STDIN_BYTES = 1_000_000  # of a question; more than any that is accepted


class Exit(IntEnum):
    """What the process ends with. A signal ends it with 128 and the signal's number."""

    COMPLETED = 0
    FAILED = 1
    WRONG_USE = 2
    STOPPED = 3
    PARKED = 4
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS = {
    Exit.COMPLETED: "completed, or the command succeeded",
    Exit.FAILED: "aborted (config, error), or the database, the output or the program failed; or `verify` found damage",
    Exit.WRONG_USE: "wrong use: arguments, settings, corpus, run id; nothing was started",
    Exit.STOPPED: "aborted (cancelled, refused, timeout, budget, no_evidence)",
    Exit.PARKED: "parked: the run waits for an answer or a time",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; the run can be resumed",
    Exit.TERMINATED: "interrupted by SIGTERM; the run can be resumed",
}

_BY_OUTCOME = {
    "completed": Exit.COMPLETED,
    "parked": Exit.PARKED,
    "config": Exit.FAILED,
    "error": Exit.FAILED,
    "cancelled": Exit.STOPPED,
    "timeout": Exit.STOPPED,
    "budget": Exit.STOPPED,
    "no_evidence": Exit.STOPPED,
    "refused": Exit.STOPPED,
}


class CommandError(Exception):
    """The command ends here, with this line and exit code. No call of the engine raises it."""

    def __init__(self, code: str, problem: str, *, hint: str = "", exit: int = Exit.FAILED) -> None:
        self.code = code
        self.problem = problem
        self.hint = hint
        self.exit = exit
        super().__init__(f"{problem} {hint}".strip())


class Console:
    """``json`` makes errors JSON. stdout is always UTF-8, so reports and JSON read the same everywhere."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.is_unread = False  # nobody reads stdout any more
        self.cleans = (
            False  # control characters are left out wherever stdout leads: what is printed is from elsewhere
        )
        _reconfigure(sys.stdout, encoding="utf-8", errors="replace")
        _reconfigure(sys.stderr, errors="replace")

    def print_report(self, report: str) -> None:
        """Markdown onto stdout; on a terminal, which renders none, as it reads best."""
        if sys.stdout is not None and sys.stdout.isatty():
            from deep_research.report.markup import readable

            report = readable(report)
        self.print(report)

    def print(self, content: str) -> None:
        """Onto stdout. Raises `CommandError` when the disk behind it is full, say."""
        stream = sys.stdout
        if stream is None or self.is_unread:
            return
        if self.cleans or stream.isatty():
            content = phrases.clean(content)
        try:
            stream.write(content if content.endswith("\n") else f"{content}\n")
            stream.flush()
        except BrokenPipeError:
            self.is_unread = True
            _silence(stream)
        except OSError as error:
            _silence(stream)
            raise CommandError(
                "output", f"The output cannot be written: {error.strerror or error}."
            ) from error

    def print_list(self, args: Namespace, records: Sequence[Any], lines: Sequence[str], nothing: str) -> None:
        """Records as JSON where that is asked for, else in words; where there are none, ``nothing`` is said of it."""
        if args.json:
            plain = [each if isinstance(each, dict) else each.model_dump(mode="json") for each in records]
            self.print(json.dumps(plain, ensure_ascii=False))
        elif lines:
            self.print("\n".join(lines))
        elif args.verbose or not args.quiet:
            self.note(nothing)

    def print_rows(
        self, args: Namespace, records: Sequence[Any], rows: Sequence[Sequence[str]], nothing: str
    ) -> None:
        """As `print_list`, in a table whose first row is its head."""
        self.print_list(args, records, phrases.table(rows, self.columns) if len(rows) > 1 else (), nothing)

    def note(self, *lines: str) -> None:
        """Lines onto stderr, each cleaned and kept one line."""
        self.draw("".join(f"{' '.join(phrases.clean(line).splitlines())}\n" for line in lines))

    def draw(self, raw: str) -> None:
        """Onto stderr as it is. With nobody there to read it there is nobody to tell."""
        if sys.stderr is None:
            return
        try:
            sys.stderr.write(raw)
            sys.stderr.flush()
        except OSError:
            _silence(sys.stderr)

    def error(self, code: str, problem: str, hint: str = "") -> None:
        """One line: what is wrong and what to do."""
        from deep_research.logs import redact

        if self.json:
            error = {"code": code, "message": redact(problem), "hint": redact(hint)}
            self.draw(json.dumps({"error": error}, ensure_ascii=True) + "\n")
        else:
            self.note(f"{PROGRAM}: {redact(f'{problem} {hint}'.strip())}")

    @property
    def columns(self) -> int:
        """The columns of what is printed on stdout."""
        return terminal_size(sys.stdout).columns if sys.stdout is not None else phrases.COLUMNS


def _reconfigure(stream: TextIO | None, **changes: str) -> None:
    change = getattr(stream, "reconfigure", None)
    if change is not None:
        change(**changes)


def _silence(stream: TextIO) -> None:
    """Send the rest nowhere, so that the interpreter's own flush at exit does not fail either."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return  # a stream without a file has nothing left to flush
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def terminal_size(stream: TextIO) -> os.terminal_size:
    """Columns and lines of the terminal that a stream writes to; 80 by 24 when it is none.

    COLUMNS and LINES win, as they do for other programs.
    """
    try:
        real = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        real = os.terminal_size((0, 0))
    return os.terminal_size(
        (
            _number("COLUMNS") or real.columns or phrases.COLUMNS,
            _number("LINES") or real.lines or phrases.LINES,
        )
    )


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else 0


def of_run(status: str, reason: str | None) -> Exit:
    """For a run that was carried out: by its reason if it has one, else by its status."""
    return _BY_OUTCOME.get(reason or status, Exit.FAILED)


def of_error(error: DeepResearchError) -> Exit:
    return Exit.WRONG_USE if isinstance(error, UsageError | ConfigurationError) else Exit.FAILED


# What is typed


def read_stdin() -> str:
    """The question on stdin. Raises `UsageError`."""
    if sys.stdin is None:
        raise UsageError(
            "stdin is closed, so there is no question.", hint="Give the question as an argument."
        )
    raw = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(raw) > MAX_STDIN_BYTES:
        raise UsageError(
            f"The question on stdin is longer than {MAX_STDIN_BYTES:,} bytes.", hint="Shorten it."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("The question on stdin is not UTF-8 text.", hint="Save it as UTF-8.") from None


# ``--out FILE``: refused before a run when it cannot be written, and never left half written


def check_target(name: str | None) -> None:
    """Raises `UsageError` for a place where no file can be written."""
    if name is None:
        return
    target = _target(name)
    if target.is_dir():
        raise UsageError(f"--out {name} is a folder.", hint="Give the path of a file.")
    try:
        if _is_special(target):
            target.open("a").close()
        else:
            probe = beside(target)
            probe.touch(exist_ok=False)
            probe.unlink()
    except OSError as error:
        raise _unwritable(name, error) from None


def write_whole(name: str, text: str) -> None:
    """The whole text or nothing; an earlier file is replaced. Raises `UsageError`."""
    target = _target(name)
    try:
        if _is_special(target):
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            with whole(target) as file:
                file.write(text.encode())
    except OSError as error:
        raise _unwritable(name, error) from None


def _target(name: str) -> Path:
    """Through symbolic links, so that a link stays one; but for that of a pipe, which leads to no path."""
    try:
        path = Path(name).expanduser()
        return path if _is_special(path) else path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"--out {name!r} is not a path: {error}.", hint="Give the path of a file.") from None


def _is_special(target: Path) -> bool:
    """A device or pipe, such as /dev/stdout: written to, never replaced."""
    return target.exists() and not target.is_file()


def _unwritable(name: str, error: OSError) -> UsageError:
    return UsageError(
        f"--out {name} cannot be written: {error.strerror or error}.",
        hint="Give the path of a file in an existing, writable folder.",
    )


def check_output(args: Namespace) -> None:
    """Looks at ``--out`` before anything is done for it. Raises `UsageError`."""
    for flag in ("estimate", "budget"):
        if getattr(args, flag, False) and args.out is not None:
            raise UsageError(f"--{flag} writes no report.", hint="Remove --out.")
    check_target(getattr(args, "out", None))
