"""Whole runs under caps while the service fails as it likes and bills by itself: no bill passes a cap, the books are the
bill, and a report always comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fault_runs import CONFIG, QUESTION, answer, engine, role_of
from servers import FAULT_KINDS, Fault, ModelServer
from servers.fault_expectations import SLOW_KINDS

from deep_research import Budget, DeepResearch, ResearchResult, RunStatus, SharedBudget
from deep_research.models import TokenUsage
from deep_research.models.profiles import Price

PRICE = Price(input=2.0, output=10.0)
# What takes long says nothing of caps, and what no run survives leaves nothing to look at.
KINDS = sorted(set(FAULT_KINDS) - SLOW_KINDS - {"sse-slow"} - CONFIG)
OF_ONE_RUN = {
    "max_model_calls": 14,
    "max_tokens": 60_000,
    "max_usd": 0.25,
}  # about what it takes without a cap


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer) as running:
        yield running


def schedule(chance: random.Random) -> list[Fault]:
    return [
        Fault(chance.choice(KINDS), skip=chance.randrange(12), times=chance.choice((1, 2, None)), size=2_000)
        for _ in range(chance.randrange(4))
    ]


def some_caps(chance: random.Random, runs: int = 1) -> dict[str, Any]:
    """One cap or several, from nothing to more than is needed."""
    names = chance.sample(sorted(OF_ONE_RUN), chance.randrange(1, 4))
    return {
        name: type(most)(chance.uniform(0, 1.2) * most * runs) for name in names if (most := OF_ONE_RUN[name])
    }


def priced(server: ModelServer, **more: Any) -> DeepResearch:
    return engine(server, price=PRICE, on_outage="extractive", **more)


def spent_of(server: ModelServer) -> dict[str, float]:
    """What the service billed, by the name of the cap on it."""
    bill = server.billed
    usd = PRICE.of(TokenUsage(input=bill.input, output=bill.output))
    return {
        "max_model_calls": len(server.log),
        "max_tokens": bill.input + bill.output,
        "max_usd": usd - 1e-9,
    }


def judge(results: list[ResearchResult], server: ModelServer, caps: dict[str, Any], seed: int) -> None:
    billed, bill = spent_of(server), server.billed
    for name, cap in caps.items():
        assert billed[name] <= cap, (seed, name)
    for result in results:
        assert result.status is RunStatus.COMPLETED, (seed, result.reason, result.message)
        assert result.report, seed
        assert result.citations, seed
    usages = [result.usage for result in results]
    booked = sum(u.input_tokens for u in usages), sum(u.output_tokens for u in usages)
    assert sum(u.model_calls for u in usages) == len(server.log), seed
    if all(usage.tokens_known for usage in usages):
        assert booked == (bill.input, bill.output), seed
    assert booked[0] >= bill.input, seed
    assert booked[1] >= bill.output, seed


def in_parts(seeds: range, size: int) -> list[Any]:
    """The first part is among the longer tests, all are in the sweep."""
    parts = [seeds[at : at + size] for at in range(0, len(seeds), size)]
    return [
        pytest.param(part, marks=[pytest.mark.sweep, *([] if n else [pytest.mark.slow])])
        for n, part in enumerate(parts)
    ]


def test_what_is_read_is_what_the_share_of_the_analysis_allows_and_further_rounds_follow(
    server: ModelServer,
) -> None:
    with priced(server) as research:
        result = research.run(QUESTION, budget=Budget(max_model_calls=8))
    judge([result], server, {"max_model_calls": 8}, 0)
    names = [limit.name for limit in result.limits]
    assert "max_model_calls" not in names
    assert "had its share" not in (result.report or "")
    assert result.iterations == 2
    assert sum(role_of(served) == "analyzer" for served in server.log) == result.iterations


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seeds", in_parts(range(200), 20), ids=str)
def test_no_bill_of_a_run_passes_its_caps_and_a_report_always_comes(
    seeds: range, server: ModelServer
) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        server.clear()
        server.faults = schedule(chance)
        caps = some_caps(chance)
        with priced(server) as research:
            result = research.run(QUESTION, budget=Budget(**caps))
        judge([result], server, caps, seed)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seeds", in_parts(range(1_000, 1_050), 10), ids=str)
def test_no_bill_of_runs_on_many_threads_passes_the_budget_that_they_share(
    seeds: range, server: ModelServer
) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        server.clear()
        server.faults = schedule(chance)
        caps = some_caps(chance, runs=4)
        shared = SharedBudget(**caps)
        results: list[ResearchResult] = []

        def research(shared: SharedBudget = shared, results: list[ResearchResult] = results) -> None:
            with priced(server, shared_budget=shared) as own:
                results.append(own.run(QUESTION))

        threads = [threading.Thread(target=research) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 4, seed
        judge(results, server, caps, seed)
        left = {name: cap for name, cap in shared.left if name in caps}
        assert shared.spent.model_calls == len(server.log), seed
        assert left == {
            name: pytest.approx(cap - (shared.spent.by_cap[name] or 0)) for name, cap in caps.items()
        }, seed
