"""A loop that notes for how long each of its steps keeps it, in computing time of its own thread: what other threads,
other processes and a busy machine take is none of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from time import process_time, thread_time
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")


@dataclass
class Spent:
    """``cpu`` are the seconds of computing of the whole process, ``held`` those of the longest step, of which ``step``
    names the callback."""

    cpu: float = 0.0
    held: float = 0.0
    step: str = ""


def spent(work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, Spent]:
    """What the work gives, and what it spends. No search for rings of objects is counted."""
    seen = Spent()
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = thread_time()
        run(handle)
        took = thread_time() - began
        if took > seen.held:
            seen.held, seen.step = took, repr(handle)[:300]

    gc.collect()
    gc.disable()
    began = process_time()
    try:
        with mock.patch.object(asyncio.Handle, "_run", timed), asyncio.Runner() as runner:
            made = runner.run(work())
    finally:
        gc.enable()
    seen.cpu = process_time() - began
    return made, seen
