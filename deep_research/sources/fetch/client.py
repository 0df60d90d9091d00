"""Fetching one page: GET alone, redirects looked at one by one, and bounds on time, bytes and what is unpacked."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urljoin

from deep_research.errors import FetchError
from deep_research.patterns import regex
from deep_research.sources.fetch.exchange import BrokenError, Exchange, Headers
from deep_research.sources.fetch.guard import Guard, InnerAddress, Refused, Target, UnreachedError, target_of
from deep_research.unpacking import CODINGS, BodyError, RefusedBodyError, Unpacked

AGENT = "deep-research (+https://pypi.org/project/deep-research/)"
REDIRECTS = (301, 302, 303, 307, 308)
_REUSE = (
    "date",
    "age",
    "expires",
    "cache-control",
    "vary",
    "etag",
    "last-modified",
)  # whether it may be used again
_KEPT = frozenset(("content-type", "content-language", "x-robots-tag", "retry-after", *_REUSE))
_BEYOND_ASCII = regex(rb"[\x80-\xff]")
_MAX_HEADER_BYTES = 16_384
LARGE_BYTES = 1_000_000  # bytes of a body, from which on it is one of few that are taken at a time

Room = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Seconds for all of it, bytes of the body when unpacked and as sent, and redirects followed."""

    seconds: float = 30.0
    bytes: int = 10_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came: ``url`` is where it was found in the end, ``headers`` are those that matter, lower case. ``location``
    is where a redirect leads that was not followed: a whole address that may be asked."""

    url: str
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@functools.cache
def _tls() -> ssl.SSLContext:
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


class Fetcher:
    """Fetches pages. No cookies, no keys, no proxy but that of its guard, and no connection is kept: what one page's
    server does cannot touch the next. Usable from several loops."""

    def __init__(
        self, *, limits: FetchLimits | None = None, guard: Guard | None = None, agent: str = AGENT
    ) -> None:
        self.limits = limits or FetchLimits()
        self._guard = guard or Guard()
        self._agent = agent

    async def fetch(
        self, url: str, *, headers: Mapping[str, str] | None = None, cut: int | None = None
    ) -> Fetched:
        """The page at ``url``, whatever its status. Of a body that has more than ``cut`` bytes one more is kept, and the
        rest is not taken. Raises `FetchError` when it cannot be had or may not; its ``data`` has ``trouble``: connect,
        broken, slow, refused or unreadable."""
        with self._failures(url):
            async with asyncio.timeout(self.limits.seconds):
                page = await self._one(target_of(url.partition("#")[0]), headers or {}, cut=cut)
                for _ in range(self.limits.redirects):
                    if page.location is None:
                        break
                    page = await self._one(target_of(page.location), headers or {}, cut=cut)
        if page.location is not None:
            raise too_many_redirects(url, self.limits.redirects)
        return page

    async def one(
        self, url: str, *, headers: Mapping[str, str] | None = None, large: Room | None = None
    ) -> Fetched:
        """As `fetch`, but a redirect is not followed: who asks does it, and has a say at every step. ``large`` is
        awaited once, within the time for all, before more than `LARGE_BYTES` bytes of a body are taken."""
        with self._failures(url):
            async with asyncio.timeout(self.limits.seconds):
                return await self._one(target_of(url.partition("#")[0]), headers or {}, large=large)

    @contextmanager
    def _failures(self, url: str) -> Iterator[None]:
        """What the layers below raise, as errors of ours."""
        try:
            yield
        except TimeoutError:
            problem = f"No whole answer within {self.limits.seconds:g} s."
            raise FetchError(problem, url=url, trouble="slow") from None
        except Refused as refusal:
            inner = isinstance(refusal, InnerAddress)
            problem = f"Not fetched: {refusal}."
            raise FetchError(problem, url=url, refused=True, trouble="refused", inner=inner) from None
        except UnreachedError as error:
            raise FetchError(f"Not reached: {_why(error)}.", url=url, trouble="connect") from None
        except (BrokenError, OSError):
            raise FetchError("Not reached: the connection broke off.", url=url, trouble="broken") from None
        except RefusedBodyError as error:
            problem = f"Not fetched: the body is {error}."
            hint = f"A page is read as it is or packed with {CODINGS.replace(', ', ' or ')}, up to fetch.max_bytes."
            raise FetchError(problem, hint=hint, url=url, refused=True, trouble="refused") from None
        except BodyError as error:
            raise FetchError(f"The answer is {error}.", url=url, trouble="unreadable") from None
        except (ValueError, RuntimeError) as error:
            problem = f"The answer cannot be read ({type(error).__name__})."
            raise FetchError(problem, url=url, trouble="unreadable") from None

    async def _one(
        self,
        target: Target,
        headers: Mapping[str, str],
        *,
        cut: int | None = None,
        large: Room | None = None,
    ) -> Fetched:
        """One request. Raises `Refused`, and whatever the layers below do."""
        tls = _tls() if target.scheme == "https" else None
        connection = await self._guard.open_connection(target, tls)
        try:
            exchange = Exchange(connection.reader, connection.writer)
            request_headers = self._headers(target, {**headers, **dict(connection.headers)})
            status, response_headers = await exchange.ask(connection.path, request_headers)
            page_headers = _relevant_headers(response_headers)
            location = page_headers.pop("location", None)
            encoding = page_headers.pop("content-encoding", "")
            if status in REDIRECTS and location is not None:
                following = _following(target, location)
                return Fetched(
                    url=target.url, status=status, body=b"", headers=page_headers, location=following
                )
            async with aclosing(_unpacked(exchange, encoding, self.limits.bytes)) as pieces:
                body = await _collected(pieces, cut, large)
            return Fetched(url=target.url, status=status, body=body, headers=page_headers)
        finally:
            connection.writer.transport.abort()  # not closed with a farewell, which a server could leave unanswered

    def _headers(self, target: Target, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        host = f"[{target.host}]" if ":" in target.host else target.host
        own = {
            "host": host,
            "user-agent": self._agent,
            "accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.5",
            "accept-language": "en,*;q=0.5",
            "accept-encoding": CODINGS,
            "connection": "close",
        }
        return [(name.encode("ascii"), value.encode("latin-1")) for name, value in {**own, **more}.items()]


def too_many_redirects(url: str, most: int) -> FetchError:
    return FetchError(f"Not fetched: more than {most} redirects.", url=url, refused=True, trouble="refused")


def _why(error: Exception) -> str:
    """Why there is no connection, for a reader."""
    message = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in message:
        return "its certificate is not trusted"
    if message.startswith(("the name", "the proxy")):
        return message.partition(":")[0]
    return "no connection"


def _following(target: Target, location: str) -> str:
    """The address that a redirect leads to. Raises `Refused`."""
    # Servers write letters beyond ASCII as they are.
    plain = _BEYOND_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), location.encode("latin-1")).decode(
        "ascii"
    )
    following = target_of(urljoin(target.url, plain).partition("#")[0])
    # A redirect from https to http would give away what the first was asked for.
    if target.scheme == "https" and following.scheme == "http":
        raise Refused("a redirect leaves https")
    return following.url


def _relevant_headers(headers: Headers) -> dict[str, str]:
    """The headers that matter, the first of each name."""
    relevant: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        if key in _KEPT or key in ("location", "content-encoding"):
            relevant.setdefault(key, value.decode("latin-1")[:_MAX_HEADER_BYTES])
    return relevant


async def _collected(pieces: AsyncIterator[bytes], cut: int | None, large: Room | None) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async for piece in pieces:
            size += len(piece)
            if large is not None and size > LARGE_BYTES:
                await large()
                large = None
            chunks.append(piece)
            if cut is not None and size > cut:
                break
        body = b"".join(chunks)
        return body if cut is None else body[: cut + 1]
    finally:
        chunks.clear()  # the traceback of a failure would hold them for as long as it lives


async def _unpacked(exchange: Exchange, encoding: str, most: int) -> AsyncGenerator[bytes]:
    """The body piece by piece, unpacked within its bound. Raises `BodyError`."""
    body = Unpacked(encoding, most)
    while (piece := await exchange.piece()) is not None:
        for chunk in body.pieces(piece):
            if chunk:
                yield chunk
            await asyncio.sleep(0)  # a bomb must not hold the loop
    body.end()
