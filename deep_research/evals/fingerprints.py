"""What an outcome depends on besides the data: the code and the settings."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

from deep_research.settings import Settings
from deep_research.state.identity import sha256_hex

_PACKAGE = Path(__file__).resolve().parents[1]
# Settings that say where things are kept and what is told, not what is found. The corpus and the provider are
# those of the evaluation.
_WHEREABOUTS = frozenset({"corpus", "data_dir", "log_format", "log_level", "search", "store"})


@cache
def source_hash(*rooms: str) -> str:
    """sha256 (hex) of the package's Python files, or of those of some of its folders, and of the Python version."""
    folders = [_PACKAGE / room for room in rooms] or [_PACKAGE]
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    parts = [f"{path.relative_to(_PACKAGE).as_posix()} {sha256_hex(path.read_bytes())}" for path in files]
    return sha256_hex("\n".join([platform.python_version(), *parts]).encode())


def settings_hash(settings: Settings) -> str:
    """sha256 (hex) of the settings that bear on what is found."""
    return sha256_hex(settings.model_dump_json(exclude=set(_WHEREABOUTS)).encode())
