"""What is said to a run while its agents work: prompts have it from the next request on, not from the next phase.

An agent is told of its handoff alone, which is made before it begins; whoever composes a prompt asks here for what was
said meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Say = Callable[[], tuple[str, ...]]
_SAID: ContextVar[Say | None] = ContextVar("said_meanwhile", default=None)


@contextmanager
def hearing(say: Say) -> Iterator[None]:
    """Within it `latest` is what ``say`` gives, which is asked each time."""
    token = _SAID.set(say)
    try:
        yield
    finally:
        _SAID.reset(token)


def latest(told: tuple[str, ...]) -> tuple[str, ...]:
    """The advice of a handoff with what was said since, the oldest first."""
    say = _SAID.get()
    return told if say is None else tuple(dict.fromkeys((*told, *say())))
