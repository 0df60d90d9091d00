"""An advisory lock on a file, held between processes.

SQLite before 3.51.3 can damage a WAL database when two connections write or checkpoint at the same instant;
there every write holds this lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deep_research.errors import StoreLockedError


def lock_within(fd: int, seconds: float) -> bool:
    """Lock an open file against all others that do so; False when others hold it for all that time."""
    deadline = time.monotonic() + seconds
    pause = 0.0002
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
        else:
            return True
        time.sleep(pause)
        pause = min(pause * 1.5, 0.005)


class FileLock:
    """One lock file, kept open. Not for use by two threads at once."""

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self._path = path
        self._timeout = timeout
        self._fd: int | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Raises `StoreLockedError` when it cannot be had within the timeout (seconds)."""
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not lock_within(self._fd, self._timeout):
            raise StoreLockedError(
                f"The database is locked by another process ({self._path.name}).",
                hint="End that process, or try again later.",
            )
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
