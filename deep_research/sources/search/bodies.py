"""Bodies within bounds: how much is read, how much it may become when unpacked, and whether it is JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

from deep_research.sources.unpacking import unpacker

MOST_BYTES = 5_000_000  # of one answer, as it is sent and as it is when unpacked


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
        self._coding = coding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            unpack = unpacker(self._coding)
        except ValueError:
            raise BodyError("the answer is packed in a way that was not asked for") from None
        read = given = 0
        async for piece in self._sent:
            read += len(piece)
            if read > MOST_BYTES:
                raise BodyError(f"the answer has more than {MOST_BYTES} bytes")
            try:
                for made in unpack.pieces(piece) if unpack else (piece,):
                    given += len(made)
                    if given > MOST_BYTES:
                        raise BodyError(f"the answer unpacks to more than {MOST_BYTES} bytes")
                    yield made
            except zlib.error:
                raise BodyError("the answer cannot be unpacked") from None
        if unpack is not None and not unpack.ended and read:
            raise BodyError("the answer was cut")

    async def aclose(self) -> None:
        await self._sent.aclose()
