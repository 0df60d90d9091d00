"""One journey of an owner: asked for the plan, he changes it and speaks twice; killed, the run goes
on in another process, and the report has what he spoke of."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from owner_runs import QUESTION
from warm_parent import WarmParent

pytestmark = pytest.mark.timed


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("kills", "owner_runs") as warm:
        yield warm


def at_the_prompt(parent: WarmParent, home: Path, *argv: str) -> Any:
    """A command of its own process; its JSON."""
    code, out, err = parent.run("owner_runs:prompt", argv=[*argv, "--data-dir", str(home), "--json"]).ok()
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("by_model", [False, True], ids=["keyless", "model"])
def test_an_owner_is_asked_changes_the_plan_speaks_twice_and_has_his_report(
    parent: WarmParent, tmp_path: Path, by_model: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    began = parent.run("owner_runs:research", home=str(home), by_model=by_model).ok()
    run_id = began["research_id"]
    assert (began["status"], "sub_query.completed" in began["events"]) == ("parked", False)

    (waiting,) = at_the_prompt(parent, home, "waiting")
    assert (waiting["kind"], waiting["research_id"]) == ("plan", run_id)
    plan = [{"id": each["id"]} for each in waiting["about"]["sub_queries"]]
    changed = {"sub_queries": [{"query": "keepers of the Orm lighthouse"}, *plan[:1]]}
    at_the_prompt(parent, home, "answer", run_id, json.dumps(changed), "--no-run")
    at_the_prompt(parent, home, "steer", run_id, "Also consider the zanzibar lens.")
    at_the_prompt(parent, home, "steer", run_id, "Mind the quillon bell of the Orm.")

    more = {"home": str(home), "by_model": by_model, "research_id": run_id}
    killed = parent.run("owner_runs:research", **more, kill=(5, "after"))
    assert killed.killed_by == signal.SIGKILL
    assert at_the_prompt(parent, home, "status", run_id)["status"] == "interrupted"

    done = parent.run("owner_runs:research", **more).ok()
    assert done["status"] == "completed", done["message"]
    assert done["events"].count("plan.approved") == 1
    assert done["events"].count("run.steered") == 2
    assert done["searched"][0] == "keepers of the Orm lighthouse"
    assert QUESTION in done["report"]
    assert "zanzibar" in done["report"].lower()
    assert "quillon" in done["report"].lower()
    assert at_the_prompt(parent, home, "waiting") == []
