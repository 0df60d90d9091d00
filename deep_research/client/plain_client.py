"""`Client`: the verbs of `AsyncClient` for plain code."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack

from deep_research.client.async_client import AsyncClient
from deep_research.client.connection import TIMEOUT_SECONDS
from deep_research.research.loops import BackgroundLoop
from deep_research.research.operations import of_run
from deep_research.research.sessions import Session

if TYPE_CHECKING:
    from deep_research.research.arguments import RunArguments
    from deep_research.research.result import ResearchResult
    from deep_research.state.events import Event, Progress

P = ParamSpec("P")
R = TypeVar("R")


def _plain(
    verb: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Client, P], R]:
    """The plain face of a verb, which waits for it on the client's own loop."""

    @functools.wraps(verb)
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.call(verb(self._client, *args, **kwargs))

    return call


class Client:
    """``Client("http://127.0.0.1:8000", token="dr_…")``: what `DeepResearch` does, on a server. Arguments and errors are
    those of `AsyncClient`. It may be used where a loop runs.

    Example:
        with Client() as client:
            print(client.run("Who built Bell Rock?").report)
    """

    def __init__(
        self, server: str | None = None, token: str | None = None, *, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._client = AsyncClient(server, token, timeout=timeout)
        self._loop = BackgroundLoop(farewell=self._client.aclose)
        self._finalizer = weakref.finalize(self, self._loop.close)

    def close(self) -> None:
        self._finalizer()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    submit = _plain(AsyncClient.submit)
    run = _plain(AsyncClient.run)
    wait = _plain(AsyncClient.wait)
    estimate = _plain(AsyncClient.estimate)
    list = _plain(AsyncClient.list)
    status = _plain(AsyncClient.status)
    result = _plain(AsyncClient.result)
    report = _plain(AsyncClient.report)
    events = _plain(AsyncClient.events)
    waiting = _plain(AsyncClient.waiting)
    text = _plain(AsyncClient.text)
    sessions = _plain(AsyncClient.sessions)
    session_turns = _plain(AsyncClient.session_turns)
    session_rename = _plain(AsyncClient.session_rename)
    session_delete = _plain(AsyncClient.session_delete)
    corpora = _plain(AsyncClient.corpora)
    pack = _plain(AsyncClient.pack)
    verify = _plain(AsyncClient.verify)
    resume = _plain(AsyncClient.resume)
    answer = _plain(AsyncClient.answer)
    steer = _plain(AsyncClient.steer)
    pause = _plain(AsyncClient.pause)
    cancel = _plain(AsyncClient.cancel)
    delete = _plain(AsyncClient.delete)
    memory_list = _plain(AsyncClient.memory_list)
    memory_show = _plain(AsyncClient.memory_show)
    memory_add = _plain(AsyncClient.memory_add)
    memory_edit = _plain(AsyncClient.memory_edit)
    memory_export = _plain(AsyncClient.memory_export)
    memory_forget = _plain(AsyncClient.memory_forget)

    def session(self, name: str) -> Session:
        """A conversation of the token's user, new or not."""
        return Session(self, name)

    def start(self, query: str, **options: Unpack[RunArguments]) -> Run:
        """Research in the background of the server."""
        return Run(self, self.submit(query, **options))

    def follow(self, research_id: str, after: int = 0) -> Iterator[Event | Progress]:
        """As `AsyncClient.follow`."""
        events = self._client.follow(research_id, after)
        try:
            while True:
                try:
                    yield self._loop.call(_next(events))
                except StopAsyncIteration:
                    return
        finally:
            self._loop.call(events.aclose())

    def stream(self, query: str, **options: Unpack[RunArguments]) -> Iterator[Event | Progress]:
        """As `AsyncClient.stream`."""
        yield from self.follow(self.submit(query, **options))


async def _next(events: Any) -> Any:
    return await anext(events)


class Run:
    """A run on a server, as its starter holds it. The verbs are those of `Client` for this run."""

    def __init__(self, client: Client, research_id: str) -> None:
        self.research_id = research_id
        self._engine = client

    def __repr__(self) -> str:
        return f"Run({self.research_id!r})"

    def result(self, timeout: float | None = None) -> ResearchResult:
        """Wait for the end, at most ``timeout`` seconds. Raises `TimeoutError`; the run goes on."""
        future = self._engine._loop.submit(self._engine._client.wait(self.research_id))
        try:
            return future.result(timeout)
        finally:
            future.cancel()

    def events(self, after: int = 0) -> Iterator[Event | Progress]:
        """What happens in the run after a sequence number, until it ends or waits."""
        return self._engine.follow(self.research_id, after)

    status = of_run(Client.status)
    report = of_run(Client.report)
    steer = of_run(Client.steer)
    pause = of_run(Client.pause)
    answer = of_run(Client.answer)
    resume = of_run(Client.resume)
    cancel = of_run(Client.cancel)
    pack = of_run(Client.pack)
    verify = of_run(Client.verify)
    delete = of_run(Client.delete)
