"""A cap on models that was reached and is raised: what was read without a model is read with it, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_runs import QUESTION, answer, engine, role_of

from deep_research import Budget, RunStatus
from deep_research.state import DeepResearchPhase
from deep_research.testing.servers import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer) as running:
        yield running


@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_what_was_left_out_is_done_by_the_model_and_nothing_is_paid_twice(
    calls: int, server: ModelServer
) -> None:
    with engine(server, on_outage="extractive") as research:
        first = research.run(QUESTION, budget=Budget(max_model_calls=calls), max_iterations=1)
        assert first.status is RunStatus.COMPLETED
        assert any(limit.of_cap == "max_model_calls" for limit in first.limits)
        paid = [served.body for served in server.log]
        before = research.events(first.research_id)
        done = research.resume(first.research_id, budget=Budget(max_model_calls=60))
        assert done.status is RunStatus.COMPLETED
        assert not any(limit.of_cap == "max_model_calls" for limit in done.limits)
        events = research.events(first.research_id)[len(before) :]
    raised = next(event for event in events if event.name == "budget.raised")
    assert raised.phase in (DeepResearchPhase.ANALYSIS, DeepResearchPhase.SYNTHESIS)
    assert not [event for event in events if event.name.startswith("sub_query")]
    later = server.log[len(paid) :]
    assert later
    assert not [served for served in later if served.body in paid]
    assert "planner" not in {role_of(served) for served in later}
    if raised.unread:
        assert "analyzer" in {role_of(served) for served in later}
