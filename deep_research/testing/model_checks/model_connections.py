"""Connections are reused, belong to their loop, and are let go."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings

from deep_research.models.base import Message, ModelCall, ModelProvider
from deep_research.testing.model_bench import CALL, PATIENCE, WAYS, Bench, until
from deep_research.testing.servers import Fault, Served

_THREADS = 4


async def one_connection_serves_many_requests(bench: Bench) -> None:
    for streamed in WAYS * 4:
        assert (await bench.send(streamed=streamed)).answer.text
    assert bench.server.accepted == 1


async def a_refused_request_leaves_the_connection(bench: Bench) -> None:
    for kind in ("429", "500", "400"):
        for streamed in WAYS:
            bench.server.faults = [Fault(kind)]
            assert (await bench.send(streamed=streamed)).failure
            assert (await bench.send(streamed=streamed)).answer.text
    assert bench.server.accepted == 1


async def many_at_once_each_get_their_own_answer(bench: Bench) -> None:
    async def echo(served: Served) -> str:
        await until(lambda: bench.server.most_at_once > 1)
        return served.messages[-1]["content"]

    bench.server.answers = echo
    provider = bench.provider()
    questions = [f"Ship {n}?" for n in range(20)]
    replies = await asyncio.gather(
        *(
            provider.send(_asking(question), (lambda _: None) if n % 2 else None)
            for n, question in enumerate(questions)
        )
    )
    assert [reply.text for reply in replies] == questions


async def closing_twice_is_no_harm(bench: Bench) -> None:
    provider = bench.provider()
    await provider.aclose()  # of what was never used
    assert (await bench.send()).answer.text
    await provider.aclose()
    await provider.aclose()


async def closing_closes_the_connections(bench: Bench) -> None:
    provider = bench.provider()
    assert (await bench.send()).answer.text
    assert bench.server.connections == 1
    await provider.aclose()
    await until(lambda: bench.server.connections == 0)


async def what_was_closed_can_be_used_again(bench: Bench) -> None:
    provider = bench.provider()
    for _ in range(3):
        assert (await bench.send()).answer.text
        await provider.aclose()


def one_loop_after_another_may_use_it(bench: Bench) -> None:
    provider = bench.provider()
    for streamed in WAYS * 2:
        asyncio.run(_used(bench, provider, streamed=streamed))


def a_loop_that_was_closed_without_a_word_is_no_harm(bench: Bench) -> None:
    """Its connections are dropped at the next use."""
    provider = bench.provider()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # that nobody closed them is the point
        for _ in range(3):
            asyncio.run(bench.send(provider=provider))
        asyncio.run(_used(bench, provider))
        gc.collect()
        asyncio.run(until(lambda: bench.server.connections == 0))
    assert len(bench.server.log) == 4


def several_threads_may_use_it_at_once(bench: Bench) -> None:
    provider = bench.provider()
    together = threading.Barrier(_THREADS)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            together.wait(PATIENCE)
            asyncio.run(_used(bench, provider, times=5))
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
    assert len(bench.server.log) == _THREADS * 5


async def _used(bench: Bench, provider: ModelProvider, *, streamed: bool = False, times: int = 1) -> None:
    for _ in range(times):
        outcome = await bench.send(provider=provider, streamed=streamed)
        assert outcome.answer.text
    await provider.aclose()


def _asking(question: str) -> ModelCall:
    return CALL.model_copy(update={"messages": (Message(content=question),)})
