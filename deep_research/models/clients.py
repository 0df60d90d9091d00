"""What providers need to reach a service: one client per loop, a key, an address, a deadline, and bounds of what
it sends that hold in both HTTP stacks, also where an SDK without bounds reads it."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx
from pydantic import SecretStr

from deep_research.errors import ConfigurationError
from deep_research.logs import register_secret
from deep_research.models.failures import Verdict, failure
from deep_research.unpacking import BodyError, RefusedBodyError, Unpacked

CREDENTIAL_HEADERS = frozenset(("authorization", "x-api-key"))
MAX_CONNECT_SECONDS = 10.0  # seconds; a service that is there answers sooner
MAX_SILENCE_SHARE = 0.25  # of the time of a request, for which a stream that has begun may bring nothing
UNPACKED = {"accept-encoding": "identity"}  # what is packed is longer on its way to a text than it saves

C = TypeVar("C")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # in the order of their precedence
MAX_PIECES_LEFT = 10_000  # pieces that may have come of a body before its connection was closed
MAX_ERROR_BYTES = 256 * 1024  # of the body of an error, of which a line is shown
# What to do about an answer whose body cannot be used.
STRANGE = "Is the address that of the service? What stands before it may pack its answers, or answer itself."
_BEGINNERS = (b",", b"[", b"{")
Hook = Callable[[Any], Awaitable[None]]


class PerLoop(Generic[C]):
    """One client for each running loop, made when first asked for: connections cannot be used from another loop.
    A loop that goes away without `aclose` takes its client along at the next use."""

    def __init__(self, make: Callable[[], C], close: Callable[[C], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._gate = threading.Lock()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, C] = WeakKeyDictionary()

    def here(self) -> C:
        loop = asyncio.get_running_loop()
        with self._gate:
            # Open connections hold on to their loop, so a weak key alone would never let go of it.
            for closed in [other for other in self._clients if other.is_closed()]:
                del self._clients[closed]
            if loop not in self._clients:
                self._clients[loop] = self._make()
            return self._clients[loop]

    async def aclose(self) -> None:
        with self._gate:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self._close(client)


@functools.cache
def tls() -> ssl.SSLContext:
    """The one context of the process, since reading all certificates anew takes tens of milliseconds. Raises
    `ConfigurationError` where the environment names certificates that cannot be read."""
    named = next((name for name in CERTIFICATES if os.environ.get(name)), None)
    try:
        if named == "SSL_CERT_DIR":
            os.scandir(os.environ[named]).close()  # OpenSSL passes over a folder that is none
        return httpx.create_ssl_context()
    except OSError as error:  # ssl.SSLError is one
        if named is None:
            raise
        raise ConfigurationError(
            f"{named} names certificates that cannot be read ({os.environ[named]}): {error.strerror or error}.",
            hint=f"Correct {named}, or unset it to trust the certificates of httpx.",
        ) from error


def secret_key(given: SecretStr | str | None, *, variable: str | None = None) -> SecretStr | None:
    """The key given, or that of an environment variable; from now on it is hidden wherever something is printed."""
    key = given.get_secret_value() if isinstance(given, SecretStr) else given
    if key is None and variable is not None:
        key = os.environ.get(variable)
    key = (key or "").strip()
    if not key:
        return None
    register_secret(key)
    # As a header it would fail only when it is sent, with an error that quotes it.
    if not (key.isascii() and key.isprintable()):
        source = f"in {variable}" if given is None else "given"
        raise ConfigurationError(f"The API key {source} has invalid characters.", hint="Copy the key again.")
    return SecretStr(key)


def header_names(variable: str) -> list[str]:
    """The names of the headers that an environment variable adds to what an SDK sends, a line for each."""
    lines = os.environ.get(variable, "").split("\n")
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


def checked_url(url: str, *, of: str) -> str:
    """The address if it can be one, without a slash at its end. It is shown and stored, so no secret may be in it."""
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"The base URL of {of} is not an http(s) address.",
            hint="Use an address such as http://127.0.0.1:8000/v1.",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(
            f"The base URL of {of} contains more than an address.",
            hint="Remove user, password and query; set the key in its variable, which is never stored.",
        )
    return url.strip().rstrip("/")


@asynccontextmanager
async def deadline(seconds: float, *, model: str) -> AsyncIterator[None]:
    """All that happens within takes no longer, however slowly a service drips: SDKs time only the single read."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise failure(
            Verdict.TRANSIENT, f"no whole answer within {seconds:g} s", model=model, maybe_billed=True
        ) from None


def bounded(most: int, *, values: int | None = None) -> Hook:
    """A hook for the responses of an httpx or httpx2 client: its reader gets a body unpacked, and at most ``most``
    bytes of it; of an error `MAX_ERROR_BYTES`. ``values``: how many there may be in its JSON, for SDKs that read it
    themselves. Else `BodyError` is raised."""

    async def hook(response: Any) -> None:
        sent = response.stream
        is_error = response.status_code >= 400
        stream_of: Any = type(sent)
        response.stream = _kind_of(stream_of)(
            sent,
            response.headers.pop("content-encoding", ""),
            min(most, MAX_ERROR_BYTES) if is_error else most,
            values,
            (response.status_code if is_error else 0, dict(response.headers)),
        )

    return hook


def read_json(body: bytes | bytearray, *, values: int) -> Any:
    """The JSON of a body that has at most so many ``values``: each takes up to 175 bytes of memory. Raises
    `BodyError`."""
    if _values(body) > values:
        raise _too_many(values)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("no JSON") from None


class _Bounded:
    """A stream of bytes in front of that of a stack. ``told``: the status of an error and its headers, for whom the
    body fails."""

    def __init__(
        self, sent: Any, coding: str, most: int, values: int | None, told: tuple[int, dict[str, str]]
    ) -> None:
        self._sent = sent
        self._coding = coding
        self._most = most
        self._left = values
        self._values = values
        self._told = told

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        sent = aiter(self._sent)
        over = False
        try:
            body = Unpacked(self._coding, self._most)
            async for piece in sent:
                for made in body.pieces(piece):
                    self._count(made)
                    yield made
                    await asyncio.sleep(0)  # what unpacks to much must not hold the loop
            over = True
            body.end()
        except BodyError as error:
            error.status, error.headers = self._told
            raise
        finally:
            if not over:
                await self._close(sent)

    async def aclose(self) -> None:
        await self._sent.aclose()

    async def _close(self, sent: AsyncIterator[bytes]) -> None:
        """Ends a stream of which not all was read. Each of the generators that a stack reads through ends when the one
        below it does, and none closes it: closed from above they would be left to the garbage collection, which may come
        when their loop is gone. Below all of them is a connection: once it is closed, what is read from it is what had
        come before, and then an error that ends them all."""
        await self.aclose()  # an SDK that stumbles over the body of an error leaves it open
        with suppress(Exception):  # it is the end that is wanted, whichever it is
            for _ in range(MAX_PIECES_LEFT):
                if await anext(sent, None) is None:
                    break

    def _count(self, made: bytes) -> None:
        if self._left is not None and self._values is not None:
            self._left -= _values(made)
            if self._left < 0:
                raise _too_many(self._values)


@lru_cache(maxsize=8)
def _kind_of(stream: Any) -> Callable[..., Any]:
    """The same as a stream of the stack that a stream is of: each takes those of its own alone, and neither has to be
    imported for it."""
    base = next(kind for kind in stream.__mro__ if kind.__name__ == "AsyncByteStream")
    return cast("Callable[..., Any]", type("BoundedStream", (_Bounded, base), {}))


def _values(data: bytes | bytearray) -> int:
    """About how many values there are in JSON: marks within its texts are counted as well, so at least so many."""
    return sum(map(data.count, _BEGINNERS))


def _too_many(most: int) -> RefusedBodyError:
    return RefusedBodyError(f"one of more than {most:,} values")
