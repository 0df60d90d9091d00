"""Pages: what comes is bounded in time, bytes and memory, and redirects lead nowhere that is not looked at."""

import asyncio
import contextlib
import gzip
import time
import tracemalloc
import zlib
from functools import cache, partial

import pytest
from hostile_urls import hostile
from servers.website import PUBLIC
from servers.website import WebSite as Web
from servers.website import web_reply as reply

from deep_research.errors import FetchError
from deep_research.sources.fetch import Fetcher, FetchLimits
from deep_research.testing.pace import Pace

pytestmark = pytest.mark.timed

PAGE = b"<title>Towers</title><p>The old tower."
SMALL = FetchLimits(seconds=300.0, bytes=1_000_000, redirects=3)


def get(web, path="/", limits=SMALL, host="site.org", resolver=None):
    fetcher = Fetcher(limits=limits, guard=web.guard(resolver))
    return asyncio.run(fetcher.fetch(f"http://{host}{path}"))


def test_a_page_comes_with_the_headers_that_matter():
    page = reply(
        PAGE, ETag='"1"', Last_Modified="Mon, 02 Jan 2026 03:04:05 GMT", Set_Cookie="a=b", X_Secret="x"
    )
    with Web({"/a?b=c": page}) as web:
        found = get(web, "/a?b=c#part")
    assert (found.status, found.body, found.url) == (200, PAGE, "http://site.org/a?b=c")
    assert found.media_type == "text/html"
    assert found.headers.keys() == {"content-type", "etag", "last-modified"}


def test_a_request_says_who_asks_and_nothing_else_of_us():
    with Web({"/": reply(PAGE)}) as web:
        get(web)
    (asked,) = web.asked
    names = {line.partition(":")[0].lower() for line in asked.splitlines()[1:] if line}
    assert asked.startswith("GET / HTTP/1.1")
    assert names == {"host", "user-agent", "accept", "accept-language", "accept-encoding", "connection"}
    assert "deep-research" in asked


@pytest.mark.parametrize("pack", ["gzip", "deflate", "identity"])
def test_a_packed_body_is_unpacked(pack):
    body = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[pack](PAGE * 1_000)
    with Web({"/": reply(body, Content_Encoding=pack)}) as web:
        assert get(web).body == PAGE * 1_000


@pytest.mark.parametrize("pack", ["gzip", "deflate"])
def test_what_servers_pack_in_ways_of_their_own_is_unpacked(pack):
    raw, half = zlib.compressobj(wbits=-zlib.MAX_WBITS), PAGE * 5_000
    bodies = {
        "gzip": [gzip.compress(half) * 2, gzip.compress(half * 2) + b"\0" * 512],
        "deflate": [raw.compress(half * 2) + raw.flush()],
    }
    for body in bodies[pack]:
        with Web({"/": reply(body, Content_Encoding=pack)}) as web:
            assert get(web).body == half * 2


def test_of_a_body_that_is_cut_the_rest_is_not_taken():
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    with Web({"/": endless}) as web:
        fetcher = Fetcher(limits=SMALL, guard=web.guard())
        assert len(asyncio.run(fetcher.fetch("http://site.org/", cut=1_000)).body) == 1_001


def test_statuses_are_given_and_not_raised():
    with Web({"/": reply(b"gone", "410 Gone")}) as web:
        assert (get(web).status, get(web, "/none").status) == (410, 404)


# Bodies


async def drip(writer, *, head=b"", piece=b"x"):
    writer.write(head)
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.01)


OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
# What takes long to make is made when it is first asked for.
BODIES = {
    "a bomb in gzip": lambda: reply(gzip.compress(b"\0" * 300_000_000, 9), Content_Encoding="gzip"),
    "a bomb in a bomb": lambda: reply(
        gzip.compress(gzip.compress(b"\0" * 100_000_000, 9) * 200, 9), Content_Encoding="gzip"
    ),
    "a bomb in deflate": lambda: reply(zlib.compress(b"\0" * 100_000_000, 9), Content_Encoding="deflate"),
    "more than the limit": lambda: reply(b"x" * 1_000_001),
    "more than was announced, without end": lambda: partial(drip, head=OPEN, piece=b"x" * 65_536),
    "a body that drips": lambda: partial(drip, head=OPEN),
    "headers that drip": lambda: partial(drip, head=b"HTTP/1.1 200 OK\r\nX: "),
    "headers without end": lambda: partial(
        drip, head=b"HTTP/1.1 200 OK\r\n", piece=b"X-Y: " + b"z" * 1_000 + b"\r\n"
    ),
    "a body shorter than announced": lambda: reply(PAGE, Content_Length="99999"),
    "a packing that was not asked for": lambda: reply(PAGE, Content_Encoding="br"),
    "a bomb of many members": lambda: reply(
        gzip.compress(b"") * 45_000 + gzip.compress(b"a" * 2_000_000), Content_Encoding="gzip"
    ),
    "a packed body that breaks off": lambda: reply(gzip.compress(PAGE * 99)[:-30], Content_Encoding="gzip"),
    "no HTTP at all": lambda: b"SSH-2.0-OpenSSH_9.9\r\n",
    "two lengths": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 9\r\n\r\nabc",
    "nothing": lambda: b"",
}


@cache
def body(name):
    return BODIES[name]()


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_given_up_within_its_bounds(name, least):
    limits = FetchLimits(seconds=1.0, bytes=1_000_000)

    async def journey(web):
        async with Pace() as pace:
            with pytest.raises(FetchError) as caught:
                await Fetcher(limits=limits, guard=web.guard()).fetch("http://site.org/")
        assert "\n" not in str(caught.value)
        return pace.seconds

    def took():
        with Web({"/": body(name)}) as web:
            tracemalloc.start()
            seconds = asyncio.run(journey(web))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < 64_000_000
        return seconds

    assert least(limits.seconds + 1.0, took) < limits.seconds + 1.0


def test_a_bomb_does_not_hold_the_loop(least):
    async def journey(web):
        worst = 0.0

        async def watch():
            nonlocal worst
            while True:
                began = time.thread_time()  # of this thread alone: the machine may be busy
                await asyncio.sleep(0)
                worst = max(worst, time.thread_time() - began)

        watching = asyncio.create_task(watch())
        fetcher = Fetcher(limits=FetchLimits(seconds=300, bytes=50_000_000), guard=web.guard())
        with pytest.raises(FetchError, match="bytes when unpacked"):
            await fetcher.fetch("http://site.org/")
        watching.cancel()
        return worst

    with Web({"/": body("a bomb in gzip")}) as web:
        assert least(0.05, lambda: asyncio.run(journey(web))) < 0.05


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(status):
    pages = {"/": reply(status=f"{status} Go", Location="/there#x"), "/there": reply(PAGE)}
    with Web(pages) as web:
        found = get(web)
    assert (found.url, found.body) == ("http://site.org/there", PAGE)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "file:///etc/passwd",
        "http://localhost/", "//127.0.0.1/x", "http://2130706433/", "http://site.org:22/",
    ],
)  # fmt: skip
def test_a_redirect_to_where_nobody_may_go_is_refused(status, target):
    with Web({"/": reply(status=f"{status} Go", Location=target)}) as web:
        with pytest.raises(FetchError) as caught:
            get(web)
        assert caught.value.data["refused"]
        assert len(web.asked) == 1


def test_no_hostile_address_is_followed():
    urls = [
        url for url in hostile() if url.isascii() and url.isprintable() and url.startswith(("http", "//"))
    ]
    with Web({f"/{n}": reply(status="302 Go", Location=url) for n, url in enumerate(urls)}) as web:
        for number in range(len(urls)):
            with contextlib.suppress(FetchError):
                # Some are paths of the site itself, read as every browser reads them.
                found = get(web, f"/{number}", resolver=_public_for("site.org"))
                assert found.url.startswith("http://site.org/")


def _public_for(name):
    async def resolver(host, port):
        return [PUBLIC] if host == name else ["127.0.0.1"]

    return resolver


def test_a_name_that_resolves_otherwise_after_a_redirect_is_refused():
    turns = iter([[PUBLIC], ["10.0.0.1"]])

    async def rebinding(host, port):
        return next(turns)

    with Web({"/": reply(status="302 Go", Location="/again")}) as web:
        with pytest.raises(FetchError, match="not public"):
            get(web, resolver=rebinding)
        assert len(web.asked) == 1


def test_redirects_have_an_end():
    with Web({"/": reply(status="302 Go", Location="/")}) as web:
        with pytest.raises(FetchError, match="more than 3 redirects"):
            get(web)
        assert len(web.asked) == 4


def test_a_page_can_be_fetched_from_several_loops():
    with Web({"/": reply(PAGE)}) as web:
        fetcher = Fetcher(limits=SMALL, guard=web.guard())
        assert [asyncio.run(fetcher.fetch("http://site.org/")).status for _ in range(3)] == [200] * 3


def test_a_fetch_can_be_cancelled():
    async def journey(web):
        task = asyncio.create_task(Fetcher(limits=SMALL, guard=web.guard()).fetch("http://site.org/"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Web({"/": body("a body that drips")}) as web:
        asyncio.run(journey(web))


def test_a_redirect_may_be_left_to_who_asks():
    async def journey(web):
        return await Fetcher(limits=SMALL, guard=web.guard()).one("http://site.org/a/")

    with Web({"/a/": reply(status="301 Go", Location="b?c#d")}) as web:
        page = asyncio.run(journey(web))
        assert len(web.asked) == 1
    assert (page.status, page.location) == (301, "http://site.org/a/b?c")


def test_letters_beyond_ascii_in_a_redirect_are_escaped():
    answer = "HTTP/1.1 302 Go\r\nLocation: /é\r\nContent-Length: 0\r\n\r\n".encode()
    with Web({"/": answer, "/%C3%A9": reply(PAGE)}) as web:
        assert get(web).body == PAGE


def test_headers_that_say_whether_a_page_may_be_used_again_are_kept():
    page = reply(PAGE, Cache_Control="max-age=60", Age="3", Expires="0", Vary="*")
    with Web({"/": page}) as web:
        assert get(web).headers.keys() == {"content-type", "cache-control", "age", "expires", "vary"}


def test_why_a_site_is_not_reached_is_said_in_words():
    async def unknown(host, port):
        raise OSError("no such host")

    with Web({"/": b""}) as web:
        with pytest.raises(FetchError, match=r"^Not reached: the connection broke off\.$") as caught:
            get(web)
        assert caught.value.data["trouble"] == "broken"
        with pytest.raises(FetchError, match=r"^Not reached: the name is not known\.$") as caught:
            get(web, resolver=unknown)
        assert caught.value.data["trouble"] == "connect"
