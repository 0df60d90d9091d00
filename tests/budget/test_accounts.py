"""The books of a run: what it was allowed and what it spent, and what of its content its models were given."""

from datetime import UTC, datetime

import pytest
from spending import request, sent
from spending import state as run_of

from deep_research.budget.accounting import MAX_ITEMS, Accounts
from deep_research.state import (
    Abort,
    AbortReason,
    Budget,
    ContextUsage,
    DeepResearchPhase,
    Limit,
    RunOptions,
    Source,
    TokenUsage,
    Usage,
)
from deep_research.state.events import ContentSent, ModelReserved, ModelSettled, RunCreated
from deep_research.state.reducer import fold

READ, WRITE = DeepResearchPhase.ANALYSIS, DeepResearchPhase.SYNTHESIS


CALL = request(18, call_id="c", role="analyzer", phase=READ)


def state(**fields):
    usage = Usage(searches=4).charged(CALL, TokenUsage(input=100, output=20), 0.25, failed=False)
    return run_of(**{"research_id": "deepres-0123456789ab", "usage": usage} | fields)


@pytest.mark.timed
def test_each_cap_stands_beside_what_was_used_of_it():
    options = RunOptions(max_iterations=2, budget=Budget(max_usd=1, max_searches=4, max_seconds=9))
    limits = (Limit(name="max_seconds", message="m", cap=9, usage=9.5),)
    made = Accounts.of(state(options=options, limits=limits))
    caps = {cap.name: (cap.cap, cap.usage) for cap in made.caps}
    assert caps["max_usd"] == (1, 0.25)
    assert caps["max_tokens"] == (None, 120)
    assert caps["max_model_calls"] == (None, 1)
    assert caps["max_searches"] == (4, 4)
    assert caps["max_seconds"] == (9, 9.5)
    assert caps["max_iterations"] == (2, 1)
    assert caps.keys() == Budget.model_fields.keys()
    assert [cap.usage for cap in Accounts.of(state(seconds=4.5)).caps if cap.name == "max_seconds"] == [4.5]


def test_the_texts_that_are_kept_least_come_first_with_their_titles_and_archived_originals():
    items = tuple(sent(n, 100, 10 * n) for n in range(11))
    sources = tuple(Source(id=f"s{n}", sub_query_id="q", title=f"Title {n}") for n in range(11))
    reading = {READ: ContextUsage(items=items, available=500, archived={"s0": "sha256:ab"})}
    made = Accounts.of(state(sources=sources, context_usage=reading))
    assert [item.title for item in made.least_kept] == [f"Title {n}" for n in range(MAX_ITEMS)]
    assert (made.least_kept[0].archived, made.least_kept[1].archived) == ("sha256:ab", None)
    assert (made.least_kept[0].current_level, made.least_kept[2].compression_ratio) == ("dropped", 0.2)
    assert made.fidelity.dropped_content_ids == ("s0",)
    assert made.advice[0].startswith("1 text was left out")


def test_what_was_sent_whole_is_not_named():
    written = {WRITE: ContextUsage(items=(sent(1, 5, 6),), available=9)}
    assert Accounts.of(state(context_usage=written)).least_kept == ()


def test_an_aborted_run_is_advised_by_why_it_was():
    told = "What is protected does not fit."
    abort = Abort(reason=AbortReason.ERROR, message=told, phase=READ, iteration=1)
    assert "window.safety_margin" in Accounts.of(state(abort=abort)).advice[0]


def test_the_books_are_those_of_the_log():
    used = TokenUsage(input=7, output=3)
    log = [
        RunCreated(research_id="deepres-0123456789ab", query="Why?", options=RunOptions()),
        ModelReserved(reservation=CALL),
        ModelSettled(call_id="c", outcome="end", failed=False, tokens=used, cost_usd=None, seconds=1),
        ContentSent(phase=READ, sending=ContextUsage(items=(sent(1, 10, 4),), available=10)),
    ]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    folded = fold([event.model_copy(update={"seq": n, "at": at}) for n, event in enumerate(log, 1)])
    made = Accounts.of(folded.snapshot())
    assert [(row.calls, row.tokens.total, row.cost_usd) for row in made.usage.models] == [(1, 10, None)]
    assert made.fidelity.content_allocation_metadata.fidelity == 0.4


@pytest.mark.parametrize(("probe", "measured"), [(False, {CALL.model: 4.0}), (True, {})])
def test_a_probe_does_not_tell_how_many_bytes_a_token_has(probe, measured):
    made = CALL.model_copy(update={"input_bytes": 400, "probe": probe})
    usage = Usage().charged(made, TokenUsage(input=100, output=20), None, failed=False)
    assert usage.bytes_a_token() == measured
