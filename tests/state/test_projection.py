"""The row of a run, kept up event by event, says what the state of its whole log says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.errors import LogDamagedError
from deep_research.state import (
    AbortReason,
    AgentDecision,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Parking,
    Reservation,
    RunStatus,
    Source,
    SubQuery,
    TokenUsage,
    ValidationResult,
)
from deep_research.state import events as ev
from deep_research.state.figures import Figures
from deep_research.state.projection import Projection, Projector
from deep_research.state.reducer import Fold, fold
from deep_research.testing import FakeClock, sample_log

PHASES = tuple(DeepResearchPhase)
DECISION = AgentDecision(agent="supervisor", action="x", rationale="", timestamp=FakeClock()())
FEW = st.integers(1, 4).map(str)
PHASE = st.sampled_from(PHASES)


def some(what: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(what, max_size=3).map(tuple)


def anything() -> st.SearchStrategy[ev.Event]:
    """Events that change a row, of few ids, so that they meet."""
    queries = some(st.builds(SubQuery, id=FEW, query=FEW, index=st.integers(0, 9)))
    sources = some(st.builds(Source, id=FEW, sub_query_id=FEW, title=FEW))
    findings = some(
        st.builds(
            Finding,
            id=FEW,
            content=FEW,
            confidence=st.just(ConfidenceLevel.LOW),
            source_ids=st.just(()),
            sub_query_id=FEW,
        )
    )
    dollars = st.none() | st.sampled_from([0.1, 0.2, 0.7])
    tokens, seconds = st.integers(0, 99), st.sampled_from([0.0, 0.001, 1.5])
    request = st.builds(
        Reservation,
        call_id=FEW,
        role=st.just("analyzer"),
        phase=PHASE,
        model=FEW,
        input_tokens=tokens,
        output_tokens=tokens,
        cost_usd=dollars,
    )
    used = st.builds(TokenUsage, input=tokens, output=tokens)
    iterations, valid = st.integers(1, 3), st.just(ValidationResult(valid=True, quality_score=1.0))
    return st.one_of(
        st.builds(ev.PlanMade, research_brief=FEW, sub_queries=queries),
        st.builds(ev.SubQueryCompleted, sub_query_id=FEW, sources=sources),
        st.builds(ev.SubQueryFailed, sub_query_id=FEW, error=FEW),
        st.builds(ev.SourcesAnalyzed, source_ids=some(FEW), findings=findings),
        st.builds(ev.EvidenceWeighed, findings=findings, dropped=some(FEW)),
        st.builds(ev.ModelReserved, reservation=request),
        st.builds(ev.ModelSettled, call_id=FEW, outcome=FEW, tokens=used, cost_usd=dollars),
        st.builds(ev.PhaseRetried, phase=PHASE, attempt=st.integers(0, 2), sub_queries=queries),
        st.builds(ev.IterationStarted, iteration=iterations, sub_queries=queries),
        st.builds(ev.PhaseStarted, phase=PHASE, iteration=iterations, decision=st.just(DECISION)),
        st.builds(
            ev.PhaseEnded,
            phase=PHASE,
            iteration=iterations,
            attempt=st.just(0),
            validation=valid,
            decision=st.just(DECISION),
            seconds=seconds,
        ),
    )


def stops() -> st.SearchStrategy[ev.Event]:
    given_up = st.builds(
        ev.RunAborted,
        reason=st.sampled_from(AbortReason),
        message=FEW,
        phase=PHASE,
        iteration=st.just(1),
    )
    parked = st.builds(Parking, waiting_for=FEW, pause_id=st.none() | FEW)
    return st.builds(ev.RunParked, parking=parked) | given_up | st.builds(ev.RunCompleted)


def stretches() -> st.SearchStrategy[list[list[ev.Event]]]:
    """What several owners do with a run, each until it stops."""
    work = st.lists(anything(), min_size=5, max_size=25)
    return st.lists(st.builds(lambda done, stop: [*done, stop], work, stops()), min_size=1, max_size=3)


def possible(tries: list[list[ev.Event]]) -> list[ev.Event]:
    """A log of those events that can happen one after the other."""
    clock, log = FakeClock(), list(sample_log("gathering"))
    state = fold(log)
    for event in (event for stretch in tries for event in (*stretch, ev.RunResumed())):
        try:
            state.apply(event := event.model_copy(update={"seq": len(log) + 1, "at": clock()}))
        except LogDamagedError:
            state = fold(log)  # some of it may have been applied
        else:
            log.append(event)
    return log


def row_of(state: DeepResearchState) -> Projection:
    """What the row must say of a state."""
    parked, abort, usage = state.status is RunStatus.PARKED, state.abort, state.usage
    return Projection(
        status=state.status,
        reason=abort.reason if abort else None,
        phase=state.phase,
        iteration=state.iteration,
        message=abort.message if abort else None,
        parking=state.parking if parked else None,
        seconds=state.seconds,
        figures=Figures(
            searches_done=len(state.completed_sub_queries()),
            searches_planned=len(state.current_sub_queries()),
            sources=len(state.sources),
            findings=len(state.findings),
            tokens=usage.input_tokens + usage.output_tokens,
            cost_usd=usage.cost_usd,
        ),
    )


@settings(max_examples=150)
@given(stretches(), st.integers(5, 60))
def test_the_row_says_what_the_state_says_whoever_went_on_with_the_run(
    tries: list[list[ev.Event]], taken_at: int
) -> None:
    row, state = Projector(Fold()), Fold()
    for place, event in enumerate(possible(tries), start=1):
        row.apply(event)
        state.apply(event)
        assert row.projection() == row_of(state.snapshot())
        if place == taken_at:
            row = Projector(state)


def test_a_search_that_is_to_be_made_again_gives_way_to_a_newer_plan() -> None:
    first, *_ = (e for e in sample_log("planning", done=True) if isinstance(e, ev.PlanMade))
    failed = ev.SubQueryFailed(sub_query_id=first.sub_queries[0].id, error="x")
    again = ev.PhaseRetried(phase=DeepResearchPhase.GATHERING, attempt=1)
    newer = ev.PlanMade(research_brief="", sub_queries=first.sub_queries[1:])
    log = possible([[failed, again, newer]])
    row, state = Projector(fold(log[:2])), fold(log)
    for event in log[2:]:
        row.apply(event)
    assert row.projection() == row_of(state.snapshot())
    assert row.projection().figures.searches_planned == len(newer.sub_queries)


@pytest.mark.timed
def test_the_row_of_a_run_of_two_rounds_counts_both() -> None:
    sample = sample_log("refinement", done=True, iteration=2, ending="parked")
    row = Projector(Fold())
    for event in sample:
        row.apply(event)
    said = row.projection(seconds=7.5)
    assert said == Projector(fold(sample)).projection(7.5)
    assert (said.figures.searches_done, said.figures.searches_planned) == (6, 6)
    assert (said.figures.sources, said.figures.findings, said.seconds) == (6, 6, 7.5)
    assert said.parking
    assert said.parking.kind == "question"


def test_a_figure_that_only_a_newer_package_counts_is_passed_over() -> None:
    assert Figures.model_validate_json('{"sources": 3, "later": 1}') == Figures(sources=3)
