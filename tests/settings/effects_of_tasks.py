"""What settings change where sub-queries are worked on as tasks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "sources" / "mcp"))

from mcp_runs import odd
from task_runs import FOUND, QUESTION, SEARCH, TaskModel, engine, number_of, orm

from deep_research.assembly.option_effects import OPTION
from deep_research.phases.gathering.tasks.tool import BUILT_IN

REJECTED = {"approved": False, "critique": "Look again."}


def _searching(said):
    return {"actions": [{"tool": "search", "query": f"Orm {number_of(said)}"}]}


def _found(said):
    return SEARCH if number_of(said) == 1 else FOUND


def _worked(tmp_path, steps, reviews=({"approved": True},), **more):
    with engine(TaskModel(steps, reviews), data_dir=tmp_path, **more) as research:
        (task,) = research.run(QUESTION).state.tasks
    return task


def how_sub_queries_are_worked_on(tmp_path):
    for model in (None, TaskModel()):
        for gathering, tasks in (("search", False), ("agents", True)):
            with engine(model, gathering=gathering, data_dir=tmp_path) as research:
                assert bool(research.run(QUESTION).state.tasks) is tasks


def waves_of_tasks(tmp_path):
    def wave(said):
        return {"is_enough": False, "tasks": [{"question": f"How old is lamp {len(said)} of Orm?"}]}

    for most in (1, 2, 4):
        model = TaskModel(_found, waves=wave)
        with engine(model, data_dir=tmp_path, tasks={"max_waves": most}) as research:
            assert len(research.run(QUESTION).state.tasks) == most


def steps_of_a_task(tmp_path):
    for most in (1, 3):
        assert len(_worked(tmp_path, _searching, tasks={"max_steps": most, "max_retries": 0}).steps) == most


def tokens_of_a_task(tmp_path):
    for most, steps in ((1, 1), (1_000_000, 4)):
        task = _worked(tmp_path, _searching, tasks={"max_tokens": most, "max_steps": 4, "max_retries": 0})
        assert len(task.steps) == steps


def dollars_of_a_task(tmp_path):
    prices = tmp_path / "models.toml"
    prices.write_text(
        '["reading:m"]\ncontext = 100000\noutput = 4000\nprice = { input = 1.0, output = 1.0 }\n'
    )
    for most, steps in ((1e-9, 1), (10.0, 3)):
        limits = {"max_usd": most, "max_steps": 3, "max_retries": 0}
        assert len(_worked(tmp_path, _searching, tasks=limits, model_file=prices).steps) == steps


def servers_whose_tools_tasks_use(tmp_path):
    for servers, is_there in (({}, False), ({"odd": odd(tmp_path)}, True)):
        model = TaskModel((SEARCH, FOUND))
        with engine(model, data_dir=tmp_path, mcp_servers=servers) as research:
            research.run(QUESTION)
        assert ("odd_search" in model.asked[0]) is is_there


def seconds_of_a_task(tmp_path):
    for most, is_searched in ((0.0, True), (600.0, False)):
        task = _worked(tmp_path, _found, tasks={"max_seconds": most, "max_retries": 0})
        assert task.finding.by_search is is_searched


def times_that_a_task_is_done_again(tmp_path):
    for retries in (0, 2):
        assert _worked(tmp_path, _found, [REJECTED], tasks={"max_retries": retries}).task.attempt == retries


def what_tasks_may_search(tmp_path):
    for wanted, names in (((), ("web", "company_db")), (("company_db",), ("company_db",))):
        task = _worked(tmp_path, _found, data_sources={"company_db": orm()}, tasks={"sources": wanted})
        assert task.task.data_sources == names


def tools_that_tasks_may_use(tmp_path):
    for wanted, names in ((("search",), ("search",)), ((), BUILT_IN)):
        assert _worked(tmp_path, _found, tasks={"tools": wanted}).task.tools == names


def whether_tasks_search_others_after_private_sources(tmp_path):
    other = {"actions": [{"tool": "search", "query": "Orm tower"}]}
    for allowed, searches in ((False, 2), (True, 3)):  # the planner's first look is one
        web, own = orm(), orm()
        more = {
            "search": [web],
            "data_sources": {"company_db": own},
        }
        limits = {"max_retries": 0, "public_after_private": allowed}
        _worked(tmp_path, (SEARCH, other, FOUND), tasks=limits, **more)
        assert (len(web.requests), len(own.requests)) == (searches, 2)


def limits_of_tasks_without_any(tmp_path):
    given = {"max_waves": 2, "max_steps": 3, "max_retries": 1, "max_tokens": 9, "max_usd": 1.0}
    given |= {"tools": ["search"], "sources": ["web"], "public_after_private": True}
    with engine(None, gathering="search", data_dir=tmp_path) as research:
        result = research.run(QUESTION, tasks=given)
    told = {
        notice.message.partition(" has no effect: ")[0] for notice in result.notices if notice.name == OPTION
    }
    assert told == {f"tasks.{name}" for name in given}
