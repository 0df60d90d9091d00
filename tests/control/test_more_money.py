"""A run that ended at a cap goes on under a higher one: what was left out is done, what was paid is not done again."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prompt_reading import ReadingModel
from servers import WebSite, web_reply

from deep_research import Budget, DeepResearch, ResearchResult, RunStatus
from deep_research.errors import DeepResearchError, SettingsError, UsageError
from deep_research.phases.planning import ExtractivePlanner
from deep_research.sources.search import SearchResult
from deep_research.state import ParkedKind
from deep_research.state.events import BudgetRaised, ContentSent, RunParked, RunResumed, SubQueryCompleted
from deep_research.state.projection import Projector
from deep_research.state.reducer import Fold, fold
from deep_research.testing import ScriptedSearch

BOUND = 300.0
TOWER = "What is said about the tower of the reef?"
QUESTION = "Who built Bell Rock, how tall is it and when was it lit?"
MORE: dict[str, Any] = {
    "max_searches": 20,
    "max_tokens": 10_000_000,
    "max_usd": 10.0,
    "max_model_calls": 1_000,
    "max_seconds": 10_000.0,
    "max_iterations": 2,
}
# Caps at which a run ends, by what they are on; ``max_fetches`` needs pages, and has tests of its own.
REACHED: dict[str, Any] = {
    "max_searches": 1,
    "max_tokens": 8_000,
    "max_usd": 0.03,
    "max_model_calls": 1,
    "max_seconds": 0.000_001,
    "max_iterations": 1,
}


PROFILE = '["reading:m"]\nprice = { input = 2.0, output = 10.0 }\n'  # dollars for a million tokens


def engine(tmp_path: Path, **parts: Any) -> DeepResearch:
    (prices := tmp_path / "models.toml").write_text(PROFILE, encoding="utf-8")
    parts.setdefault("search", [ScriptedSearch()])
    return DeepResearch(data_dir=tmp_path, model_file=prices, **parts)


def consistent(research: DeepResearch, result: ResearchResult) -> None:
    """The row that was kept up event by event says what the log says."""
    events = research.events(result.research_id)
    state = fold(events)
    assert state.snapshot() == result.state
    kept = Projector(Fold())
    for event in events:
        kept.apply(event)
    assert kept.projection() == Projector(state).projection()
    row = research.status(result.research_id)
    assert (row.status, row.phase, row.message) == (result.status, result.state.phase, result.message)
    assert row.searches_done == len(result.state.completed_sub_queries())


def asked(search: ScriptedSearch) -> list[str]:
    return [request.query for request in search.requests]


def test_what_is_searched_under_more_money_is_exactly_what_was_left_out(tmp_path):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], max_iterations=1) as research:
        first = research.run(QUESTION, budget=Budget(max_searches=1))
        assert first.status is RunStatus.COMPLETED
        left = [s.query for s in first.state.pending_sub_queries()]
        (limit,) = [each for each in first.limits if each.name == "max_searches"]
        assert sorted(limit.skipped) == sorted(left)
        before = len(search.requests)
        second = research.resume(first.research_id, budget=Budget(max_searches=20))
        assert sorted(asked(search)[before:]) == sorted(left)
        assert second.status is RunStatus.COMPLETED
        assert not [each for each in second.limits if each.name == "max_searches"]
        assert second.state.completed_at > first.state.completed_at
        assert second.state.options.budget == Budget(max_searches=20)
        consistent(research, second)


def test_searches_that_the_next_cap_leaves_out_are_left_out_again(tmp_path):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], max_iterations=1) as research:
        result = research.run(QUESTION, budget=Budget(max_searches=1))
        for cap in (2, 3, 4):
            assert result.state.pending_sub_queries()
            result = research.resume(result.research_id, budget=Budget(max_searches=cap))
            assert len(search.requests) == cap
            consistent(research, result)
        assert not result.state.pending_sub_queries()
        assert set(Counter(asked(search)).values()) == {1}


def test_a_run_that_its_budget_ended_without_evidence_goes_on(tmp_path):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], max_iterations=1) as research:
        first = research.run(QUESTION, budget=Budget(max_searches=0))
        assert (first.status, first.reason) == (RunStatus.ABORTED, "budget")
        assert not search.requests
        second = research.resume(first.research_id, budget=Budget(max_searches=20))
        assert second.status is RunStatus.COMPLETED
        assert sorted(asked(search)) == sorted(s.query for s in second.state.completed_sub_queries())
        consistent(research, second)


@pytest.mark.parametrize("cap", REACHED)
def test_a_completed_run_goes_on_under_more_of_each_cap(tmp_path, cap):
    search, model = ScriptedSearch(), ReadingModel()
    with engine(tmp_path, search=[search], model=[model], max_iterations=2) as research:
        first = research.run(QUESTION, budget=Budget(**{cap: REACHED[cap]}))
        assert first.status.is_final
        searched = asked(search)
        open_still = {
            s.query for s in first.state.pending_sub_queries()
        }  # what planning looked at may be one
        second = research.resume(first.research_id, budget=Budget(**{cap: MORE[cap]}))
        assert second.status is RunStatus.COMPLETED
        assert second.report_metadata.writer == "synthesizer"
        left = [limit.name for limit in second.limits if limit.of_cap == cap]
        assert left in ([], [f"{cap}:planning"])  # the plan stays as it was made
        assert not (set(searched) - open_still) & set(asked(search)[len(searched) :])
        names = [event.name for event in research.events(first.research_id)]
        assert names.count("budget.raised") == names.count("run.resumed") == 1
        consistent(research, second)


def test_a_report_that_was_written_without_a_model_is_written_with_it(tmp_path):
    model = ReadingModel()
    agents = {"planner": ExtractivePlanner()}
    with engine(
        tmp_path, model=[model], agents=agents, max_iterations=1, revise_with_critic=False
    ) as research:
        first = research.run(QUESTION, budget=Budget(max_model_calls=1))
        assert first.report_metadata.writer != "synthesizer"
        read = first.state.context_usage["analysis"].items
        cut = {item.id for item in read if item.current_tokens < item.original_tokens}
        assert cut
        assert len(cut) < len(read)
        before = len(research.events(first.research_id))
        second = research.resume(first.research_id, budget=Budget(max_model_calls=50))
        assert second.report_metadata.writer == "synthesizer"
        given = [e for e in research.events(first.research_id, before) if isinstance(e, ContentSent)]
        again = {item.id for e in given if e.phase == "analysis" for item in e.sending.items}
        assert again == cut  # what was read whole, and paid for, is not read again
        consistent(research, second)


def test_pages_that_were_left_unread_are_read_and_no_search_is_made_again(tmp_path, monkeypatch):
    found = [SearchResult(address=f"http://example.org/{n}", title=TOWER) for n in range(4)]
    with WebSite({f"/{n}": web_reply(page_text(n)) for n in range(4)}) as site:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        search = ScriptedSearch(lambda request: found)
        with engine(tmp_path, search=[search], max_iterations=1, max_sub_queries=2) as research:
            first = research.run(TOWER, budget=Budget(max_fetches=2))
            left = {url for limit in first.limits if limit.name == "max_fetches" for url in limit.skipped}
            assert left
            searches, read = len(search.requests), Counter(site.paths)
            second = research.resume(first.research_id, budget=Budget(max_fetches=20))
            assert len(search.requests) == searches
            new = [path for path in Counter(site.paths) - read if path != "/robots.txt"]
            assert {f"http://example.org{path}" for path in new} == left
            assert left <= {source.url for source in second.sources}
            assert not second.state.pages_left
            assert not [limit for limit in second.limits if limit.name == "max_fetches"]
            assert second.usage.fetches == first.usage.fetches + len(new)
            consistent(research, second)


@pytest.mark.parametrize(
    ("budget", "error", "said"),
    [
        (Budget(max_searches=1), UsageError, "not larger in anything that was reached: max_searches 1"),
        (Budget(max_searches=0), UsageError, "not larger"),
        (Budget(max_tokens=10), UsageError, "not larger"),
        (Budget(), UsageError, "names no cap"),
        (5, SettingsError, "must be a Budget"),
    ],
    ids=str,
)
def test_a_budget_that_is_no_larger_is_refused_and_changes_nothing(tmp_path, budget, error, said):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], max_iterations=1) as research:
        run = research.run(QUESTION, budget=Budget(max_searches=1))
        before, searches = research.events(run.research_id), len(search.requests)
        with pytest.raises(error, match=said) as caught:
            research.resume(run.research_id, budget=budget)
        assert "\n" not in str(caught.value)
        assert research.events(run.research_id) == before
        assert research.result(run.research_id) == run
        assert len(search.requests) == searches


def test_a_run_that_left_nothing_out_takes_no_more_money(tmp_path):
    with engine(tmp_path, max_iterations=1) as research:
        run = research.run(QUESTION)
        with pytest.raises(UsageError, match="left nothing out"):
            research.resume(run.research_id, budget=Budget(max_searches=50))
        assert research.resume(run.research_id) == run


def test_caps_that_are_not_named_stay_and_one_that_is_named_none_is_lifted(tmp_path):
    with engine(tmp_path, max_iterations=1) as research:
        run = research.run(QUESTION, budget=Budget(max_searches=1, max_fetches=7))
        result = research.resume(run.research_id, budget=Budget(max_searches=None))
        assert result.state.options.budget == Budget(max_fetches=7)
        assert not result.state.pending_sub_queries()


# Asked at a cap


@pytest.mark.parametrize("cap", REACHED)
def test_a_run_that_is_to_ask_parks_at_each_cap_and_goes_on_with_more(tmp_path, cap):
    search, model = ScriptedSearch(), ReadingModel()
    with engine(tmp_path, search=[search], model=[model], max_iterations=2) as research:
        parked = research.run(QUESTION, budget=Budget(**{cap: REACHED[cap]}), on_budget_exhausted="ask")
        assert parked.status is RunStatus.PARKED
        (waiting,) = research.waiting()
        assert (waiting.kind, waiting.asks, waiting.default) == (ParkedKind.BUDGET, True, "report")
        about = waiting.about
        assert (about["name"], about["cap"]) == (cap, REACHED[cap])
        assert about["left"]
        calls = len(model.calls)
        with pytest.raises(DeepResearchError, match="not larger"):
            research.answer(parked.research_id, {cap: REACHED[cap]})
        with pytest.raises(UsageError, match="answer is invalid"):
            research.answer(parked.research_id, {"max_money": 3})
        assert research.result(parked.research_id) == parked
        assert len(model.calls) == calls
        done = research.answer(parked.research_id, {cap: MORE[cap]})
        assert done.status is RunStatus.COMPLETED
        assert done.report_metadata.writer == "synthesizer"
        consistent(research, done)


@pytest.mark.parametrize("cap", REACHED)
def test_a_run_asks_once_for_each_value_of_a_cap_and_reports_what_there_is(tmp_path, cap):
    model = ReadingModel()
    with engine(tmp_path, model=[model], max_iterations=2) as research:
        parked = research.run(QUESTION, budget=Budget(**{cap: REACHED[cap]}), on_budget_exhausted="ask")
        done = research.answer(parked.research_id, "report")
        parkings = [e for e in research.events(parked.research_id) if isinstance(e, RunParked)]
        assert len(parkings) == 1
        plain = research.run(QUESTION, budget=Budget(**{cap: REACHED[cap]}))
        assert (done.status, done.reason) == (plain.status, plain.reason)
        consistent(research, done)


def test_a_lower_raise_is_asked_about_again_at_its_own_value(tmp_path):
    with engine(tmp_path, max_iterations=1) as research:
        parked = research.run(QUESTION, budget=Budget(max_searches=1), on_budget_exhausted="ask")
        again = research.answer(parked.research_id, {"max_searches": 2})
        assert again.status is RunStatus.PARKED
        assert again.state.parking.about["cap"] == 2
        assert again.state.parking.about["estimate"] == 4
        done = research.resume(parked.research_id, budget=Budget(max_searches=4))
        assert done.status is RunStatus.COMPLETED
        assert not done.state.pending_sub_queries()


def test_an_answer_that_was_left_is_taken_and_one_that_is_not_enough_is_not_left(tmp_path):
    with engine(tmp_path, max_iterations=1) as research:
        run = research.run(QUESTION, budget=Budget(max_searches=1), on_budget_exhausted="ask").research_id
        with pytest.raises(UsageError, match="not larger"):
            research.answer(run, {"max_searches": 1}, run=False)
        research._parts.store.enqueue_command(run, "answer", '{"max_searches": 1}')  # of who did not look
        assert research.resume(run).status is RunStatus.PARKED
        assert research._parts.store.pending_commands(run) == []
        research.answer(run, {"max_searches": 9}, run=False)
        (result,) = research.wake()
        assert result.status is RunStatus.COMPLETED
        assert not result.state.pending_sub_queries()
        consistent(research, result)


@pytest.mark.timed
def test_a_run_that_is_interrupted_under_more_money_goes_on_there(tmp_path):
    async def check() -> None:
        cut = asyncio.Event()

        async def hang(_: Any) -> None:
            if len(search.requests) == 3 and not cut.is_set():
                cut.set()
                await asyncio.Event().wait()

        search = ScriptedSearch(before=hang)
        made = engine(tmp_path, search=[search], max_iterations=1, max_concurrent=1)
        async with asyncio.timeout(BOUND), made as research:
            first = await research.arun(QUESTION, budget=Budget(max_searches=1))
            more = research.aresume(first.research_id, budget=Budget(max_searches=20))
            task = asyncio.create_task(more)
            await cut.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert (await research.astatus(first.research_id)).status is RunStatus.INTERRUPTED
            second = await research.aresume(first.research_id)
            assert second.status is RunStatus.COMPLETED
            times = Counter(asked(search))
            assert times.pop(search.requests[2].query) == 2  # nobody knows whether it was answered
            assert set(times.values()) == {1}
            assert second.state.options.budget == Budget(max_searches=20)

    asyncio.run(check())


@pytest.mark.parametrize("on_budget_exhausted", ["report", "ask"])
def test_tasks_that_a_cap_left_out_are_worked_on_under_a_higher_one(tmp_path, on_budget_exhausted):
    search = ScriptedSearch()
    with engine(
        tmp_path,
        search=[search],
        max_iterations=1,
        gathering="agents",
        on_budget_exhausted=on_budget_exhausted,
    ) as research:
        first = research.run(QUESTION, budget=Budget(max_searches=1))
        assert first.status is (RunStatus.PARKED if on_budget_exhausted == "ask" else RunStatus.COMPLETED)
        done = Counter(asked(search))
        second = research.resume(first.research_id, budget=Budget(max_searches=50))
        assert second.status is RunStatus.COMPLETED
        assert not second.state.pending_sub_queries()
        assert not done & Counter(asked(search)[done.total() :])
        consistent(research, second)


def test_the_log_tells_the_resumption_before_the_money(tmp_path):
    with engine(tmp_path, max_iterations=1) as research:
        run = research.run(QUESTION, budget=Budget(max_searches=1))
        research.resume(run.research_id, budget=Budget(max_searches=20))
        events = research.events(run.research_id)
        (place,) = [n for n, event in enumerate(events) if isinstance(event, RunResumed)]
        assert events[place - 1].name == "run.completed"
        assert isinstance(events[place + 1], BudgetRaised)
        assert events[place + 2].name == "phase.started"
        after = [e for e in events[place:] if isinstance(e, SubQueryCompleted)]
        assert len(after) == 3


def page_text(number: int) -> bytes:
    said = " ".join(
        f"The tower of the reef, number {number}, has {n} lamps and {n + number} stairs." for n in range(9)
    )
    body = f"<p>{said}</p>" + "".join(
        f"<p>Light {number * 31 + n} burns oil of kind {n}.</p>" for n in range(9)
    )
    return f"<html><head><title>Tower {number}</title></head><body>{body}</body></html>".encode()
