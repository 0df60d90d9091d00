"""Corpora that are uploaded: folders of the data directory, each put in place as a whole."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from deep_research.archives import ArchiveError, Bounds, opened, read
from deep_research.assembly.named_corpora import CORPUS_NAME, UPLOADS
from deep_research.errors import StoreFullError, StoreReadOnlyError, UsageError
from deep_research.server.problems import RequestRefused
from deep_research.settings import Settings
from deep_research.sources.extract.formats import SUFFIXES, suffix_of

MAX_UPLOAD_BYTES = 64 << 20  # of one request
MAX_FILES = 1_000
MAX_CORPUS_BYTES = 256 << 20  # of all files of a corpus, unpacked
MAX_NAME_BYTES = 255  # of one part of a path
MAX_DEPTH = 10
ARCHIVE = Bounds(entries=2 * MAX_FILES, unpacked=MAX_CORPUS_BYTES, entry=MAX_CORPUS_BYTES, ratio=200)

File = tuple[str, bytes]  # a path within the corpus, and its content


def files_in(archive: BinaryIO) -> Iterator[File]:
    """The files of a zip archive. Raises `UsageError`, and `RequestRefused` for one that is too large."""
    try:
        with opened(archive, ARCHIVE) as entries:
            for entry in entries.infolist():
                if not entry.is_dir():
                    yield entry.filename, read(entries, entry.filename)
    except ArchiveError as error:
        if error.bound:
            raise RequestRefused(413, "corpus_too_large", f"The archive is {error}.") from None
        raise UsageError(f"The archive is {error}.", hint="Send a zip file of documents.") from None


def put_corpus(settings: Settings, name: str, files: Iterable[File]) -> tuple[int, int]:
    """Put a corpus in place of one of that name, or of none, and give how many files and bytes it has. Nothing is changed
    where it is refused. Blocking.

    Raises `UsageError` for a name or a file that cannot be, `RequestRefused` for too many bytes, `StoreFullError`,
    `StoreReadOnlyError`.
    """
    check_name(settings, name)
    folder = settings.data_dir / UPLOADS
    fresh = folder / f".{name}.{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.mkdir(mode=0o700)
        count = _write(fresh, files)
        _exchange(fresh, folder / name)
    except OSError as error:
        raise _of_disk(error) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return count


def delete_corpus(settings: Settings, name: str) -> bool:
    """Remove an uploaded corpus; False where there is none. Blocking. Raises as `put_corpus`."""
    check_name(settings, name)
    folder = settings.data_dir / UPLOADS
    if not (folder / name).is_dir():
        return False
    trash = folder / f".{name}.{secrets.token_hex(8)}"
    try:
        (folder / name).rename(trash)
        shutil.rmtree(trash)
    except OSError as error:
        raise _of_disk(error) from None
    return True


def check_name(settings: Settings, name: str) -> None:
    """Raises `UsageError`."""
    if not CORPUS_NAME.match(name):
        raise UsageError(
            "The name of the corpus is invalid.",
            hint="Use small letters, digits, - and _, at most 64 of them.",
        )
    if name in settings.named_corpora:
        raise UsageError(
            f"The corpus '{name}' is defined in the server's settings.", hint="Choose another name."
        )


def _write(folder: Path, files: Iterable[File]) -> tuple[int, int]:
    count = size = 0
    for name, body in files:
        path = folder / _checked_path(name)
        count, size = count + 1, size + len(body)
        if count > MAX_FILES:
            raise RequestRefused(413, "corpus_too_large", f"A corpus has at most {MAX_FILES:,} files.")
        if size > MAX_CORPUS_BYTES:
            raise RequestRefused(413, "corpus_too_large", f"A corpus has at most {MAX_CORPUS_BYTES:,} bytes.")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            raise UsageError(f"Two files have the name '{_printable(name)}'.", hint="Rename one.")
        with path.open("xb") as file:
            file.write(body)
    if not count:
        raise UsageError("The corpus has no file.", hint="Send files, or a zip archive of files.")
    return count, size


def _checked_path(name: str) -> PurePosixPath:
    """A path below the folder. Raises `UsageError`."""
    parts = name.replace("\\", "/").split("/")
    fits = (
        name.isprintable()
        and 0 < len(parts) <= MAX_DEPTH
        and all(part and not part.startswith(".") and ":" not in part for part in parts)
        and all(len(part.encode("utf-8", "replace")) <= MAX_NAME_BYTES for part in parts)
    )
    if not fits:
        raise UsageError(f"'{_printable(name)}' is not a valid file name.", hint="Use plain relative names.")
    if suffix_of(parts[-1]) not in SUFFIXES:
        raise UsageError(
            f"'{_printable(name)}' has an unknown format.",
            hint="Send documents such as .md, .html, .pdf or .docx.",
        )
    return PurePosixPath(*parts)


def _exchange(fresh: Path, place: Path) -> None:
    """Put a folder in the place of another. A run that reads finds one of them, or for a moment none."""
    old = place.with_name(f"{fresh.name}.old")
    if place.exists():
        place.rename(old)
    os.rename(fresh, place)
    shutil.rmtree(old, ignore_errors=True)


def _of_disk(error: OSError) -> StoreFullError | StoreReadOnlyError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreFullError("The disk is full.", hint="Free some space.")
    return StoreReadOnlyError("The folder of corpora cannot be written.", hint="Check its permissions.")


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in name[:80])
