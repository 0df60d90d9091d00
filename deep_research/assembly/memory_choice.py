"""The memory of an engine."""

from __future__ import annotations

from deep_research.memory import Memory
from deep_research.memory.memory_registry import checked_memory, make_memory
from deep_research.settings import Settings


def chosen_memory(memory: Memory | None, settings: Settings) -> Memory:
    """The memory that was handed over, else a new one of the name in the settings. Raises `UnknownNameError`,
    `ConfigurationError`."""
    if memory is not None:
        return checked_memory(memory, local_only=settings.local_only)
    return make_memory(settings.memory, settings.data_dir, local_only=settings.local_only)
