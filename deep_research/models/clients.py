"""What providers need to reach a service: one client per loop, a key, an address, a deadline."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx
from pydantic import SecretStr

from deep_research.errors import ConfigurationError
from deep_research.logs import register_secret
from deep_research.models.failures import Verdict, failure

CREDENTIAL_HEADERS = frozenset(("authorization", "x-api-key"))
LONGEST_CONNECT = 10.0  # seconds; a service that is there answers sooner
LONGEST_SILENCE = 0.25  # of the time of a request, for which a stream that has begun may bring nothing
UNPACKED = {"accept-encoding": "identity"}  # what is packed is longer on its way to a text than it saves

C = TypeVar("C")


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


CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # in the order of their precedence


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
