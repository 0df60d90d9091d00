"""Pages are read by the rules of their sites, once, and what cannot be read says why."""

import asyncio
import contextlib
import gc
import gzip
import hashlib
import threading
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_pages import MemoryPages, PlainExtractor, Text
from servers.website import WebSite as Web
from servers.website import web_reply as reply

from deep_research.errors import ExtractionError, FetchError
from deep_research.sources.fetch import Fetcher, FetchLimits, Hosts, Robots, WebPages
from deep_research.sources.fetch.client import LARGE_BYTES
from deep_research.sources.fetch.site_request import MAX_LARGE_AT_ONCE, request_url

pytestmark = pytest.mark.timed

SITE = "http://site.org"
PAGE = b"The old tower."
NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)
NONE = b"User-agent: *\nDisallow: /private\n"


class Reader:
    """The parts of reading pages from a server on loopback, at a time that stands still."""

    def __init__(self, web, saved=None, extractor=None, time=None, **more):
        self.now = NOW
        self.extractor = extractor or PlainExtractor()
        fetcher = Fetcher(limits=FetchLimits(seconds=300.0, bytes=100_000, redirects=3), guard=web.guard())
        hosts = Hosts(clock=time, sleep=time.sleep, now=lambda: NOW) if time else Hosts()
        self.pages = WebPages(
            fetcher, Robots(fetcher), hosts, self.extractor, saved, clock=lambda: self.now, **more
        )

    def read(self, url=f"{SITE}/"):
        return asyncio.run(self.pages.read(url))


def failure(web, url=f"{SITE}/", kind=FetchError, **more):
    with pytest.raises(kind) as caught:
        Reader(web, **more).read(url)
    assert caught.value.problem.endswith((".", "now."))
    assert "\n" not in str(caught.value)
    return caught.value


def in_turn(*answers):
    """A page that answers otherwise each time."""
    rest = list(answers)

    async def answer(writer):
        writer.write(rest.pop(0) if len(rest) > 1 else rest[0])

    return answer


def test_a_page_is_read_with_all_that_is_known_of_it():
    with Web({"/a": reply(PAGE, ETag='"1"')}) as web:
        reader = Reader(web)
        page = reader.read(f" {SITE}/a#part ")
        assert web.paths == ["/robots.txt", "/a"]
    assert (page.url, page.final_url, page.fetched_at, page.was_requested) == (
        f"{SITE}/a",
        f"{SITE}/a",
        NOW,
        True,
    )
    assert (page.body, page.document) == (PAGE, Text(PAGE.decode()))
    assert page.snapshot_hash == hashlib.sha256(PAGE).hexdigest()
    assert page.headers["etag"] == '"1"'
    assert reader.extractor.read == [("text/html; charset=utf-8", f"{SITE}/a")]


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost/", "file:///etc/passwd", "", "notes/a.md", "http://a.org:22/",
                                 "http://u:p@a.org/", "http://a.org\\@b.org/", "http://a.org/a\nb"])  # fmt: skip
def test_an_address_that_may_not_be_fetched_is_refused_before_anything_is_asked(url):
    with Web() as web:
        assert failure(web, url).data["refused"]
        assert not web.asked


def test_what_a_site_does_not_want_read_is_not_asked_for():
    with Web(
        {
            "/robots.txt": reply(NONE),
            "/private": reply(PAGE),
            "/to": reply(status="302 Go", Location="/private"),
        }
    ) as web:
        assert "robots.txt asks" in failure(web, f"{SITE}/private").problem
        assert "robots.txt asks" in failure(web, f"{SITE}/to").problem
        assert "/private" not in web.paths
        assert Reader(web, respect_robots=False).read(f"{SITE}/private").body == PAGE


def test_the_rules_of_every_host_on_the_way_are_kept():
    pages = {
        "a.org/": reply(status="301 Go", Location="http://b.org/private"),
        "b.org/robots.txt": reply(NONE),
        "b.org/private": reply(PAGE),
        "a.org/open": reply(status="301 Go", Location="http://b.org/open"),
        "b.org/open": reply(PAGE),
    }
    with Web(pages) as web:
        assert "robots.txt asks" in failure(web, "http://a.org/").problem
        assert "/private" not in web.paths
        page = Reader(web).read("http://a.org/open")
    assert (page.url, page.final_url) == ("http://a.org/open", "http://b.org/open")


def test_redirects_have_an_end_and_lead_nowhere_inside():
    with Web(
        {
            "/": reply(status="302 Go", Location="/"),
            "/in": reply(status="302 Go", Location="http://127.0.0.1/"),
        }
    ) as web:
        assert "more than 3 redirects" in failure(web).problem
        assert web.paths.count("/") == 4
        assert failure(web, f"{SITE}/in").data["refused"]


@pytest.mark.parametrize(
    ("status", "words", "times"),
    [
        ("401 Unauthorized", "does not let us read it (401 Unauthorized)", 1),
        ("403 Forbidden", "does not let us read it", 1),
        ("402 Pay", "does not let us read it (402 Payment Required)", 1),
        ("451 Law", "does not let us read it", 1),
        ("404 Not Found", "is gone (404 Not Found)", 1),
        ("410 Gone", "is gone", 1),
        ("400 Bad", "gave no page (400 Bad Request)", 1),
        ("304 Not Modified", "gave no page", 1),
        ("302 Found", "gave no page", 1),
        ("429 Slow", "asked too often", 1),
        ("500 Oh", "has a fault (500 Internal Server Error)", 2),
        ("599 Oh", "has a fault (599)", 2),
    ],
)
def test_what_is_no_page_is_said_in_words(status, words, times):
    with Web({"/": reply(PAGE, status)}) as web:
        error = failure(web)
        assert words in error.problem
        assert error.data["status"] == int(status[:3])
        assert web.paths.count("/") == times


@pytest.mark.parametrize("first", [b"", reply(status="500 Oh"), reply(status="503 Oh", Retry_After="20"),
                                   reply(status="429 Oh", Retry_After="20")])  # fmt: skip
def test_what_breaks_once_is_asked_for_again(first, time):
    with Web({"/": in_turn(first, reply(PAGE))}) as web:
        assert Reader(web, time=time).read().body == PAGE
    assert sum(time.slept) in (0, 20)


def test_what_breaks_twice_has_failed():
    with Web({"/": in_turn(b"", b"", reply(PAGE))}) as web:
        assert "Not reached" in failure(web).problem


def test_a_host_that_wants_to_be_left_alone_says_so_for_all_its_pages(time):
    with Web({"/": reply(status="429 Slow", Retry_After="600")}) as web:
        reader = Reader(web, time=time)
        for path in ("/", "/other"):
            with pytest.raises(FetchError, match="asks to be left alone"):
                reader.read(SITE + path)
        assert web.paths == ["/robots.txt", "/"]


def test_a_page_without_text_is_an_extraction_error_that_says_where():
    with Web({"/": reply(b" ")}) as web:
        assert failure(web, kind=ExtractionError).data["url"] == f"{SITE}/"


def test_all_of_it_has_a_deadline_that_says_what_did_not_happen(stretch):
    async def never(writer):
        await asyncio.sleep(600)

    class Slow:
        async def extract(self, raw, *, media_type="", name=""):
            await asyncio.sleep(600)

    def told(seconds):
        given = f"Not read within {seconds:g} s: "
        assert failure(web, seconds=seconds).problem == f"{given}the site did not answer."
        error = failure(web, f"{SITE}/text", seconds=seconds, extractor=Slow())
        assert error.problem == f"{given}its text was still being read."

    with Web({"/": never, "/text": reply(PAGE)}) as web:
        stretch(0.3, told)


# Saved pages


def kept(web, **headers):
    """A reader over a page that was read an hour ago."""
    web.pages["/"] = reply(PAGE, **headers)
    saved = MemoryPages()
    reader = Reader(web, saved)
    saved.keep(reader.read())
    web.asked.clear()
    reader.now = NOW + timedelta(hours=1)
    return reader


def test_a_fresh_page_is_used_without_asking():
    with Web() as web:
        page = kept(web, Cache_Control="max-age=7200").read()
        assert not web.asked
    assert (page.body, page.fetched_at, page.was_requested) == (PAGE, NOW, False)


def test_a_stale_page_is_asked_for_on_condition_and_keeps_its_body():
    with Web() as web:
        reader = kept(web, Cache_Control="max-age=60", ETag='"1"')
        web.pages["/"] = reply(status="304 Not Modified", Content_Length="", Cache_Control="max-age=90")
        page = reader.read()
        assert 'if-none-match: "1"' in web.asked[-1].lower()
    assert (page.body, page.fetched_at, page.was_requested) == (PAGE, NOW + timedelta(hours=1), True)
    assert page.headers["cache-control"] == "max-age=90"
    assert page.headers["content-type"].startswith("text/html")


def test_a_page_that_changed_is_the_new_one():
    with Web() as web:
        reader = kept(web, Cache_Control="max-age=60", ETag='"1"')
        web.pages["/"] = reply(b"New.", ETag='"2"')
        assert reader.read().body == b"New."


def test_what_may_not_be_stored_is_asked_for_as_if_it_were_not():
    with Web() as web:
        reader = kept(web, Cache_Control="no-store, max-age=7200", ETag='"1"')
        reader.read()
        assert "if-none-match" not in web.asked[-1].lower()


def test_what_one_host_told_is_said_to_no_other():
    with Web({"a.org/": reply(status="302 Go", Location="http://b.org/")}) as web:
        saved = MemoryPages()
        web.pages["b.org/"] = reply(PAGE, ETag='"1"', Cache_Control="no-cache")
        reader = Reader(web, saved)
        saved.keep(reader.read("http://a.org/"))
        web.asked.clear()
        reader.read("http://a.org/")
        assert ["if-none-match" in head.lower() for head in web.asked] == [False, True]


# Several at once


def test_a_page_that_several_ask_for_at_once_is_fetched_once():
    async def journey(reader):
        pages = await asyncio.gather(*(reader.pages.read(f"{SITE}/#{n}") for n in range(9)))
        assert len({id(page) for page in pages}) == 1

    with Web({"/": reply(PAGE)}) as web:
        asyncio.run(journey(Reader(web)))
        assert web.paths == ["/robots.txt", "/"]


def test_pages_are_read_from_several_loops_at_once():
    found = []

    async def journey(reader):
        pages = await asyncio.gather(*(reader.pages.read(f"{SITE}/{n}") for n in range(10)))
        found.extend(page.body for page in pages)

    with Web({f"/{n}": reply(b"Page %d." % n) for n in range(10)}) as web:
        reader = Reader(web)
        threads = [threading.Thread(target=lambda: asyncio.run(journey(reader))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == sorted([b"Page %d." % n for n in range(10)] * 4)


def test_a_cancelled_page_gives_its_places_back_and_closing_ends_the_rest():
    arrived = threading.Semaphore(0)

    async def never(writer):
        arrived.release()
        await asyncio.sleep(600)

    async def journey(web):
        reader = Reader(web)
        tasks = [asyncio.create_task(reader.pages.read(f"{SITE}/never{n}")) for n in range(4)]
        for _ in tasks:
            await asyncio.to_thread(arrived.acquire)
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        assert (await reader.pages.read(f"{SITE}/")).body == PAGE
        await reader.pages.aclose()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in told] == [asyncio.CancelledError, FetchError, FetchError, FetchError]

    with Web({"/": reply(PAGE), **{f"/never{n}": never for n in range(4)}}) as web:
        asyncio.run(journey(web))


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (" http://a.org/a b#c", "http://a.org/a%20b"),
        ("http://a.org/é?q=ü|x", "http://a.org/%C3%A9?q=%C3%BC%7Cx"),
        ("http://münchen.example/%41%zz", "http://münchen.example/%41%zz"),
        ("http://a b.org/", "http://a b.org/"),
        ("http://a.org\\@b/", "http://a.org\\@b/"),
        ("http://a.org/\nb", "http://a.org/\nb"),
        ("a/b c", "a/b c"),
    ],
)
def test_what_people_write_as_it_is_is_escaped_behind_the_host_alone(given, asked):
    assert request_url(given) == asked


@given(st.text())
def test_an_escaped_address_stays_as_it_is(text):
    once = request_url("http://a.org/" + text)
    assert request_url(once) == once


class Weighing(PlainExtractor):
    """Knows how many large pages are there at once while it reads."""

    def __init__(self):
        super().__init__()
        self.large = self.most = 0

    async def extract(self, raw, *, media_type="", name=""):
        self.large += len(raw) > LARGE_BYTES
        self.most = max(self.most, self.large)
        await asyncio.sleep(0.01)
        self.large -= len(raw) > LARGE_BYTES
        return await super().extract(raw, media_type=media_type, name=name)


def test_of_large_pages_only_a_few_are_in_memory_until_they_have_been_read():
    """The small ones do not wait for them."""
    body = b"a" * (LARGE_BYTES + 200_000)
    hosts = [f"h{n}.org" for n in range(12)]
    pages = {f"{host}/": reply(body) for host in hosts} | {"small.org/": reply(PAGE)}
    extractor = Weighing()

    async def journey(web):
        fetcher = Fetcher(limits=FetchLimits(seconds=300.0), guard=web.guard())
        pages = WebPages(fetcher, Robots(fetcher), Hosts(), extractor, at_once=32)
        asked = [asyncio.create_task(pages.read(f"http://{host}/")) for host in (*hosts, "small.org")]
        found = await asyncio.gather(*asked)
        assert [len(page.body) for page in found] == [len(body)] * 12 + [len(PAGE)]
        assert {page.snapshot_hash for page in found[:12]} == {hashlib.sha256(body).hexdigest()}

    with Web(pages) as web:
        asyncio.run(journey(web))
    assert 1 <= extractor.most <= MAX_LARGE_AT_ONCE


def test_a_large_page_whose_connection_breaks_is_asked_for_again_in_its_place():
    body = b"a" * (LARGE_BYTES + 200_000)
    broken = reply(body, Content_Length=str(len(body) + 1))
    with Web({"/": in_turn(broken, reply(body))}) as web:
        reader = Reader(web)
        reader.pages._asker._fetcher.limits = FetchLimits(seconds=300.0)
        reader.pages._asker._large.limit(1, None)
        assert len(reader.read().body) == len(body)


class Unable(PlainExtractor):
    async def extract(self, raw, *, media_type="", name=""):
        raise ExtractionError("a damaged file")


@pytest.mark.parametrize("bomb", [True, False], ids=["a body that is too long", "a body that cannot be read"])
def test_a_failure_holds_no_body_until_the_garbage_is_collected(bomb):
    """Its traceback has all frames, and so much garbage may come at once."""
    size = 1_500_000
    body = gzip.compress(b"a" * size)
    limits = FetchLimits(seconds=300.0, bytes=size - 1 if bomb else size)

    async def journey(web):
        fetcher = Fetcher(limits=limits, guard=web.guard())
        pages = WebPages(fetcher, Robots(fetcher), Hosts(), Unable())
        await asyncio.gather(pages.read("http://h.org/none"), return_exceptions=True)
        before, _ = tracemalloc.get_traced_memory()
        for number in range(10):
            with contextlib.suppress(FetchError, ExtractionError):
                await pages.read(f"http://h.org/{number}")
        return tracemalloc.get_traced_memory()[0] - before

    answers = {f"/{number}": reply(body, Content_Encoding="gzip") for number in range(10)}
    with Web(answers) as web:
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            grown = asyncio.run(journey(web))
        finally:
            tracemalloc.stop()
            gc.enable()
    assert grown < 2 * size
