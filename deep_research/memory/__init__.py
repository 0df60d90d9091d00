"""Memory of users between runs: the contract, and two memories. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.memory.base import Memory
    from deep_research.memory.entry import MemoryCursor, MemoryEntry, MemoryKind
    from deep_research.memory.sqlite_memory import SQLiteMemory
    from deep_research.memory.volatile_memory import VolatileMemory

__all__ = ["Memory", "MemoryCursor", "MemoryEntry", "MemoryKind", "SQLiteMemory", "VolatileMemory"]

_HOMES = {
    "Memory": "base",
    "MemoryCursor": "entry",
    "MemoryEntry": "entry",
    "MemoryKind": "entry",
    "SQLiteMemory": "sqlite_memory",
    "VolatileMemory": "volatile_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
