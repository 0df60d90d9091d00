"""One question over one connection: what is no answer is told apart, TLS shows who answers, no body holds the loop."""

import asyncio
import ssl
from contextlib import suppress

import pytest
import trustme
from servers import web_reply
from servers.website import PUBLIC, WebSite

from deep_research.errors import FetchError
from deep_research.sources.fetch import Fetcher, FetchLimits
from deep_research.sources.fetch import client as client_module
from deep_research.sources.fetch import guard as guard_module
from deep_research.sources.fetch.exchange import MAX_FRAMING_BYTES, MAX_HEAD_BYTES, BrokenError, Exchange
from deep_research.sources.fetch.guard import Guard, opened

pytestmark = pytest.mark.timed

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntower"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def asked(answer, path="/", header=b"site.org"):
    """The status and the body that one exchange gives with a server that sends ``answer`` and hangs up."""

    async def main():
        gone = asyncio.Event()

        async def serve(reader, writer):
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # who asks may have heard enough
                await reader.readuntil(b"\r\n\r\n")
                writer.write(answer)
                await writer.drain()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            gone.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        exchange = Exchange(reader, writer)
        try:
            status, _ = await exchange.ask(path, [(b"host", header)])
            body = b""
            while (piece := await exchange.piece()) is not None:
                body += piece
            return status, body
        finally:
            writer.transport.abort()
            await gone.wait()
            server.close()

    return asyncio.run(main())


def test_answers_that_only_announce_another_are_passed_over():
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert asked(early * 3 + OK) == (200, b"tower")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000 + OK,
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * MAX_HEAD_BYTES,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntow",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\ntower",
        CHUNKED + b"5\r\ntower\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"1;" + b"x" * 4 * MAX_FRAMING_BYTES,
        CHUNKED + (b"1;" + b"x" * 60_000 + b"\r\nx\r\n") * 9,
        CHUNKED + b"1\r\nx\r\n" * MAX_FRAMING_BYTES + b"0\r\n\r\n",
        CHUNKED + b"0\r\n" + b"X: y\r\n" * MAX_FRAMING_BYTES,
    ],
)
def test_what_is_no_whole_answer_is_broken(answer):
    with pytest.raises(BrokenError):
        asked(answer)


@pytest.mark.parametrize("before", [b"HTTP/1.1 200 OK\r\n", CHUNKED + b"0\r\n"], ids=["head", "trailer"])
def test_a_line_of_blanks_takes_no_longer_than_others(before):
    with pytest.raises(BrokenError):
        asked(before + b"X:" + b" " * 60_000 + b"\0\r\n\r\n")


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_an_answer_that_has_no_body_is_over_with_its_head(status):
    assert asked(b"HTTP/1.1 " + status + b"\r\nContent-Length: 5\r\n\r\ntower")[1] == b""


def test_what_comes_behind_the_answer_does_not_matter():
    trailer = b"0\r\nX-Later: y\r\n\r\n"
    assert asked(CHUNKED + b"5\r\ntower\r\n" + trailer + b"more") == (200, b"tower")
    assert asked(OK + OK) == (200, b"tower")


def test_lines_may_end_without_a_return():
    assert asked(OK.replace(b"\r", b"")) == (200, b"tower")


@pytest.mark.parametrize(
    ("path", "header"),
    [("/a b", b"x"), ("/a\r\nX: y", b"x"), ("/ä", b"x"), ("/", b"x\r\nX: y"), ("/", b"\xff")],
)
def test_nothing_is_asked_that_would_be_two_lines(path, header):
    with pytest.raises(ValueError):
        asked(OK, path, header)


def test_what_came_before_the_connection_broke_off_is_read():
    """Servers cut connections right after an answer, and the word of it may come before all is read."""

    async def main():
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        reader, writer = await opened(*server.sockets[0].getsockname(), None, "")
        reader.feed_data(b"tower")
        reader.set_exception(ConnectionResetError())
        first = await reader.read(99)
        with pytest.raises(ConnectionResetError):
            await reader.read(99)
        writer.transport.abort()
        server.close()
        return first

    assert asyncio.run(main()) == b"tower"


def test_a_body_without_a_length_ends_with_the_connection():
    assert asked(b"HTTP/1.1 200 OK\r\n\r\ntower") == (200, b"tower")


def test_a_body_in_small_chunks_lets_others_of_the_loop_work():
    turns = 0

    async def main():
        with WebSite({"/": CHUNKED + (b"b\r\n" + b"x" * 11 + b"\r\n") * 36_000 + b"0\r\n\r\n"}) as web:
            fetcher = Fetcher(limits=FetchLimits(seconds=300), guard=web.guard())
            task = asyncio.create_task(fetcher.fetch("http://site.org/"))
            nonlocal turns
            while not task.done():
                turns += 1
                await asyncio.sleep(0)
            return await task

    found = asyncio.run(main())
    assert found.body == b"x" * 396_000
    assert turns > 16 * 36_000 / 262_144  # one at least for all that asyncio takes of a socket at a time


class Secured:
    """A site on loopback that speaks TLS as ``name``, and the way to it."""

    def __init__(self, name, authority):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(self.context)

    async def fetch(self, url, page):
        async def answer(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(page)
            await writer.drain()  # and no farewell: the connection stays

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=self.context)
        port = server.sockets[0].getsockname()[1]

        async def public(host, port):
            return [PUBLIC]

        async def here(address, _, tls, name):
            assert address == PUBLIC
            return await opened("127.0.0.1", port, tls, name)

        try:
            fetcher = Fetcher(limits=FetchLimits(seconds=300), guard=Guard(public, opener=here))
            return await fetcher.fetch(url)
        finally:
            server.close()


@pytest.fixture
def authority(monkeypatch):
    made = trustme.CA()
    context = ssl.create_default_context()
    made.configure_trust(context)
    monkeypatch.setattr(client_module, "_tls", lambda: context)
    return made


def test_a_page_comes_over_tls(authority):
    page = web_reply(b"tower " * 100_000)
    found = asyncio.run(Secured("site.org", authority).fetch("https://site.org/a", page))
    assert (found.status, found.url) == (200, "https://site.org/a")
    assert found.body == b"tower " * 100_000


@pytest.mark.parametrize("known", [True, False], ids=["of another name", "of an authority nobody knows"])
def test_a_certificate_that_does_not_hold_is_said(authority, known):
    issuer = authority if known else trustme.CA()
    site = Secured("other.org" if known else "site.org", issuer)
    with pytest.raises(FetchError, match="its certificate is not trusted"):
        asyncio.run(site.fetch("https://site.org/", web_reply(b"x")))


def test_what_is_trusted_is_what_the_system_trusts_and_names_are_checked():
    context = client_module._tls()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_connection_over_tls_that_is_given_up_in_its_first_moment_is_gone_with_its_loop(
    authority, monkeypatch
):
    """It is made and nobody has it yet: a farewell to the other side, that it may leave unanswered, would outlive it."""
    site = Secured("site.org", authority)
    made = []

    async def give_up():
        task = asyncio.current_task()
        connection_made = guard_module._Protocol.connection_made

        def then_cancelled(protocol, transport):
            connection_made(protocol, transport)
            made.append(transport.get_extra_info("socket"))
            task.cancel()

        monkeypatch.setattr(guard_module._Protocol, "connection_made", then_cancelled)
        with pytest.raises(asyncio.CancelledError):
            await site.fetch("https://site.org/a", web_reply(b"x"))
        await asyncio.sleep(0)
        assert [connection.fileno() for connection in made] == [-1]

    asyncio.run(give_up())
