"""A server on loopback, in a thread of its own, whatever it speaks."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Self

from servers.http import Connection, Handler

_SECONDS_TO_START = 300  # the machine may stand still
_SECONDS_TO_STOP = 300
_LOOK_AGAIN = 0.05  # seconds, for who became a connection meanwhile


class LoopbackServer:
    """Answers requests with ``handle``, from `start` to `stop`."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._connections: set[Connection] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._port = 0
        self._accepted = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._connections)

    @property
    def accepted(self) -> int:
        """How many connections there have been in all."""
        return self._accepted

    def start(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="loopback-server", daemon=True)
        self._thread.start()
        if not self._started.wait(_SECONDS_TO_START) or not self._port:
            raise RuntimeError("The server did not start.")
        return self

    def stop(self) -> None:
        """Close everything and wait for the thread to end. A second time, nothing happens."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(_SECONDS_TO_STOP)
        if thread.is_alive():
            raise RuntimeError("The server did not stop.")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._started.set()

    def _connection(self) -> Connection:
        self._accepted += 1
        return Connection(self._handle, self._connections)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(self._connection, "127.0.0.1", 0, backlog=512)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        lets_nobody_in(server)
        await asyncio.sleep(0)  # who was let in at the last moment becomes a connection first
        # A connection may outlive its task, with bytes that nobody takes from it.
        while (others := asyncio.all_tasks() - {asyncio.current_task()}) or self._connections:
            for connection in list(self._connections):
                connection.abort()
            await (asyncio.wait(others, timeout=_LOOK_AGAIN) if others else asyncio.sleep(0))
        server.close()
        await server.wait_closed()


def lets_nobody_in(server: asyncio.Server) -> None:
    """Nobody is let in any more. A server that is closed at once would forget those that it has let in and that are no
    connections yet: asyncio then leaves their sockets open, for the garbage collection to find."""
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
