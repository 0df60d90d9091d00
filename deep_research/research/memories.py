"""The verbs on what is remembered of a user: look at it, add to it, correct it, take it along, have it forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deep_research.errors import MemoryNotFoundError, UnknownNameError, UsageError
from deep_research.memory.entry import (
    GIVEN,
    MAX_TEXT_CHARACTERS,
    MemoryCursor,
    MemoryEntry,
    MemoryKind,
    new_entry_id,
)
from deep_research.research.runs import check_limit
from deep_research.state.records import Record

if TYPE_CHECKING:
    from deep_research.memory import Memory

    Kinds = Sequence[MemoryKind | str] | MemoryKind | str


class MemoryExport(Record):
    """Everything that is remembered of a user, newest first."""

    user_id: str | None = None
    entries: tuple[MemoryEntry, ...] = ()


class Memories:
    """The verbs of `OPERATIONS` that need no more than a ``memory``, which is the caller's to close. Each is about one
    user, ``user_id``; None is a user too. An entry of somebody else is as one that is not there."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def amemory_list(
        self,
        *,
        user_id: str | None = None,
        kinds: Kinds | None = None,
        limit: int | None = None,
        after: MemoryEntry | str | None = None,
    ) -> Sequence[MemoryEntry]:
        """Return the entries of a user, newest first.

        Args:
            kinds: profile, preferences, episodes or sessions; None: all.
            after: An entry of the list, or its id; the page continues after it.
            limit: Most entries.

        Raises `UsageError`, `UnknownNameError`, `MemoryNotFoundError` for an unknown ``after``.
        """
        check_limit(limit)
        user, memory_kinds = checked_user(user_id), _kinds(kinds)
        if isinstance(after, str):
            after = await self.amemory_show(after, user_id=user)
        return await asyncio.to_thread(
            self._memory.list,
            user,
            kinds=tuple(MemoryKind) if memory_kinds is None else memory_kinds,
            limit=limit,
            after=None if after is None else MemoryCursor.of(after),
        )

    async def amemory_show(self, entry_id: str, *, user_id: str | None = None) -> MemoryEntry:
        """Return one entry, with the words from which it was made. Raises `MemoryNotFoundError`."""
        return await asyncio.to_thread(self._memory.get, checked_user(user_id), str(entry_id))

    async def amemory_add(
        self, kind: MemoryKind | str, text: str, *, user_id: str | None = None
    ) -> MemoryEntry:
        """Add a text of at most 2,000 characters to a user's profile or preferences, and return the entry.

        Raises `UsageError`, `UnknownNameError`, `MemoryFullError`.

        Example:
            engine.memory_add("preferences", "Reports in British English, please.", user_id="ann")
        """
        (memory_kind,) = _kinds(kind) or ()
        if memory_kind not in GIVEN:
            raise UsageError(f"Only runs add {memory_kind}.", hint="Use the kind profile or preferences.")
        entry_text = _checked_text(text)
        entry = MemoryEntry(
            id=new_entry_id(),
            user_id=checked_user(user_id),
            kind=memory_kind,
            text=entry_text,
            words=entry_text,
            at=datetime.now(UTC),
        )
        return await self._put(entry)

    async def amemory_edit(self, entry_id: str, text: str, *, user_id: str | None = None) -> MemoryEntry:
        """Replace the text of an entry, and the words from which it was made; no file keeps the old ones. The entry keeps
        its id, kind and time. Raises `MemoryNotFoundError`, `UsageError`.
        """
        entry_text = _checked_text(text)
        entry = await self.amemory_show(entry_id, user_id=user_id)
        return await self._put(entry.model_copy(update={"text": entry_text, "words": entry_text}))

    async def amemory_export(self, *, user_id: str | None = None) -> MemoryExport:
        """Return all entries of a user; ``.model_dump_json()`` writes them."""
        user = checked_user(user_id)
        return MemoryExport(user_id=user, entries=tuple(await self.amemory_list(user_id=user)))

    async def amemory_forget(
        self,
        ids: Sequence[str] | str | None = None,
        *,
        kinds: Kinds | None = None,
        everything: bool = False,
        user_id: str | None = None,
    ) -> int:
        """Delete entries of a user for good, and return their number.

        Name exactly one of ``ids``, ``kinds`` and ``everything``. Unknown ids beside known ones are ignored.

        Raises `UsageError` otherwise, `MemoryNotFoundError` if none of the ids exists, `UnknownNameError` for an
        unknown kind.

        Example:
            engine.memory_forget(kinds="episodes", user_id="ann")
        """
        entry_ids = [ids] if isinstance(ids, str) else None if ids is None else [str(each) for each in ids]
        count = await asyncio.to_thread(
            self._memory.forget,
            checked_user(user_id),
            ids=entry_ids,
            kinds=_kinds(kinds),
            everything=everything,
        )
        if entry_ids and not count:
            raise MemoryNotFoundError.of(entry_ids[0])
        return count

    async def _put(self, entry: MemoryEntry) -> MemoryEntry:
        """The entry as it is kept."""
        await asyncio.to_thread(self._memory.put, [entry])
        return await self.amemory_show(entry.id, user_id=entry.user_id)


def checked_user(user_id: object) -> str | None:
    """Raises `UsageError` for what is no name of a user."""
    if user_id is None or (isinstance(user_id, str) and _is_text(user_id)):
        return user_id
    raise UsageError("user_id must be a text, or None.", hint="Use the same user_id as in runs.")


def _checked_text(text: object) -> str:
    """Raises `UsageError`."""
    if not isinstance(text, str) or not _is_text(text):
        raise UsageError("The text to remember is no valid text.", hint="Give a text.")
    content = text.strip()
    if not content:
        raise UsageError("The text to remember is empty.", hint="Give a text.")
    if len(content) > MAX_TEXT_CHARACTERS:
        raise UsageError(
            f"The text has {len(content):,} characters; an entry has at most {MAX_TEXT_CHARACTERS:,}.",
            hint="Shorten it, or split it into several entries.",
        )
    return content


def _is_text(text: str) -> bool:
    """Whether it has no half characters."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _kinds(kinds: Kinds | None) -> tuple[MemoryKind, ...] | None:
    """Raises `UnknownNameError`."""
    if kinds is None:
        return None
    for name in (names := [kinds] if isinstance(kinds, str) else list(kinds)):
        if name not in list(MemoryKind):
            raise UnknownNameError.of("kind of memory", str(name), map(str, MemoryKind))
    return tuple(map(MemoryKind, names))
