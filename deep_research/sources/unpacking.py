"""Unpacking what came packed, piece by piece, so that whoever reads can stop before a bomb has gone off."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

CODINGS = "gzip, deflate"  # others unpack without a bound, or cannot be unpacked piece by piece
_CHUNK = 65_536
_GZIP = b"\x1f"  # what each member of a gzip file begins with


class Unpacker:
    """Of gzip with any number of members, and of deflate with the wrapping that the standard asks for or without, as
    some servers send it. What stands behind the end is passed over."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._zlib: Any = None

    @property
    def ended(self) -> bool:
        """Whether what came is whole."""
        return bool(self._zlib and self._zlib.eof)

    def pieces(self, piece: bytes) -> Iterator[bytes]:
        """What the next piece becomes, at most 65,536 bytes at a time, some of them empty. Raises `zlib.error`."""
        left, more = piece, False
        while left or more:
            if (self._zlib is None or self._zlib.eof) and not self._begun(left):
                return
            made = self._zlib.decompress(left, _CHUNK)
            ended = self._zlib.eof
            left = self._zlib.unused_data if ended else self._zlib.unconsumed_tail
            more = not ended and len(made) == _CHUNK  # there may be some that needs no more input
            yield made

    def _begun(self, left: bytes) -> bool:
        if self._zlib is None and not self._gzip:
            wrapped = left[0] & 0x0F == 8
            self._zlib = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        elif self._zlib is None or (self._gzip and left.startswith(_GZIP)):
            self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)
        else:
            return False
        return True


def unpacker(coding: str) -> Unpacker | None:
    """For a Content-Encoding; None where there is nothing to unpack. Raises `ValueError` for one not in `CODINGS`."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return Unpacker(gzip=coding != "deflate")
    raise ValueError("packed in a way that was not asked for")
