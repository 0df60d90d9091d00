"""What a call to a model costs beyond the bare call of its SDK: CPU of the process, the server's share in both."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

from pydantic import BaseModel
from servers import ModelServer, Served

from deep_research.budget.metered import ModelRoles
from deep_research.models import Message, ModelCall
from deep_research.models.model_pool import ModelPool
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole
from deep_research.testing import MemoryJournal

CALLS, ROUNDS = 100, 7
KINDS = ("both streamed", "both an object", "both plain, nobody watches")
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


class Towers(BaseModel):
    """An answer with a shape; its schema is made outside of what is measured."""

    names: list[str]
    number: int


DATA = {"names": ["north tower", "south tower"] * 40, "number": 80}
SCHEMA = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string"}}, "number": {"type": "integer"}},
    "required": ["names", "number"],
    "additionalProperties": False,
}
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1_000}


class Unwatched(MemoryJournal):
    @property
    def watched(self) -> bool:
        return False


async def _ours(name: str) -> tuple[float, float, float]:
    """A text as it is asked for when somebody watches, an object, and a text when nobody does."""
    pool = ModelPool()
    state = DeepResearchState(query="q")

    def model_over(journal: MemoryJournal) -> Any:
        models = ModelRoles(pool=pool, chain=[name]).of_run(journal)
        return models.model(ModelRole.ANALYZER, DeepResearchPhase.ANALYSIS)

    model, alone = model_over(MemoryJournal(state)), model_over(Unwatched(state))
    numbers = count(1_000)

    def call() -> ModelCall:
        """In other words each time: a run asks nothing more than four times in the same."""
        return ModelCall(messages=(Message(content=f"{PROMPT}{next(numbers)}"),), max_output=1_000)

    try:
        return (
            await _cpu(lambda: model.text(call())),
            await _cpu(lambda: model.object(call(), Towers)),
            await _cpu(lambda: alone.text(call())),
        )
    finally:
        await pool.aclose()


def _answer(served: Served) -> Any:
    if "clear sky" in served.text:  # what a model can do is asked once, before anything is measured
        return {"colour": "blue", "seen": ["the sun"]}
    return DATA if served.schema else ANSWER


async def _heard(stream: Awaitable[AsyncIterator[Any]]) -> None:
    async for _ in await stream:
        pass


async def _openai(url: str) -> tuple[float, float, float]:
    import openai

    form = {"type": "json_schema", "json_schema": {"name": "Towers", "strict": True, "schema": SCHEMA}}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        create: Any = client.chat.completions.create
        usage = {"include_usage": True}
        return (
            await _cpu(lambda: _heard(create(**ASKED, stream=True, stream_options=usage))),
            await _cpu(lambda: create(**ASKED, response_format=form)),
            await _cpu(lambda: create(**ASKED)),
        )


async def _anthropic(url: str) -> tuple[float, float, float]:
    import anthropic

    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    async with anthropic.AsyncAnthropic(base_url=url, api_key="any", max_retries=0) as client:
        create: Any = client.messages.create
        return (
            await _cpu(lambda: _heard(create(**ASKED, stream=True))),
            await _cpu(lambda: create(**ASKED, output_config=form)),
            await _cpu(lambda: create(**ASKED)),
        )


def overheads() -> dict[str, tuple[float, float]]:
    """For each SDK the milliseconds of CPU of a bare call, and of ours with its books: of the same kind, since a stream
    costs more than a body, whoever reads it."""
    found = {}
    with ModelServer(_answer) as server:
        url = server.base_url
        pairs = {
            "openai": (_openai, f"openai-compatible:m@{url}/v1"),
            "anthropic": (_anthropic, f"anthropic:m@{url}"),
        }
        for sdk, (bare, name) in pairs.items():
            figures = zip(asyncio.run(bare(url)), asyncio.run(_ours(name)), strict=True)
            for kind, (theirs, own) in zip(KINDS, figures, strict=True):
                found[f"{sdk} SDK, {kind}"] = (theirs, own)
    return found
