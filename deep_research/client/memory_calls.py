"""The verbs on what is remembered of a user, over HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from deep_research.errors import MemoryNotFoundError
from deep_research.memory.entry import ENTRY_ID, MemoryEntry, MemoryKind
from deep_research.research.memories import MemoryExport
from deep_research.research.runs import check_limit

if TYPE_CHECKING:
    from deep_research.research.memories import Kinds

_Model = TypeVar("_Model", bound=BaseModel)


class MemoryCalls(ABC):
    """What a client does with the memory of the token's user. On a server without tokens ``user_id`` says whose it is."""

    @abstractmethod
    async def _call(
        self,
        verb: str,
        research_id: str | None = None,
        *,
        content: Any = None,
        params: Mapping[str, Any] | None = None,
        parts: Mapping[str, str] | None = None,
    ) -> Any: ...

    @abstractmethod
    async def _pages(self, verb: str, params: dict[str, Any], limit: int | None = None) -> Sequence[Any]: ...

    @staticmethod
    @abstractmethod
    def _model(kind: type[_Model], body: Any) -> _Model: ...

    async def memory_list(
        self,
        *,
        user_id: str | None = None,
        kinds: Kinds | None = None,
        limit: int | None = None,
        after: MemoryEntry | str | None = None,
    ) -> Sequence[MemoryEntry]:
        """What is remembered, newest first: see `DeepResearch.memory_list`."""
        check_limit(limit)
        params = {
            "user_id": user_id,
            "kinds": _names(kinds),
            "after": after.id if isinstance(after, MemoryEntry) else after,
        }
        if kinds is not None and not params["kinds"]:
            return []
        items = await self._pages("memory_list", _without_none(params), limit)
        return [self._model(MemoryEntry, item) for item in items]

    async def memory_show(self, entry_id: str, *, user_id: str | None = None) -> MemoryEntry:
        """One entry."""
        params, parts = _without_none({"user_id": user_id}), _parts(entry_id)
        return self._model(MemoryEntry, await self._call("memory_show", params=params, parts=parts))

    async def memory_add(
        self, kind: MemoryKind | str, text: str, *, user_id: str | None = None
    ) -> MemoryEntry:
        """Have a text remembered as part of the profile or the preferences."""
        content = {"kind": kind, "text": text, "user_id": user_id}
        return self._model(MemoryEntry, await self._call("memory_add", content=content))

    async def memory_edit(self, entry_id: str, text: str, *, user_id: str | None = None) -> MemoryEntry:
        """Put a text in the place of that of an entry."""
        content, parts = {"text": text, "user_id": user_id}, _parts(entry_id)
        return self._model(MemoryEntry, await self._call("memory_edit", content=content, parts=parts))

    async def memory_export(self, *, user_id: str | None = None) -> MemoryExport:
        """Everything that is remembered."""
        body = await self._call("memory_export", params=_without_none({"user_id": user_id}))
        return self._model(MemoryExport, body)

    async def memory_forget(
        self,
        ids: Sequence[str] | str | None = None,
        *,
        kinds: Kinds | None = None,
        everything: bool = False,
        user_id: str | None = None,
    ) -> int:
        """Delete entries for good, and return their number. Raises `MemoryNotFoundError` if none of the ids exists."""
        entry_ids = [ids] if isinstance(ids, str) else None if ids is None else [str(each) for each in ids]
        content: dict[str, Any] = {"ids": entry_ids, "kinds": _names(kinds), "user_id": user_id}
        if everything:
            content["everything"] = True
        body = await self._call("memory_forget", content=content)
        return self._model(_Forgotten, body).forgotten


class _Forgotten(BaseModel):
    forgotten: int


def _without_none(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _names(kinds: Kinds | None) -> list[str] | None:
    if kinds is None:
        return None
    return [str(kinds)] if isinstance(kinds, str) else [str(kind) for kind in kinds]


def _parts(entry_id: object) -> dict[str, str]:
    """The part of a path that names an entry. Raises `MemoryNotFoundError` for what no entry has as its id."""
    if isinstance(entry_id, str) and ENTRY_ID.match(entry_id):
        return {"entry_id": entry_id}
    raise MemoryNotFoundError.of(str(entry_id))
