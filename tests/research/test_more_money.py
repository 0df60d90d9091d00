"""A run that ended at a cap goes on under a higher one: only what was left out is searched and read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from deep_research.errors import LogDamagedError, RunStateError, UsageError
from deep_research.research import DeepResearch
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import Budget, RunStatus
from deep_research.state.events import BudgetRaised, RunResumed, RunSteered
from deep_research.state.reducer import fold

pytestmark = pytest.mark.timed

QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"


class Noting(SearchProvider):
    name = "noting"

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        self.queries.append(request.query)
        number = len(self.queries)
        text = f"Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall. Note {number}."
        return [SearchResult(address=f"https://example.org/{number}", title="Bell Rock", text=text)]


def engine(search: Noting, folder: Path) -> DeepResearch:
    return DeepResearch(search=[search], data_dir=str(folder), max_iterations=1)


def test_a_completed_run_searches_what_was_left_out_and_nothing_twice(tmp_path: Path) -> None:
    search = Noting()
    with engine(search, tmp_path) as work:
        first = work.run(QUESTION, budget=Budget(max_searches=1))
        assert first.status is RunStatus.COMPLETED
        assert [limit.name for limit in first.limits if limit.name == "max_searches"]
        before = list(search.queries)
        done = work.resume(first.research_id, budget=Budget(max_searches=50))
        assert done.status is RunStatus.COMPLETED
        assert not [limit for limit in done.limits if limit.name == "max_searches"]
        after = search.queries[len(before) :]
        assert after
        assert not set(before) & set(after)
        assert len(after) == len(set(after))
        assert len(done.sources) > len(first.sources)
        events = work.events(first.research_id)
        names = [event.name for event in events]
        assert names.count("run.completed") == 2
        at = names.index("run.completed")
        assert names[at + 1 : at + 3] == ["run.resumed", "budget.raised"]
        read = [i for event in events if event.name == "sources.analyzed" for i in event.source_ids]
        assert len(read) == len(set(read))
        summary = work.status(first.research_id)
        assert (summary.status, summary.searches_done) == (RunStatus.COMPLETED, summary.searches_planned)
        assert work.result(first.research_id).report == done.report


@pytest.mark.parametrize(
    ("budget", "kind", "words"),
    [
        (Budget(max_searches=1), RunStateError, "raises no cap that stopped"),
        (Budget(max_usd=5.0), RunStateError, "it reached max_searches"),
        (Budget(), RunStateError, "raises no cap"),
        (Budget(max_searches=0), UsageError, "would be lowered to 0"),
        (3, UsageError, "must be a Budget"),
    ],
)
def test_a_budget_that_raises_nothing_that_was_reached_changes_nothing(
    budget: Budget, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    with engine(Noting(), tmp_path) as work:
        run_id = work.run(QUESTION, budget=Budget(max_searches=1)).research_id
        before = work.events(run_id)
        with pytest.raises(kind, match=words):
            work.resume(run_id, budget=budget)
        assert work.events(run_id) == before
        assert work.status(run_id).status is RunStatus.COMPLETED


def test_a_run_that_reached_no_cap_takes_no_more(tmp_path: Path) -> None:
    with engine(Noting(), tmp_path) as work:
        run_id = work.run(QUESTION).research_id
        with pytest.raises(RunStateError, match="reached none"):
            work.resume(run_id, budget=Budget(max_searches=99))


def test_only_a_larger_budget_follows_a_completed_run(tmp_path: Path) -> None:
    with engine(Noting(), tmp_path) as work:
        events = list(work.events(work.run(QUESTION, budget=Budget(max_searches=1)).research_id))

    def stamped(event: RunResumed | RunSteered | BudgetRaised, further: int) -> object:
        return event.model_copy(update={"seq": events[-1].seq + further, "at": events[-1].at})

    resumed = stamped(RunResumed(), 1)
    for wrong in ([stamped(RunSteered(text="also"), 1)], [resumed, stamped(RunSteered(text="also"), 2)]):
        with pytest.raises(LogDamagedError, match="after the run completed"):
            fold([*events, *wrong])
    state = fold([*events, resumed, stamped(BudgetRaised(budget=Budget(max_searches=9)), 2)])
    assert (state.completed_at, state.options.budget.max_searches) == (None, 9)
