"""Runs are found by filters and listed in pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from parking import parking_hooks

from deep_research import DeepResearch, ResearchResult, RunSummary
from deep_research.errors import RunNotFoundError, UnknownNameError, UsageError
from deep_research.state import Record
from deep_research.state.figures import Figures
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "What is known of towers?"


def engine(**more: Any) -> DeepResearch:
    parts = {"agents": scripted_agents(without=["gatherer"]), "search": [ScriptedSearch()], "store": "memory"}
    return DeepResearch(**(parts | more))


def test_a_summary_says_how_far_a_run_came() -> None:
    with engine() as research:
        result: ResearchResult = research.run(QUESTION)
        (listed,) = research.list()
        detail = research.status(result.research_id)
    assert dict(listed).items() <= dict(detail).items()
    assert (detail.answers, detail.limits, detail.notices) == (result.answers, result.limits, result.notices)
    searches = len(result.state.completed_sub_queries())
    assert (listed.searches_done, listed.searches_planned) == (searches, searches)
    assert (listed.sources, listed.findings) == (len(result.sources), len(result.findings))
    assert (listed.tokens, listed.cost_usd) == (0, 0.0)
    assert (listed.message, listed.waiting_for) == (None, None)


def test_a_summary_says_what_a_parked_run_waits_for_and_why_an_aborted_one_was_ended() -> None:
    with engine(hooks=parking_hooks("think_pause")) as research:
        run_id = research.run(QUESTION).research_id
        parked = research.status(run_id)
        assert (parked.waiting_for, parked.parked_kind) == ("a word on planning", "question")
        assert parked.pause_id == "1.planning.0.think_pause"
        aborted = research.cancel(run_id)
        told = "The run was cancelled while it waited for a word on planning."
        assert (aborted.message, aborted.waiting_for) == (told, None)


def test_runs_are_found_by_every_filter() -> None:
    with engine(hooks=parking_hooks("think_pause")) as research:
        mine = research.run(QUESTION, user_id="ada", session_id="s-1").research_id
        other = research.run("Who kept the LIGHT?").research_id
        research.cancel(other)
        for found, filters in (
            ([other, mine], {}),
            ([mine], {"status": "parked"}),
            ([other], {"status": "aborted", "text": "light"}),
            ([mine], {"user": "ada", "session": "s-1"}),
            ([mine], {"parked_kind": "question"}),
            ([], {"parked_kind": "outage"}),
            ([], {"due_before": datetime.now(UTC) + timedelta(days=9)}),
            ([other, mine], {"user": None, "text": ""}),
        ):
            assert [run.research_id for run in research.list(**filters)] == found, filters


def test_a_page_goes_on_after_a_run_or_its_id() -> None:
    with engine() as research:
        for _ in range(5):
            research.run(QUESTION)
        whole = [run.research_id for run in research.list()]
        first = research.list(limit=2)
        research.run(QUESTION)
        for after in (first[-1], first[-1].research_id):
            assert [run.research_id for run in research.list(limit=2, after=after)] == whole[2:4]
        research.delete(first[-1].research_id)
        assert [run.research_id for run in research.list(after=first[-1])] == whole[2:]
        with pytest.raises(RunNotFoundError):
            research.list(after=first[-1].research_id)


@pytest.mark.parametrize(
    ("filters", "error", "said"),
    [
        ({"status": "abortd"}, UnknownNameError, "Did you mean 'aborted'"),
        ({"statu": "aborted"}, UnknownNameError, "Did you mean 'status'"),
        ({"parked_kind": "lunch"}, UnknownNameError, "budget, outage, pause"),
        ({"user": 7}, UsageError, "takes a str, got int"),
        ({"due_before": "today"}, UsageError, "takes a datetime, got str"),
        ({"limit": 0}, UsageError, "above 0"),
        ({"after": "last"}, UsageError, "is not a run id"),
    ],
)
def test_what_is_no_filter_is_refused(filters: dict[str, Any], error: type[UsageError], said: str) -> None:
    with engine() as research, pytest.raises(error, match=said):
        research.list(**filters)


def test_every_figure_stands_in_the_summary_after_where_the_run_stands() -> None:
    names = list(RunSummary.model_fields)
    assert names[0] == "research_id"
    assert names[-len(Figures.model_fields) :] == list(Figures.model_fields)
    assert issubclass(RunSummary, Record)


def test_waiting_runs_are_those_of_a_user_by_pages() -> None:
    with engine(hooks=parking_hooks("think_pause")) as research:
        runs = [research.run(QUESTION, user_id=user).research_id for user in ("a", "b", "a")]
        assert [each.research_id for each in research.waiting()] == runs[::-1]
        assert [each.research_id for each in research.waiting(user="a")] == [runs[2], runs[0]]
        (first,) = research.waiting(user="a", limit=1)
        assert [each.research_id for each in research.waiting(user="a", after=first.research_id)] == runs[:1]
        with pytest.raises(UsageError):
            research.waiting(limit=0)


def test_the_events_of_a_run_are_read_by_pages() -> None:
    with engine() as research:
        run_id = research.run(QUESTION).research_id
        assert [event.seq for event in research.events(run_id, limit=2)] == [1, 2]
        assert [event.seq for event in research.events(run_id, 2, limit=1)] == [3]
        with pytest.raises(UsageError):
            research.events(run_id, limit=0)
