"""kill -9 at the commits of tasks: no step that was recorded is asked again, no search made again, and the run comes out
the same."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kills import Runs, copied, remains, runs_of, units

from deep_research.state import events as ev

pytestmark = pytest.mark.timed

TOLD = ("status", "report", "findings", "gaps", "tasks")


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with runs_of("task_kill_runs") as made:
        yield made


@pytest.fixture(scope="module")
def whole(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The run that nobody kills, with what it asked and searched for."""
    folder = tmp_path_factory.mktemp("whole")
    answer = runs.research(folder).ok()
    asked, searched = units(folder), units(folder, "calls-searches")
    assert answer["status"] == "completed", answer["message"]
    assert answer["events"].count("task.dispatched") == 4
    assert answer["events"].count("task.reviewed") == 4
    assert "sub_queries.added" in answer["events"]
    assert len(asked) == len(set(asked))
    assert len(searched) == len(set(searched))
    made = in_steps(copied(folder / "runs.db", folder / "copy"))
    return answer | {"asked": asked, "searched": searched, "in_steps": made}


def in_steps(database: Path) -> int:
    """How many searches of tasks' steps are recorded."""
    with closing(sqlite3.connect(database)) as db:
        rows = db.execute("SELECT type, version, body FROM events WHERE type = 'task.step'").fetchall()
    return sum(ev.decode(*row).step.searches for row in rows)


def killed(runs: Runs, whole: dict[str, Any], tmp_path: Path, commit: int) -> tuple[str, int, str]:
    """The run killed after a commit and resumed: the event that was the last, the length of the log, and what is wrong
    with what came of it."""
    folder = tmp_path / f"killed-{commit}"
    left = runs.research(folder, kill=(commit, "after"))
    assert left.killed_by == signal.SIGKILL
    before = remains(folder / "runs.db", tmp_path / "copy")
    length = before.seqs[-1]
    last = whole["events"][length - 1]
    searched = len(units(folder, "calls-searches"))
    answer = runs.research(folder, research_id=before.runs[0]).ok()
    again = len(units(folder)) - len(whole["asked"])
    searched_again = len(units(folder, "calls-searches")) - len(whole["searched"])
    # Steps are made side by side: a search of one may be made and not recorded when an answer to another is.
    begun = searched - (len(whole["searched"]) - whole["in_steps"]) - in_steps(tmp_path / "copy" / "runs.db")
    is_planned = "plan.made" in whole["events"][:length]
    wrong = {
        "another run": any(answer[key] != whole[key] for key in TOLD),
        "other prompts": set(units(folder)) != set(whole["asked"]),
        f"{again} calls again": again != (last == "model.settled"),
        f"{searched_again} searches again": searched_again > max(0, begun) and is_planned,
    }
    return last, length, ", ".join(what for what, is_so in wrong.items() if is_so)


EVENTS = ("task.dispatched", "task.step", "task.finished", "task.reviewed", "sub_queries.added")


@pytest.mark.parametrize("event", EVENTS)
def test_a_run_killed_between_dispatch_and_review_goes_on_where_it_was(
    runs: Runs, whole: dict[str, Any], tmp_path: Path, event: str
) -> None:
    ends = [whole["events"][length - 1] for length in whole["lengths"] if length]
    commit = ends.index(event) + 1
    assert killed(runs, whole, tmp_path, commit)[::2] == (event, "")


# Each twentieth commit, and all.
@pytest.mark.parametrize("each", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_killed_at_any_commit_of_its_tasks_asks_no_recorded_step_again(
    runs: Runs, whole: dict[str, Any], tmp_path: Path, each: int
) -> None:
    first = whole["events"].index("task.dispatched")
    wrong, reached = {}, set()
    for commit in range(2, whole["commits"], each):
        last, length, problem = killed(runs, whole, tmp_path, commit)
        reached.add(last)
        if problem:
            wrong[commit, last] = problem
        if length > first + 120:
            break
    assert wrong == {}
    assert each > 1 or reached >= {*EVENTS[:4], "model.settled"}
