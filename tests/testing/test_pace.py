"""A pace measures what is computed and waited for, and not that the machine stood still."""

import asyncio
import time

import pytest

from deep_research.testing.pace import Lateness, Pace

pytestmark = pytest.mark.timed


def measured(work):
    async def journey():
        async with Pace() as pace:
            await work()
        return pace.seconds

    return asyncio.run(journey())


def test_what_is_computed_counts():
    async def work():
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass

    assert measured(work) >= 0.1


def test_what_is_waited_for_counts():
    async def work():
        for _ in range(20):
            await asyncio.sleep(0.01)

    assert measured(work) >= 0.1


def test_a_machine_that_stands_still_does_not_count():
    async def work():
        time.sleep(0.5)
        await asyncio.sleep(0.01)

    assert measured(work) < 0.25


def test_it_stands_still_at_its_end():
    async def journey():
        async with Pace() as pace:
            await asyncio.sleep(0.02)
        ended = pace.seconds
        await asyncio.sleep(0.05)
        assert pace.seconds == ended
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(journey())


def test_what_is_late_is_so_from_its_deadline_on():
    async def journey():
        async with Pace() as pace:
            in_time, late = Lateness(pace, 600), Lateness(pace, 0.01)
            for _ in range(20):
                await asyncio.sleep(0.01)
            assert in_time.seconds == 0
            assert 0.05 < late.seconds < pace.seconds

    asyncio.run(journey())
