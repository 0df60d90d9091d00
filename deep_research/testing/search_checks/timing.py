"""Deadlines hold however slowly a service is, and who goes away leaves nothing behind."""

from __future__ import annotations

import asyncio

from deep_research.testing.search_bench import Bench, until
from deep_research.testing.servers import Fault

_SECONDS = 0.2
_GRACE = 0.1
_TRIES = 3  # on a busy machine a timer of ours may be late without the provider's doing


async def a_service_that_hangs_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, Fault("hang", times=None))


async def a_body_that_drips_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, Fault("drip-body", times=None, interval=0.05))


async def headers_that_drip_are_left_in_time(bench: Bench) -> None:
    await _in_time(bench, Fault("drip-headers", times=None, interval=0.05))


async def a_deadline_of_the_caller_is_the_callers(bench: Bench) -> None:
    """It is no `SearchError`, but the `TimeoutError` that the caller waits for."""
    bench.server.faults = [Fault("hang", times=None)]
    try:
        async with asyncio.timeout(0.05):
            await bench.search()
    except TimeoutError:
        return
    raise AssertionError("the caller's deadline was not heard")


async def who_cancels_closes_the_connection(bench: Bench) -> None:
    for kind in ("hang", "drip-body", "drip-headers"):
        bench.server.faults = [Fault(kind)]
        before, others = len(bench.server.log), max(0, bench.server.connections - 1)
        task = asyncio.create_task(bench.search())
        await until(lambda before=before: len(bench.server.log) > before)  # type: ignore[misc]
        assert task.cancel()
        (raised,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(raised, asyncio.CancelledError)
        await until(lambda others=others: bench.server.connections <= others)  # type: ignore[misc]
        assert (await bench.search()).found


async def _in_time(bench: Bench, fault: Fault) -> None:
    provider = bench.provider(seconds=_SECONDS)
    assert (await bench.search(provider=provider)).found  # makes the client, which takes its time
    idle = bench.server.connections
    bench.server.faults = [fault]
    lateness = []
    for _ in range(_TRIES):
        loop = asyncio.get_running_loop()
        due: asyncio.Future[float] = loop.create_future()
        loop.call_later(_SECONDS, lambda due=due, loop=loop: due.set_result(loop.time()))  # type: ignore[misc]
        outcome = await bench.search(provider=provider)
        ended = loop.time()
        assert outcome.failure.data["trouble"] == "transient"
        assert len(outcome.asked) == 1
        lateness.append(ended - await due)
        if lateness[-1] < _GRACE:
            break
    assert min(lateness) < _GRACE, f"{min(lateness):.3f} s late"
    await until(lambda: bench.server.connections < idle)
    bench.server.faults = []
    assert (await bench.search()).found
