"""Pages through a proxy: what an address shows by itself is refused as ever, and the proxy guards the rest."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import trustme
from hostile_urls import hostile
from proxy_server import ProxyServer
from servers.website import PUBLIC, WebSite, web_reply

from deep_research import DeepResearch
from deep_research.errors import FetchError, SettingsError
from deep_research.sources.fetch import Fetcher
from deep_research.sources.fetch import client as client_module
from deep_research.sources.fetch.guard import Target
from deep_research.sources.fetch.proxy import Proxy, ProxyGuard, proxies

pytestmark = pytest.mark.timed
PAGE = b"<p>The tower."


async def unknown(_host: str, _port: int) -> Sequence[str]:
    raise OSError("no such name here")


async def public(_host: str, _port: int) -> Sequence[str]:
    return [PUBLIC]


async def inner(_host: str, _port: int) -> Sequence[str]:
    return ["10.0.0.7"]


def get(proxy: ProxyServer, url: str, resolver: Any = unknown, *, user: str = "") -> Any:
    address = proxy.url.replace("//", f"//{user}@") if user else proxy.url
    return asyncio.run(Fetcher(guard=ProxyGuard(proxies(address), resolver)).fetch(url))


@pytest.fixture
def site() -> Iterator[WebSite]:
    moved = web_reply(b"", "302 Found", Location="http://10.0.0.7/")
    with WebSite({"/a?b=c": web_reply(PAGE), "/moved": moved}) as running:
        yield running


@pytest.mark.parametrize("resolver", [unknown, public])
def test_a_page_comes_through_the_proxy_whether_its_name_is_known_here_or_not(
    site: WebSite, resolver: Any
) -> None:
    with ProxyServer(site.port) as proxy:
        found = get(proxy, "http://site.org/a?b=c", resolver, user="ann:se%20cret")
    assert (found.body, found.url) == (PAGE, "http://site.org/a?b=c")
    (head,) = proxy.heads
    assert head.startswith("GET http://site.org/a?b=c HTTP/1.1\r\n")
    assert "proxy-authorization: Basic YW5uOnNlIGNyZXQ=" in head


@pytest.mark.parametrize(
    ("url", "resolver", "why"),
    [
        ("http://site.org/", inner, "leads to an address that is not public"),
        ("https://site.org/", inner, "leads to an address that is not public"),
        ("http://site.org/moved", unknown, "no public address"),
    ],
)
def test_an_inner_address_is_refused_where_it_shows(site: WebSite, url: str, resolver: Any, why: str) -> None:
    with ProxyServer(site.port) as proxy, pytest.raises(FetchError, match=why):
        get(proxy, url, resolver)
    assert not any("10.0.0.7" in head for head in proxy.heads)


def test_no_hostile_address_reaches_the_proxy(site: WebSite) -> None:
    with ProxyServer(site.port) as proxy:
        for url in hostile():
            with pytest.raises(FetchError):
                get(proxy, url, public)
    assert proxy.heads == []


def test_a_page_over_tls_comes_through_a_tunnel_and_its_certificate_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority, trusting = trustme.CA(), ssl.create_default_context()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(trusting)
    authority.issue_cert("site.org").configure_cert(serving)
    monkeypatch.setattr(client_module, "_tls", lambda: trusting)
    with _Secure(serving) as port, ProxyServer(port) as proxy:
        assert get(proxy, "https://site.org/a").body == PAGE * 9_000
        with pytest.raises(FetchError, match="its certificate is not trusted"):
            get(proxy, "https://other.org/a")
    assert [head.split("\r\n")[0] for head in proxy.heads] == [
        "CONNECT site.org:443 HTTP/1.1",
        "CONNECT other.org:443 HTTP/1.1",
    ]


class _Secure:
    """A site that answers over TLS with one page."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context, self._ready = context, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> int:
        self._thread.start()
        assert self._ready.wait(300)
        return self._port

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(300)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=self._context)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(web_reply(PAGE * 9_000))
        await writer.drain()
        writer.close()


def test_a_proxy_that_refuses_or_is_not_there_is_named(site: WebSite) -> None:
    with (
        ProxyServer(site.port, status=407) as proxy,
        pytest.raises(FetchError, match=r"the proxy refused the connection \(407\)"),
    ):
        get(proxy, "https://site.org/")
    with pytest.raises(FetchError, match="the proxy does not answer"):
        get(proxy, "http://site.org/")


def test_the_environment_names_a_proxy_for_each_scheme_and_hosts_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://one.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.org")
    choose = proxies("environment")
    assert choose(Target("https", "site.org", 443, "/")) == Proxy("one.example", 3128)
    assert choose(Target("http", "site.org", 80, "/")) is None
    assert choose(Target("https", "inside.org", 443, "/")) is None


def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://ann:hunter22@one.example:3128")
    with pytest.raises(SettingsError, match="a proxy is an address such as") as refused:
        DeepResearch(search=["wikipedia"], data_dir=tmp_path, fetch={"proxy": "environment"})
    assert "hunter22" not in str(refused.value)
