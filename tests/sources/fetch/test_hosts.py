"""A host is asked politely, and left alone when it says so."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from deep_research.errors import FetchError
from deep_research.sources.fetch import Fetched, Hosts
from deep_research.sources.fetch import hosts as module

SITE = "http://site.org/a"
NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


def hosts(time, **more):
    return Hosts(clock=time, sleep=time.sleep, now=lambda: NOW, **more)


def answer(status=200, **headers):
    return Fetched(
        url=SITE, status=status, body=b"", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


async def visit(known, url=SITE, page=None, error=None, **more):
    async with known.visit(url, **more) as answered:
        if error:
            raise error
        answered(page or answer())


def unreached():
    return FetchError("Not reached.", trouble="connect")


async def most_at_once(known, urls):
    inside = worst = 0

    async def one(url):
        nonlocal inside, worst
        async with known.visit(url):
            inside += 1
            worst = max(worst, inside)
            for _ in range(5):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*map(one, urls))
    return worst


def test_a_host_is_asked_for_four_pages_at_a_time_and_others_are_not_held_up(time):
    assert asyncio.run(most_at_once(hosts(time), [f"http://site.org/{n}" for n in range(20)])) == 4
    assert (
        asyncio.run(most_at_once(hosts(time, at_once=2), ["http://site.org/"] * 9 + ["https://SITE.org./"]))
        == 2
    )
    assert asyncio.run(most_at_once(hosts(time), [f"http://site{n}.org/" for n in range(20)])) == 20


def test_the_delay_that_a_site_asks_for_is_kept(time):
    async def journey():
        known = hosts(time)
        await asyncio.gather(*(visit(known, delay=2.0) for _ in range(4)))

    began = time.now
    asyncio.run(journey())
    assert 6.0 <= time.now - began < 30.0  # sleepers in virtual time add up


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry_after": "30"}, 30),
        (503, {"retry_after": "7"}, 7),
        (503, {"retry_after": format_datetime(NOW + timedelta(seconds=20), usegmt=True)}, 20),
        (429, {}, 5),
        (503, {}, 0),
        (200, {"retry_after": "30"}, 0),
        (429, {"retry_after": "whenever"}, 5),
    ],
)
def test_a_host_that_says_when_to_come_back_is_waited_for(time, status, headers, seconds):
    async def journey():
        known = hosts(time)
        await visit(known, page=answer(status, **headers))
        await visit(known, "http://another.org/")
        assert time.now == 1_000.0
        await visit(known)

    asyncio.run(journey())
    assert time.now - 1_000.0 == pytest.approx(seconds)


def test_a_host_that_wants_to_be_left_alone_for_long_is_and_its_pages_fail_at_once(time):
    async def journey():
        known = hosts(time)
        await visit(known, page=answer(429, retry_after="600"))
        with pytest.raises(
            FetchError, match=r"asks to be left alone \(status 429\)\. It is left alone for 600 s more"
        ):
            await visit(known)
        assert time.slept == []
        time.now += 601
        await visit(known)

    asyncio.run(journey())


def test_a_host_that_cannot_be_reached_is_left_alone_and_then_tried_with_care(time):
    async def journey():
        known = hosts(time)
        for _ in range(3):
            with pytest.raises(FetchError, match="Not reached"):
                await visit(known, error=unreached())
        with pytest.raises(FetchError, match="could not be reached 3 times in a row"):
            await visit(known)
        time.now += 61
        with pytest.raises(FetchError, match="Not reached"):
            await visit(known, error=unreached())
        with pytest.raises(FetchError, match="in a row"):
            await visit(known)
        time.now += 61
        await visit(known)
        for _ in range(2):  # an answer makes it as new
            with pytest.raises(FetchError, match="Not reached"):
                await visit(known, error=unreached())
        await visit(known)

    asyncio.run(journey())


def test_who_waited_while_a_host_closed_is_told(time):
    async def journey():
        known = hosts(time, at_once=1)
        first_in = asyncio.Event()

        async def first():
            async with known.visit(SITE) as answered:
                first_in.set()
                await asyncio.sleep(0)
                answered(answer(503, retry_after="600"))

        async def second():
            await first_in.wait()
            await visit(known)

        told = await asyncio.gather(first(), second(), return_exceptions=True)
        assert isinstance(told[1], FetchError)

    asyncio.run(journey())


def test_the_hosts_that_are_remembered_are_bounded_and_none_is_forgotten_while_asked(time, monkeypatch):
    monkeypatch.setattr(module, "_MAX_HOSTS", 10)

    async def journey():
        known = hosts(time)
        async with known.visit(SITE):
            for n in range(200):
                await visit(known, f"http://s{n}.org/")
            assert "site.org" in known._hosts
        assert len(known._hosts) <= 75
        assert not any(host.users for host in known._hosts.values())

    asyncio.run(journey())
