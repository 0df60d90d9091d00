"""Connections are reused, belong to their loop, and are let go."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings

from deep_research.sources.search.base import SearchProvider
from deep_research.testing.search_bench import PATIENCE, Bench, until

_THREADS = 4


async def one_connection_serves_many_searches(bench: Bench) -> None:
    for _ in range(3):
        assert (await bench.search(limit=1)).found
    assert bench.server.accepted == 1


async def closing_twice_is_no_harm(bench: Bench) -> None:
    provider = bench.provider()
    await provider.aclose()  # of what was never used
    assert (await bench.search(provider=provider)).found
    await provider.aclose()
    await provider.aclose()


async def closing_closes_the_connections(bench: Bench) -> None:
    provider = bench.provider()
    assert (await bench.search(provider=provider)).found
    assert bench.server.connections >= 1
    await provider.aclose()
    await until(lambda: bench.server.connections == 0)


async def what_was_closed_can_be_used_again(bench: Bench) -> None:
    provider = bench.provider()
    for _ in range(3):
        assert (await bench.search(provider=provider)).found
        await provider.aclose()


def one_loop_after_another_may_use_it(bench: Bench) -> None:
    provider = bench.provider()
    for _ in range(3):
        asyncio.run(_used(bench, provider))


def a_loop_that_was_closed_without_a_word_is_no_harm(bench: Bench) -> None:
    """Its connections are dropped at the next use."""
    provider = bench.provider()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # that nobody closed them is the point
        for _ in range(2):
            asyncio.run(bench.search(provider=provider))
        asyncio.run(_used(bench, provider))
        gc.collect()
        asyncio.run(until(lambda: bench.server.connections == 0))


def several_threads_may_use_it_at_once(bench: Bench) -> None:
    provider = bench.provider()
    together = threading.Barrier(_THREADS)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            together.wait(PATIENCE)
            asyncio.run(_used(bench, provider, times=3))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


async def _used(bench: Bench, provider: SearchProvider, *, times: int = 1) -> None:
    for _ in range(times):
        assert (await bench.search(provider=provider)).found
    await provider.aclose()
