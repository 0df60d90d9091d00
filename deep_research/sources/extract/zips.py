"""Whether a zip archive is one that an office program writes, told before anything in it is unpacked."""

from __future__ import annotations

import io
import re
import zipfile

from deep_research import archives
from deep_research.archives import ArchiveError, Bounds
from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

MAX_ENTRIES = 2_000
MAX_RATIO = 100  # bytes unpacked for each byte in the archive
MAX_UNPACKED = 200_000_000
_BOUNDS = Bounds(MAX_ENTRIES, MAX_UNPACKED, MAX_UNPACKED, MAX_RATIO)
_NESTED = regex(r"\.(?:zip|jar|7z|rar|gz|bz2|xz|tar|tgz|docx|xlsx|pptx|odt)\Z", re.IGNORECASE)
_EMBEDDED = ("word/embeddings/", "xl/embeddings/", "ppt/embeddings/")


def checked(raw: bytes) -> zipfile.ZipFile:
    """The archive, opened. Raises `UnreadableError` for one that is made to do harm, or is encrypted or broken."""
    try:
        archive = archives.opened(io.BytesIO(raw), _BOUNDS)
    except ArchiveError as error:
        raise _unreadable(error) from error
    names = (entry.filename.replace("\\", "/") for entry in archive.infolist())
    if any(_NESTED.search(name) and not name.startswith(_EMBEDDED) for name in names):
        raise UnreadableError("an archive within an archive")
    return archive


def read(archive: zipfile.ZipFile, name: str) -> bytes:
    """One entry, unpacked, never more than it said it would be. Raises `UnreadableError`."""
    try:
        return archives.read(archive, name)
    except ArchiveError as error:
        raise _unreadable(error) from error


def _unreadable(error: ArchiveError) -> UnreadableError:
    return UnreadableError(str(error), limit="size" if error.bound else "")
