"""Memories by name. Packages join through the entry-point group ``deep_research.memories``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from deep_research.errors import ConfigurationError, DeepResearchError, UnknownNameError
from deep_research.memory.base import Memory

GROUP = "deep_research.memories"
DATABASE = "memory.sqlite3"


def _sqlite(data_dir: Path) -> Memory:
    from deep_research.memory.sqlite_memory import SQLiteMemory

    return SQLiteMemory(data_dir / DATABASE)


def _volatile(_: Path) -> Memory:
    from deep_research.memory.volatile_memory import VolatileMemory

    return VolatileMemory()


MEMORIES: dict[str, Callable[[Path], Memory]] = {"sqlite": _sqlite, "volatile": _volatile}


def make_memory(name: str, data_dir: Path, *, local_only: bool = False) -> Memory:
    """A new memory of that name, not yet opened. Those of packages are called with the data folder, as
    ``MyMemory(data_dir)``. Raises `UnknownNameError`, and `ConfigurationError` for one that cannot be made or, where
    ``local_only`` is set, is not on this machine."""
    memory = MEMORIES[name](data_dir) if name in MEMORIES else _of_package(name, data_dir)
    return checked_memory(memory, local_only=local_only)


def checked_memory(memory: Memory, *, local_only: bool = False) -> Memory:
    """Raises `ConfigurationError` for what is no memory, and as `make_memory`."""
    if not isinstance(memory, Memory):
        raise ConfigurationError(
            f"{type(memory).__name__} is not a Memory.", hint="Subclass deep_research.memory.Memory."
        )
    if local_only and not memory.local:
        raise ConfigurationError(
            f"local_only is set, and {type(memory).__name__} does not declare local = True.",
            hint="Choose memory='sqlite' or 'volatile', or remove local_only.",
        )
    return memory


def _of_package(name: str, data_dir: Path) -> Memory:
    modules = {point.name: point.value for point in entry_points(group=GROUP)}
    if name not in modules:
        raise UnknownNameError.of("memory", name, [*MEMORIES, *modules])
    module, _, attribute = modules[name].partition(":")
    try:
        memory: Memory = getattr(import_module(module), attribute)(data_dir)
    except DeepResearchError:
        raise
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"The memory '{name}' cannot be loaded: {error}.",
            hint="Reinstall its package.",
            name=name,
        ) from error
    return memory
