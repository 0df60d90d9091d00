"""A model service on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterable, Sequence
from types import TracebackType

from deep_research.testing.servers.caches import PrefixCache
from deep_research.testing.servers.exchange import Served, Usage
from deep_research.testing.servers.faults import Fault, Schedule
from deep_research.testing.servers.http import Connection, Reply
from deep_research.testing.servers.service import ABILITIES, Answers, Service, billed, known_abilities

_SECONDS_TO_START = 10
_SECONDS_TO_STOP = 10


class ModelServer:
    """Speaks the wire formats of Anthropic messages, OpenAI responses and chat completions, and Ollama.

    ::

        with ModelServer(["seven ships"], faults=[Fault("429-after-7")]) as server:
            AsyncAnthropic(base_url=server.base_url, ...)
            AsyncOpenAI(base_url=server.base_url + "/v1", ...)

    ``answers``: a sequence, one `Answer`, text or data per request that is answered, the last one again and again; a
    function of the `Served` request, plain or coroutine; None for the smallest answer of the shape that is asked for.
    ``faults``: what goes wrong, `Fault` or its kind. ``abilities``: what the server can
    do, of "schema", "tools", "json", "stream", "usage" and "count"; what it cannot it refuses, but what is in
    ``ignores`` it overhears, and answers in prose. ``key``: the only one it accepts. ``models`` and ``context``: what
    its lists of models say. ``cache_from``: tokens below which a prompt is not cached.
    The first four, and ``canned``, may be set anew at any time.

    ``log`` holds what was asked and what it cost, ``most_at_once`` the largest number of requests in work.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        faults: Iterable[Fault | str] = (),
        abilities: Collection[str] = ABILITIES,
        ignores: Collection[str] = (),
        key: str | None = None,
        models: Sequence[str] = ("model-1",),
        context: int = 8192,
        cache_from: int = 0,
    ) -> None:
        self._service = Service(
            answers=answers,
            schedule=Schedule(faults),
            abilities=known_abilities(abilities),
            ignores=known_abilities(ignores),
            key=key,
            names=tuple(models),
            context=context,
            cache=PrefixCache(least=cache_from),
        )
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
    def log(self) -> list[Served]:
        return list(self._service.log)

    @property
    def billed(self) -> Usage:
        """The sum over the log."""
        return billed(self.log)

    @property
    def most_at_once(self) -> int:
        return self._service.most_at_once

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._connections)

    @property
    def accepted(self) -> int:
        """How many connections there have been in all."""
        return self._accepted

    @property
    def canned(self) -> Reply | None:
        """What is sent whatever is asked, if anything."""
        return self._service.canned

    @canned.setter
    def canned(self, reply: Reply | None) -> None:
        self._service.canned = reply

    @property
    def answers(self) -> Answers | None:
        return self._service.answers

    @answers.setter
    def answers(self, answers: Answers | None) -> None:
        self._service.answers = answers

    @property
    def abilities(self) -> frozenset[str]:
        return self._service.abilities

    @abilities.setter
    def abilities(self, names: Collection[str]) -> None:
        self._service.abilities = known_abilities(names)

    @property
    def ignores(self) -> frozenset[str]:
        return self._service.ignores

    @ignores.setter
    def ignores(self, names: Collection[str]) -> None:
        self._service.ignores = known_abilities(names)

    @property
    def faults(self) -> list[Fault]:
        return list(self._service.schedule.faults)

    @faults.setter
    def faults(self, faults: Iterable[Fault | str]) -> None:
        self._service.schedule = Schedule(faults)

    def clear(self) -> None:
        """Forget the log, the faults, the caches and what is canned; a sequence of answers begins anew."""
        self._service.clear()

    def start(self) -> ModelServer:
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self._thread.start()
        if not self._started.wait(_SECONDS_TO_START) or not self._port:
            raise RuntimeError("The model server did not start.")
        return self

    def stop(self) -> None:
        """Close everything and wait for the thread to end. A second time, nothing happens."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join(_SECONDS_TO_STOP)
        if thread.is_alive():
            raise RuntimeError("The model server did not stop.")

    def __enter__(self) -> ModelServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; what an ``answers`` function raised is raised here, unless something else was."""
        self.stop()
        if kind is None and self._service.troubles:
            raise self._service.troubles[0]

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._started.set()

    def _connection(self) -> Connection:
        self._accepted += 1
        return Connection(self._service.handle, self._connections)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(self._connection, "127.0.0.1", 0, backlog=512)
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        server.close()
        tasks = [connection.task for connection in self._connections]
        for connection in list(self._connections):
            connection.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
