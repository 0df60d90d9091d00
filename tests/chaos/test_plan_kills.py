"""kill -9 between the parking with a plan and the end of its searches: an answer that was recorded is acted on once, and
nothing is searched twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from kills import Runs, remains, runs_of, units

from deep_research.state.identity import sub_query_id

pytestmark = pytest.mark.timed

SENTENCE = "Also the fourth light."
FIRST = sub_query_id("keepers of the first light")
THIRD = sub_query_id("keepers of the third light")
EDIT = {
    "sub_queries": [
        {"id": THIRD},
        {"query": "oil of the lights"},
        {"id": FIRST, "query": "the first light, in other words"},
    ]
}
ANSWERS = {"1.plan.0": SENTENCE, "1.plan.1": EDIT}
WANTED = ["keepers of the third light", "oil of the lights", "the first light, in other words"]
TOLD = ("status", "report", "sub_queries", "guidance")


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with runs_of("plan_kill_runs") as made:
        yield made


def told_of(folder: Path, of: str = "calls") -> list[str]:
    return [unit.partition(":")[2] for unit in units(folder, of)]


@pytest.mark.parametrize("each", [9, pytest.param(1, marks=pytest.mark.sweep)])  # each ninth commit, and all
@pytest.mark.parametrize("moment", ["after", "before"])
def test_a_run_killed_at_any_commit_around_its_plan_does_what_was_answered_once(
    runs: Runs, folder: Path, moment: str, each: int
) -> None:
    whole = runs.research(folder / "whole", answers=ANSWERS).ok()
    assert whole["status"] == "completed", whole["message"]
    assert told_of(folder / "whole") == WANTED
    assert len(told_of(folder / "whole", "calls-plans")) == 2
    assert whole["guidance"] == [SENTENCE]
    wrong, reached = {}, set()
    for commit in range(2, whole["commits"], each):
        place = folder / f"killed-{commit}"
        left = runs.research(place, answers=ANSWERS, kill=(commit, moment))
        assert left.killed_by == signal.SIGKILL
        before = remains(place / "runs.db", folder / f"copy-{commit}")
        last = whole["events"][before.seqs[-1] - 1]
        reached.add(last)
        done = runs.research(place, research_id=before.runs[0], answers=ANSWERS).ok()
        searched, plans = told_of(place), told_of(place, "calls-plans")
        lost_search = len(searched) - len(WANTED)
        if {key: done[key] for key in TOLD} != {key: whole[key] for key in TOLD}:
            wrong[commit, last] = "another run"
        elif list(dict.fromkeys(searched)) != WANTED:
            wrong[commit, last] = searched
        elif lost_search > (moment == "before"):  # what was found was not on disk yet
            wrong[commit, last] = f"{lost_search} searches again"
        elif len(plans) - 2 > (moment == "before"):
            wrong[commit, last] = f"{len(plans) - 2} plans again"
        elif done["events"].count("plan.approved") != 1:
            wrong[commit, last] = "approved twice"
    assert wrong == {}
    assert len(reached) > 1
    assert each > 1 or reached >= {
        "run.parked",
        "run.resumed",
        "phase.retried",
        "plan.approved",
        "sub_query.completed",
    }
