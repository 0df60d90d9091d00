"""Guard against addresses that are not public, whatever a name, a redirect or a resolver says.

The check that counts is made where a connection is made: every address that a name resolves to must be public, and the
connection goes to the one that was checked, so that a second answer of a resolver changes nothing.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from deep_research.patterns import regex

MAX_URL_CHARS = 2_048
PORTS = {"http": 80, "https": 443}
MAX_LOOKUPS = 256  # of names at a time; those that nobody waits for any more count too
PATIENCE_SECONDS = 4.0  # seconds for one address of a name that has another
_MAX_TRIED = 4  # addresses of a name
_RESOLVER = "deep-research-resolver"

IPAddress = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

# What the standard library calls global and is none of ours: special uses, anycast relays, and services of clouds that
# answer at an address of the public net.
_NEVER = tuple(
    ip_network(net)
    for net in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "168.63.129.16/32",  # a cloud's agent
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "::/8",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
        "fc00::/6",
    )
)
# Addresses of version 4 that stand inside of one of version 6: (network, bits to the right of them).
_CARRIERS = (
    (ip_network("::ffff:0:0/96"), 0),  # mapped
    (ip_network("::ffff:0:0:0/96"), 0),  # translated
    (ip_network("::/96"), 0),  # compatible
    (ip_network("64:ff9b::/96"), 0),  # NAT64
    (ip_network("2002::/16"), 80),  # 6to4
)
_LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = regex(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_NUMBER = regex(r"(?:0x[0-9a-f]*|[0-9]+)\Z")
_LOCAL_NAMES = frozenset(
    ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "arpa", "onion")
) | {"invalid", "test", "example"}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Opener = Callable[[str, int, ssl.SSLContext | None, str], Awaitable[Streams]]


class Refused(Exception):  # noqa: N818 - a verdict, raised where a connection would be made
    """An address that may not be fetched; the text says why."""


class InnerAddress(Refused):
    """A name that leads to an address that is not public."""


@dataclass(frozen=True, slots=True)
class Target:
    """A checked URL in its parts. ``host`` is an ASCII name or an address without brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{self.path}"


@lru_cache(maxsize=1024)  # on its way a page is looked at again and again
def target_of(url: str) -> Target:
    """The parts of a URL that may be fetched, as far as it shows from itself. Raises `Refused`."""
    if not url or len(url) > MAX_URL_CHARS:
        raise Refused(f"the address is empty or longer than {MAX_URL_CHARS} characters")
    if any(ord(c) <= 0x20 or ord(c) == 0x7F or c in '\\"<>^`{|}' for c in url):
        raise Refused("the address has characters that no address has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("the address cannot be read") from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise Refused("only http and https are fetched")
    if "@" in parts.netloc or "%" in parts.netloc:
        raise Refused("the address hides its host")
    if port is not None and port != PORTS[scheme]:
        raise Refused("only the ports 80 and 443 are fetched")
    host = _host(parts.hostname or "")
    path = parts.path or "/"
    return Target(scheme, host, PORTS[scheme], f"{path}?{parts.query}" if parts.query else path)


def _host(name: str) -> str:
    if ":" in name:
        try:
            address = ip_address(name)
        except ValueError:
            raise Refused("the host is no address") from None
        if not is_public(address):
            raise Refused("the host is no public address")
        return str(address)
    host = name
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise Refused("the host is no name") from None
    host = host.lower().rstrip(".")
    if not _HOST.match(host):
        raise Refused("the host is no name")
    labels = host.split(".")
    if _NUMBER.match(labels[-1]):
        # Anything that ends with a number is an address to a resolver, in whatever notation.
        try:
            address = IPv4Address(host)
        except ValueError:
            raise Refused("the host is an address in disguise") from None
        if not is_public(address):
            raise Refused("the host is no public address")
        return str(address)
    if len(labels) < 2 or labels[-1] in _LOCAL_NAMES:
        raise Refused("the host is a local name")
    return host


def is_public(address: IPAddress | str) -> bool:
    """Whether an address belongs to one host on the public net, and so does every address that it carries."""
    try:
        address = ip_address(address) if isinstance(address, str) else address
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.scope_id or address in _LOCAL_NAT64:
            return False
        carried = _carried(address)
        if carried is not None:
            return is_public(carried) and address in ip_network("64:ff9b::/96")
    if any(address in net for net in _NEVER if net.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: IPv6Address) -> IPv4Address | None:
    for net, shift in _CARRIERS:
        if address in net:
            return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return None


async def resolve(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, as the system knows them. Raises `OSError`.

    In a thread of its own, which nobody waits for at the end: a name server that does not answer holds it for half a
    minute, and a site that has such servers must not hold the threads that everything else of the loop works in.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Sequence[str]] = loop.create_future()

    def settle(outcome: Sequence[str] | Exception) -> None:
        if answer.done():  # nobody waits any more
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    def ask() -> None:
        outcome: Sequence[str] | Exception
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            outcome = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        except (OSError, UnicodeError) as error:
            outcome = error
        except Exception as error:
            outcome = OSError(f"asking for the name failed: {type(error).__name__}")
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    if sum(thread.name == _RESOLVER for thread in threading.enumerate()) >= MAX_LOOKUPS:
        raise OSError("too many names are being asked for")
    try:
        threading.Thread(target=ask, name=_RESOLVER, daemon=True).start()
    except RuntimeError as error:
        raise OSError("no thread can be started") from error
    return await answer


class UnreachedError(Exception):
    """No connection came about; the text says why."""


class _Reader(asyncio.StreamReader):
    """Gives what came before a connection broke off, and only then says so: many servers cut it right after an answer."""

    broken: Exception | None = None

    def set_exception(self, exc: Exception) -> None:
        self.broken = exc
        self.feed_eof()

    async def read(self, n: int = -1) -> bytes:
        piece = await super().read(n)
        if not piece and self.broken:
            raise self.broken
        return piece


class _Protocol(asyncio.StreamReaderProtocol):
    """Knows its connection, which nobody else does as long as it is being made."""

    own_transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.own_transport = transport
        super().connection_made(transport)


async def opened(address: str, port: int, tls: ssl.SSLContext | None, name: str) -> Streams:
    """A connection to an address; over TLS the server must prove that it is ``name``. Raises `OSError`."""
    return await connection(tls, name, host=address, port=port)


async def connection(tls: ssl.SSLContext | None, name: str, **where: Any) -> Streams:
    """As `opened`; ``where`` is an address and a port, or a connected socket. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    reader = _Reader()
    protocol = _Protocol(reader)
    try:
        transport, _ = await loop.create_connection(
            lambda: protocol, ssl=tls, server_hostname=name if tls else None, **where
        )
    except BaseException:
        if isinstance(protocol.own_transport, asyncio.WriteTransport):  # given up in its first moment
            protocol.own_transport.abort()  # as any other: not with a farewell that the other side may leave unanswered
        raise
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """An open connection on which a target can be asked for, by ``path`` and with ``headers`` beside its own."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    path: str
    headers: tuple[tuple[str, str], ...] = ()


class Guard:
    """Connects to public addresses alone. ``resolver`` and ``opener``, which makes the connections, may be replaced in
    tests."""

    def __init__(self, resolver: Resolver = resolve, *, opener: Opener = opened) -> None:
        self.resolver = resolver
        self._opener = opener

    async def open_connection(self, target: Target, tls: ssl.SSLContext | None) -> OpenConnection:
        """Open a connection on which ``target`` can be asked for. Raises as `connected`."""
        return OpenConnection(*await self.connected(target.host, target.port, tls), target.path)

    async def connected(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> Streams:
        """A connection to a host, over TLS if there is a context for it. Raises `Refused` and `UnreachedError`; waits
        for as long as it takes."""
        try:
            addresses = await self.resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise UnreachedError(f"the name is not known: {type(error).__name__}") from None
        if not addresses:
            raise UnreachedError("the name has no address")
        # All of them: a name that has one of ours among public ones means us.
        if not all(map(is_public, addresses)):
            raise InnerAddress("the name leads to an address that is not public")
        failure = UnreachedError("no address answered")
        candidates = addresses[:_MAX_TRIED]
        for number, address in enumerate(candidates, start=1):
            try:
                # The first may lead nowhere, as those of version 6 do in many nets; it is not waited for to the end.
                async with asyncio.timeout(PATIENCE_SECONDS if number < len(candidates) else None):
                    return await self._opener(address, port, tls, host)
            except ssl.SSLError as error:  # it is there, but is not who it should be
                raise UnreachedError(str(error)) from None
            except OSError as error:
                failure = UnreachedError(str(error))
        raise failure
