"""Caps that tasks share: with other runs, with the tasks that are under way, and with those who go on without a model."""

import asyncio

import pytest
from pydantic import BaseModel
from task_runs import FOUND, QUESTION, SEARCH, TEXT, Pages, TaskModel, orm, ran
from task_steps import down, search_first, using

from deep_research import SearchResult, SharedBudget, Tool, ToolResult
from deep_research.phases.gathering.handoff import GathererOutput
from deep_research.phases.gathering.tasks.task_limits import limits_of
from deep_research.state import (
    Budget,
    DeepResearchState,
    GatherStats,
    RunOptions,
    SubQuery,
    SubQueryStatus,
    Task,
    TaskFinding,
    TaskLimits,
    TaskState,
    TaskStep,
    Usage,
)
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed


def pointing(count=3, *, name="scripted"):
    """Knows of pages, and not what they say."""

    found = [
        SearchResult(address=f"https://{name}.example/{n}", title=f"Orm {n}", snippet="Orm lighthouse")
        for n in range(count)
    ]
    return ScriptedSearch(lambda request: found, name=name)


# --- budgets that are shared with other runs ---------------------------------------------------------------


WITHOUT_MODEL = {"on_outage": "extractive", "tasks": {"max_retries": 0}}


class Asked(BaseModel):
    word: str


class Ledger(Tool):
    """Says that it may ask for three pages, and asks for ``makes``, or fails."""

    name = "ledger"
    description = "Look into the ledger."
    arguments = Asked
    searches = 1
    fetches = 3

    def __init__(self, makes):
        self.makes, self.uses = makes, 0

    async def __call__(self, arguments, view):
        self.uses += 1
        if self.makes is None:
            raise RuntimeError("the ledger is locked")
        return ToolResult(text="It says nothing.", searches=1, fetches=self.makes)


@pytest.mark.parametrize(
    ("makes", "left", "uses", "fetches"),
    [
        (2, 9, 1, 2),  # what it did not take is given back
        (3, 9, 1, 3),
        (5, 9, 1, 5),  # what it took beside is charged
        (None, 9, 1, 3),  # nobody knows what it took before it failed
        (3, 2, 0, 0),  # there is not enough left to begin
    ],
)
def test_what_a_tool_of_a_caller_takes_is_charged_to_the_shared_budget(makes, left, uses, fetches):
    tool, shared = Ledger(makes), SharedBudget(max_searches=9, max_fetches=left)
    model = TaskModel([using("ledger", word="x"), SEARCH, FOUND])
    result = ran(model, tools=[tool], shared_budget=shared)
    assert (tool.uses, shared.spent.fetches, result.usage.fetches) == (uses, fetches, fetches)
    assert shared.spent.searches == result.usage.searches


class OwnGatherer:
    """A gatherer that knows nothing of a purse: three searches and two pages for each query."""

    deterministic = False

    async def __call__(self, handoff):
        return GathererOutput(sources=(), stats=GatherStats(queries_executed=3), fetches=2)


@pytest.mark.parametrize("gathering", ["search", "agents"])
def test_what_a_gatherer_of_ones_own_takes_is_charged_to_the_shared_budget(gathering):
    shared = SharedBudget(max_searches=90, max_fetches=90)
    agents = {"gatherer": OwnGatherer()}
    result = ran(gathering=gathering, agents=agents, shared_budget=shared, search=[])
    assert result.usage.fetches > 0
    assert (shared.spent.searches, shared.spent.fetches) == (result.usage.searches, result.usage.fetches)


@pytest.mark.parametrize("gathering", ["search", "agents"])
def test_pages_and_rewordings_of_the_gatherer_are_charged_once(gathering):
    shared = SharedBudget(max_searches=90, max_fetches=90)
    pages, search = Pages(), pointing()
    result = ran(gathering=gathering, search=[search], pages=pages, shared_budget=shared)
    assert shared.spent.fetches == result.usage.fetches == len(pages.asked) > 0
    assert shared.spent.searches == result.usage.searches


@pytest.mark.parametrize("most", [1, 2])
def test_a_task_that_goes_on_without_its_model_goes_on_under_its_purse(most):
    shared, search = SharedBudget(max_searches=most), orm()
    result = ran(TaskModel(down), **WITHOUT_MODEL, shared_budget=shared, search=[search])
    assert result.state.first_look  # which took the first search
    assert shared.spent.searches == len(search.requests) == most
    assert any("task_agent" in line for line in result.told("agent"))
    assert bool(result.sources) is (most == 2)


def test_a_task_that_goes_on_without_its_model_keeps_to_the_searches_it_had():
    result = ran(TaskModel(search_first(down)), **WITHOUT_MODEL, max_searches=1)
    assert [step.number for step in result.task.steps] == [1, 2]
    assert sum(step.searches for step in result.task.steps) <= 1
    assert result.usage.searches <= 1 + bool(result.state.first_look)
    assert result.sources


@pytest.mark.timed
def test_nothing_goes_on_without_its_model_when_the_seconds_of_the_run_are_over():
    async def slowly(request):
        await asyncio.Event().wait()

    search = ScriptedSearch(before=slowly)
    private = {"data_sources": {"company_db": search}, "tasks": {"sources": ["company_db"]}}
    result = ran(TaskModel(down), **WITHOUT_MODEL | private, budget={"max_seconds": 0.5})
    assert "max_seconds" in {limit.name for limit in result.limits}


# --- caps of the run ---------------------------------------------------------------------------------------


def _stands(number, *, searches, used=0, status=SubQueryStatus.PENDING, finding=None, settled=False):
    sub_query = SubQuery(id=f"subq-{number}", query=f"q{number}", index=number, iteration=1, status=status)
    limits = TaskLimits(steps=8, seconds=60, searches=searches, fetches=2 * searches)
    task = Task(id=f"task-{number}", sub_query_id=sub_query.id, question=sub_query.query, limits=limits)
    steps = (TaskStep(number=1, searches=used, fetches=used),) if used else ()
    return sub_query, TaskState(task=task, steps=steps, finding=finding, is_settled=settled)


@pytest.mark.parametrize(
    ("standing", "searches", "fetches"),
    [
        ([], 10, 20),
        ([_stands(1, searches=5)], 5, 10),
        ([_stands(1, searches=5, used=2)], 5, 10),  # two are spent, three are held
        ([_stands(1, searches=5), _stands(2, searches=5)], 0, 0),
        ([_stands(1, searches=5, finding=TaskFinding())], 10, 20),  # it is done: what it left is free
        ([_stands(1, searches=5, settled=True)], 10, 20),
        ([_stands(1, searches=5, status=SubQueryStatus.SUPERSEDED)], 10, 20),  # nobody works on it
    ],
    ids=["none", "one", "begun", "all of it", "finished", "settled", "dropped"],
)
def test_tasks_share_what_those_under_way_do_not_hold(standing, searches, fetches):
    spent = sum(step.searches for _, stands in standing for step in stands.steps)
    options = RunOptions(gathering="agents", budget=Budget(max_searches=10, max_fetches=20))
    sub_queries, tasks = zip(*standing, strict=True) if standing else ((), ())
    usage = Usage(searches=spent, fetches=spent)
    state = DeepResearchState(
        query=QUESTION, options=options, sub_queries=sub_queries, tasks=tasks, usage=usage
    )
    limits = [limits_of(state, place, 2) for place in range(2)]
    assert sum(each.searches for each in limits) == searches
    assert sum(each.fetches for each in limits) == fetches


# --- links of a private source -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("caps", "read"),
    [({}, 3), ({"max_fetches": 1}, 1), ({"max_fetches": 0}, 0)],
    ids=["no cap", "one page", "no page"],
)
def test_without_a_model_pages_that_a_private_source_points_to_are_read_within_the_cap(caps, read):
    pages = Pages()
    private = {"data_sources": {"company_db": pointing(name="company")}}
    result = ran(**private, pages=pages, tasks={"max_retries": 0, "sources": ["company_db"]}, **caps)
    assert len(set(pages.asked)) == read
    assert len(pages.asked) == result.usage.fetches
    assert all(url.startswith("https://company.example/") for url in pages.asked)
    assert len([s for s in result.sources if "company.example" in (s.url or "")]) == read
    told = [limit for limit in result.limits if limit.name == "max_fetches"]
    assert bool(told) is bool(caps)


def test_without_a_model_the_gatherer_and_private_sources_share_the_pages_of_a_task():
    pages = Pages()
    sources = {"search": [pointing(2)], "data_sources": {"company_db": pointing(name="company")}}
    question = f"{QUESTION[:-1]} and who built it?"
    result = ran(None, question, **sources, pages=pages, max_fetches=3, tasks={"max_retries": 0})
    most = sum(task.task.limits.fetches for task in result.state.tasks)
    assert len(pages.asked) == result.usage.fetches == most == 3
    for task in result.state.tasks:
        assert sum(step.fetches for step in task.steps) == task.task.limits.fetches


def test_a_page_that_a_private_source_points_to_passes_the_guard(tmp_path):
    inside = [SearchResult(address="http://127.0.0.1:1/secret", title="Inside", snippet="Orm lighthouse")]
    own = ScriptedSearch(lambda request: inside, name="company")
    (tmp_path / "orm.md").write_text(TEXT)
    sources = {"search": [], "corpus": tmp_path, "data_sources": {"company_db": own}}
    result = ran(**sources, tasks={"max_retries": 0}, fetch={"enabled": True})
    assert own.requests
    assert [source.kind for source in result.sources] == ["document"]
    assert any("127.0.0.1" in " ".join(notice.skipped) for notice in result.notices)
