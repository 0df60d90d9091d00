"""Pages through an HTTP proxy, where the owner of the machine has one.

The proxy resolves names and connects, so `Guard` cannot check the address of the connection. Addresses that are not
public are refused as without a proxy, at every redirect. A name that resolves here to such an address is refused too. A
name that does not resolve here goes to the proxy, which has to check the rest.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from deep_research.logs import register_secret
from deep_research.sources.fetch.guard import (
    Guard,
    InnerAddress,
    OpenConnection,
    Resolver,
    Target,
    UnreachedError,
    connection,
    is_public,
    resolve,
)

OFF, ENVIRONMENT = "off", "environment"
MAX_HEAD_BYTES = 16_384  # of a proxy's answer to CONNECT
_RECEIVED_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; ``authorization`` is the header that names its user, empty where it asks for none."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> Proxy:
        """The proxy at ``http://[USER:PASSWORD@]HOST:PORT``. Raises `ValueError`.

        Example:
            Proxy.of("http://proxy.example:3128")  # Proxy(host='proxy.example', port=3128)
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError("a proxy is an address such as http://proxy.example:3128")
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(user.encode()).decode()}" if parts.username else ""
        register_secret(unquote(parts.password or ""))
        return cls(parts.hostname, parts.port or 80, authorization)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("proxy-authorization", self.authorization),) if self.authorization else ()


def proxies(setting: str) -> Callable[[Target], Proxy | None]:
    """Choose the proxy of a target: that of the environment's variables, or that at the address ``setting``. Raises
    `ValueError` for an address that is none. The caller handles `OFF`."""
    if setting == ENVIRONMENT:
        proxy_urls = getproxies()
        by_scheme = {
            scheme: Proxy.of(url) for scheme, url in proxy_urls.items() if scheme in ("http", "https", "all")
        }

        def of_environment(target: Target) -> Proxy | None:
            if proxy_bypass(target.host):
                return None
            return by_scheme.get(target.scheme) or by_scheme.get("all")

        return of_environment
    one = Proxy.of(setting)
    return lambda _: one


class ProxyGuard(Guard):
    """Connects through the proxy of a target, or directly like `Guard`. Through a proxy it still refuses a name that
    resolves here to a non-public address."""

    def __init__(self, choose: Callable[[Target], Proxy | None], resolver: Resolver = resolve) -> None:
        super().__init__(resolver)
        self._choose = choose

    async def open_connection(self, target: Target, tls: ssl.SSLContext | None) -> OpenConnection:
        proxy = self._choose(target)
        if proxy is None:
            return await super().open_connection(target, tls)
        with suppress(OSError, UnicodeError):  # a name that is not known here may be known to the proxy
            if not all(map(is_public, await self.resolver(target.host, target.port))):
                raise InnerAddress("the name leads to an address that is not public")
        connected = await _connected(proxy)
        try:
            if tls is None:
                return OpenConnection(*await connection(None, "", sock=connected), target.url, proxy.headers)
            await _tunnel(connected, proxy, target)
            return OpenConnection(*await connection(tls, target.host, sock=connected), target.path)
        except ssl.SSLError as error:
            connected.close()
            raise UnreachedError(str(error)) from None
        except OSError:
            connected.close()
            raise UnreachedError("the proxy broke off") from None
        except BaseException:
            connected.close()
            raise


async def _connected(proxy: Proxy) -> socket.socket:
    """A socket that is connected to the proxy, which may be at any address: the owner named it."""
    loop = asyncio.get_running_loop()
    try:
        addresses = await resolve(proxy.host, proxy.port)
    except (OSError, UnicodeError):
        raise UnreachedError("the proxy is not known by its name") from None
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        connected = socket.socket(family, socket.SOCK_STREAM)
        connected.setblocking(False)
        try:
            await loop.sock_connect(connected, (address, proxy.port))
        except OSError:
            connected.close()
        except BaseException:
            connected.close()
            raise
        else:
            return connected
    raise UnreachedError("the proxy does not answer")


async def _tunnel(connected: socket.socket, proxy: Proxy, target: Target) -> None:
    """Asks the proxy for a connection to the target. Raises `UnreachedError`, `OSError`."""
    loop = asyncio.get_running_loop()
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [f"CONNECT {host}:{target.port} HTTP/1.1", f"host: {host}:{target.port}"]
    lines += [f"{name}: {value}" for name, value in proxy.headers]
    await loop.sock_sendall(connected, "\r\n".join((*lines, "", "")).encode("latin-1"))
    head = b""
    while b"\r\n\r\n" not in head:
        piece = await loop.sock_recv(connected, _RECEIVED_BYTES)
        head += piece
        if not piece or len(head) > MAX_HEAD_BYTES:
            raise UnreachedError("the proxy gave no answer")
    status = head.split(b" ", 2)[1:2]
    if not head.startswith(b"HTTP/1.") or not status or not status[0].startswith(b"2"):
        status_code = status[0].decode("latin-1")[:3] if status else "no status"
        raise UnreachedError(f"the proxy refused the connection ({status_code})")
