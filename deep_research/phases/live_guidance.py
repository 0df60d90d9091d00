"""Guidance that reaches a run while its agents work: prompts have it from the next request on, not from the next phase.

An agent has its handoff alone, which is made before it begins; who composes a prompt asks here for what came since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Read = Callable[[], tuple[str, ...]]
_READ: ContextVar[Read | None] = ContextVar("live_guidance", default=None)


@contextmanager
def guidance_scope(read: Read) -> Iterator[None]:
    """Within it `live_guidance` has the guidance that ``read`` returns at that time."""
    token = _READ.set(read)
    try:
        yield
    finally:
        _READ.reset(token)


def live_guidance(known: tuple[str, ...]) -> tuple[str, ...]:
    """The guidance of a handoff and what came since, the oldest first."""
    read = _READ.get()
    return known if read is None else tuple(dict.fromkeys((*known, *read())))
