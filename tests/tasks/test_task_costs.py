"""What tasks take: time on a virtual clock, tokens, bytes of the store, and memory."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import virtual_time
from task_runs import QUESTION, TaskModel, engine, number_of, ran, task_of
from task_steps import quoting, search_first, searching

from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import page, results

pytestmark = pytest.mark.timed

HERE = Path(__file__).parent


class Timed(TaskModel):
    """Each answer takes a second; ``times`` are when it was asked for what."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.times = []

    async def send(self, call, on_text=None):
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        kind = "step" if "calls" in fields else "review" if "approved" in fields else "other"
        self.times.append((kind, asyncio.get_running_loop().time()))
        await asyncio.sleep(1.0)
        return await super().send(call, on_text)


def _six_steps(said):
    if number_of(said) in range(1, 6):
        return searching(f"{task_of(said)} {number_of(said)}")
    return quoting(page(f"{task_of(said)} 1", 0, size=0))


def test_five_tasks_of_six_steps_take_the_time_of_six_steps_and_their_review_that_of_one_more():
    plan = tuple(f"the keepers of light number {n}" for n in range(5))
    model = Timed(_six_steps, plan=plan)
    search = ScriptedSearch(lambda request: results(request.query, 1))

    async def run():
        with engine(model, search=[search], max_sub_queries=5, tasks={"max_steps": 6}) as research:
            return await research.arun("What is known of the keepers of lights?")

    result = virtual_time.run(run())
    assert result.status == "completed"
    steps = [at for kind, at in model.times if kind == "step"]
    reviews = [at for kind, at in model.times if kind == "review"]
    assert (len(steps), len(reviews)) == (30, 5)
    assert max(steps) + 1 - min(steps) == pytest.approx(6, abs=0.05)
    assert min(reviews) == pytest.approx(max(steps) + 1, abs=0.05)
    assert max(reviews) == pytest.approx(min(reviews), abs=0.05)


def test_what_tasks_take_is_told_beside_what_a_search_takes(capsys):
    figures = {}
    for gathering in ("search", "agents"):
        usage = ran(TaskModel(search_first()), gathering=gathering).usage
        figures[gathering] = {"calls": usage.model_calls, "input_tokens": usage.input_tokens}
    with capsys.disabled():
        print(f"\none sub-query: {json.dumps(figures)}")
    assert figures["agents"]["calls"] > figures["search"]["calls"]


def test_an_estimate_knows_the_steps_and_reviews_of_tasks():
    with engine(TaskModel(), tasks={"max_steps": 4, "max_retries": 1}) as research:
        tasks = research.estimate(QUESTION)
        search = research.estimate(QUESTION, gathering="search")
        result = research.run(QUESTION)
    roles = {phase.phase: phase for phase in tasks.phases}
    assert "gathering" in roles
    assert tasks.model_calls.low <= result.usage.model_calls <= tasks.model_calls.high
    assert tasks.model_calls.high > search.model_calls.high
    assert {"task_agent", "reviewer"} <= {role.value for role in tasks.models}
    assert "task_agent" not in {role.value for role in search.models}


@pytest.mark.slow
def test_twenty_tasks_of_twelve_steps_of_20_kb_write_little_more_than_their_texts_and_stay_small(tmp_path):
    program = HERE / "large_tasks.py"
    command = [sys.executable, program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    figures = json.loads(done.stdout)
    print(figures)
    assert figures["status"] == "completed"
    assert figures["steps"] == 20 * 12
    assert figures["database"] <= 2.5 * figures["texts"]
    assert figures["peak_mb"] <= 250
    few, all_of_them = figures["folds"]
    assert all_of_them < 8 * few  # of four times the events, with room for a busy machine
