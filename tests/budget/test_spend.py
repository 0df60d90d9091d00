"""Spending: a cap cannot be passed, what is unknown stays unknown, and nothing waits for ever."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.phase_allocation import Allowance, Share
from deep_research.budget.spend import Spend
from deep_research.budget.spend_ledger import Ledger
from deep_research.errors import BudgetError, ConfigurationError
from deep_research.state import (
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Reservation,
    RunOptions,
    Usage,
)


def reservation(number, tokens=100, usd=0.1):
    return Reservation(
        call_id=f"call-{number}",
        role="planner",
        phase=DeepResearchPhase.PLANNING,
        model="m",
        input_tokens=tokens,
        output_tokens=0,
        cost_usd=usd,
    )


def state(usage=None, reservations=(), **caps):
    return DeepResearchState(
        query="q",
        options=RunOptions(budget=Budget(**caps)),
        usage=usage or Usage(),
        reservations=reservations,
    )


@pytest.mark.parametrize(
    ("caps", "cap"),
    [
        ({"max_usd": 0.15}, "max_usd"),
        ({"max_tokens": 150}, "max_tokens"),
        ({"max_model_calls": 1}, "max_model_calls"),
    ],
)
def test_what_could_pass_a_cap_is_refused_with_the_figures(caps, cap):
    async def journey():
        spend = Spend(state(**caps))
        await spend.hold(reservation(1))
        spend.settle("call-000001", 100, 0.1)
        with pytest.raises(BudgetError) as caught:
            await spend.hold(reservation(2))
        return caught.value

    error = asyncio.run(journey())
    assert error.data["cap"] == cap
    assert cap in error.problem


def test_what_does_not_fit_now_waits_for_the_requests_in_flight():
    async def journey():
        spend = Spend(state(max_tokens=150))
        await spend.hold(reservation(1))
        second = asyncio.create_task(spend.hold(reservation(2)))
        await asyncio.sleep(0)
        assert not second.done()
        spend.settle("call-000001", 20, 0.0)  # it took less than was set aside
        await second

    asyncio.run(journey())


def test_a_request_that_was_given_up_stays_charged():
    async def journey():
        spend = Spend(state(max_tokens=150))
        await spend.hold(reservation(1))
        waiting = asyncio.create_task(spend.hold(reservation(2)))
        await asyncio.sleep(0)
        spend.lose("call-000001")
        with pytest.raises(BudgetError):
            await waiting
        assert spend.ledger.tokens == 100

    asyncio.run(journey())


def test_a_waiting_request_can_be_cancelled():
    async def journey():
        spend = Spend(state(max_tokens=150))
        await spend.hold(reservation(1))
        waiting = asyncio.create_task(spend.hold(reservation(2)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        spend.settle("call-000001", 100, 0.1)
        assert not spend.ledger.held

    asyncio.run(journey())


def test_a_resumed_run_goes_on_with_the_books_of_its_log():
    used = Usage(model_calls=3, input_tokens=50, output_tokens=10, cost_usd=0.5)
    ledger = Ledger.of(state(used, reservations=(reservation(9, tokens=40, usd=0.2),)))
    assert (ledger.calls, ledger.tokens) == (4, 100)
    assert ledger.cost_usd == pytest.approx(0.7)

    async def journey():
        return await Spend(state(used, reservations=(reservation(4),))).hold(reservation(1))

    assert asyncio.run(journey()).call_id == "call-000005"


def test_what_was_refused_takes_no_number_so_that_none_is_given_twice_after_a_resumption():
    async def journey():
        spend = Spend(state(max_tokens=250))
        held = [await spend.hold(reservation(1))]
        spend.settle("call-000001", 100, 0.1)
        with pytest.raises(BudgetError):
            await spend.hold(reservation(2, tokens=200))
        held.append(await spend.hold(reservation(3)))
        resumed = Spend(state(Usage(model_calls=2, input_tokens=200), max_tokens=1_000))
        held.append(await resumed.hold(reservation(4)))
        return [each.call_id for each in held]

    assert asyncio.run(journey()) == ["call-000001", "call-000002", "call-000003"]


def test_dollars_cannot_be_capped_where_a_price_is_unknown():
    with pytest.raises(ConfigurationError, match="max_usd needs the price of 'm'"):
        Ledger(Budget(max_usd=1)).refusal(reservation(1, usd=None))
    assert Ledger(Budget(max_tokens=1_000)).refusal(reservation(1, usd=None)) is None


@pytest.mark.timed
@given(
    st.integers(0, 2_000),
    st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), max_size=30),
    st.randoms(use_true_random=False),
)
def test_whatever_requests_take_the_cap_holds(cap, requests, chance):
    """Each takes any part of what was set aside for it, and they end in any order."""

    async def journey():
        spend = Spend(state(max_tokens=cap))

        async def one(number, most, part):
            try:
                own = await spend.hold(reservation(number, tokens=most, usd=0.0))
            except BudgetError:
                return
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            held = sum(r.tokens.total for r in spend.ledger.held.values())
            assert spend.ledger.tokens + held <= cap
            spend.settle(own.call_id, int(most * part), 0.0)

        async with asyncio.timeout(300):
            await asyncio.gather(*(one(n, most, part) for n, (most, part) in enumerate(requests)))
        assert spend.ledger.tokens <= cap
        assert not spend.ledger.held

    asyncio.run(journey())


# The shares of phases


def of_phase(phase, tokens=100):
    return reservation(0, tokens=tokens).model_copy(update={"phase": phase})


def allowance(ceiling, first, answers=0, phase=DeepResearchPhase.PLANNING):
    return Allowance(phase, {"max_tokens": Share(ceiling=ceiling, first=first)}, answers)


def test_the_first_request_of_a_phase_may_pass_its_share_and_the_second_may_not():
    async def journey():
        spend = Spend(state(max_tokens=1_000))
        share = allowance(50, 600)
        first = await spend.hold(reservation(1), lambda: share)
        spend.settle(first.call_id, 80, 0.0)
        with pytest.raises(BudgetError) as caught:
            await spend.hold(reservation(2), lambda: share)
        await spend.hold(reservation(2))  # the cap itself is far away
        return caught.value

    error = asyncio.run(journey())
    assert (error.data["cap"], error.data["share"], error.data["limit"]) == ("max_tokens", "planning", 50)
    assert "the share of max_tokens for the planning" in error.problem


def test_what_is_kept_for_the_report_is_not_for_the_first_request_either():
    with pytest.raises(BudgetError) as caught:
        asyncio.run(Spend(state(max_tokens=1_000)).hold(reservation(1), lambda: allowance(50, 99)))
    assert caught.value.data["share"] == "planning"


def test_a_phase_whose_first_request_failed_may_ask_again():
    async def journey():
        spend = Spend(state(max_tokens=1_000))
        share = allowance(50, 600)
        first = await spend.hold(reservation(1), lambda: share)
        second = asyncio.create_task(spend.hold(reservation(2), lambda: share))
        await asyncio.sleep(0)
        assert not second.done()  # one at a time
        spend.settle(first.call_id, 100, 0.0, answered=False)
        await second
        spend.lose("call-000002")
        await spend.hold(reservation(3), lambda: share)

    asyncio.run(journey())


def test_requests_of_a_phase_that_is_not_at_work_are_never_its_first():
    share = allowance(50, 600, answers=None)
    with pytest.raises(BudgetError):
        asyncio.run(Spend(state(max_tokens=1_000)).hold(reservation(1), lambda: share))


def test_the_cap_itself_is_told_before_the_share():
    ledger = Ledger(Budget(max_tokens=90))
    assert "share" not in ledger.refusal(reservation(1), allowance(50, 60)).data


def test_what_is_settled_twice_or_after_it_was_given_up_is_charged_once():
    async def journey():
        spend = Spend(state())
        await spend.hold(reservation(1))
        spend.lose("call-000001")
        spend.settle("call-000001", 20, 0.1)
        spend.lose("call-000001")
        return spend.ledger

    ledger = asyncio.run(journey())
    assert (ledger.calls, ledger.tokens) == (1, 100)


def test_what_only_asks_what_a_model_can_do_is_no_answer_to_a_phase():
    async def journey():
        spend = Spend(state(max_tokens=1_000))
        share = allowance(50, 600)
        probe = await spend.hold(reservation(1).model_copy(update={"probe": True}), lambda: share)
        spend.settle(probe.call_id, 60, 0.0)
        plan = await spend.hold(reservation(2), lambda: share)
        spend.settle(plan.call_id, 60, 0.0)
        with pytest.raises(BudgetError):
            await spend.hold(reservation(3), lambda: share)
        usage = Usage()
        for request in (probe, plan):
            usage = usage.charged(request, request.tokens, 0.0, failed=False)
        return usage.answers(DeepResearchPhase.PLANNING), spend.ledger.answers[DeepResearchPhase.PLANNING]

    assert asyncio.run(journey()) == (1, 1)


@pytest.mark.parametrize("role", ["summarizer", "supervisor"])
def test_who_works_beside_the_agent_of_a_phase_does_not_take_its_first_request(role):
    beside = reservation(1).model_copy(update={"role": role})

    async def journey():
        spend = Spend(state(max_tokens=1_000))
        share = allowance(50, 600)
        held = await spend.hold(beside)
        plan = await spend.hold(reservation(2), lambda: share)  # though the other is in flight
        spend.settle(held.call_id, 60, 0.0)
        assert spend.ledger.answers[DeepResearchPhase.PLANNING] == 0
        spend.settle(plan.call_id, 60, 0.0)
        return spend.ledger.answers[DeepResearchPhase.PLANNING]

    assert asyncio.run(journey()) == 1
    usage = Usage().charged(beside, beside.tokens, 0.0, failed=False)
    assert usage.answers(DeepResearchPhase.PLANNING) == 0
