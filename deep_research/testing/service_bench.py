"""Base of the benches for search and model providers: a fake service on loopback, and the providers that call it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar
from urllib.parse import quote, quote_plus

from deep_research.errors import DeepResearchError
from deep_research.testing.patience import PATIENCE_SECONDS


class Service(Protocol):
    """A service on loopback that a suite points providers at, and that fails as it is told.

    ``log`` holds the requests in their order, ``fault_kinds`` the names of the faults there are. The services of the
    engine's own tests, in ``tests/servers`` of its source, speak the formats of its providers; for another format, write
    one with these members."""

    fault_kinds: Sequence[str]

    @property
    def base_url(self) -> str: ...

    @property
    def log(self) -> Sequence[Any]: ...

    @property
    def connections(self) -> int:
        """The connections that are open now."""

    @property
    def accepted(self) -> int:
        """The connections that were ever opened."""

    def start(self) -> object: ...

    def stop(self) -> None: ...

    def fail(self, kind: str = "", **details: Any) -> None:
        """Make the service fail with the fault ``kind``, ``times`` times (default 1; None: always). It replaces the
        earlier fault; without a kind the service works again."""

    def send(
        self, status: int, pieces: tuple[bytes, ...] = (), media: str = "application/json", **details: Any
    ) -> None:
        """The reply to every request from now on. ``details``: ``headers``, ``chunked`` (without a length), ``patience``
        (seconds that its pieces may take) and ``hangs`` (the connection stays open after it)."""


class _Closable(Protocol):
    async def aclose(self) -> None: ...


P = TypeVar("P", bound=_Closable)
S = TypeVar("S", bound=Service)


class ServiceBench(Generic[P, S]):
    """Base of the benches for search and model providers: a fake service on loopback, and the providers that call it.
    Checks run on a loop of their own, see `on_a_loop`.

    ``key`` is the key of the providers. ``lacks`` are the abilities that the subject of the checks, a provider with or
    without a service, does not have; checks that need one of them are left out.
    """

    key: str
    lacks: Collection[object]

    def __init__(self, service: S | None) -> None:
        self._service = service
        self._providers: list[P] = []

    @property
    def server(self) -> S:
        assert self._service is not None, "the subject has no service, so it lacks Ability.SERVICE"
        return self._service

    def __enter__(self) -> Self:
        if self._service is not None:
            self._service.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._service is not None:
            self._service.stop()

    def has(self, ability: object) -> bool:
        return ability not in self.lacks

    def provider(self, *, url: str = "", key: str | None = None) -> P:
        """Make a provider; the bench closes it at the end of the check."""
        raise NotImplementedError

    def calls(self, provider: P) -> Iterator[Coroutine[Any, Any, object]]:
        """Yield one request for each kind of call; await each before the next."""
        raise NotImplementedError

    def has_content(self, answer: Any) -> bool:
        """Whether an answer has content."""
        raise NotImplementedError

    async def ask(self, provider: P | None = None) -> list[DeepResearchError]:
        """Send each kind of request, and return the errors. Other exceptions and empty answers fail the check."""
        provider = provider or (self._providers[0] if self._providers else self.provider())
        errors = []
        for call in self.calls(provider):
            (came,) = await asyncio.gather(call, return_exceptions=True)
            if isinstance(came, BaseException) and not isinstance(came, DeepResearchError):
                raise came
            if isinstance(came, DeepResearchError):
                errors.append(came)
            else:
                assert self.has_content(came), f"{came!r} is empty"
        return errors

    def on_a_loop(self, check: Callable[[Any], Coroutine[Any, Any, object]]) -> None:
        """Run a check, a coroutine function, on a loop of its own."""

        async def bounded() -> None:
            try:
                async with asyncio.timeout(3 * PATIENCE_SECONDS):
                    await check(self)
            finally:
                for provider in self._providers:
                    await provider.aclose()

        asyncio.run(bounded())


def encoded_forms_of_key(key: str) -> Iterator[str]:
    """Yield the key as it is, URL-encoded, and as it looks inside base64 at each of three offsets."""
    yield key
    yield from {quote(key), quote(key, safe=""), quote_plus(key)} - {key}
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # The last four characters, and the first four behind an offset, depend on the text around the key as well.
            yield encode(b"-" * offset + key.encode())[4 if offset else 0 : -4].decode()


def assert_no_key_in(text: str, key: str) -> None:
    assert not [form for form in encoded_forms_of_key(key) if form in text], "a key is shown"
