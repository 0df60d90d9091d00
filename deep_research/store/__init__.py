"""Where runs live: logs, saved texts, ownership. The store alone writes."""

from deep_research.store.base import (
    Command,
    Lane,
    NewRun,
    Owner,
    RunRow,
    SavedPage,
    Store,
    StoredEvent,
    Watch,
    refused,
)
from deep_research.store.feed import Feed, Watcher
from deep_research.store.listing import RunCursor, RunFilter
from deep_research.store.memory import MemoryStore
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
    "refused",
]
