"""Budgets that many runs share: none is passed, nobody waits for what will not come, and every loop is woken."""

import asyncio
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spending import paid, refused, request, run_on, waiting

from deep_research import SharedBudget
from deep_research.budget.shared_budget import BudgetScope
from deep_research.errors import BudgetError, ConfigurationError
from deep_research.state import Budget


async def test_what_is_spent_and_left_can_be_read():
    shared = SharedBudget(max_usd=1.0, max_tokens=1_000, max_searches=3)
    spend = run_on(shared)
    held = await spend.hold(request(tokens=300, usd=0.25))
    assert (shared.spent.tokens, shared.spent.cost_usd) == (0, 0.0)
    assert (shared.left.max_tokens, shared.left.max_usd) == (700, 0.75)
    spend.settle(held.call_id, 200, 0.125)
    assert (shared.spent.model_calls, shared.spent.tokens, shared.spent.cost_usd) == (1, 200, 0.125)
    assert shared.left == Budget(max_usd=0.875, max_tokens=800, max_searches=3)
    assert repr(shared) == "SharedBudget(max_usd=1, max_tokens=1000, max_searches=3)"


async def test_where_a_price_is_unknown_dollars_are_neither_counted_nor_left():
    capped, counting = SharedBudget(max_usd=1.0), SharedBudget(max_tokens=1_000)
    with pytest.raises(ConfigurationError, match="price of 'm', which is unknown"):
        await run_on(capped).hold(request(usd=None))
    spend = run_on(counting)
    held = await spend.hold(request(usd=None))
    spend.settle(held.call_id, 10, None)
    assert counting.spent.cost_usd is None


async def test_a_request_is_set_aside_for_in_all_budgets_or_in_none_and_once_in_each():
    large = SharedBudget(max_tokens=1_000)
    small, other = SharedBudget(max_tokens=50, within=large), SharedBudget(max_tokens=1_000)
    budgets, spend = (large, other, small), run_on(other, small, large)
    await refused(spend)
    assert [budget.left.max_tokens for budget in budgets] == [1_000, 1_000, 50]
    assert not spend.ledger.reservations
    held = await spend.hold(request(tokens=40))
    assert [budget.left.max_tokens for budget in budgets] == [960, 960, 10]
    spend.lose(held.call_id)
    assert [budget.spent.tokens for budget in budgets] == [40, 40, 40]


async def test_nobody_waits_for_what_could_not_come_free():
    shared = SharedBudget(max_tokens=150)
    one = run_on(shared)
    await paid(one)
    await one.hold(request(tokens=10))  # is in flight, and even if it took nothing it would not help
    await refused(run_on(shared))


@pytest.mark.timed
def test_a_run_in_another_thread_is_woken(monkeypatch):
    # One is told, and does not look for oneself.
    monkeypatch.setattr("deep_research.budget.spend.LOOK_AGAIN_SECONDS", 3_600.0)
    shared = SharedBudget(max_tokens=150)
    holds, waits = threading.Event(), threading.Event()

    async def first():
        spend = run_on(shared)
        held = await spend.hold(request())
        holds.set()
        await asyncio.to_thread(waits.wait, 300)
        spend.settle(held.call_id, 20, 0.0)

    async def second():
        await asyncio.to_thread(holds.wait, 300)
        task = await waiting(run_on(shared))
        waits.set()
        async with asyncio.timeout(300):
            await task

    threads = threading.Thread(target=lambda: asyncio.run(first()))
    threads.start()
    asyncio.run(second())
    threads.join()


def test_a_loop_that_is_gone_gives_nothing_back_and_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr("deep_research.budget.spend.LOOK_AGAIN_SECONDS", 0.01)
    shared = SharedBudget(max_tokens=150)
    loop = asyncio.new_event_loop()
    gone = run_on(shared)
    loop.run_until_complete(gone.hold(request()))

    async def later():
        await refused(run_on(shared))
        await run_on(shared).hold(request(tokens=50))

    asyncio.run(later())
    gone.settle("call-000001", 1, 0.0)  # too late
    loop.close()
    assert shared.spent.tokens == 100 + 0
    assert shared.left.max_tokens == 0


@pytest.mark.timed
def test_who_waits_looks_again_for_loops_that_went_meanwhile(monkeypatch):
    monkeypatch.setattr("deep_research.budget.spend.LOOK_AGAIN_SECONDS", 0.01)
    shared = SharedBudget(max_tokens=150)
    holds, leave = threading.Event(), threading.Event()

    async def hold():
        await run_on(shared).hold(request())
        holds.set()
        await asyncio.to_thread(leave.wait, 300)

    async def wait():
        await asyncio.to_thread(holds.wait, 300)
        task = await waiting(run_on(shared))
        leave.set()
        async with asyncio.timeout(300):
            with pytest.raises(BudgetError):
                await task

    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    asyncio.run(wait())
    thread.join()


async def test_who_was_cancelled_while_waiting_is_forgotten():
    shared = SharedBudget(max_tokens=150)
    one = run_on(shared)
    held = await one.hold(request())
    task = await waiting(run_on(shared))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    one.settle(held.call_id, 100, 0.0)
    assert not len(shared._line)
    assert shared.left.max_tokens == 50


def test_searches_and_pages_are_taken_from_all_or_from_none():
    large = SharedBudget(max_searches=1, max_fetches=5)
    small = SharedBudget(max_searches=5, within=large)
    purse = BudgetScope([small])
    assert purse.take("max_searches") is None
    refusal = purse.take("max_searches")
    assert (refusal.data["cap"], refusal.data["limit"], refusal.data["used"]) == ("max_searches", 1, 1)
    assert (small.spent.searches, large.spent.searches) == (1, 1)
    assert purse.take("max_fetches") is None
    purse.charge("max_fetches", -1)
    assert large.spent.fetches == 0
    assert BudgetScope().take("max_fetches") is None


WRONG = {
    "max_usd": [-1.0, float("inf"), float("nan"), "5"],
    "max_tokens": ["many", "5"],
    "max_model_calls": [True],
    "max_searches": [2.0],
    "max_fetches": [-3],
    "within": ["large"],
}


@pytest.mark.parametrize(
    "caps", [{name: wrong} for name, values in WRONG.items() for wrong in values], ids=str
)
def test_a_cap_that_is_none_is_told_at_once_in_one_line(caps):
    with pytest.raises(ConfigurationError) as caught:
        SharedBudget(**caps)
    (name,) = caps
    assert caught.value.problem.startswith(name)
    assert "\n" not in str(caught.value.problem)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_in_a_child_process_what_the_parent_has_in_flight_stays_charged():
    async def hold():
        await run_on(shared).hold(request())
        shared.renew()  # what a fork calls in the child

    shared = SharedBudget(max_tokens=150)
    asyncio.run(hold())
    assert shared.spent.tokens == 100


@pytest.mark.timed
@given(
    *[st.integers(0, 3_000)] * 3,
    st.lists(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), max_size=8), max_size=6),
    st.randoms(use_true_random=False),
)
def test_whatever_runs_take_no_cap_is_passed(cap, inner, own, runs, chance):
    """Each request takes any part of what was set aside for it, or is lost, and they end in any order."""
    large = SharedBudget(max_tokens=cap)
    small = SharedBudget(max_tokens=inner, within=large)

    async def one(spend, most, part):
        try:
            held = await spend.hold(request(tokens=most))
        except BudgetError:
            return
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        for budget in (large, small):
            left, spent = budget.left.max_tokens, budget.spent.tokens
            assert left >= 0
            assert spent + left <= budget.budget.max_tokens
        aside = sum(each.tokens.total for each in spend.ledger.reservations.values())
        assert spend.ledger.tokens + aside <= own
        if chance.random() < 0.2:
            spend.lose(held.call_id)
        else:
            spend.settle(held.call_id, int(most * part), 0.0)

    async def journey():
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            for number, wanted in enumerate(runs):
                spend = run_on(small if number % 2 else large, max_tokens=own)
                for most, part in wanted:
                    group.create_task(one(spend, most, part))

    asyncio.run(journey())
    assert large.spent.tokens <= cap
    assert small.spent.tokens <= inner
    assert large.left.max_tokens == cap - large.spent.tokens  # nothing is set aside any more
