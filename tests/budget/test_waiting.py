"""Who waits for a shared budget: first come, first served, one called at a time, and nobody waits for who is gone."""

import asyncio
import time

import pytest
from spending import request, run_on, settled, waiting

from deep_research import SharedBudget
from deep_research.errors import BudgetError


@pytest.mark.timed
def test_a_thousand_who_wait_are_served_without_holding_up_the_loop(least):
    async def one(spend, wanted):
        held = await spend.hold(wanted)
        await asyncio.sleep(0)
        spend.settle(held.call_id, 1, 0.0)

    async def ticking(worst):
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            worst[0], last = max(worst[0], now - last), now

    async def journey():
        shared, worst = SharedBudget(max_tokens=1_100), [0.0]
        runs = [(run_on(shared), request()) for _ in range(1_000)]
        watch = asyncio.create_task(ticking(worst))
        began = time.thread_time()
        await asyncio.gather(*(one(*each) for each in runs))
        watch.cancel()
        assert shared.spent.model_calls == 1_000
        # In parts of what is allowed: about 0.1 s in all; each looking at all others it was 10.
        return max((time.thread_time() - began) / 2.0, worst[0] / 0.5)

    assert least(1, lambda: asyncio.run(journey())) < 1


async def test_a_large_request_does_not_wait_behind_small_ones_that_came_later():
    order, shared = [], SharedBudget(max_tokens=100)

    async def one(tokens):
        spend = run_on(shared)
        held = await spend.hold(request(tokens))
        order.append(tokens)
        await asyncio.sleep(0)
        spend.settle(held.call_id, 0, 0.0)

    await asyncio.gather(*map(one, (60, 100, 10, 20, 30)))
    assert order == [60, 100, 10, 20, 30]


async def test_who_comes_when_somebody_waits_waits_behind():
    shared = SharedBudget(max_tokens=100)
    one, large = run_on(shared), run_on(shared)
    held = await one.hold(request(60))
    first = await waiting(large, 100)
    late = await waiting(run_on(shared), 10)  # though it would fit
    one.settle(held.call_id, 0, 0.0)
    held = await first
    await settled()
    assert not late.done()
    large.settle(held.call_id, 0, 0.0)
    await late


async def test_who_gives_up_the_first_place_leaves_the_turn_to_the_next():
    shared = SharedBudget(max_tokens=100)
    await run_on(shared).hold(request(60))
    first = await waiting(run_on(shared), 100)
    second = await waiting(run_on(shared), 10)  # it would fit, and is not the first
    first.cancel()
    assert (await second).tokens.total == 10


async def test_what_will_never_fit_any_more_is_told_in_turn():
    shared = SharedBudget(max_tokens=100)
    one = run_on(shared)
    held = await one.hold(request(60))
    tasks = [await waiting(run_on(shared), 50) for _ in range(5)]
    one.settle(held.call_id, 60, 0.0)
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(each) for each in told} == {BudgetError}


@pytest.mark.parametrize("is_own", [False, True], ids=["a small budget", "his own run"])
async def test_who_waits_for_a_small_budget_or_his_own_run_keeps_no_other_one_waiting(is_own):
    large = SharedBudget(max_tokens=200)
    small = SharedBudget(max_tokens=100, within=large)
    one = run_on(large, max_tokens=100) if is_own else run_on(small)
    held = await one.hold(request(60))
    task = await waiting(one if is_own else run_on(small), 60)
    await run_on(large).hold(request(100))  # at once
    assert not task.done()
    one.settle(held.call_id, 0, 0.0)
    assert (await task).tokens.total == 60


@pytest.mark.timed
def test_a_loop_that_stands_still_keeps_nobody_waiting_and_joins_again_when_it_runs(monkeypatch):
    monkeypatch.setattr("deep_research.budget.spend.LOOK_AGAIN_SECONDS", 0.01)
    shared = SharedBudget(max_tokens=100)
    still = asyncio.new_event_loop()
    holds = run_on(shared)
    tasks = []

    async def ask():
        tasks.append(asyncio.create_task(run_on(shared).hold(request(80))))
        await settled()

    async def others():
        held = await holds.hold(request(60))
        await asyncio.to_thread(still.run_until_complete, ask())
        late = asyncio.create_task(run_on(shared).hold(request(10)))
        async with asyncio.timeout(300):
            await late
        holds.settle(held.call_id, 0, 0.0)

    asyncio.run(others())  # what it holds at its end is lost with its loop
    still.run_until_complete(asyncio.wait_for(tasks[0], 300))
    still.close()
    assert shared.left.max_tokens == 10
