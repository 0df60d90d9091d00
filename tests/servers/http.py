"""A small HTTP/1.1 server over raw transports: it can send what no well-behaved server would.

Requests need a Content-Length, no more is understood. Connections are kept alive. A client that goes away cancels what
is done for it, so that no pause outlives whom it was meant for.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """``headers`` by their names in lower case; ``path`` without the ``query``, which is as it was sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


class Ending(Enum):
    """What happens to the connection after the last piece."""

    KEPT = "kept for the next request"
    CLOSED = "closed, whether or not all that was announced has been sent"
    RESET = "reset"
    HANGING = "nothing happens for a long time, then it is closed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send, and how.

    ``pieces`` are sent one by one, ``pause`` seconds before each; ``chunked`` without a length, else the length is the
    sum of the pieces or ``length``. ``silent`` sends nothing, not even a status. ``slow_head``: the head is sent byte
    by byte too. ``patience`` bounds, in seconds, all pauses together.
    """

    status: int = 200
    pieces: tuple[bytes, ...] = ()
    media: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    length: int | None = None
    silent: bool = False
    pause: float = 0.0
    slow_head: bool = False
    ending: Ending = Ending.KEPT
    patience: float = 300.0


Handler = Callable[[Request], Awaitable[Reply]]


class Connection(asyncio.Protocol):
    """One client. ``among`` is where it is listed as long as it is open."""

    def __init__(self, handler: Handler, among: set[Connection]) -> None:
        self._handler = handler
        self._among = among
        self._buffer = bytearray()
        self._arrived = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._among.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > HEAD_LIMIT + BODY_LIMIT:
            self._transport.abort()
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._among.discard(self)
        self.task.cancel()

    def abort(self) -> None:
        self._transport.abort()

    async def _serve(self) -> None:
        kept = True
        while kept and not self._transport.is_closing():
            try:
                request = await self._request()
            except _UnreadableError as error:
                await self._send(Reply(error.status, ending=Ending.CLOSED))
                return
            reply = await self._handler(request)
            await self._send(reply)
            kept = reply.ending is Ending.KEPT and request.headers.get("connection", "").lower() != "close"
        self._transport.close()

    async def _request(self) -> Request:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_LIMIT:
                raise _UnreadableError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            await self._more()
        method, target, headers = _head(bytes(self._buffer[:end]))
        length = _length(headers)
        while len(self._buffer) < end + 4 + length:
            await self._more()
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        path, _, query = target.partition("?")
        return Request(method, path, headers, body, query)

    async def _more(self) -> None:
        self._arrived.clear()
        await self._arrived.wait()

    async def _send(self, reply: Reply) -> None:
        try:
            async with asyncio.timeout(reply.patience):
                if not reply.silent:
                    await self._write(reply)
                if reply.ending is Ending.HANGING:
                    await asyncio.Event().wait()
        except TimeoutError:
            self._transport.abort()
        if reply.ending is Ending.RESET:
            self._reset()
        elif reply.ending is not Ending.KEPT:
            self._transport.close()

    async def _write(self, reply: Reply) -> None:
        head = _reply_head(reply)
        await self._write_slowly(
            _bytewise(head) if reply.slow_head else [head], reply.pause * reply.slow_head
        )
        pieces = reply.pieces
        if reply.chunked:
            pieces = tuple(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece)
            if reply.ending is Ending.KEPT:
                pieces += (b"0\r\n\r\n",)
        await self._write_slowly(pieces, reply.pause)

    async def _write_slowly(self, pieces: Iterable[bytes], pause: float) -> None:
        for piece in pieces:
            if pause:
                await asyncio.sleep(pause)
            self._transport.write(piece)

    def _reset(self) -> None:
        """Close with a reset: no lingering, and what is not yet sent is dropped."""
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


class _UnreadableError(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


def _head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, target and headers."""
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = first.split(" ")
        pairs = [line.split(":", 1) for line in lines]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
    except ValueError:
        raise _UnreadableError(HTTPStatus.BAD_REQUEST) from None
    return method, target, headers


def _length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise _UnreadableError(HTTPStatus.LENGTH_REQUIRED)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise _UnreadableError(HTTPStatus.BAD_REQUEST)
    if int(length) > BODY_LIMIT:
        raise _UnreadableError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return int(length)


def _reply_head(reply: Reply) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unassigned"
    length = sum(map(len, reply.pieces)) if reply.length is None else reply.length
    size = "transfer-encoding: chunked" if reply.chunked else f"content-length: {length}"
    headers = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    return (
        f"HTTP/1.1 {reply.status} {phrase}\r\ncontent-type: {reply.media}\r\n{headers}{size}\r\n\r\n".encode()
    )


def _bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]
