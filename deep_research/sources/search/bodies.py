"""Bodies within bounds: how much is read, how much it may become when unpacked, and whether it is JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

MOST_BYTES = 5_000_000  # of one answer, as it is sent and as it is when unpacked
CODINGS = "gzip, deflate"


class BodyError(Exception):
    """The body of an answer cannot be used. The text says why and quotes nothing."""


async def bounded(response: httpx.Response) -> None:
    """A hook for the responses of an httpx client: whoever reads the body gets it unpacked, and no more than there may
    be. The stack's own unpacking knows no bound."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _Bounded(response.stream, response.headers.pop("content-encoding", ""))


def parsed(body: bytes) -> Any:
    """The JSON of a body. Raises `BodyError`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("the answer is no JSON") from None


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, sent: httpx.AsyncByteStream, coding: str) -> None:
        self._sent = sent
        self._coding = coding.strip().lower()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = _unpacker(self._coding)
        read = given = 0
        async for piece in self._sent:
            read += len(piece)
            if read > MOST_BYTES:
                raise BodyError(f"the answer has more than {MOST_BYTES} bytes")
            if unpack is not None:
                piece = unpack.take(piece, MOST_BYTES - given + 1)
            given += len(piece)
            if given > MOST_BYTES:
                raise BodyError(f"the answer unpacks to more than {MOST_BYTES} bytes")
            yield piece
        if unpack is not None and not unpack.ended and read:
            raise BodyError("the answer was cut")

    async def aclose(self) -> None:
        await self._sent.aclose()


class _Unpacker:
    """Of gzip, or of deflate with the wrapping that the standard asks for or without, as some servers send it."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._zlib: Any = zlib.decompressobj(16 + zlib.MAX_WBITS) if gzip else None

    @property
    def ended(self) -> bool:
        return bool(self._zlib and self._zlib.eof)

    def take(self, piece: bytes, most: int) -> bytes:
        """What the piece becomes, ``most`` bytes of it."""
        if not piece:
            return b""
        if self._zlib is None:
            wrapped = piece[0] & 0x0F == 8
            self._zlib = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        try:
            made: bytes = self._zlib.decompress(piece, most)
            # A gzip file may have several members.
            while self._gzip and self._zlib.eof and self._zlib.unused_data and len(made) < most:
                rest = self._zlib.unused_data
                self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)
                made += self._zlib.decompress(rest, most - len(made))
        except zlib.error:
            raise BodyError("the answer cannot be unpacked") from None
        return made


def _unpacker(coding: str) -> _Unpacker | None:
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return _Unpacker(gzip=coding != "deflate")
    raise BodyError("the answer is packed in a way that was not asked for")
