"""One question and its answer over one connection: HTTP/1.1, read by llhttp (httptools), over the streams of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import httptools

from deep_research.patterns import regex

MAX_HEAD_BYTES = 65_536  # with the answers that only announce another
# What frames a body may take so much, and half as much as the body.
MAX_FRAMING_BYTES = 262_144
_PIECE_BYTES = 65_536  # bytes taken at a time
_WITHOUT_BODY = (204, 304)
_LINE = regex(rb"[\x20-\x7e]+")

Headers = Sequence[tuple[bytes, bytes]]


class BrokenError(Exception):
    """The other side went away, or what it says is not HTTP."""


class Exchange:
    """One GET over an open connection, which nothing else uses. Deadlines are the caller's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._response = _Heard()
        self._read_bytes = 0

    async def ask(self, path: str, headers: Headers) -> tuple[int, Headers]:
        """The status and the headers of the answer, their names in lower case. Raises `BrokenError`, and `ValueError`
        for what cannot be asked."""
        self._writer.write(_request(path, headers))
        with suppress(ConnectionError):  # it may have answered before it had heard all
            await self._writer.drain()
        while not self._response.is_final:
            await self._listen()
        return self._response.status, self._response.headers

    async def piece(self) -> bytes | None:
        """The next piece of the body; None after the last. Raises `BrokenError`."""
        while not self._response.pieces:
            if self._response.over:
                return None
            await self._listen()
        piece = b"".join(self._response.pieces)
        self._response.pieces.clear()
        return piece

    async def _listen(self) -> None:
        response = self._response
        allowed = MAX_FRAMING_BYTES + response.body_bytes // 2 if response.is_final else MAX_HEAD_BYTES
        if self._read_bytes - response.body_bytes > allowed:
            raise BrokenError("too much that is no body")
        try:
            data = await self._reader.read(_PIECE_BYTES)
        except OSError as error:
            raise BrokenError(str(error)) from None
        self._read_bytes += len(data)
        self._response.take(data)


class _Heard:
    """What was heard so far of the answer. The methods that begin with ``on_`` are called by the parser."""

    def __init__(self) -> None:
        self.is_final = False  # the answer, and not one that announces it
        self.over = False
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.body_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        # Nothing is asked after this answer, so that there is no next one to be mistaken for a part of it.
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_keep_alive=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
        )

    def take(self, data: bytes) -> None:
        """What came next, nothing at the end. Raises `BrokenError`."""
        if not data:
            if (
                not self.is_final
                or self._has_header(b"content-length")
                or self._has_header(b"transfer-encoding")
            ):
                raise BrokenError("the answer breaks off")
            self.over = True
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.over:  # what comes after the answer does not matter
                raise BrokenError(str(error)) from None

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_final:  # else it stands behind the body
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self.over:
            return
        self.status = self._parser.get_status_code()
        self.is_final = self.status >= 200
        self.over = self.status in _WITHOUT_BODY

    def on_body(self, body: bytes) -> None:
        if not self.over:
            self.pieces.append(body)
            self.body_bytes += len(body)

    def on_message_complete(self) -> None:
        if self.is_final:
            self.over = True
        else:
            self.headers.clear()

    def _has_header(self, header: bytes) -> bool:
        return any(name == header for name, _ in self.headers)


def _request(path: str, headers: Headers) -> bytes:
    """Raises `ValueError` for what would not be one line."""
    lines = [b"GET %s HTTP/1.1" % path.encode("ascii"), *(b"%s: %s" % header for header in headers)]
    if not all(map(_LINE.fullmatch, lines)) or lines[0].count(b" ") != 2:
        raise ValueError("a line that is none")
    return b"\r\n".join((*lines, b"", b""))
