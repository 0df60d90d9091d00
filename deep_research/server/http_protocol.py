"""HTTP of the server's process: uvicorn's, with bounds on what comes before an application sees a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from deep_research.server.request_gate import RequestLimits

SLACK_BYTES = 256 << 10  # of one read, and of the frames of a chunked body


def bounded_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """The protocol with these limits, as ``uvicorn.Config(http=...)`` takes it.

    uvicorn reads headers and trailers of any size for any time. Here their bytes are counted, and a request whose headers
    are not there in time is answered with 408.
    """

    class BoundedProtocol(_BoundedProtocol):
        _limits = limits

    return BoundedProtocol


class _BoundedProtocol(HttpToolsProtocol):
    _limits: RequestLimits
    _timer: asyncio.TimerHandle | None = None
    _in_head = True
    _most_bytes = 0  # of a request; known with its headers
    _bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and self._bytes > self._limits.header_bytes:
            self._end_with(431)
        elif not self._in_head and self._bytes > self._most_bytes:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()
        limits = self._limits
        self._most_bytes = limits.header_bytes + limits.body_of(dict(self.scope)).bytes + SLACK_BYTES

    def on_message_complete(self) -> None:
        self._bytes = 0
        super().on_message_complete()

    def _begin_head(self) -> None:
        self._in_head = True
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.head_seconds, self._end_with, 408)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_with(self, status: int) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()
