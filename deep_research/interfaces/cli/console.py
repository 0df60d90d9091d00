"""The two streams of a command, what was asked for on stdout and everything else on stderr; and its exit codes.

A reader that went away (``| head``) is no error: the stream falls silent, and the work ends as it would have.
"""

from __future__ import annotations

import json
import os
import sys
from enum import IntEnum
from typing import TextIO

from deep_research.errors import ConfigurationError, DeepResearchError, UsageError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.options import PROGRAM
from deep_research.presentation import phrases


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
        return text.size(sys.stdout).columns if sys.stdout is not None else text.COLUMNS


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


def of_run(status: str, reason: str | None) -> Exit:
    """For a run that was carried out: by its reason if it has one, else by its status."""
    return _BY_OUTCOME.get(reason or status, Exit.FAILED)


def of_error(error: DeepResearchError) -> Exit:
    return Exit.WRONG_USE if isinstance(error, UsageError | ConfigurationError) else Exit.FAILED
