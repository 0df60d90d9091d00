"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(target: Path) -> Iterator[BinaryIO]:
    """A file beside the target, which takes its place when all is written, and is gone when that fails. Raises
    `OSError`."""
    fresh = beside(target)
    try:
        with fresh.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            fresh.chmod(target.stat().st_mode & 0o777)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def beside(target: Path) -> Path:
    """A name in the same folder that no file has."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
