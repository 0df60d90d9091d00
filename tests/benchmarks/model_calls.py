"""What a call to a model costs beyond the bare call of its SDK: CPU of the process, the server's share in both."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from deep_research.budget import ModelRoles
from deep_research.models import Message, ModelCall
from deep_research.models.pool import ModelPool
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole
from deep_research.testing import MemoryJournal
from deep_research.testing.servers import ModelServer

CALLS, ROUNDS = 100, 7
PROMPT = "What is known of the towers that stood here? " * 100
ANSWER = "Seven towers stood here. " * 40


async def _cpu(one: Callable[[], Awaitable[Any]]) -> float:
    """Milliseconds of CPU of a call, the median of several rounds."""
    await one()
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            await one()
        rounds.append((time.process_time() - began) * 1e3 / CALLS)
    return statistics.median(rounds)


async def _ours(name: str) -> float:
    pool = ModelPool()
    journal = MemoryJournal(DeepResearchState(query="q"))
    models = ModelRoles(pool=pool, chain=[name]).of_run(journal)
    model = models.model(ModelRole.ANALYZER, DeepResearchPhase.ANALYSIS)
    call = ModelCall(messages=(Message(content=PROMPT),), max_output=1_000)
    try:
        return await _cpu(lambda: model.text(call))
    finally:
        await pool.aclose()


async def _openai(url: str) -> float:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        return await _cpu(
            lambda: client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": PROMPT}], max_tokens=1_000
            )
        )


async def _anthropic(url: str) -> float:
    import anthropic

    async with anthropic.AsyncAnthropic(base_url=url, api_key="any", max_retries=0) as client:
        return await _cpu(
            lambda: client.messages.create(
                model="m", messages=[{"role": "user", "content": PROMPT}], max_tokens=1_000
            )
        )


def overheads() -> dict[str, tuple[float, float]]:
    """For each SDK the milliseconds of CPU of a bare call, and of ours with its books."""
    found = {}
    with ModelServer([ANSWER]) as server:
        found["openai"] = (
            asyncio.run(_openai(server.base_url)),
            asyncio.run(_ours(f"openai-compatible:m@{server.base_url}/v1")),
        )
        found["anthropic"] = (
            asyncio.run(_anthropic(server.base_url)),
            asyncio.run(_ours(f"anthropic:m@{server.base_url}")),
        )
    return found
