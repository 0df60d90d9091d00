"""Who asks for the same at once shares the work."""

import asyncio
import threading

import pytest

from deep_research.sources.fetch.flights import Flights


class Work:
    def __init__(self, error=None):
        self.begun = self.ended = 0
        self.go = asyncio.Event()
        self.error = error

    async def __call__(self):
        self.begun += 1
        try:
            await self.go.wait()
            if self.error:
                raise self.error
            return self.begun
        finally:
            self.ended += 1


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_same_work_is_done_once_and_not_kept():
    async def journey():
        flights, work = Flights(), Work()
        tasks = [asyncio.create_task(flights.join("a", work)) for _ in range(3)]
        await settle()
        work.go.set()
        assert await asyncio.gather(*tasks) == [1, 1, 1]
        assert await flights.join("a", work) == 2
        assert not flights._here()

    asyncio.run(journey())


def test_who_gives_up_waiting_leaves_the_others_theirs_and_the_last_ends_the_work():
    async def journey():
        flights, work = Flights(), Work()
        one, two = (asyncio.create_task(flights.join("a", work)) for _ in range(2))
        await settle()
        one.cancel()
        await settle()
        assert (one.cancelled(), work.ended) == (True, 0)
        two.cancel()
        await settle()
        assert work.ended == 1
        work.go.set()
        assert await flights.join("a", work) == 2

    asyncio.run(journey())


def test_a_failure_is_everybodys():
    async def journey():
        flights, work = Flights(), Work(KeyError("x"))
        tasks = [asyncio.create_task(flights.join("a", work)) for _ in range(2)]
        await settle()
        work.go.set()
        assert [type(told) for told in await asyncio.gather(*tasks, return_exceptions=True)] == [KeyError] * 2

    asyncio.run(journey())


@pytest.mark.timed
def test_each_loop_has_work_of_its_own():
    flights, begun = Flights(), []
    meeting = threading.Barrier(3, timeout=300)

    async def work():
        begun.append(1)
        await asyncio.to_thread(meeting.wait)

    threads = [threading.Thread(target=lambda: asyncio.run(flights.join("a", work))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == 3


def test_closing_ends_what_is_under_way():
    async def journey():
        flights, work = Flights(), Work()
        task = asyncio.create_task(flights.join("a", work))
        await settle()
        await flights.aclose()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert work.ended == 1

    asyncio.run(journey())
