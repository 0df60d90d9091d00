"""The store that the settings name."""

from __future__ import annotations

from deep_research.settings import Settings
from deep_research.store.base import Store

DATABASE = "runs.db"


def make_store(settings: Settings) -> Store:
    """A new one, not yet opened: a database in ``data_dir``, or the memory of this process."""
    if settings.store == "memory":
        from deep_research.store.memory import MemoryStore

        return MemoryStore()
    from deep_research.store.sqlite import SQLiteStore

    return SQLiteStore(
        settings.data_dir / DATABASE,
        lease_ttl=settings.lease_ttl,
    )
