"""One question and its answer over one connection: HTTP/1.1 as h11 reads it, over the streams of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import h11

MOST_HEAD = 100_000  # bytes of an answer's head
_PIECE = 65_536  # bytes taken at a time
_MOST_INTERIM = 20  # answers that only say that another will come
_MOST_AT_ONCE = 64  # events of one piece: a body can be cut into single bytes, and must not hold the loop

Headers = Sequence[tuple[bytes, bytes]]


class BrokenError(Exception):
    """The other side went away, or what it says is not HTTP."""


class Exchange:
    """One GET over an open connection, which nothing else uses. Errors are `BrokenError`; deadlines are the caller's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self._events = 0

    async def ask(self, path: str, headers: Headers) -> tuple[int, Headers]:
        """The status and the headers of the answer, their names in lower case. Raises `ValueError` for a path that is
        not ASCII."""
        try:
            request = h11.Request(method=b"GET", target=path.encode("ascii"), headers=list(headers))
            self._writer.write(self._said(request) + self._said(h11.EndOfMessage()))
            await self._writer.drain()
            for _ in range(_MOST_INTERIM):
                event = await self._next()
                if isinstance(event, h11.Response):
                    return event.status_code, event.headers
                if not isinstance(event, h11.InformationalResponse):
                    break
        except (h11.ProtocolError, OSError) as error:
            raise BrokenError(str(error)) from None
        raise BrokenError("no answer came")

    async def piece(self) -> bytes | None:
        """The next piece of the body; None after the last."""
        try:
            event = await self._next()
        except (h11.ProtocolError, OSError) as error:
            raise BrokenError(str(error)) from None
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            raise BrokenError("the answer breaks off")
        return None

    def _said(self, event: h11.Event) -> bytes:
        return self._http.send(event) or b""

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._events = 0
            self._http.receive_data(await self._reader.read(_PIECE))
        self._events += 1
        if self._events % _MOST_AT_ONCE == 0:
            await asyncio.sleep(0)
        return event
