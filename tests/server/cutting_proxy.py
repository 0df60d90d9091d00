"""A proxy on loopback before a server, which cuts an answer in its middle."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import closing, suppress

PATIENCE = 120.0  # seconds for what takes one, on a machine that stands still


class CuttingProxy:
    """Leads each connection to ``port`` on this machine. The first answer that has the bytes ``mark`` is cut so many
    ``more`` bytes behind them, and its connection is closed, or with ``reset`` broken off. ``heads`` are those of the
    requests, and ``cuts`` counts what was cut.

    A server that is down is waited for, so that a client which tries a few times meets it again however long it takes
    to start.
    """

    def __init__(self, port: int, mark: bytes = b"", more: int = 0, *, reset: bool = False) -> None:
        self._to, self._mark, self._more, self._reset = port, mark, more, reset
        self.heads: list[str] = []
        self.cuts = 0
        self.port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> CuttingProxy:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._lead, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.CancelledError, TimeoutError), closing(writer):
            there, out = await self._connected()
            with closing(out):
                ways = {
                    asyncio.create_task(self._ask(reader, out)),
                    asyncio.create_task(self._answer(there, writer)),
                }
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(ConnectionRefusedError):
                    return await asyncio.open_connection("127.0.0.1", self._to)
                await asyncio.sleep(0.02)

    async def _ask(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            if b" HTTP/1.1\r\n" in piece:
                self.heads.append(piece.partition(b"\r\n\r\n")[0].decode("latin-1"))
            out.write(piece)
            await out.drain()

    async def _answer(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = b""
        while piece := await there.read(65_536):
            whole = sent + piece
            place = whole.find(self._mark) if self._mark and not self.cuts else -1
            end = place + len(self._mark) + self._more
            if place >= 0 and len(whole) >= end:
                self.cuts += 1
                writer.write(whole[len(sent) : max(end, len(sent))])
                await writer.drain()
                if self._reset:
                    linger = struct.pack("ii", 1, 0)  # closing sends RST, and drops what waits
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return
            writer.write(piece)
            await writer.drain()
            sent = whole
