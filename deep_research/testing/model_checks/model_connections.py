"""Connections are reused, and answers go to who asked."""

from __future__ import annotations

import asyncio
from typing import Any

from deep_research.models.base import Message, ModelCall
from deep_research.testing.model_bench import CALL, WAYS, Bench
from deep_research.testing.patience import until


async def one_connection_serves_many_requests(bench: Bench) -> None:
    for streamed in WAYS * 4:
        assert (await bench.send(streamed=streamed)).answer.text
    assert bench.server.accepted == 1


async def a_refused_request_leaves_the_connection(bench: Bench) -> None:
    for kind in ("429", "500", "400"):
        for streamed in WAYS:
            bench.server.fail(kind)
            assert (await bench.send(streamed=streamed)).failure
            assert (await bench.send(streamed=streamed)).answer.text
    assert bench.server.accepted == 1


async def many_at_once_each_get_their_own_answer(bench: Bench) -> None:
    async def echo(served: Any) -> str:
        await until(lambda: bench.server.most_at_once > 1)
        return str(served.messages[-1]["content"])

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


def _asking(question: str) -> ModelCall:
    return CALL.model_copy(update={"messages": (Message(content=question),)})
