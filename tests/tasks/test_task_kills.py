"""kill -9 at the commits of tasks: no step that was recorded is asked again, no search made again, and the run comes out
the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep_research.testing.kills import remains
from deep_research.testing.warm import Exit, WarmParent
from deep_research.testing.witness import Witness

pytestmark = pytest.mark.timed

TOLD = ("status", "report", "findings", "gaps", "tasks")
LOST = ("model.settled", "model.reserved")  # an answer, or what its tools gave, that was not recorded


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("task_kill_runs") as warm:
        yield warm


def research(parent: WarmParent, folder: Path, **more: Any) -> Exit:
    folder.mkdir(exist_ok=True)
    return parent.run(
        "task_kill_runs:research", database=folder / "runs.db", witness=folder / "calls", **more
    )


def units(folder: Path, of: str = "calls") -> list[str]:
    return [call.unit for call in Witness(folder / of).calls()]


@pytest.mark.parametrize("each", [7, pytest.param(1, marks=pytest.mark.slow)])  # each seventh commit, and all
def test_a_run_killed_at_any_commit_of_its_tasks_asks_no_recorded_step_again(
    parent: WarmParent, tmp_path: Path, each: int
) -> None:
    whole = research(parent, tmp_path / "whole").ok()
    assert whole["status"] == "completed", whole["message"]
    assert whole["events"].count("task.dispatched") == 3
    assert whole["events"].count("task.reviewed") == 3
    asked, searched = units(tmp_path / "whole"), units(tmp_path / "whole", "calls-searches")
    assert len(asked) == len(set(asked))
    assert len(searched) == len(set(searched))
    first = whole["events"].index("task.dispatched")
    wrong, reached = {}, set()
    for commit in range(2, whole["commits"], each):
        folder = tmp_path / f"killed-{commit}"
        left = research(parent, folder, kill=(commit, "after"))
        assert left.killed_by == signal.SIGKILL
        before = remains(folder / "runs.db", tmp_path / "copy")
        last = whole["events"][before.seqs[-1] - 1]
        reached.add(last)
        answer = research(parent, folder, research_id=before.runs[0]).ok()
        again = len(units(folder)) - len(asked)
        searched_again = len(units(folder, "calls-searches")) - len(searched)
        if {key: answer[key] for key in TOLD} != {key: whole[key] for key in TOLD}:
            wrong[commit, last] = "another run"
        elif set(units(folder)) != set(asked):
            wrong[commit, last] = "other prompts"
        elif again != (last == "model.settled"):
            wrong[commit, last] = f"{again} calls again"
        elif searched_again and "plan.made" in whole["events"][: before.seqs[-1]]:
            wrong[commit, last] = f"{searched_again} searches again"
        if before.seqs[-1] > first + 120:
            break
    assert wrong == {}
    assert each > 1 or reached >= {
        "task.dispatched",
        "task.step",
        "task.finished",
        "task.reviewed",
        "model.settled",
    }
