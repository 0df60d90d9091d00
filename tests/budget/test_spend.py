"""Spending: a cap cannot be passed, what is unknown stays unknown, and nothing waits for ever."""

import asyncio
import random
from contextlib import suppress
from unittest.mock import AsyncMock

import pytest
from servers import DIALECTS, ModelServer
from spending import paid, refused, request, run_on, state, waiting

from deep_research import SharedBudget
from deep_research.budget.metered import ModelRoles
from deep_research.budget.spend_ledger import Allowance, Ledger, Share
from deep_research.errors import BudgetError, ConfigurationError, DeepResearchError
from deep_research.limits import Gates
from deep_research.models import Message, ModelCall
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities
from deep_research.state import Budget, DeepResearchPhase, ModelRole, Usage
from deep_research.testing import MemoryJournal

PLANNING = DeepResearchPhase.PLANNING


@pytest.mark.parametrize("caps", [{"max_usd": 0.15}, {"max_tokens": 150}, {"max_model_calls": 1}], ids=str)
@pytest.mark.parametrize("is_shared", [False, True])
async def test_what_could_pass_a_cap_of_a_run_or_of_several_is_refused_with_the_figures(caps, is_shared):
    shared = [SharedBudget(**caps)] if is_shared else []
    spend = run_on(*shared, **({} if is_shared else caps))
    await paid(spend)
    error = await refused(run_on(*shared) if is_shared else spend)
    (cap,) = caps
    assert (error.data["cap"], error.data["shared"]) == (cap, is_shared)
    assert (f"the shared cap {cap}" if is_shared else cap) in error.problem


async def test_a_request_that_was_given_up_stays_charged():
    spend = run_on(max_tokens=150)
    held = await spend.hold(request())
    other = await waiting(spend)
    spend.lose(held.call_id)
    with pytest.raises(BudgetError):
        await other
    spend.settle(held.call_id, 20, 0.1)  # too late
    spend.lose(held.call_id)
    assert (spend.ledger.calls, spend.ledger.tokens) == (1, 100)


async def test_a_resumed_run_goes_on_with_the_books_of_its_log():
    used = Usage(model_calls=3, input_tokens=50, output_tokens=10, cost_usd=0.5)
    ledger = Ledger.of(state(usage=used, reservations=(request(40, 0.2, call_id="call-9"),)))
    assert (ledger.calls, ledger.tokens) == (4, 100)
    assert ledger.cost_usd == pytest.approx(0.7)
    resumed = run_on(usage=used, reservations=(request(call_id="call-4"),))
    assert (await resumed.hold(request())).call_id == "call-000005"


async def test_what_was_refused_takes_no_number_so_that_none_is_given_twice_after_a_resumption():
    spend = run_on(max_tokens=250)
    held = [await paid(spend)]
    await refused(spend, request(200))
    held.append(await spend.hold(request()))
    resumed = run_on(usage=Usage(model_calls=2, input_tokens=200), max_tokens=1_000)
    held.append(await resumed.hold(request()))
    assert [each.call_id for each in held] == ["call-000001", "call-000002", "call-000003"]


def test_dollars_cannot_be_capped_where_a_price_is_unknown():
    with pytest.raises(ConfigurationError, match="max_usd needs the price of 'm'"):
        Ledger(Budget(max_usd=1)).refusal(request(usd=None))
    assert Ledger(Budget(max_tokens=1_000)).refusal(request(usd=None)) is None


def test_sums_of_what_is_set_aside_do_not_drift():
    ledger = Ledger(Budget(max_usd=1.0))
    for _ in range(1_000):
        for key, usd in enumerate((0.1, 0.2, 0.3)):
            ledger.hold(key, request(usd=usd))
        for key in range(3):
            ledger.settle(key, 1, 0.0)
    assert ledger.usage["max_usd"] == 0.0


# The shares of phases


def allowance(ceiling=50, first=600, answers=0):
    return Allowance(PLANNING, {"max_tokens": Share(ceiling=ceiling, first=first)}, answers)


@pytest.fixture
def spend():
    return run_on(max_tokens=1_000)


async def test_the_first_request_of_a_phase_may_pass_its_share_and_the_second_may_not(spend):
    await paid(spend, 80, allowed=allowance)
    error = await refused(spend, allowed=allowance)
    await spend.hold(request())  # the cap itself is far away
    assert (error.data["cap"], error.data["share"], error.data["limit"]) == ("max_tokens", "planning", 50)
    assert "the share of max_tokens for the planning" in error.problem


@pytest.mark.parametrize(
    "share", [allowance(first=99), allowance(answers=None)], ids=["kept for the report", "not at work"]
)
async def test_what_is_kept_for_the_report_or_of_another_phase_is_not_for_the_first_request(spend, share):
    assert (await refused(spend, allowed=lambda: share)).data["share"] == "planning"


async def test_a_phase_whose_first_request_failed_may_ask_again(spend):
    first = await spend.hold(request(), allowance)
    second = await waiting(spend, allowed=allowance)  # one at a time
    spend.settle(first.call_id, 100, 0.0, answered=False)
    spend.lose((await second).call_id)
    await spend.hold(request(), allowance)


def test_the_cap_itself_is_told_before_the_share():
    assert "share" not in Ledger(Budget(max_tokens=90)).refusal(request(), allowance(50, 60)).data


async def test_what_only_asks_what_a_model_can_do_is_no_answer_to_a_phase(spend):
    usage = Usage()
    for asked in (request(probe=True), request()):
        held = await paid(spend, 60, asked, allowed=allowance)
        usage = usage.charged(held, held.tokens, 0.0, failed=False)
    await refused(spend, allowed=allowance)
    assert usage.answers(PLANNING) == spend.ledger.answers[PLANNING] == 1


@pytest.mark.parametrize("role", ["summarizer", "supervisor"])
async def test_who_works_beside_the_agent_of_a_phase_does_not_take_its_first_request(spend, role):
    beside = request(role=role)
    held = await spend.hold(beside)
    plan = await spend.hold(request(), allowance)  # though the other is in flight
    for each, answers in ((held, 0), (plan, 1)):
        spend.settle(each.call_id, 60, 0.0)
        assert spend.ledger.answers[PLANNING] == answers
    assert Usage().charged(beside, beside.tokens, 0.0, failed=False).answers(PLANNING) == 0


# A service that bills by itself


async def books(server, chance, cap, seconds):
    """What a run books that asks for eight texts, four at a time."""
    journal = MemoryJournal(state(max_tokens=cap))
    pool = ModelPool(
        timeout=seconds, common=Shared(Gates(), Abilities()), persistence=Persistence(sleep=AsyncMock())
    )
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


@pytest.mark.timed
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name.startswith("usage-")])
async def test_a_cap_holds_where_the_service_counts_in_its_own_way(dialect):
    for seed in range(7):
        chance = random.Random(seed)
        cap = chance.randrange(200, 6_000)
        with ModelServer(["Seven ships passed. " * 12], dialect=dialect) as server:
            ledger, usage = await books(server, chance, cap, 300.0)
            bill = server.billed
        assert bill.input + bill.output <= ledger.tokens <= cap, seed
        assert usage.input_tokens + usage.output_tokens == ledger.tokens, seed
        assert usage.tokens_known == (dialect in ("usage-floats", "usage-strings") or not server.log), seed
