"""What a result tells holds when it is told: what agents were dispatched for, sums of searches, limits, confidence."""

from datetime import UTC, datetime

import pytest

from deep_research import DeepResearch, SearchResult, SupervisorHooks
from deep_research.phases.gathering import GatheredSource, GathererOutput, GatherStats
from deep_research.research import ResearchResult
from deep_research.state import (
    AgentDecision,
    ConfidenceLevel,
    ConfidenceSummary,
    DeepResearchPhase,
    Finding,
    Limit,
    Notice,
    ReportMetadata,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state import events as ev
from deep_research.state.reducer import Fold
from deep_research.state.run import DeepResearchState
from deep_research.testing import ScriptedSearch, sample_state, scripted_agents

QUESTION = "What is known of towers?"
P = DeepResearchPhase


def engine(**fields):
    return DeepResearch(**{"search": [ScriptedSearch()], "store": "memory", **fields})


# Decisions


def test_a_dispatch_tells_what_came_of_it_once_its_phase_has_ended():
    seen = []

    def look(state, *rest):
        seen.append([d.outputs for d in state.decisions if d.action.startswith("execute_")][-1])

    agents = scripted_agents(without=["gatherer"], iterations=2)
    with engine(agents=agents, hooks=SupervisorHooks(after_phase=look)) as research:
        result = research.run(QUESTION)
    dispatched = [d for d in result.decisions if d.action.startswith("execute_")]
    evaluated = [d for d in result.decisions if d.action == "evaluate_phase"]
    assert len(dispatched) == len(evaluated) == 8
    for before, after in zip(dispatched, evaluated, strict=True):
        assert before.outputs
        assert before.outputs.items() < after.outputs.items()
    assert seen == [None] * 8


# Searches


class Counting:
    """A gatherer that says how often it searched."""

    deterministic = False

    async def __call__(self, handoff):
        source = GatheredSource(title=f"On {handoff.sub_queries[0]}", content="Towers are tall.")
        return GathererOutput(
            sources=(source, source),
            stats=GatherStats(
                queries_executed=3, queries_failed=1, sources_collected=2, duplicates_skipped=4
            ),
        )


def test_what_gatherers_count_is_summed_into_the_result():
    with engine(agents=scripted_agents() | {"gatherer": Counting()}) as research:
        result = research.run(QUESTION)
    units = len(result.state.completed_sub_queries())
    assert result.gather_stats == GatherStats(
        queries_executed=3 * units,
        queries_failed=units,
        sources_collected=len(result.sources),
        duplicates_skipped=5 * units,
    )
    assert (result.usage.searches, result.usage.failed_searches) == (3 * units, units)


def test_a_source_that_two_searches_find_is_collected_once():
    same = SearchResult(address="https://example.org/", title=QUESTION, text=QUESTION)
    with engine(
        agents=scripted_agents(without=["gatherer"]), search=[ScriptedSearch(lambda r: [same])]
    ) as research:
        stats = research.run(QUESTION).gather_stats
    assert (stats.sources_collected, stats.duplicates_skipped) == (1, stats.queries_executed - 1)


# Limits


def gate(phase, message="Only one."):
    return Notice(name=f"gate:{phase}", message=message)


def notices_after(state, *events):
    fold = Fold(state)
    for event in events:
        fold.apply(event.model_copy(update={"seq": fold.seq + 1, "at": datetime(2026, 1, 1, tzinfo=UTC)}))
    return {notice.name for notice in ResearchResult.of(fold.snapshot()).notices}


def decision(action="execute"):
    return AgentDecision(agent="a", action=action, rationale="r", timestamp=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("phase", P)
def test_a_phase_that_begins_anew_makes_void_what_gates_said_of_it_and_of_later_ones(phase, again):
    every = list(P)
    state = sample_state(phase, notices=tuple(map(gate, every)))
    event = (
        ev.PhaseRetried(phase=phase, attempt=1)
        if again
        else ev.PhaseStarted(phase=phase, iteration=1, decision=decision())
    )
    assert notices_after(state, event) == {f"gate:{p}" for p in every[: every.index(phase)]}


@pytest.mark.parametrize("same", [True, False])
def test_the_notices_of_a_report_go_with_it(same):
    state = sample_state(
        P.SYNTHESIS, report="# Old", notices=(Notice(name="report", message="It is shorter."),)
    )
    written = ev.ReportWritten(report="# Old" if same else "# New", metadata=ReportMetadata(partial=same))
    assert notices_after(state, written) == ({"report"} if same else set())


def searched(*done):
    return tuple(
        SubQuery(
            id=f"subq-{query}",
            query=query,
            index=n,
            status=SubQueryStatus.COMPLETED if query in done else SubQueryStatus.PENDING,
        )
        for n, query in enumerate("ab")
    )


@pytest.mark.parametrize(
    ("done", "limit", "told"),
    [
        ("", "max_searches", True),
        ("a", "max_searches", True),
        ("ab", "max_searches", False),
        ("ab", "max_seconds", False),
        ("ab", "shared:max_searches", False),
        ("ab", "max_tokens", True),
    ],
)
def test_a_cap_whose_searches_were_made_after_all_is_not_told(done, limit, told):
    limits = (Limit(name=limit, message="Reached.", skipped=("a", "b")),)
    state = DeepResearchState(query="q", sub_queries=searched(*done), limits=limits)
    assert (ResearchResult.of(state).limits == limits) is told


def test_pages_that_another_search_could_read_are_not_told():
    source = sample_state(P.ANALYSIS).sources[0]
    gone = "https://example.org/gone"
    notice = Notice(name="pages", message="Found but not read: a wall.", skipped=(gone, source.url))
    (told,) = ResearchResult.of(DeepResearchState(query="q", sources=(source,), notices=(notice,))).notices
    assert told.skipped == (gone,)


def test_findings_that_were_thrown_away_are_told_in_the_result_too():
    (notice,) = ResearchResult.of(DeepResearchState(query="q", unfounded=2)).notices
    assert notice.message.startswith("2 findings were left out")


# Confidence


def test_the_confidence_that_is_told_is_that_of_the_findings_as_they_stand():
    levels = [*ConfidenceLevel]
    findings = tuple(Finding(id=f"find-{x}", content=x, confidence=x, source_ids=()) for x in levels)
    state = DeepResearchState(query="q", findings=findings, report="# R", report_metadata=ReportMetadata())
    told = ResearchResult.of(state).report_metadata
    assert told.confidence_summary == ConfidenceSummary(high=2, medium=1, low=2)
    assert ResearchResult.of(DeepResearchState(query="q")).report_metadata is None
