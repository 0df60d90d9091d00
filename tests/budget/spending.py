"""Requests of runs, and the budgets that these draw on."""

import asyncio
from typing import Any

import pytest

from deep_research import SharedBudget
from deep_research.budget.shared_budget import BudgetScope
from deep_research.budget.spend import Spend
from deep_research.errors import BudgetError
from deep_research.state import (
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Reservation,
    RunOptions,
    SentItem,
)


def request(tokens: int = 100, usd: float | None = 0.1, **more: Any) -> Reservation:
    known = {"call_id": "", "role": "planner", "phase": DeepResearchPhase.PLANNING, "model": "m", **more}
    return Reservation(input_tokens=tokens, output_tokens=0, cost_usd=usd, **known)


def state(**more: Any) -> DeepResearchState:
    """Of a run; what is no field of it is a cap."""
    fields = {name: more.pop(name) for name in list(more) if name in DeepResearchState.model_fields}
    rounds = {"max_iterations": more.pop("iterations")} if "iterations" in more else {}
    return DeepResearchState(
        **{"query": "q", "options": RunOptions(budget=Budget(**more), **rounds)} | fields
    )


def sent(number: int, original: int, current: int) -> SentItem:
    return SentItem(id=f"s{number}", original_tokens=original, current_tokens=current)


def run_on(*shared: SharedBudget, **more: Any) -> Spend:
    return Spend(state(**more), BudgetScope(shared))


async def settled() -> None:
    """All that can go on without a change has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def paid(spend: Spend, used: int = 100, asked: Reservation | None = None, **more: Any) -> Reservation:
    """A request that took so many tokens, and a tenth of a dollar."""
    held = await spend.hold(asked or request(), **more)
    spend.settle(held.call_id, used, 0.1)
    return held


async def refused(spend: Spend, asked: Reservation | None = None, **more: Any) -> BudgetError:
    with pytest.raises(BudgetError) as caught:
        await spend.hold(asked or request(), **more)
    return caught.value


async def waiting(spend: Spend, tokens: int = 100, **more: Any) -> asyncio.Task[Reservation]:
    """A request that is not held at once."""
    task = asyncio.create_task(spend.hold(request(tokens), **more))
    await settled()
    assert not task.done()
    return task
