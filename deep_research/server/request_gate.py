"""The gate before all routes: hosts, origins and the bounds of a request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deep_research.logs import describe_error, get_log
from deep_research.server.problems import RequestRefused, error_response, path_of

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
ANY_HOST = "*"
UPLOAD_PATH = "/v1/corpora/"
JSON_TYPES = frozenset({"application/json"})
ZIP_TYPES = frozenset({"application/zip", "application/x-zip-compressed"})
UPLOAD_TYPES = ZIP_TYPES | {"multipart/form-data"}
DRAINED_BYTES, DRAIN_SECONDS = 1 << 20, 1.0  # of the body of a request that is refused
UNSAFE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Of an answer that names none of them itself.
DEFAULT_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
log = get_log("server")
Count = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Bounds of one request."""

    body_bytes: int = 1 << 20
    body_seconds: float = 20.0
    upload_bytes: int = 64 << 20
    upload_seconds: float = 300.0
    headers: int = 100
    header_bytes: int = 32 << 10
    head_seconds: float = 10.0
    path_chars: int = 2_000
    query_bytes: int = 8 << 10
    send_seconds: float = 60.0  # for a client to take a piece of an answer

    def body_of(self, scope: Scope) -> BodyLimit:
        """What the body of a request may be."""
        if scope["method"] == "PUT" and path_of(scope).startswith(UPLOAD_PATH):
            return BodyLimit(UPLOAD_TYPES, self.upload_bytes, self.upload_seconds)
        return BodyLimit(JSON_TYPES, self.body_bytes, self.body_seconds)


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The media types of a body, its most bytes, and the most seconds in which it comes."""

    types: frozenset[str]
    bytes: int
    seconds: float


class RequestGate:
    """ASGI middleware that refuses a request for another host or from another origin, and one beyond the ``limits``.

    A page of another origin cannot have a browser send a request to a server on the same machine: its ``Host`` or
    ``Origin`` tells. ``count`` is called with the method and the status of each answer.
    """

    def __init__(
        self, app: ASGIApp, *, allowed_hosts: Sequence[str], limits: RequestLimits, count: Count
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in allowed_hosts)
        self._limits = limits
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, self._limits.send_seconds)
        began = time.monotonic()
        body = _Body(receive, self._limits.body_of(scope), _has_body(Headers(scope=scope)))
        try:
            self._check(scope)
            await self._app(scope, body.receive, answer.send)
        except Exception as error:  # whatever it is, it goes to our log, which keeps secrets out
            await self._refuse(scope, body, answer, error)
        finally:
            self._count(scope["method"], answer.status)
            route = getattr(scope.get("route"), "path", "")
            seconds = round(time.monotonic() - began, 3)
            log.info("request", method=scope["method"], route=route, status=answer.status, seconds=seconds)

    async def _refuse(self, scope: Scope, body: _Body, answer: _Answer, error: Exception) -> None:
        if answer.status:  # too late for another: the server cuts the connection
            is_refusal = isinstance(error.__cause__, RequestRefused)  # as of streams, when the server stops
            (log.info if is_refusal else log.error)("answer_cut", error=describe_error(error))
            return
        if getattr(error, "status_code", 0) != HTTPStatus.REQUEST_TIMEOUT:
            await body.drain()
        await error_response(scope, error)(scope, body.receive, answer.send)

    def _check(self, scope: Scope) -> None:
        """Raises `RequestRefused`."""
        headers = Headers(scope=scope)
        self._check_sizes(scope)
        host = headers.get("host", "").lower()
        if ANY_HOST not in self._hosts and _name_of(host) not in self._hosts:
            raise RequestRefused(
                400,
                "host",
                "This server does not answer to that host name.",
                "Start it with --allowed-host NAME, or ask for one that it knows, such as 127.0.0.1.",
            )
        if _is_foreign(headers, host):
            raise RequestRefused(
                403, "origin", "A page of another origin sent this request.", "Send it without a browser."
            )
        if scope["method"] in UNSAFE_METHODS and _has_body(headers):
            _check_body_headers(headers, self._limits.body_of(scope))

    def _check_sizes(self, scope: Scope) -> None:
        limits, headers = self._limits, scope["headers"]
        size = sum(len(name) + len(value) + 4 for name, value in headers)
        if len(headers) > limits.headers or size > limits.header_bytes:
            raise RequestRefused(
                431,
                "headers_too_large",
                f"A request has at most {limits.headers} headers of {limits.header_bytes} bytes together.",
                headers={"connection": "close"},
            )
        if len(path_of(scope)) > limits.path_chars:
            raise RequestRefused(414, "path_too_long", f"A path has at most {limits.path_chars} characters.")
        if len(scope.get("query_string", b"")) > limits.query_bytes:
            raise RequestRefused(414, "query_too_long", f"A query has at most {limits.query_bytes} bytes.")


class _Answer:
    """What is sent, with the headers that every answer has. ``status`` is 0 before it began."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in DEFAULT_HEADERS.items():
                headers.setdefault(name, value)
        async with asyncio.timeout(self._seconds):  # a client that takes nothing holds no stream
            await self._send(message)


class _Body:
    """The body of a request as it comes, within its size and time. ``pending`` says that there is one."""

    def __init__(self, receive: Receive, limit: BodyLimit, pending: bool) -> None:
        self._receive = receive
        self._limit = limit
        self._pending = pending
        self._size = 0
        self._deadline = asyncio.get_running_loop().time() + limit.seconds

    async def receive(self) -> Message:
        """Raises `RequestRefused`."""
        if not self._pending:  # what comes next is the client's leaving, for which a stream waits
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise RequestRefused(
                408,
                "body_too_slow",
                f"The body did not come within {self._limit.seconds:g} seconds.",
                headers={"connection": "close"},
            ) from None
        self._pending = bool(message.get("more_body"))
        self._size += len(message.get("body", b""))
        if self._size > self._limit.bytes:
            raise _too_large(self._limit)
        return message

    async def drain(self) -> None:
        """Take what comes of a body that nobody reads: a connection that is closed over it is reset, and its client may
        never see the answer."""
        left = DRAINED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._pending and left > 0:
                    message = await self._receive()
                    self._pending = bool(message.get("more_body"))
                    left -= max(1, len(message.get("body", b"")))


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _check_body_headers(headers: Headers, limit: BodyLimit) -> None:
    """Raises `RequestRefused`. A browser sends no JSON to another origin without asking first, which is refused."""
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestRefused(
            415,
            "content_encoding",
            "Compressed bodies are not taken.",
            "Send it as it is.",
            {"accept-encoding": "identity", "connection": "close"},
        )
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in limit.types:
        raise RequestRefused(
            415,
            "content_type",
            "A body is JSON."
            if limit.types is JSON_TYPES
            else "An upload is a zip archive or a form of files.",
            f"Send it with the header content-type: {', or '.join(sorted(limit.types))}.",
            {"connection": "close"},
        )
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > limit.bytes:
        raise _too_large(limit)


def _too_large(limit: BodyLimit) -> RequestRefused:
    return RequestRefused(
        413,
        "body_too_large",
        f"A body has at most {limit.bytes} bytes.",
        headers={"connection": "close"},
    )


def _name_of(host: str) -> str:
    """The name in a ``Host`` header, without its port; "" for what is none."""
    if host.startswith("["):
        name, closed, port = host.partition("]")
        name, port = f"{name}]", port.removeprefix(":") if port else "0"
        return name if closed and port.isdecimal() else ""
    name, colon, port = host.partition(":")
    return name if not colon or port.isdecimal() else ""


def _is_foreign(headers: Headers, host: str) -> bool:
    """Whether a page of another origin had a browser send the request, and cannot have been left for this one."""
    origin = headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() != host or not host
        except ValueError:
            return True
    return (
        headers.get("sec-fetch-site") in ("cross-site", "same-site")
        and headers.get("sec-fetch-mode") != "navigate"
    )
