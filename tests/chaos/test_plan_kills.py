"""kill -9 between the parking with a plan and the end of its searches: an answer that was recorded is acted on once, and
nothing is searched twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep_research.state.identity import sub_query_id
from deep_research.testing.kills import remains
from deep_research.testing.warm import Exit, WarmParent
from deep_research.testing.witness import Witness

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
def parent() -> Iterator[WarmParent]:
    with WarmParent("plan_kill_runs") as warm:
        yield warm


def research(parent: WarmParent, folder: Path, **more: Any) -> Exit:
    folder.mkdir(exist_ok=True)
    return parent.run(
        "plan_kill_runs:research", database=folder / "runs.db", witness=folder / "calls", **more
    )


def units(folder: Path, of: str = "calls") -> list[str]:
    return [call.unit.partition(":")[2] for call in Witness(folder / of).calls()]


@pytest.mark.parametrize("moment", ["after", "before"])
def test_a_run_killed_at_any_commit_around_its_plan_does_what_was_answered_once(
    parent: WarmParent, folder: Path, moment: str
) -> None:
    whole = research(parent, folder / "whole", answers=ANSWERS).ok()
    assert whole["status"] == "completed", whole["message"]
    assert units(folder / "whole") == WANTED
    assert len(units(folder / "whole", "calls-plans")) == 2
    assert whole["guidance"] == [SENTENCE]
    wrong, reached = {}, set()
    for commit in range(2, whole["commits"]):
        place = folder / f"killed-{commit}"
        left = research(parent, place, answers=ANSWERS, kill=(commit, moment))
        assert left.killed_by == signal.SIGKILL
        before = remains(place / "runs.db", folder / f"copy-{commit}")
        last = whole["events"][before.seqs[-1] - 1]
        reached.add(last)
        done = research(parent, place, research_id=before.runs[0], answers=ANSWERS).ok()
        searched, plans = units(place), units(place, "calls-plans")
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
    assert reached >= {"run.parked", "run.resumed", "phase.retried", "plan.approved", "sub_query.completed"}
