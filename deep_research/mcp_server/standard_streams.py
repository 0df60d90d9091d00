"""Stdin and stdout of a process whose protocol runs over them: nothing else reads the one or writes on the other."""

from __future__ import annotations

import fcntl
import os
import sys
from dataclasses import dataclass

from deep_research.errors import UsageError

_MIN_FREE_DESCRIPTOR = 3  # the lowest file descriptor that is no standard stream


@dataclass(frozen=True, slots=True)
class Wire:
    """File descriptors of the process's first stdin and stdout, which its children do not inherit."""

    input: int
    output: int


def claim_standard_streams() -> Wire:
    """Take stdin and stdout for the protocol, for the rest of the process.

    From then on file descriptor 0 is empty and 1 leads to stderr, so what an imported module, an extension in C or a
    child process prints does not reach the client. Call it before anything is imported that may print. Raises
    `UsageError` in a process without stdin or stdout.
    """
    try:
        wire = Wire(*(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _MIN_FREE_DESCRIPTOR) for number in (0, 1)))
    except OSError:
        raise UsageError(
            "stdin or stdout is closed, so no client can talk to this command.",
            hint="Add this command to the settings of an MCP client; the client starts it.",
        ) from None
    if sys.stdout is not None:
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nowhere, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(nowhere, 1)
    finally:
        if nowhere >= _MIN_FREE_DESCRIPTOR:
            os.close(nowhere)
    return wire
