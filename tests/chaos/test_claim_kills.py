"""kill -9 at the commits between a draft, the judge, the repair and the report: the same report, and no answer of a model
that was recorded is paid for again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from claim_runs import FALSE, QUESTION, Liar, Shelf
from kills import Runs, remains, runs_of, units
from witness import Witness

from deep_research import DeepResearch
from deep_research.models.base import ModelCall, OnText, Reply

pytestmark = pytest.mark.timed

TOLD = ("status", "report", "claims", "repairs", "notices")


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with runs_of("claim_runs") as made:
        yield made


@pytest.mark.parametrize("each", [8, pytest.param(1, marks=pytest.mark.slow)])  # each eighth commit, and all
def test_a_run_killed_between_draft_judge_repair_and_report_gives_the_same_report(
    runs: Runs, folder: Path, each: int
) -> None:
    whole = runs.research(folder / "whole").ok()
    assert whole["status"] == "completed", whole["message"]
    assert whole["repairs"][0]["before"] == f"{FALSE}."
    assert FALSE not in whole["report"]
    asked = units(folder / "whole")
    assert len(asked) == len(set(asked))
    steps = [
        name for name in whole["events"] if name in ("report.drafted", "claims.judged", "report.written")
    ]
    assert steps == ["report.drafted", "claims.judged", "report.drafted", "claims.judged", "report.written"]
    drafted = whole["events"].index("report.drafted")
    synthesis = max(n for n, name in enumerate(whole["events"][:drafted], 1) if name == "phase.started")
    (critic,) = (unit for unit in asked if "You judge what is missin" in unit)
    wrong, reached = {}, set()
    first, end = whole["commits"], len(whole["events"])
    while (
        end >= synthesis
    ):  # behind the report the critic works in REFINEMENT: back to before there is a draft
        first -= each
        place = folder / f"killed-{first}"
        left = runs.research(place, kill=(first, "after"))
        assert left.killed_by == signal.SIGKILL
        done = units(place)
        before = remains(place / "runs.db", folder / "copy")
        end = before.seqs[-1]
        last = whole["events"][end - 1]
        reached.add((before.state.phase, last))
        answer = runs.research(place, research_id=before.runs[0]).ok()
        lost = last == "model.settled"  # an answer that was not recorded is lost with the process
        if {key: answer[key] for key in TOLD} != {key: whole[key] for key in TOLD}:
            wrong[first, last] = "another report"
        elif done != asked[: len(done)] or units(place) != done + asked[len(done) - lost :]:
            wrong[first, last] = units(place)
        elif "gaps.assessed" in whole["events"][:end] and units(place).count(critic) != 1:
            wrong[first, last] = "the critic was asked again"
    assert wrong == {}
    # How many events a commit holds depends on the hour, so a step over some may step over a phase.
    assert each > 1 or {phase for phase, _ in reached} == {"refinement", "synthesis", "analysis"}
    assert (
        each > 1
        or {("synthesis", name) for name in ("model.reserved", "model.settled", "claims.judged")}
        | {("refinement", name) for name in ("model.reserved", "model.settled", "content.sent")}
        <= reached
    )


class Stopped(Liar):
    """Cancels the run when it is asked the first time."""

    engine: DeepResearch | None = None

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        if self.engine is not None:
            engine, self.engine = self.engine, None
            (run,) = await engine.alist()
            await engine.acancel(run.research_id)
            await asyncio.Event().wait()
        return await super().send(call, on_text)


def test_a_run_that_is_cancelled_while_its_claims_are_judged_goes_on_with_its_draft(folder: Path) -> None:
    def engine(name: str) -> tuple[DeepResearch, Stopped]:
        judge = Stopped("judge", str(folder / name))
        made = DeepResearch(
            store="memory",
            search=[Shelf()],
            model=Liar("writer", str(folder / name)),
            models={"judge": judge},
            judge="all",
            max_iterations=1,
        )
        return made, judge

    undisturbed, _ = engine("whole")
    with undisturbed as research:
        whole = research.run(QUESTION)
    disturbed, judge = engine("cancelled")
    with disturbed as research:
        judge.engine = research
        stopped = research.run(QUESTION)
        assert (stopped.status, stopped.reason) == ("aborted", "cancelled")
        assert stopped.report_metadata is not None
        assert stopped.report_metadata.partial
        assert FALSE not in (stopped.report or "")
        result = research.resume(stopped.research_id)
    assert (result.status, result.report, result.claims) == (whole.status, whole.report, whole.claims)
    asked = [[call.unit for call in Witness(folder / name).calls()] for name in ("whole", "cancelled")]
    assert sorted(asked[0]) == sorted(asked[1])
