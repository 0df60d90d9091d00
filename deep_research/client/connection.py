"""The connection to a server: requests, retries, and its errors as ours."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

import httpx

from deep_research.addresses import is_loopback
from deep_research.errors import DeepResearchError, RemoteError, UsageError
from deep_research.version import __version__

SERVER_VARIABLE, TOKEN_VARIABLE = "DEEP_RESEARCH_SERVER", "DEEP_RESEARCH_TOKEN"
DEFAULT_SERVER = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0
MAX_TRIES = 5
MAX_PAUSE_SECONDS = 10.0
MAX_ANSWER_BYTES = 256 << 20
_PASSING = (502, 503, 504)  # statuses that another try may not have


@dataclass(frozen=True, slots=True)
class Response:
    """An answer as a whole. ``headers`` have small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Connection:
    """Sends requests to one server. No redirect is followed: a token goes to that server alone. What can be repeated is
    tried up to ``tries`` times; an answer of more than ``max_answer_bytes`` is refused. None for the address or the token
    stands for that of the environment."""

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        timeout: float | httpx.Timeout = TIMEOUT_SECONDS,
        tries: int = MAX_TRIES,
        max_answer_bytes: int | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._tries = tries
        self._max_answer_bytes = max_answer_bytes or MAX_ANSWER_BYTES
        address = server or os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER
        if not address.startswith(("http://", "https://")):
            raise UsageError(
                f"'{address[:80]}' is not an address of a server.", hint=f"For example {DEFAULT_SERVER}"
            )
        token = os.environ.get(TOKEN_VARIABLE) if token is None else token
        headers = {"user-agent": f"deep-research/{__version__}"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._client = httpx.AsyncClient(
            base_url=address.rstrip("/"),
            headers=headers,
            timeout=timeout,
            transport=transport,
            follow_redirects=False,
            trust_env=not is_loopback(address),  # a proxy has no business with this machine's requests
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def json(self, method: str, path: str, **request: Any) -> Any:
        """The answer to a request as JSON; None where it is empty. Raises the errors of the verbs, and `RemoteError`."""
        body = await self.body(method, path, **request)
        if not body:
            return None
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise _unreadable() from None

    async def body(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of the answer to a request. Raises as `json`."""
        response = await self.exchange(method, path, params=params, content=content, headers=headers)
        return response.body

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The answer to a request. A GET, and a POST with an idempotency key, is tried again where the server was not
        reached or is busy. Raises as `json`."""
        repeats = method == "GET" or bool(headers and "idempotency-key" in headers)
        for again in range(self._tries if repeats else 1):
            is_last = again == self._tries - 1 or not repeats
            try:
                async with self.stream(
                    method, path, params=params, content=content, headers=headers
                ) as response:
                    body = await _read(response, self._max_answer_bytes)
                    return Response(response.status_code, dict(response.headers), body, str(response.url))
            except _PassingError as error:
                if is_last:
                    raise error.error from None
                await asyncio.sleep(min(error.pause or 0.1 * 2**again, MAX_PAUSE_SECONDS))
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[httpx.Response]:
        """An answer while it comes. Raises as `json`, and `_PassingError` for what another try may not have."""
        payload = {} if content is None else {"json": content}
        try:
            request = self._client.build_request(method, path, params=params, headers=headers, **payload)
        except ValueError as error:  # of a half character, say
            raise UsageError(
                f"The request cannot be sent: {error}.", hint="Use only valid text and numbers."
            ) from None
        try:
            response = await self._client.send(request, stream=True)
            try:
                if response.status_code >= 300:
                    raise await _error_of(response, self._max_answer_bytes)
                yield response
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise _PassingError(_unreached(error, str(self._client.base_url)), None) from None


class _PassingError(Exception):
    """An ``error`` that may be over after a ``pause`` in seconds."""

    def __init__(self, error: DeepResearchError, pause: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.pause = pause


async def _read(response: httpx.Response, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            raise RemoteError(f"The server's answer has more than {most:,} bytes.", hint="Ask for less.")
        pieces.append(piece)
    return b"".join(pieces)


async def _error_of(response: httpx.Response, most: int) -> Exception:
    """The error that a server answered with, as the class that the engine raises."""
    try:
        problem = json.loads(await _read(response, most))
        detail, hint, code = (str(problem.get(name) or "") for name in ("detail", "hint", "code"))
        data = problem.get("data")
    except (ValueError, AttributeError, RecursionError):
        detail, hint, code, data = "", "", "", None
    kind = UsageError if code == "invalid_request" else _error_classes().get(code, RemoteError)
    facts = {str(name): value for name, value in data.items()} if isinstance(data, dict) else {}
    facts = {name: value for name, value in facts.items() if name not in ("problem", "hint", "self")}
    error = kind(
        detail or f"The server answered with status {response.status_code}.",
        hint=hint or "See the log of the server.",
        **facts,
    )
    if response.status_code in _PASSING:
        return _PassingError(error, _pause_of(response))
    return error


def _pause_of(response: httpx.Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and len(text) < 6 else None


@cache
def _error_classes() -> dict[str, type[DeepResearchError]]:
    def classes(kind: type[DeepResearchError]) -> Iterator[type[DeepResearchError]]:
        yield kind
        for each in kind.__subclasses__():
            yield from classes(each)

    return {kind.code: kind for kind in classes(DeepResearchError)}


def _unreached(error: httpx.TransportError, server: str) -> RemoteError:
    reason = str(error) or type(error).__name__
    return RemoteError(
        f"The server {server} cannot be reached: {reason}.",
        hint="Check its address, and that `deep-research serve` runs there.",
    )


def _unreadable() -> RemoteError:
    return RemoteError(
        "The answer of the server cannot be read.",
        hint="Check that the address is that of a deep-research server of this version.",
    )
