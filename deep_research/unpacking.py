"""Bodies of answers as they come: unpacked piece by piece and counted, so that a reader can stop before a bomb has
gone off. For pages and for services alike: no HTTP stack's own unpacking knows a bound."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

CODINGS = "gzip, deflate"  # others unpack without a bound, or cannot be unpacked piece by piece
_CHUNK_BYTES = 65_536
_GZIP = b"\x1f"  # what each member of a gzip file begins with


class BodyError(Exception):
    """The body of an answer cannot be used. The text says why and quotes nothing. ``status`` and ``headers`` are those
    of the answer, where its reader knew them."""

    status = 0
    headers: Mapping[str, str] = {}


class RefusedBodyError(BodyError):
    """It is longer than it may be, or packed in a way that was not asked for: not to be read, whatever is in it."""


class Unpacker:
    """Of gzip with any number of members, and of deflate with the wrapping that the standard asks for or without, as
    some servers send it. What stands behind the end is passed over."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._zlib: Any = None

    @property
    def is_complete(self) -> bool:
        """Whether what came is whole."""
        return bool(self._zlib and self._zlib.eof)

    def pieces(self, piece: bytes) -> Iterator[bytes]:
        """What the next piece becomes, at most 65,536 bytes at a time, some of them empty. Raises `zlib.error`."""
        left, more = piece, False
        while left or more:
            if (self._zlib is None or self._zlib.eof) and not self._begin(left):
                return
            chunk = self._zlib.decompress(left, _CHUNK_BYTES)
            is_end = self._zlib.eof
            left = self._zlib.unused_data if is_end else self._zlib.unconsumed_tail
            more = not is_end and len(chunk) == _CHUNK_BYTES  # there may be some that needs no more input
            yield chunk

    def _begin(self, left: bytes) -> bool:
        if self._zlib is None and not self._gzip:
            wrapped = left[0] & 0x0F == 8
            self._zlib = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        elif self._zlib is None or (self._gzip and left.startswith(_GZIP)):
            self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)
        else:
            return False
        return True


class Unpacked:
    """One body of a Content-Encoding: at most ``most`` bytes of it, as it is sent and as it is when unpacked. Raises
    `RefusedBodyError` for a coding that is not among `CODINGS`."""

    def __init__(self, coding: str, most: int) -> None:
        self._most = most
        self._packed_size = self._unpacked_size = 0
        self._unpacker = _unpacker(coding)

    def pieces(self, piece: bytes) -> Iterator[bytes]:
        """What the next piece becomes, some of it empty. Raises `BodyError`."""
        self._packed_size += len(piece)
        if self._packed_size > self._most:
            raise RefusedBodyError(f"longer than {self._most:,} bytes")
        if self._unpacker is None:
            yield piece
            return
        try:
            for chunk in self._unpacker.pieces(piece):
                self._unpacked_size += len(chunk)
                if self._unpacked_size > self._most:
                    raise RefusedBodyError(f"longer than {self._most:,} bytes when unpacked")
                yield chunk
        except zlib.error:
            raise BodyError("packed in a way that cannot be read") from None

    def end(self) -> None:
        """Nothing more comes. Raises `BodyError` for what breaks off."""
        if self._unpacker is not None and not self._unpacker.is_complete and self._packed_size:
            raise BodyError("cut off")


def _unpacker(coding: str) -> Unpacker | None:
    """None where there is nothing to unpack."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return Unpacker(gzip=coding != "deflate")
    raise RefusedBodyError("packed in a way that was not asked for")
