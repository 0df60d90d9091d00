"""What a check of any provider of a service works with: a service on loopback, and providers that ask it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar
from urllib.parse import quote, quote_plus

from servers import ModelServer, SearchServer

from deep_research.errors import DeepResearchError

PATIENCE = 240.0  # seconds until a check gives up waiting, also where the machine stands still


class _Closable(Protocol):
    async def aclose(self) -> None: ...


P = TypeVar("P", bound=_Closable)


class ServiceBench(Generic[P]):
    """A server, and providers over it. Checks run on a loop of their own, see `on_a_loop`. ``key`` is the one that
    providers are given."""

    server: ModelServer | SearchServer
    key: str
    lacks: Collection[object]

    def __init__(self) -> None:
        self._made: list[P] = []

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def has(self, ability: object) -> bool:
        return ability not in self.lacks

    def provider(self, *, url: str = "", key: str | None = None) -> P:
        """A new one, which is closed at the end of the check."""
        raise NotImplementedError

    def calls(self, provider: P) -> Iterator[Coroutine[Any, Any, object]]:
        """A request in each of the ways in which there are requests, to be awaited before the next."""
        raise NotImplementedError

    def says(self, answer: Any) -> bool:
        """Whether there is something to an answer."""
        raise NotImplementedError

    async def ask(self, provider: P | None = None) -> list[DeepResearchError]:
        """A request in each way; the errors that came in place of answers, with their tracebacks. Anything foreign that
        is raised fails the check, and so does an answer that says nothing."""
        provider = provider or (self._made[0] if self._made else self.provider())
        errors = []
        for call in self.calls(provider):
            (came,) = await asyncio.gather(call, return_exceptions=True)
            if isinstance(came, BaseException) and not isinstance(came, DeepResearchError):
                raise came
            if isinstance(came, DeepResearchError):
                errors.append(came)
            else:
                assert self.says(came), f"{came!r} says nothing"
        return errors

    def on_a_loop(self, check: Callable[[Any], Coroutine[Any, Any, object]]) -> None:
        """Run a check, a coroutine function, on a loop of its own."""

        async def bounded() -> None:
            try:
                async with asyncio.timeout(3 * PATIENCE):
                    await check(self)
            finally:
                for made in self._made:
                    await made.aclose()

        asyncio.run(bounded())


async def until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that the service does by itself. Raises `TimeoutError`."""
    async with asyncio.timeout(patience):
        while not condition():  # noqa: ASYNC110 - it is in another thread
            await asyncio.sleep(0.002)


def forms(key: str) -> Iterator[str]:
    """A key as it is, URL-encoded, and in base64 wherever it may begin in what is encoded."""
    yield key
    yield from {quote(key), quote(key, safe=""), quote_plus(key)} - {key}
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"-" * offset + key.encode())[4 if offset else 0 : -4].decode()


def no_key_in(text: str, key: str) -> None:
    assert not [form for form in forms(key) if form in text], "a key is shown"
