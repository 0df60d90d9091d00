"""Care around a fork, which copies memory but neither threads nor file locks.

SQLite keeps its file locks per process and remembers them in memory: a child's connections would believe in locks that
it does not hold, and the parent, closing, would remove the write-ahead log under them. So every holder of connections
lets go of them before the fork and opens them again when they are next needed, on both sides. And what other threads
held in the parent nobody will ever give back in the child.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

_holders: weakref.WeakSet[Holder] = weakref.WeakSet()
_shared: weakref.WeakSet[Shared] = weakref.WeakSet()
_forking: list[Holder] = []


class Holder(Protocol):
    """Something with open connections. Both methods are called by the thread that forks."""

    def before_fork(self) -> None: ...

    def after_fork(self, *, in_child: bool) -> None: ...


class Shared(Protocol):
    """Something with locks and places that threads of the parent may hold."""

    def renew(self) -> None:
        """In a child process nobody is inside."""


def guard(holder: Holder) -> None:
    """From now on, tell the holder of forks, for as long as it lives."""
    _holders.add(holder)


def renew_in_children(shared: Shared) -> None:
    """From now on, renew it in each child process, for as long as it lives."""
    _shared.add(shared)


def _before() -> None:
    for holder in list(_holders):
        _forking.append(holder)
        holder.before_fork()


def _after(*, in_child: bool) -> None:
    while _forking:
        _forking.pop().after_fork(in_child=in_child)
    if in_child:
        for shared in list(_shared):
            shared.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(in_child=False),
        after_in_child=lambda: _after(in_child=True),
    )
