"""Nothing but the public net is connected to, judged by what is connected to and not by what is said."""

import asyncio
import socket
import sys
import threading
import time

import pytest
from hostile_urls import PUBLIC_4, PUBLIC_6, hostile, public
from servers import WebSite, web_reply

from deep_research.errors import FetchError
from deep_research.sources.fetch import Fetcher, FetchLimits, is_public, target_of
from deep_research.sources.fetch.guard import Guard, opened, resolve

pytestmark = pytest.mark.timed

CONNECTED = []


def _heard(event, args):
    if event == "socket.connect":
        CONNECTED.append(args[1])


sys.addaudithook(_heard)  # hooks cannot be taken away: it only writes down


@pytest.fixture
def connected():
    """What was connected to from now on."""
    CONNECTED.clear()
    return CONNECTED


def answers(*addresses):
    async def resolver(host, port):
        return addresses

    return resolver


class Nowhere:
    """Writes down what it would connect to."""

    def __init__(self):
        self.asked = []

    async def __call__(self, address, port, tls, name):
        self.asked.append((address, port))
        raise ConnectionRefusedError("nowhere")


def fetch(url, resolver=None, opener=opened):
    guard = Guard(resolver or answers("127.0.0.1"), opener=opener)
    fetcher = Fetcher(limits=FetchLimits(seconds=300.0), guard=guard)
    return asyncio.run(fetcher.fetch(url))


def test_there_are_enough_hostile_addresses():
    assert len(hostile()) >= 400
    assert len(public()) >= 30


@pytest.mark.parametrize("chunk", range(8))
def test_no_hostile_address_is_connected_to(chunk, connected):
    """Whatever a name resolves to is this machine: a name that gets through is seen."""
    for url in hostile()[chunk::8]:
        with pytest.raises(FetchError):
            fetch(url)
    assert [address for address in connected if not isinstance(address, str | bytes)] == []


@pytest.mark.parametrize("url", public())
def test_a_public_address_is_not_refused(url):
    target_of(url.partition("#")[0])
    nowhere = Nowhere()
    with pytest.raises(FetchError, match="Not reached"):
        fetch(url, answers(*PUBLIC_4[:1]), nowhere)
    assert nowhere.asked[0][1] in (80, 443)
    assert is_public(nowhere.asked[0][0])


@pytest.mark.parametrize("address", [*PUBLIC_4, *PUBLIC_6])
def test_public_addresses_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "mixed",
    [
        ("127.0.0.1",),
        (PUBLIC_4[0], "127.0.0.1"),
        ("10.0.0.1", PUBLIC_4[0]),
        (PUBLIC_6[0], "::1"),
        ("::ffff:127.0.0.1",),
        (PUBLIC_4[0], "fe80::1%eth0"),
        ("169.254.169.254", PUBLIC_4[0]),
        (PUBLIC_4[0], "not an address"),
    ],
)
def test_a_name_with_any_address_of_ours_is_refused(mixed, connected):
    with pytest.raises(FetchError, match="not public"):
        fetch("http://site.org/", answers(*mixed))
    assert connected == []


def test_the_connection_goes_to_the_address_that_was_checked():
    """A resolver that answers otherwise the second time is not asked a second time."""
    turns = iter([PUBLIC_4[:1], ("127.0.0.1",)])
    nowhere = Nowhere()

    async def rebinding(host, port):
        return next(turns)

    with pytest.raises(FetchError):
        fetch("http://site.org/", rebinding, nowhere)
    assert nowhere.asked == [(PUBLIC_4[0], 80)]


@pytest.mark.parametrize("first", ["refuses", "says nothing"])
def test_the_next_address_of_a_name_is_tried(first, monkeypatch):
    monkeypatch.setattr("deep_research.sources.fetch.guard.PATIENCE_SECONDS", 0.05)
    with WebSite({"/": web_reply(b"tower")}) as site:

        async def opener(address, port, tls, name):
            if address == PUBLIC_6[0]:
                if first == "refuses":
                    raise ConnectionRefusedError
                await asyncio.Event().wait()
            return await opened("127.0.0.1", site.port, tls, name)

        assert fetch("http://site.org/", answers(PUBLIC_6[0], PUBLIC_4[0]), opener).body == b"tower"


def test_the_hook_hears_a_connection(connected):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert connected


def test_a_name_that_is_not_found_in_time_is_given_up():
    async def slow(host, port):
        await asyncio.Event().wait()

    fetcher = Fetcher(limits=FetchLimits(seconds=0.1), guard=Guard(slow))
    with pytest.raises(FetchError):
        asyncio.run(fetcher.fetch("http://site.org/"))


@pytest.fixture
def silent_name_servers(monkeypatch):
    over, before = threading.Event(), set(threading.enumerate())
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait() and [])
    yield
    over.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(300)


def test_name_servers_that_do_not_answer_hold_nobody_else(silent_name_servers):
    """Neither what else of the loop works in threads, nor the loop's end."""
    fetcher = Fetcher(limits=FetchLimits(seconds=0.3))

    async def main():
        asked = [asyncio.create_task(fetcher.fetch(f"http://h{n}.site.org/")) for n in range(60)]
        await asyncio.sleep(0.05)
        await asyncio.to_thread(int)
        return await asyncio.gather(*asked, return_exceptions=True)

    began = time.monotonic()
    found = asyncio.run(main())
    assert time.monotonic() - began < 150  # the servers are silent for ever
    assert {error.data["trouble"] for error in found} == {"slow"}


@pytest.mark.parametrize("failure", [socket.gaierror("no"), UnicodeError("no"), MemoryError()])
def test_a_name_that_cannot_be_asked_for_is_not_reached(monkeypatch, failure):
    def fails(*_, **__):
        raise failure

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    with pytest.raises(FetchError) as caught:
        asyncio.run(Fetcher(limits=FetchLimits(seconds=300.0)).fetch("http://site.org/"))
    assert caught.value.data["trouble"] == "connect"


def test_no_more_names_are_asked_for_than_there_may_be(monkeypatch, silent_name_servers):
    monkeypatch.setattr("deep_research.sources.fetch.guard.MAX_LOOKUPS", 3)

    async def main():
        asked = (asyncio.wait_for(resolve("site.org", 80), 0.2) for _ in range(5))
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(main())
    assert [type(each) for each in found] == [TimeoutError] * 3 + [OSError] * 2
