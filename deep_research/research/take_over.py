"""Takes a run over from a live process: asks it to release the run, waits, and passes it over when it does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from deep_research.errors import RunBusyError
from deep_research.state import CommandKind
from deep_research.store import Command, RunJournal, Store
from deep_research.store.base import busy

MAX_LEASES = 2  # lease times for which an owner is waited for
POLL_SECONDS = 0.1  # seconds between looks at who owns a run


async def request_release(store: Store, run_id: str) -> int | None:
    """Queue a `release` command for the owner of a run and wait until it is released, at most two lease times. Gives the
    fence that may be passed over then; None where nobody owns the run. Raises `RunBusyError` where another process was
    faster, `RunStateError` for a run that completed meanwhile."""
    row = await asyncio.to_thread(store.run, run_id)
    if not row.owned(time.time()):
        return None
    await asyncio.to_thread(store.enqueue_command, run_id, CommandKind.RELEASE.value)
    fence, loop = row.fence, asyncio.get_running_loop()
    until = loop.time() + MAX_LEASES * store.lease
    while row.owned(time.time()):
        if row.fence != fence:
            raise _faster(busy(row))
        left = until - loop.time()
        if left <= 0:
            return fence
        await asyncio.sleep(min(POLL_SECONDS, left))
        row = await asyncio.to_thread(store.run, run_id)
    return None


def consume_stops(commands: Sequence[Command], journal: RunJournal, *, by_worker: bool) -> None:
    """Use up the commands that a resumption answers, with its event: `release`, also of a process that died between
    asking and taking; and `pause`, which a worker that claims the run obeys."""
    for command in commands:
        if command.kind == CommandKind.RELEASE or (command.kind == CommandKind.PAUSE and not by_worker):
            journal.consume(command.id)


def _faster(error: RunBusyError) -> RunBusyError:
    return RunBusyError(error.problem, hint="That process took the run over first.", **error.data)
