"""Entries of a user's memory as the log of a run names them: never by their text, which may be forgotten."""

from __future__ import annotations

from deep_research.state.records import Record


class MemoryRef(Record):
    """An entry by its id, its kind and the hash of its text."""

    id: str
    kind: str
    hash: str
    user_id: str | None = None
