"""Spending: a cap cannot be passed, what is unknown stays unknown, and nothing waits for ever."""

import asyncio

import pytest
from spending import request, state

from deep_research.budget.phase_allocation import Allowance, Share
from deep_research.budget.spend import Spend
from deep_research.budget.spend_ledger import Ledger
from deep_research.errors import BudgetError, ConfigurationError
from deep_research.state import Budget, DeepResearchPhase, Usage

PLANNING = DeepResearchPhase.PLANNING


def reservation(number, tokens=100, usd=0.1):
    return request(tokens, usd, call_id=f"call-{number}")


@pytest.mark.parametrize(
    ("caps", "cap"),
    [
        ({"max_usd": 0.15}, "max_usd"),
        ({"max_tokens": 150}, "max_tokens"),
        ({"max_model_calls": 1}, "max_model_calls"),
    ],
)
async def test_what_could_pass_a_cap_is_refused_with_the_figures(caps, cap):
    spend = Spend(state(**caps))
    await spend.hold(reservation(1))
    spend.settle("call-000001", 100, 0.1)
    with pytest.raises(BudgetError) as caught:
        await spend.hold(reservation(2))
    error = caught.value
    assert error.data["cap"] == cap
    assert cap in error.problem


async def test_a_request_that_was_given_up_stays_charged():
    spend = Spend(state(max_tokens=150))
    await spend.hold(reservation(1))
    waiting = asyncio.create_task(spend.hold(reservation(2)))
    await asyncio.sleep(0)
    spend.lose("call-000001")
    with pytest.raises(BudgetError):
        await waiting
    assert spend.ledger.tokens == 100


async def test_a_resumed_run_goes_on_with_the_books_of_its_log():
    used = Usage(model_calls=3, input_tokens=50, output_tokens=10, cost_usd=0.5)
    ledger = Ledger.of(state(usage=used, reservations=(reservation(9, tokens=40, usd=0.2),)))
    assert (ledger.calls, ledger.tokens) == (4, 100)
    assert ledger.cost_usd == pytest.approx(0.7)

    resumed = Spend(state(usage=used, reservations=(reservation(4),)))
    assert (await resumed.hold(reservation(1))).call_id == "call-000005"


async def test_what_was_refused_takes_no_number_so_that_none_is_given_twice_after_a_resumption():
    spend = Spend(state(max_tokens=250))
    held = [await spend.hold(reservation(1))]
    spend.settle("call-000001", 100, 0.1)
    with pytest.raises(BudgetError):
        await spend.hold(reservation(2, tokens=200))
    held.append(await spend.hold(reservation(3)))
    resumed = Spend(state(usage=Usage(model_calls=2, input_tokens=200), max_tokens=1_000))
    held.append(await resumed.hold(reservation(4)))
    assert [each.call_id for each in held] == ["call-000001", "call-000002", "call-000003"]


def test_dollars_cannot_be_capped_where_a_price_is_unknown():
    with pytest.raises(ConfigurationError, match="max_usd needs the price of 'm'"):
        Ledger(Budget(max_usd=1)).refusal(reservation(1, usd=None))
    assert Ledger(Budget(max_tokens=1_000)).refusal(reservation(1, usd=None)) is None


# The shares of phases


def allowance(ceiling, first, answers=0, phase=PLANNING):
    return Allowance(phase, {"max_tokens": Share(ceiling=ceiling, first=first)}, answers)


async def test_the_first_request_of_a_phase_may_pass_its_share_and_the_second_may_not():
    spend = Spend(state(max_tokens=1_000))
    share = allowance(50, 600)
    first = await spend.hold(reservation(1), lambda: share)
    spend.settle(first.call_id, 80, 0.0)
    with pytest.raises(BudgetError) as caught:
        await spend.hold(reservation(2), lambda: share)
    await spend.hold(reservation(2))  # the cap itself is far away
    error = caught.value
    assert (error.data["cap"], error.data["share"], error.data["limit"]) == ("max_tokens", "planning", 50)
    assert "the share of max_tokens for the planning" in error.problem


def test_what_is_kept_for_the_report_is_not_for_the_first_request_either():
    with pytest.raises(BudgetError) as caught:
        asyncio.run(Spend(state(max_tokens=1_000)).hold(reservation(1), lambda: allowance(50, 99)))
    assert caught.value.data["share"] == "planning"


async def test_a_phase_whose_first_request_failed_may_ask_again():
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


def test_requests_of_a_phase_that_is_not_at_work_are_never_its_first():
    share = allowance(50, 600, answers=None)
    with pytest.raises(BudgetError):
        asyncio.run(Spend(state(max_tokens=1_000)).hold(reservation(1), lambda: share))


def test_the_cap_itself_is_told_before_the_share():
    ledger = Ledger(Budget(max_tokens=90))
    assert "share" not in ledger.refusal(reservation(1), allowance(50, 60)).data


async def test_what_is_settled_twice_or_after_it_was_given_up_is_charged_once():
    spend = Spend(state())
    await spend.hold(reservation(1))
    spend.lose("call-000001")
    spend.settle("call-000001", 20, 0.1)
    spend.lose("call-000001")
    ledger = spend.ledger
    assert (ledger.calls, ledger.tokens) == (1, 100)


async def test_what_only_asks_what_a_model_can_do_is_no_answer_to_a_phase():
    spend = Spend(state(max_tokens=1_000))
    share = allowance(50, 600)
    probe = await spend.hold(reservation(1).model_copy(update={"probe": True}), lambda: share)
    spend.settle(probe.call_id, 60, 0.0)
    plan = await spend.hold(reservation(2), lambda: share)
    spend.settle(plan.call_id, 60, 0.0)
    with pytest.raises(BudgetError):
        await spend.hold(reservation(3), lambda: share)
    usage = Usage()
    for held in (probe, plan):
        usage = usage.charged(held, held.tokens, 0.0, failed=False)
    assert usage.answers(PLANNING) == spend.ledger.answers[PLANNING] == 1


@pytest.mark.parametrize("role", ["summarizer", "supervisor"])
async def test_who_works_beside_the_agent_of_a_phase_does_not_take_its_first_request(role):
    beside, share = request(role=role), allowance(50, 600)
    spend = Spend(state(max_tokens=1_000))
    held = await spend.hold(beside)
    plan = await spend.hold(reservation(2), lambda: share)  # though the other is in flight
    answers = [0]
    for each in (held, plan):
        spend.settle(each.call_id, 60, 0.0)
        answers.append(spend.ledger.answers[PLANNING])
    assert answers == [0, 0, 1]
    assert Usage().charged(beside, beside.tokens, 0.0, failed=False).answers(PLANNING) == 0
