"""Files that are written whole or not at all, and read within a bound."""

from __future__ import annotations

import errno
import os
import secrets
import stat
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


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file, or of what a link to one leads to. Raises `OSError`, also for what is no regular
    file or has more than ``most`` bytes: a device may never end, and a pipe never begin."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    with open(handle, "rb") as file:
        body = file.read(most + 1)
    if len(body) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes")
    return body


def beside(target: Path) -> Path:
    """A name in the same folder that no file has."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
