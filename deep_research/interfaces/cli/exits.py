"""Exit codes: one table."""

from __future__ import annotations

from enum import IntEnum

from deep_research.errors import ConfigurationError, DeepResearchError, UsageError


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
    Exit.COMPLETED: "completed; or the question about a run was answered",
    Exit.FAILED: "aborted (config, error), or the database, the output or the program failed; or `verify` found damage",
    Exit.WRONG_USE: "wrong use: arguments, settings, corpus, run id; nothing was started",
    Exit.STOPPED: "aborted (cancelled, timeout, budget, no_evidence)",
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
}


def of_run(status: str, reason: str | None) -> Exit:
    """For a run that was carried out: by its reason if it has one, else by its status."""
    return _BY_OUTCOME.get(reason or status, Exit.FAILED)


def of_error(error: DeepResearchError) -> Exit:
    return Exit.WRONG_USE if isinstance(error, UsageError | ConfigurationError) else Exit.FAILED
