"""Bench of the memory suite: memories over one place, and entries for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from deep_research.memory import Memory, MemoryEntry, MemoryKind

START = datetime(2026, 1, 1, tzinfo=UTC)
USER = "ann"


class MemoryBench:
    """``MemoryBench(make)``: ``make()`` gives a memory; called again, another one over the same place."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._memories: list[Memory] = []
        self.memory = self.another()

    def __enter__(self) -> MemoryBench:
        return self

    def __exit__(self, *_: object) -> None:
        for memory in self._memories:
            memory.close()

    def another(self) -> Memory:
        self._memories.append(self._make())
        return self._memories[-1]

    def entry(
        self,
        number: int = 1,
        text: str = "Likes short reports.",
        *,
        user: str | None = USER,
        kind: MemoryKind = MemoryKind.PREFERENCES,
        words: str = "",
        run_id: str | None = None,
    ) -> MemoryEntry:
        """An entry ``mem-NUMBER``, so many minutes after `START`."""
        return MemoryEntry(
            id=f"mem-{number}",
            user_id=user,
            kind=kind,
            text=text,
            words=words,
            run_id=run_id,
            at=START + timedelta(minutes=number),
        )

    def put(self, *entries: MemoryEntry) -> None:
        self.memory.put(entries)

    def ids(self, user: str | None = USER) -> list[str]:
        return [entry.id for entry in self.memory.list(user)]
