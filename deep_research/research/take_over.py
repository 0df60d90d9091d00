"""Taking a run over from a process that lives: it is asked to let go, waited for, and passed over when it does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from deep_research.errors import RunBusyError
from deep_research.state import ControlKind
from deep_research.store import Control, RunJournal, Store
from deep_research.store.base import busy

LEASES = 2  # lease times for which an owner is waited for
LOOK = 0.1  # seconds between looks at who owns a run


async def asked_to_let_go(store: Store, run_id: str) -> int | None:
    """Leaves a `release` row for the owner of a run and waits until he has let go, at most two lease times. Gives the
    fence that may be passed over then; None where nobody owns it. Raises `RunBusyError` where another process was
    faster, `RunStateError` for a run that completed meanwhile."""
    row = await asyncio.to_thread(store.run, run_id)
    if not row.owned(time.time()):
        return None
    await asyncio.to_thread(store.post, run_id, ControlKind.RELEASE.value)
    fence, loop = row.fence, asyncio.get_running_loop()
    until = loop.time() + LEASES * store.lease
    while row.owned(time.time()):
        if row.fence != fence:
            raise _faster(busy(row))
        left = until - loop.time()
        if left <= 0:
            return fence
        await asyncio.sleep(min(LOOK, left))
        row = await asyncio.to_thread(store.run, run_id)
    return None


def let_go(left: Sequence[Control], journal: RunJournal) -> None:
    """The rows that asked the last owner to let go are used up with the event of the one who goes on: also those of a
    process that died between asking and taking."""
    for wish in left:
        if wish.kind == ControlKind.RELEASE:
            journal.consume(wish.id)


def _faster(error: RunBusyError) -> RunBusyError:
    return RunBusyError(error.problem, hint="It took the run over first.", **error.data)
