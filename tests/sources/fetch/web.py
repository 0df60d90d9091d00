"""A web server on loopback that answers with raw bytes, and the way to it: a public address that is really this one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import httpcore

from deep_research.sources.fetch.guard import GuardedBackend

PUBLIC = "93.184.216.34"
Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def reply(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    head = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    head |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items() if value), "", ""]
    return "\r\n".join(lines).encode() + body


class Web:
    """``pages`` by path, or by host and path; ``asked`` holds the requests as they came."""

    def __init__(self, pages: dict[str, Answer] | None = None) -> None:
        self.pages = pages or {}
        self.asked: list[str] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Web:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def paths(self) -> list[str]:
        return [head.split(" ", 2)[1] for head in self.asked]

    def backend(self, resolver=None) -> GuardedBackend:
        """To this server, for whatever name is asked; as strict as the real one about what the name resolves to."""

        async def public(host: str, port: int) -> list[str]:
            return [PUBLIC]

        return GuardedBackend(resolver or public, backend=_Here(self.port))

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.asked.append(head)
            path = head.split(" ", 2)[1]
            host = head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0]
            missing = self.pages.get(path, reply(status="404 Not Found"))
            answer = self.pages.get(f"{host}{path}", missing)
            if callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class _Here(httpcore.AsyncNetworkBackend):
    def __init__(self, port: int) -> None:
        self._port = port
        self._real = httpcore.AnyIOBackend()

    async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        assert host == PUBLIC
        return await self._real.connect_tcp("127.0.0.1", self._port, timeout, local_address, socket_options)
