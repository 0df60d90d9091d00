"""The contract of a memory: short texts that are remembered of users, each user apart from all others.

A memory is called from any thread and blocks. Every implementation passes `deep_research.testing.memory_suite`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from deep_research.errors import MemoryFullError, UsageError
from deep_research.logs import masked
from deep_research.memory.entry import REMEMBERED, MemoryCursor, MemoryEntry, MemoryKind

MAX_ENTRIES_OF_USER = 10_000


class Memory(ABC):
    """What is remembered of users. Subclass it to keep entries elsewhere (docs/memory.md).

    Each call concerns one user: it never reads, changes, counts or forgets an entry of another. ``user_id`` None is a
    user of its own. Names are compared letter by letter. Methods raise `StoreError`s and the errors that they name.

    Attributes:
        local: Nothing leaves this machine. ``local_only`` refuses a memory that is not local.
        max_entries: Most entries of one user.

    Example:
        DeepResearch(memory=VolatileMemory())
    """

    local: bool = False
    max_entries: int = MAX_ENTRIES_OF_USER

    def open(self) -> None:
        """Make sure that the memory can be used; done by itself at first use. Blocking."""
        return

    @abstractmethod
    def put(self, entries: Sequence[MemoryEntry]) -> None:
        """Remember entries of one user, all or none of them. One that has the id of an older one takes its place, so that
        the same call twice is as once. Pass them through `storable` first.

        Where the user has no room for all, the oldest episodes that are not among them are forgotten. Raises
        `MemoryFullError` where that is not enough, and `UsageError` for entries of several users.
        """

    @abstractmethod
    def get(self, user_id: str | None, entry_id: str) -> MemoryEntry:
        """Raises `MemoryNotFoundError`, also for the entry of another user."""

    def search(
        self,
        user_id: str | None,
        text: str,
        *,
        kinds: Collection[MemoryKind] = REMEMBERED,
        limit: int = 10,
    ) -> Sequence[MemoryEntry]:
        """The entries of these kinds that speak of what the text does, the nearest first, ``limit`` at most. Override it
        where the memory has an index of its own; this one compares the words of all entries."""
        from deep_research.memory.relevance import nearest  # here: it loads what works on texts

        return nearest(self.list(user_id, kinds=kinds), text, limit)

    @abstractmethod
    def list(
        self,
        user_id: str | None,
        *,
        kinds: Collection[MemoryKind] = tuple(MemoryKind),
        limit: int | None = None,
        after: MemoryCursor | None = None,
    ) -> list[MemoryEntry]:
        """The entries of these kinds by time and then by id, the last one first; those below ``after``, and of them the
        first ``limit``: fewer only where there are no more."""

    @abstractmethod
    def forget(
        self,
        user_id: str | None,
        *,
        ids: Collection[str] | None = None,
        kinds: Collection[MemoryKind] | None = None,
        everything: bool = False,
    ) -> int:
        """Forget the entries with these ids, or of these kinds, or everything of the user, and say how many they were.
        Nothing of their texts and words is left once it returns. Raises `UsageError` unless exactly one is named."""

    def close(self) -> None:
        """Let go of everything. A later call opens the memory again."""
        return


def storable(entries: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
    """What a memory keeps of entries: registered secrets are masked. Raises `UsageError` for entries of several users."""
    if len({entry.user_id for entry in entries}) > 1:
        raise UsageError(
            "A call of put has entries of several users.",
            hint="Call it once for each user, with the user's entries.",
        )
    return [
        entry.model_copy(update={"text": masked(entry.text), "words": masked(entry.words)})
        for entry in entries
    ]


def check_one_choice(
    ids: Collection[str] | None, kinds: Collection[MemoryKind] | None, everything: bool
) -> None:
    """Raises `UsageError` unless `Memory.forget` is told exactly once what to forget."""
    if (ids is not None) + (kinds is not None) + bool(everything) != 1:
        raise UsageError(
            "forget needs ids, kinds or everything.", hint="Pass exactly one of ids, kinds and everything."
        )


def no_room(limit: int) -> MemoryFullError:
    return MemoryFullError(
        f"This user's memory is full: it holds {limit:,} entries, and no more episodes that could go.",
        hint="Delete outdated entries: `deep-research memory forget ID`, or `--kind NAME`.",
        limit=limit,
    )
