"""A service that bills by itself, and fails as it likes: its bill never passes the cap, nor differs from known books."""

import asyncio
import random
from contextlib import suppress

import pytest
from servers import DIALECTS, FAULT_KINDS, Fault, ModelServer

from deep_research.budget.metered import ModelRoles
from deep_research.errors import DeepResearchError
from deep_research.limits import Gates
from deep_research.models import Message, ModelCall
from deep_research.models.abilities import Abilities
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.retry import Persistence
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, ModelRole, RunOptions
from deep_research.testing import MemoryJournal

pytestmark = pytest.mark.timed

SLOW = {"hang", "drip-body", "drip-headers", "sse-hang", "sse-slow"}
QUICK = sorted(set(FAULT_KINDS) - SLOW)


async def no_sleep(_seconds):
    pass


async def spent(server, chance, cap):
    """What a run books that asks for eight texts, four at a time."""
    state = DeepResearchState(query="q", options=RunOptions(budget=Budget(max_tokens=cap)))
    journal = MemoryJournal(state)
    common, persistence = Shared(Gates(), Abilities()), Persistence(sleep=no_sleep)
    pool = ModelPool(timeout=300.0, common=common, persistence=persistence)
    provider = OpenAIChat("m", api_key="any", base_url=f"{server.base_url}/v1")
    models = ModelRoles(pool=pool, chain=[provider]).of_run(journal)
    model = models.model(ModelRole.ANALYZER, DeepResearchPhase.ANALYSIS, steered=False)
    gate = asyncio.Semaphore(4)

    async def one():
        text, most = "word " * chance.randrange(1, 60), chance.randrange(20, 200)
        async with gate:
            with suppress(DeepResearchError):
                await model.text(ModelCall(messages=(Message(content=text),), max_output=most))

    await asyncio.gather(*(one() for _ in range(8)))
    await pool.aclose()
    return models.spend.ledger, journal.state.usage


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(start, start + 20), marks=pytest.mark.sweep if start % 100 else pytest.mark.slow)
        for start in range(0, 200, 20)
    ],
    ids=str,
)
def test_the_bill_of_the_service_never_passes_the_cap(seeds):
    for seed in seeds:
        chance = random.Random(seed)
        faults = [
            Fault(chance.choice(QUICK), chance.randrange(12), chance.choice((1, 2, None)), size=2_000)
            for _ in range(chance.randrange(1, 5))
        ]
        cap = chance.randrange(200, 6_000)
        with ModelServer(["Seven ships passed. " * 12], faults=faults) as server:
            ledger, usage = asyncio.run(spent(server, chance, cap))
            bill = server.billed
        assert bill.input + bill.output <= cap, seed
        assert ledger.tokens <= cap, seed
        assert not ledger.held, seed
        assert usage.input_tokens + usage.output_tokens == ledger.tokens, seed
        if usage.tokens_known:
            assert (usage.input_tokens, usage.output_tokens) == (bill.input, bill.output), seed
        assert usage.input_tokens + usage.output_tokens >= bill.input + bill.output, seed


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name.startswith("usage-")])
def test_a_cap_holds_where_the_service_counts_in_its_own_way(dialect):
    for seed in range(7):
        chance = random.Random(seed)
        cap = chance.randrange(200, 6_000)
        with ModelServer(["Seven ships passed. " * 12], dialect=dialect) as server:
            ledger, usage = asyncio.run(spent(server, chance, cap))
            bill = server.billed
        assert bill.input + bill.output <= ledger.tokens <= cap, seed
        assert usage.input_tokens + usage.output_tokens == ledger.tokens, seed
        assert usage.tokens_known == (dialect in ("usage-floats", "usage-strings") or not server.log), seed
