"""An advisory lock on a file, held between processes.

SQLite before 3.51.3 can damage a WAL database when two connections write or checkpoint at the same instant;
there every write holds this lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deep_research.errors import StoreLockedError

if os.name == "nt":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def _try_lock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _try_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class FileLock:
    """One lock file, kept open. Not for use by two threads at once."""

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self._path = path
        self._timeout = timeout
        self._fd: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises `StoreLockedError` when it cannot be had within the timeout (seconds)."""
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._acquire(self._fd)
        try:
            yield
        finally:
            _unlock(self._fd)

    def _acquire(self, fd: int) -> None:
        deadline = time.monotonic() + self._timeout
        pause = 0.0002
        while True:
            try:
                return _try_lock(fd)
            except OSError:
                if time.monotonic() > deadline:
                    raise StoreLockedError(
                        f"The database is locked by another process ({self._path.name}).",
                        hint="End that process, or try again later.",
                    ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
