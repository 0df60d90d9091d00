"""Whether a zip archive is one that an office program writes, told before anything in it is unpacked."""

from __future__ import annotations

import io
import re
import struct
import zipfile

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError

MAX_ENTRIES = 2_000
MAX_RATIO = 100  # bytes unpacked for each byte in the archive
MAX_UNPACKED = 200_000_000
_SMALL = 100_000  # bytes; what unpacks to less may be packed as well as it likes
_LOCAL_HEADER = 30
_NESTED = regex(r"\.(?:zip|jar|7z|rar|gz|bz2|xz|tar|tgz|docx|xlsx|pptx|odt)\Z", re.IGNORECASE)
_ENCRYPTED = 0x1


def checked(raw: bytes) -> zipfile.ZipFile:
    """The archive, opened. Raises `UnreadableError` for one that is made to do harm, or is encrypted or broken."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
        raise UnreadableError("a damaged zip archive") from error
    if len(entries) > MAX_ENTRIES:
        raise UnreadableError(f"an archive of more than {MAX_ENTRIES:,} entries", limit="size")
    for entry in entries:
        _check(entry)
    if len({entry.filename for entry in entries}) < len(entries):
        raise UnreadableError("an archive with two entries of one name")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise UnreadableError(f"an archive that unpacks to more than {MAX_UNPACKED:,} bytes", limit="size")
    _check_places(entries)
    return archive


def read(archive: zipfile.ZipFile, name: str) -> bytes:
    """One entry, unpacked, never more than it said it would be. Raises `UnreadableError`."""
    try:
        info = archive.getinfo(name)
        with archive.open(info) as file:
            found = file.read(info.file_size + 1)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise UnreadableError("a damaged zip archive") from error
    except Exception as error:  # zlib.error and its like in other packings
        raise UnreadableError("a damaged zip archive") from error
    if len(found) != info.file_size:
        raise UnreadableError("an archive that lies about its sizes")
    return found


def _check(entry: zipfile.ZipInfo) -> None:
    name = entry.filename.replace("\\", "/")
    if entry.flag_bits & _ENCRYPTED:
        raise UnreadableError("encrypted; save it without a password")
    if (
        name.startswith("/")
        or ".." in name.split("/")
        or ":" in name.split("/")[0]
        or "\0" in entry.orig_filename
    ):
        raise UnreadableError("an archive with names that lead outside")
    if entry.file_size > _SMALL and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
        raise UnreadableError(f"an archive packed more than {MAX_RATIO} to 1", limit="size")
    if _NESTED.search(name) and not name.startswith(
        ("word/embeddings/", "xl/embeddings/", "ppt/embeddings/")
    ):
        raise UnreadableError("an archive within an archive")


def _check_places(entries: list[zipfile.ZipInfo]) -> None:
    """Entries that share bytes unpack to far more than the archive is long."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise UnreadableError("an archive whose entries overlap")
        end = entry.header_offset + _LOCAL_HEADER + len(entry.orig_filename.encode()) + entry.compress_size
