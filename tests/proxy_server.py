"""An HTTP proxy on loopback: whatever a client asks for through it, one local server answers."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing, suppress


class ProxyServer:
    """Leads every request to ``port`` on this machine. ``heads`` are those of the requests and tunnels that were asked
    for; with ``status`` other than 200 no tunnel is made."""

    def __init__(self, port: int, *, status: int = 200) -> None:
        self.to, self.status = port, status
        self.heads: list[str] = []
        self.port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ProxyServer:
        self._thread.start()
        assert self._ready.wait(300)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(300)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError), closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode("latin-1"))
            there, out = await asyncio.open_connection("127.0.0.1", self.to)
            with closing(out):
                await self._lead(head, reader, writer, there, out)

    async def _lead(
        self,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        out: asyncio.StreamWriter,
    ) -> None:
        if head.startswith(b"CONNECT "):
            writer.write(f"HTTP/1.1 {self.status} Told\r\n\r\n".encode())
        else:
            method, url, rest = head.split(b" ", 2)
            path = b"/" + url.split(b"/", 3)[3]
            out.write(b" ".join((method, path, rest)))
        await asyncio.gather(_pipe(reader, out), _pipe(there, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
