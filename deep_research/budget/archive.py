"""Archive of texts left out of prompts: one file a text, named by its SHA-256, deleted after a while.

The folder is its owner's alone. A file is whole or not there, a symbolic link in the folder is never followed, and
files of other names are never touched. Processes that share a folder agree by a lock on it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from deep_research.errors import (
    ContentMissingError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    UsageError,
)
from deep_research.locks import lock_within
from deep_research.patterns import regex
from deep_research.state.identity import sha256_hex
from deep_research.state.records import Record

MAX_FILE_BYTES = 64_000_000  # six times the text of the largest source, as JSON
MAX_NAMES = 100_000  # of the folder that are looked at in one go
MAX_REMOVALS = 1_000  # by one cleaning: the next takes more
LOCK_SECONDS = 10.0

_HASH = regex(r"sha256:([0-9a-f]{64})")
_FILE = regex(r"([0-9a-f]{64})\.json")
_PART = regex(r"\.[0-9a-f]{64}\.[0-9a-f]{16}\.tmp")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not block the open
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ArchiveRecord(Record):
    """One text that was left out. ``content_hash`` is ``sha256:`` and the hex digest of its UTF-8 bytes;
    ``archive_reason`` says why, such as dropped."""

    content_hash: str
    content: str
    item_id: str
    item_type: str
    archived_at: datetime
    archive_reason: str
    original_tokens: int = Field(ge=0)
    metadata: dict[str, str] = Field(default_factory=dict)


class ArchiveEntry(Record):
    """What a look at the folder tells of a record: ``size`` is that of its file in bytes."""

    content_hash: str
    archived_at: datetime
    size: int


class Archive:
    """Records in ``folder``, which is made when the first is saved. ``clock`` gives the time with its zone.

    All methods raise `StoreReadOnlyError` for a folder that cannot be used, and `StoreLockedError` when other processes
    hold it for too long.
    """

    def __init__(self, folder: Path, ttl_hours: float, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._ttl = timedelta(hours=ttl_hours)
        self._clock = clock

    def save(
        self,
        content: str,
        *,
        item_id: str,
        item_type: str,
        reason: str,
        original_tokens: int,
        metadata: Mapping[str, str] | None = None,
    ) -> ArchiveRecord:
        """Keeps a text from now on; the record of an equal text is replaced. Raises `StoreFullError`, and `UsageError`
        for what cannot be written as UTF-8."""
        try:
            digest = sha256_hex(content.encode())
            record = ArchiveRecord(
                content_hash=f"sha256:{digest}",
                content=content,
                item_id=item_id,
                item_type=item_type,
                archived_at=self._clock(),
                archive_reason=reason,
                original_tokens=original_tokens,
                metadata=dict(metadata or {}),
            )
            body = record.model_dump_json(indent=2).encode()
        except ValueError as error:
            raise UsageError(f"This cannot be archived: {type(error).__name__}.") from None
        with self._refusing(), self._opened(create=True) as folder, _locked(folder):
            _put(folder, digest, body, record.archived_at.timestamp())
        return record

    def get(self, content_hash: str) -> ArchiveRecord:
        """The record of a hash. Raises `ContentMissingError` when there is none, and `StoreDamagedError` when its file
        is not what was saved."""
        named = _HASH.fullmatch(content_hash)
        if named is None:
            raise _missing(content_hash)
        digest = named[1]
        try:
            with self._refusing(but_missing=True), self._opened() as folder:
                body = _read(folder, digest)
        except FileNotFoundError:
            raise _missing(content_hash) from None
        try:
            record = ArchiveRecord.model_validate_json(body)
        except ValidationError:
            raise _damaged(digest, "no record can be read from it") from None
        if record.content_hash != content_hash or sha256_hex(record.content.encode()) != digest:
            raise _damaged(digest, "its text is not the one it is named by")
        return record

    def list(self) -> list[ArchiveEntry]:
        """What is in the folder, oldest first. Files are not opened; see `get` for what is in them."""
        try:
            with self._refusing(but_missing=True), self._opened() as folder:
                found = [file for file in _files(folder) if file.digest]
        except FileNotFoundError:
            return []
        zone = self._clock().tzinfo
        entries = [
            ArchiveEntry(
                content_hash=f"sha256:{file.digest}",
                archived_at=datetime.fromtimestamp(file.changed, zone),
                size=file.size,
            )
            for file in found
        ]
        return sorted(entries, key=lambda entry: (entry.archived_at, entry.content_hash))

    def clean(self) -> int:
        """Removes the records that are older than the archive keeps them, and what an interrupted save left; at most
        `MAX_REMOVALS` of them, oldest first. Returns how many."""
        try:
            with self._refusing(but_missing=True), self._opened() as folder, _locked(folder):
                return self._remove(folder)
        except FileNotFoundError:
            return 0

    def _remove(self, folder: int) -> int:
        now = self._clock().timestamp()
        expired = [
            (file.changed, file.name)
            for file in _files(folder)
            if not file.digest or now - file.changed >= self._ttl.total_seconds()
        ]
        removed = 0
        for _, name in sorted(expired)[:MAX_REMOVALS]:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
                removed += 1
        return removed

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[int]:
        """The folder, open; where something is put into it, its owner's alone: a look at another one, named by mistake,
        must not change it. Raises `OSError`."""
        if create:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self._folder, _FOLDER_FLAGS)
        try:
            if create and stat.S_IMODE(os.fstat(folder).st_mode) != 0o700:
                os.fchmod(folder, 0o700)
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _refusing(self, *, but_missing: bool = False) -> Iterator[None]:
        """Tells in our words what the system refuses; a missing file or folder may be left to the caller."""
        try:
            yield
        except OSError as error:
            if but_missing and isinstance(error, FileNotFoundError):
                raise
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise (StoreFullError if full else StoreReadOnlyError)(
                f"The archive {self._folder} cannot be used: {error.strerror or error}.",
                hint="Free some space, or set content_archive.dir to another folder."
                if full
                else "Set content_archive.dir to your own writable folder, not a symbolic link.",
                folder=str(self._folder),
            ) from None


class _Found(NamedTuple):
    """A file of ours. ``digest`` is "" for one that is still being written, or was left so."""

    digest: str
    name: str
    changed: float
    size: int


def _files(folder: int) -> Iterator[_Found]:
    """The regular files with names of ours; links, folders and the files of others are passed over."""
    with os.scandir(folder) as entries:
        for entry in islice(entries, MAX_NAMES):
            named = _FILE.fullmatch(entry.name)
            if named is None and not _PART.fullmatch(entry.name):
                continue
            with suppress(FileNotFoundError):
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(info.st_mode):
                    yield _Found(named[1] if named else "", entry.name, info.st_mtime, info.st_size)


def _read(folder: int, digest: str) -> bytes:
    """What the file of a digest holds. Raises `OSError`, and `StoreDamagedError` for what is no file of ours."""
    try:
        handle = os.open(f"{digest}.json", _READ_FLAGS, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _damaged(digest, "it is a link or a socket") from None
        raise
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE_BYTES:
        os.close(handle)
        raise _damaged(digest, "it is no file, or too large")
    with open(handle, "rb") as file:
        return file.read(MAX_FILE_BYTES)


def _put(folder: int, digest: str, body: bytes, at: float) -> None:
    """Writes a record aside and then gives it its name. Raises `OSError`."""
    part = f".{digest}.{secrets.token_hex(8)}.tmp"
    handle = os.open(part, _WRITE_FLAGS, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, 0o600)
            file.write(body)
            file.flush()
            os.utime(handle, (at, at))  # so that a look at the folder tells what has expired
            os.fsync(handle)
        os.rename(part, f"{digest}.json", src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


@contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Held while a file is written, or files are removed for their age: a fresh one must not go with the old, and what
    is half written while nobody writes was left so."""
    if not lock_within(folder, LOCK_SECONDS):
        raise StoreLockedError("The archive is in use by another process.", hint="Try again later.")
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _missing(content_hash: str) -> ContentMissingError:
    return ContentMissingError(
        f"The archive has no '{content_hash[:80]}'.",
        hint="It may have expired: content_archive.ttl_hours says how long texts are kept.",
        content_hash=content_hash,
    )


def _damaged(digest: str, why: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"The archived file {digest}.json is damaged: {why}.",
        hint="Delete the file; its text is lost.",
        content_hash=f"sha256:{digest}",
    )
