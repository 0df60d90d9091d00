"""The memory that is gone with the process. For tests, and where nothing may be kept."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from deep_research.errors import MemoryNotFoundError
from deep_research.forks import renew_in_children
from deep_research.memory.base import Memory, check_one_choice, no_room, storable
from deep_research.memory.entry import MemoryCursor, MemoryEntry, MemoryKind


class VolatileMemory(Memory):
    """``VolatileMemory()``: entries of users in this process."""

    local = True

    def __init__(self) -> None:
        self._entries: dict[str | None, dict[str, MemoryEntry]] = {}
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """In a child process nobody holds the lock."""
        self._lock = threading.Lock()

    def put(self, entries: Sequence[MemoryEntry]) -> None:
        entries = storable(entries)
        if not entries:
            return
        added = {entry.id: entry for entry in entries}
        with self._lock:
            own = {**self._entries.get(entries[0].user_id, {}), **added}
            if (over := len(own) - self.max_entries) > 0:
                episodes = sorted(
                    MemoryCursor.of(entry)
                    for entry in own.values()
                    if entry.kind is MemoryKind.EPISODES and entry.id not in added
                )
                if len(episodes) < over:
                    raise no_room(self.max_entries)
                for place in episodes[:over]:
                    del own[place.entry_id]
            self._entries[entries[0].user_id] = own

    def get(self, user_id: str | None, entry_id: str) -> MemoryEntry:
        with self._lock:
            entry = self._entries.get(user_id, {}).get(entry_id)
        if entry is None:
            raise MemoryNotFoundError.of(entry_id)
        return entry

    def list(
        self,
        user_id: str | None,
        *,
        kinds: Collection[MemoryKind] = tuple(MemoryKind),
        limit: int | None = None,
        after: MemoryCursor | None = None,
    ) -> list[MemoryEntry]:
        listed = sorted(self._of_kinds(user_id, kinds), key=MemoryCursor.of, reverse=True)
        return [entry for entry in listed if after is None or MemoryCursor.of(entry) < after][:limit]

    def forget(
        self,
        user_id: str | None,
        *,
        ids: Collection[str] | None = None,
        kinds: Collection[MemoryKind] | None = None,
        everything: bool = False,
    ) -> int:
        check_one_choice(ids, kinds, everything)
        with self._lock:
            own = self._entries.get(user_id, {})
            removals = [
                entry.id
                for entry in own.values()
                if everything or entry.id in (ids or ()) or entry.kind in (kinds or ())
            ]
            for entry_id in removals:
                del own[entry_id]
            if not own:
                self._entries.pop(user_id, None)
        return len(removals)

    def _of_kinds(self, user_id: str | None, kinds: Collection[MemoryKind]) -> Sequence[MemoryEntry]:
        with self._lock:
            return [entry for entry in self._entries.get(user_id, {}).values() if entry.kind in kinds]
