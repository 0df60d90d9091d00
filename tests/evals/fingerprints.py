"""What an outcome depends on besides the data: the code and the settings."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import deep_research
from deep_research.settings import Settings
from deep_research.state.identity import sha256_hex

_PACKAGE = Path(deep_research.__file__).resolve().parent
# Settings that say where things are kept and what is told, not what is found. The corpus and the provider are
# those of the evaluation.
_WHEREABOUTS = frozenset({"corpus", "data_dir", "log_format", "log_level", "search", "store"})


@cache
def source_hash(*rooms: str) -> str:
    """sha256 (hex) of the Python files of the engine and of the evaluations, or of those of some rooms of the engine, and
    of the Python version."""
    folders = [_PACKAGE / room for room in rooms] or [_PACKAGE, Path(__file__).resolve().parent]
    files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    parts = [
        f"{folder.name}/{path.relative_to(folder).as_posix()} {sha256_hex(path.read_bytes())}"
        for folder, path in files
    ]
    return sha256_hex("\n".join([platform.python_version(), *parts]).encode())


def settings_hash(settings: Settings) -> str:
    """sha256 (hex) of the settings that bear on what is found."""
    return sha256_hex(settings.model_dump_json(exclude=set(_WHEREABOUTS)).encode())
