"""Zip archives from outside: looked at before anything in them is unpacked, and read within bounds, whatever they say of
themselves."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import BinaryIO

MAX_SMALL_BYTES = 100_000  # bytes; what unpacks to less may be packed as well as it likes
_LOCAL_HEADER_BYTES = 30
_LOCAL = struct.Struct("<4s5H3L2H")  # what stands before each entry
_ENTRY_HEADER_BYTES = 46  # bytes of the directory for each entry, beside its name
_END = struct.Struct("<4s4H2LH")  # the record at the end of an archive
_LARGE_END = struct.Struct(
    "<40xQ28x"
)  # the same of the larger kind, with its locator, which stands before it
_BEGINNING, _END_MARK, _LARGE_MARK = b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x07"
_MAX_COMMENT_BYTES = 65_535
_LARGE_LOCATOR_BYTES = 20
_SIZE_ELSEWHERE = 0xFFFFFFFF  # the size of a directory that the larger record says
_MAX_ENTRY_BYTES = 1_000  # bytes of the directory for each entry
_ENCRYPTED_FLAG = 0x1
_UTF8_FLAG = 0x800
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ArchiveError(Exception):
    """The archive is made to do harm, or is encrypted or broken. The text says why; ``bound`` where it is larger than it
    may be."""

    def __init__(self, why: str, *, bound: bool = False) -> None:
        self.bound = bound
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many ``entries`` an archive may have, to how many bytes they may unpack together (``unpacked``) and each
    (``entry``), and to how many for each byte in the archive (``ratio``)."""

    entries: int
    unpacked: int
    entry: int
    ratio: int


def opened(file: BinaryIO, bounds: Bounds) -> zipfile.ZipFile:
    """The archive, whose entries are within the bounds by what they say. Raises `ArchiveError`, `OSError`."""
    try:
        _check_end(file, bounds)
        archive = zipfile.ZipFile(file)
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
        raise ArchiveError("a damaged zip archive") from error
    if len(entries) > bounds.entries:
        raise _too_many(bounds)
    for entry in entries:
        _check(entry, bounds)
    if len({entry.filename for entry in entries}) < len(entries):
        raise ArchiveError("an archive with two entries of one name")
    if sum(entry.file_size for entry in entries) > bounds.unpacked:
        raise ArchiveError(f"an archive that unpacks to more than {bounds.unpacked:,} bytes", bound=True)
    _check_places(entries)
    return archive


def read(archive: zipfile.ZipFile, name: str) -> bytes:
    """One entry, unpacked, never more than it said it would be. Raises `ArchiveError`."""
    try:
        info = archive.getinfo(name)
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ArchiveError("a damaged zip archive") from error
    except Exception as error:  # zlib.error and its like in other packings
        raise ArchiveError("a damaged zip archive") from error
    if len(data) != info.file_size:
        raise ArchiveError("an archive with wrong sizes")
    return data


def foreign_bytes(archive: zipfile.ZipFile, file: BinaryIO) -> str:
    """The first place of an archive with bytes of no entry: before, between, within or behind its entries, or beside
    the directory; empty where there is none. Raises `OSError`.

    Each entry is to stand where the one before it ends, under a header that says the same as the directory, and the
    directory to be the last. An archive of more than 4 GB, or with extra fields, is none of these.
    """
    end = directory = 0
    for entry in sorted(archive.infolist(), key=lambda entry: entry.header_offset):
        name = entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8_FLAG else "cp437")
        if entry.header_offset != end:
            return f"before {entry.filename}"
        file.seek(end)
        if file.read(_LOCAL_HEADER_BYTES + len(name)) != _local_header(entry, name):
            return f"in the header of {entry.filename}"
        if not _is_filled(entry, file.read(entry.compress_size)):
            return f"within {entry.filename}"
        end += _LOCAL_HEADER_BYTES + len(name) + entry.compress_size
        directory += _ENTRY_HEADER_BYTES + len(name)
    if archive.start_dir != end:
        return "before its directory"
    return "" if file.seek(0, 2) == end + directory + _END.size else "behind its entries"


def _local_header(entry: zipfile.ZipInfo, name: bytes) -> bytes:
    """The header that an entry of the directory has, with no extra field."""
    year, month, day, hour, minute, second = entry.date_time
    return (
        _LOCAL.pack(
            _BEGINNING,
            entry.extract_version,
            entry.flag_bits,
            entry.compress_type,
            hour << 11 | minute << 5 | second // 2,
            (year - 1980) << 9 | month << 5 | day,
            entry.CRC,
            entry.compress_size,
            entry.file_size,
            len(name),
            0,
        )
        + name
    )


def _is_filled(entry: zipfile.ZipInfo, packed: bytes) -> bool:
    """Whether what is unpacked takes all bytes that the entry has."""
    if entry.compress_type == zipfile.ZIP_STORED:
        return entry.compress_size == entry.file_size
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        unpacking.decompress(packed, entry.file_size + 1)
        return unpacking.eof and not unpacking.unused_data
    except zlib.error:
        return False


def _check_end(file: BinaryIO, bounds: Bounds) -> None:
    """The directory is read as a whole: one that is larger than so many entries need is not begun."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END.size - _MAX_COMMENT_BYTES - _LARGE_END.size))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        file.seek(0)
        whole = file.read(len(_BEGINNING)) != _BEGINNING
        raise ArchiveError("no zip archive" if whole else "a damaged zip archive")
    directory = _END.unpack_from(tail, place)[5]
    large = place - _LARGE_END.size
    if large >= 0 and tail[place - _LARGE_LOCATOR_BYTES :].startswith(_LARGE_MARK):
        directory = max(directory % _SIZE_ELSEWHERE, _LARGE_END.unpack_from(tail, large)[0])
    if directory > bounds.entries * _MAX_ENTRY_BYTES:
        raise _too_many(bounds)


def _too_many(bounds: Bounds) -> ArchiveError:
    return ArchiveError(f"an archive of more than {bounds.entries:,} entries", bound=True)


def _check(entry: zipfile.ZipInfo, bounds: Bounds) -> None:
    name = entry.filename.replace("\\", "/")
    if entry.flag_bits & _ENCRYPTED_FLAG:
        raise ArchiveError("encrypted; save it without a password")
    if entry.compress_type not in _PACKINGS:
        raise ArchiveError("an archive with an unknown compression")
    if (
        name.startswith("/")
        or ".." in name.split("/")
        or ":" in name.split("/")[0]
        or "\0" in entry.orig_filename
        or stat.S_ISLNK(entry.external_attr >> 16)
    ):
        raise ArchiveError("an archive with names that lead outside")
    if entry.file_size > bounds.entry:
        raise ArchiveError(f"an archive with an entry of more than {bounds.entry:,} bytes", bound=True)
    if entry.file_size > MAX_SMALL_BYTES and entry.file_size > bounds.ratio * max(1, entry.compress_size):
        raise ArchiveError(f"an archive packed more than {bounds.ratio} to 1", bound=True)


def _check_places(entries: list[zipfile.ZipInfo]) -> None:
    """Entries that share bytes unpack to far more than the archive is long."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise ArchiveError("an archive whose entries overlap")
        end = (
            entry.header_offset
            + _LOCAL_HEADER_BYTES
            + len(entry.orig_filename.encode())
            + entry.compress_size
        )
