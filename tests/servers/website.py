"""A web site on loopback that answers with raw bytes, and the way to it: a public address that is really this one.

::

    with WebSite({"/a": web_reply(b"<p>A page.</p>")}) as site:
        fetcher = Fetcher(guard=site.guard())
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from deep_research.sources.fetch.guard import Guard, Resolver, Streams, opened
from servers.loopback import lets_nobody_in

PUBLIC = "93.184.216.34"
_SECONDS_TO_START = 300  # or to stop: the machine may stand still
_LOOK_AGAIN = 0.01  # seconds
Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def web_reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    head = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    head |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items() if value), "", ""]
    return "\r\n".join(lines).encode() + body


class WebSite:
    """``pages`` by path, or by host and path, each the bytes of an answer or what writes one; ``asked`` holds the heads
    of the requests as they came, ``most_at_once`` the largest number of pages being answered, each for ``seconds``: with
    some, others that come at the same moment are counted too."""

    def __init__(self, pages: dict[str, Answer] | None = None) -> None:
        self.pages = pages or {}
        self.asked: list[str] = []
        self.most_at_once = 0
        self.seconds = 0.0
        self.port = 0
        self._inside = 0
        self._answering: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> WebSite:
        self._thread.start()
        if not self._ready.wait(_SECONDS_TO_START):
            raise RuntimeError("The web site did not start.")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_SECONDS_TO_START)

    @property
    def paths(self) -> list[str]:
        return [head.split(" ", 2)[1] for head in self.asked]

    def guard(self, resolver: Resolver | None = None) -> Guard:
        """To this server, for whatever name is asked; as strict as the real one about what the name resolves to."""

        async def public(_host: str, _port: int) -> list[str]:
            return [PUBLIC]

        async def here(address: str, _port: int, _tls: object, _name: str) -> Streams:
            if address != PUBLIC:
                raise ConnectionRefusedError(f"{address} is not this site")
            return await opened("127.0.0.1", self.port, None, "")

        return Guard(resolver or public, opener=here)

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        lets_nobody_in(server)
        await asyncio.sleep(0)  # who was let in at the last moment becomes a connection first
        # Those that are being let in are tasks too; and a connection may have bytes that nobody takes from it.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task, writer in self._answering.items():
                writer.transport.abort()
                task.cancel()
            await asyncio.wait(others, timeout=_LOOK_AGAIN)
        server.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(reader, writer))
        self._answering[task] = writer  # also where it is cancelled before it has begun
        task.add_done_callback(self._answering.pop)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.asked.append(head)
            path = head.split(" ", 2)[1]
            host = head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0]
            missing = self.pages.get(path, web_reply(status="404 Not Found"))
            answer = self.pages.get(f"{host}{path}", missing)
            self._inside += path != "/robots.txt"
            self.most_at_once = max(self.most_at_once, self._inside)
            try:
                await asyncio.sleep(self.seconds)
                if callable(answer):
                    await answer(writer)
                else:
                    writer.write(answer)
                await writer.drain()
            finally:
                self._inside -= path != "/robots.txt"
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # whoever asked is gone, or the server is to end
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):  # it broke, or the server is to end
                await writer.wait_closed()
