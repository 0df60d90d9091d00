"""Stores of runs: logs, saved texts, ownership. The store alone writes. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.store.base import (
        Command,
        Lane,
        NewRun,
        RunRow,
        SavedPage,
        Store,
        StoredEvent,
        Watch,
        refused_error,
    )
    from deep_research.store.feed import Feed, Watcher
    from deep_research.store.listing import RunCursor, RunFilter
    from deep_research.store.memory import MemoryStore
    from deep_research.store.owner import Owner
    from deep_research.store.sqlite import SQLiteStore
    from deep_research.store.store_journal import LoopOutbox, RunJournal

__all__ = [
    "Command",
    "Feed",
    "Lane",
    "LoopOutbox",
    "MemoryStore",
    "NewRun",
    "Owner",
    "RunCursor",
    "RunFilter",
    "RunJournal",
    "RunRow",
    "SQLiteStore",
    "SavedPage",
    "Store",
    "StoredEvent",
    "Watch",
    "Watcher",
    "refused_error",
]

_NAMES = {
    "base": "Command Lane NewRun RunRow SavedPage Store StoredEvent Watch refused_error",
    "feed": "Feed Watcher",
    "listing": "RunCursor RunFilter",
    "memory": "MemoryStore",
    "owner": "Owner",
    "sqlite": "SQLiteStore",
    "store_journal": "LoopOutbox RunJournal",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
