"""What a site asks of programs is kept to, and asked for once."""

import asyncio
import threading

import pytest
from servers.website import WebSite as Web
from servers.website import web_reply as reply

from deep_research.sources.fetch import Fetcher, FetchLimits, Refused, Robots

pytestmark = pytest.mark.timed

SITE = "http://site.org"
RULES = b"User-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.pdf$\n"


async def allows(rules, url):
    return not await rules.refusal(url)


def robots(web, **more):
    return Robots(Fetcher(limits=FetchLimits(seconds=300.0), guard=web.guard()), **more)


def allowed(answer, path="/private/x"):
    with Web({"/robots.txt": answer} if answer else {}) as web:
        return asyncio.run(allows(robots(web), SITE + path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/", True), ("/private", False), ("/private/x", False), ("/private/open/x", True), ("/a.pdf", False),
     ("/a.pdf?x", True), ("/robots.txt", True)],
)  # fmt: skip
def test_the_longest_rule_that_fits_counts(path, expected):
    assert allowed(reply(RULES), path) is expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (b"User-agent: deep-research\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        (b"User-agent: DEEP-RESEARCH/1.0\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        (b"User-agent: deep-research\nAllow: /\n\nUser-agent: *\nDisallow: /", True),
        (b"User-agent: other\nUser-agent: deep-research\nDisallow: /", False),
        (b"User-agent: deep\nDisallow: /", True),
        (b"User-agent: research\nDisallow: /", True),
        (b"User-agent: other\nDisallow: /\n", True),
        (b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n", False),
        (b"user agent : * # all\nDISALLOW: / # everything", False),
        (b"<html><p>User-agent of a page that is no such file</p>", True),
        (b"\xff\xfe\x00garbage\x00", True),
        (b"", True),
    ],
)
def test_rules_are_those_for_us_or_for_everybody(rules, expected):
    assert allowed(reply(rules)) is expected


@pytest.mark.parametrize("status", ["401 No", "403 No", "404 No", "410 Gone", "429 Slow"])
def test_a_file_that_is_not_for_us_allows_everything(status):
    assert allowed(reply(b"User-agent: *\nDisallow: /", status))


@pytest.mark.parametrize("answer", [reply(status="500 Oh"), reply(status="503 Oh"), b"", b"SSH-2.0\r\n"])
def test_a_site_with_a_fault_allows_nothing_for_a_while(answer, time):
    async def journey(web):
        rules = robots(web, clock=time)
        assert not await allows(rules, SITE)
        assert "could not be had" in await rules.refusal(SITE)
        web.pages["/robots.txt"] = reply(b"")
        assert not await allows(rules, SITE)
        time.now += 301
        assert await allows(rules, SITE)

    with Web({"/robots.txt": answer}) as web:
        asyncio.run(journey(web))


def test_redirects_are_followed_and_none_leads_inside():
    with Web({"/robots.txt": reply(status="301 Go", Location="/there"), "/there": reply(RULES)}) as web:
        assert not asyncio.run(allows(robots(web), f"{SITE}/private"))
    assert not allowed(reply(status="301 Go", Location="http://127.0.0.1/"))


def test_only_the_beginning_of_a_file_is_read_and_no_half_rule():
    line = b"Disallow: /" + b"x" * 89 + b"\n"
    rules = b"User-agent: *\n" + b"# " + b"y" * 9 + b"\n" + line * 5_200
    assert allowed(reply(rules + b"Disallow: /"))
    assert not allowed(reply(b"User-agent: *\nDisallow: /private\n" + line * 5_200))


def test_ten_thousand_agents_with_ten_thousand_rules_are_read_soon(seconds):
    agents = b"".join(b"useragent: a%d\n" % n for n in range(12_000)) + b"User-agent: *\n"
    rules = reply(agents + b"Disallow:/b\n" * 9_000 + b"Disallow: /private\n")
    assert seconds(3, lambda: allowed(rules)) < 3
    assert not allowed(rules)


def test_a_file_is_asked_for_once_by_all_loops_and_again_after_its_time(time):
    with Web({"/robots.txt": reply(RULES, Cache_Control="max-age=7200")}) as web:
        rules = robots(web, clock=time)

        async def many():
            return await asyncio.gather(*(allows(rules, f"{SITE}/{n}") for n in range(20)))

        threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(web.asked) == 1
        time.now += 7_100
        asyncio.run(many())
        assert len(web.asked) == 1
        time.now += 200
        asyncio.run(many())
        assert len(web.asked) == 2
        assert not rules._asking


def test_who_is_cancelled_while_asking_leaves_it_to_the_next():
    async def journey(web):
        arrived, go = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        async def slow(writer):
            loop.call_soon_threadsafe(arrived.set)
            while not go.is_set():
                await asyncio.sleep(0.001)
            writer.write(reply(RULES))

        web.pages["/robots.txt"] = slow
        rules = robots(web)
        first, second = (asyncio.create_task(allows(rules, f"{SITE}/private")) for _ in range(2))
        await arrived.wait()
        first.cancel()
        go.set()
        assert await second is False
        assert first.cancelled()

    with Web() as web:
        asyncio.run(journey(web))


def test_each_origin_has_rules_of_its_own():
    async def journey(web):
        rules = robots(web)
        assert not await allows(rules, "http://a.org/private")
        assert await allows(rules, "http://b.org/private")

    with Web({"a.org/robots.txt": reply(RULES)}) as web:
        asyncio.run(journey(web))


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2", 2.0), ("0.5", 0.5), ("900", 10.0), ("0", None), ("-1", None), ("soon", None), ("nan", None)],
)
def test_a_delay_is_kept_up_to_a_bound(asked, given):
    async def journey(web):
        rules = robots(web)
        assert rules.delay(SITE) is None
        await allows(rules, SITE)
        assert rules.delay(f"{SITE}/any") == given

    with Web({"/robots.txt": reply(f"User-agent: *\nCrawl-delay: {asked}\n".encode())}) as web:
        asyncio.run(journey(web))


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr("deep_research.sources.fetch.robots._MAX_ORIGINS", 8)

    async def journey(web):
        rules = robots(web)
        for n in range(20):
            await allows(rules, f"http://s{n}.org/")
        assert len(rules._cache) == 8
        monkeypatch.setattr("deep_research.sources.fetch.robots._KEPT_BYTES", 3 * len(RULES))
        await allows(rules, "http://another.org/")
        assert rules._size <= 3 * len(RULES)

    with Web({"/robots.txt": reply(RULES)}) as web:
        asyncio.run(journey(web))


def test_an_address_that_may_not_be_fetched_is_not_asked_about():
    with Web() as web:
        with pytest.raises(Refused):
            asyncio.run(allows(robots(web), "http://127.0.0.1/"))
        assert not web.asked


def test_of_a_file_without_an_end_the_beginning_counts():
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + RULES)
        while True:
            writer.write(b"Disallow: /x\n" * 10_000)
            await writer.drain()

    assert (allowed(endless, "/private"), allowed(endless, "/a")) == (False, True)
