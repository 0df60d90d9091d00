"""Which unit is finished first must not show in anything that a reader sees."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from deep_research import DeepResearch, ResearchResult, SearchRequest, SearchResult
from deep_research.errors import SearchError
from deep_research.phases.analysis import AnalyzedGap, AnalyzerOutput
from deep_research.state import AgentRole
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents
from deep_research.testing.doubles import codeword, results

UNITS = 6


def in_turn(order: Sequence[int]) -> Callable[[Any], Awaitable[None]]:
    """Of calls in flight, the one that came ``order[0]``-th answers first, and so on."""
    calls = itertools.count()

    async def before(_: Any) -> None:
        for _turn in range(60 * (1 + order.index(next(calls) % len(order)))):
            await asyncio.sleep(0)

    return before


def found(request: SearchRequest) -> list[SearchResult]:
    """A page of its own, one that every query finds, and a copy of it at an address of its own."""
    (common,) = results("what everybody finds", 1)
    mirror = replace(common, address=f"https://mirror.example.org/{codeword(request.query)}")
    return [*results(request.query, 1), common, mirror]


def researched(order: Sequence[int]) -> ResearchResult:
    agents = scripted_agents(sub_queries=UNITS, without=["gatherer"], batch_bytes=500, iterations=2)
    analyzer = agents[AgentRole.ANALYZER]
    answer = analyzer._answers
    assert callable(answer)

    def with_gaps(handoff: Any) -> AnalyzerOutput:
        output: AnalyzerOutput = answer(handoff)
        gap = AnalyzedGap(description=f"Nobody dates what {handoff.sources[0].title} says.", priority=2)
        return output.model_copy(update={"gaps": (*output.gaps, gap)})

    analyzer._answers = with_gaps
    analyzer._before = in_turn(order)
    with DeepResearch(
        agents=agents,
        search=[
            ScriptedSearch(
                lambda request: SearchError(f"no answer to {request.query}"), before=in_turn(order)
            ),
            ScriptedSearch(found, failing=["Who? part 3"]),
        ],
        store="memory",
        clock=FakeClock(),
        max_concurrent=UNITS,
        max_sub_queries=UNITS,
    ) as engine:
        return engine.run("Who?").raise_for_status()


def shown(result: ResearchResult) -> dict[str, Any]:
    return result.model_dump(
        mode="json",
        include={"report", "citations", "findings", "gaps", "sources", "limits", "notices", "contradictions"},
    )


@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3), (3, 5, 0, 4, 1, 2)])
def test_the_result_does_not_depend_on_who_is_finished_first(order: Sequence[int]) -> None:
    assert shown(researched(order)) == shown(researched(range(UNITS)))


def test_a_statement_of_several_sources_carries_all_of_them() -> None:
    (shared,) = [f for f in researched(range(UNITS)).findings if "what everybody finds" in f.content]
    assert len(shared.source_ids) > UNITS
    assert {quote.source_id for quote in shared.quotes} == set(shared.source_ids)
