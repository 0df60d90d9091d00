"""kill -9 at the commits from the plan of a report to its second version: the same report, and nothing that was recorded
is asked for again. And what criticising and revising it takes: calls in a row, and the day in each prompt."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import virtual_time
from kills import Runs, remains, runs_of, units
from revision_runs import QUESTION, WORDS, Reviser, Shelf

from deep_research import DeepResearch
from deep_research.testing.doubles import FakeClock

TOLD = ("status", "report", "claims", "notices")
pytestmark = pytest.mark.timed
UNITS = ("plan.made", "sources.analyzed", "report.drafted", "gaps.assessed", "report.written")
PIECES = 4  # the outline, two sections, and what stands around them
ANSWER = 10.0  # seconds of virtual time


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with runs_of("revision_runs") as made:
        yield made


def unfinished(events: list[str]) -> int:
    """How many requests were answered, or were under way, and are in no unit that was recorded: what is done again. A
    piece of a report is a unit of one request, and sections are written side by side."""
    since = 0
    for name in events:
        since = 0 if name in UNITS else since + (name == "model.settled") - (name == "piece.written")
    return since


@pytest.mark.parametrize("each", [10, pytest.param(1, marks=pytest.mark.slow)])  # each tenth commit, and all
def test_a_run_killed_between_last_pass_critique_revision_and_comparison_gives_the_same_report(
    runs: Runs, folder: Path, each: int
) -> None:
    whole = runs.research(folder / "whole").ok()
    assert whole["status"] == "completed", whole["message"]
    asked = units(folder / "whole")
    assert len(asked) == len(set(asked)) == 9
    steps = [name for name in whole["events"] if name in (*UNITS[2:], "report.compared", "piece.written")]
    assert steps == [
        *["piece.written"] * PIECES,
        *("report.drafted", "report.written", "gaps.assessed"),
        *("report.drafted", "report.compared", "report.written"),
    ]
    wrong, reached = {}, set()
    first = whole["commits"]
    while True:
        first -= each
        place = folder / f"killed-{first}"
        left = runs.research(place, kill=(first, "after"))
        assert left.killed_by == signal.SIGKILL
        before = remains(place / "runs.db", folder / "copy")
        events = whole["events"][: before.seqs[-1]]
        reached.add(events[-1])
        answer = runs.research(place, research_id=before.runs[0]).ok()
        again = len(units(place)) - len(asked)
        if {key: answer[key] for key in TOLD} != {key: whole[key] for key in TOLD}:
            wrong[first, events[-1]] = "another report"
        elif set(units(place)) != set(asked) or again > unfinished(events):
            wrong[first, events[-1]] = f"{again} calls again"
        if "evidence.weighed" not in events:
            break
    assert wrong == {}
    assert each > 1 or reached >= {"content.sent", "model.reserved", "model.settled", "report.written"}


@pytest.mark.parametrize(
    ("when", "each"),
    [("after", 4), *(pytest.param(when, 1, marks=pytest.mark.slow) for when in ("after", "before"))],
)
def test_a_run_killed_between_two_sections_asks_for_none_again_that_is_in_the_log(
    runs: Runs, folder: Path, when: str, each: int
) -> None:
    """At each fourth commit from the outline to the draft, and at all."""
    whole = runs.research(folder / "whole").ok()
    asked = units(folder / "whole")
    wrong: dict[int, str] = {}
    kept: set[int] = set()
    first = whole["commits"]
    while True:
        first -= each
        place = folder / f"killed-{first}"
        assert runs.research(place, kill=(first, when)).killed_by == signal.SIGKILL
        before = remains(place / "runs.db", folder / "copy")
        events = whole["events"][: before.seqs[-1]]
        if "report.drafted" in events:
            continue
        if "evidence.weighed" not in events:
            break
        done = events.count("piece.written")
        kept.add(done)
        assert len(before.state.pieces) == done
        answer = runs.research(place, research_id=before.runs[0]).ok()
        again = len(units(place)) - len(asked)
        if {key: answer[key] for key in TOLD} != {key: whole[key] for key in TOLD}:
            wrong[first] = "another report"
        elif set(units(place)) != set(asked) or not 0 <= again <= open_requests(events, when):
            wrong[first] = f"{again} calls again of {events[-3:]}"
    assert wrong == {}
    assert len(kept) > 1
    assert each > 1 or kept >= {0, 1, PIECES}  # sections that are answered together may be one commit


def open_requests(events: list[str], when: str) -> int:
    """How many requests were made and are in no unit: those that a kill may cost. Killed before a commit, what it was to
    hold may have been asked for as well: a request is made once its reservation is on disk, or its unit was being
    recorded."""
    since = 0
    for name in events:
        since = 0 if name in UNITS else since + (name == "model.reserved") - (name == "piece.written")
    return since


def seconds(model: Reviser, **settings: Any) -> float:
    """The virtual time of a run, in which nothing takes any but answers."""

    async def work() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with DeepResearch(
            judge="off",
            store="memory",
            search=[Shelf()],
            model=model,
            clock=FakeClock(),
            report_words=WORDS,
            max_iterations=1,
            **settings,
        ) as engine:
            result = await engine.arun(QUESTION)
        assert result.status == "completed", result.message
        return loop.time() - begun

    return virtual_time.run(work())


def test_revision_critique_and_last_pass_add_three_calls_in_a_row() -> None:
    whole, without = (Reviser(seconds=ANSWER, sleep=asyncio.sleep) for _ in range(2))
    took = seconds(whole) / ANSWER
    less = seconds(without, revise_with_critic=False) / ANSWER
    assert whole.kinds[-3:] == ["last pass", "gap_analysis", "revision"]
    assert without.kinds == whole.kinds[:-2]
    # Plan, reading, outline, sections side by side, frame; then the three.
    assert (round(took), round(less)) == (8, 6)


def test_a_critique_without_a_remark_revises_nothing() -> None:
    model = Reviser(critical=False, seconds=ANSWER, sleep=asyncio.sleep)
    assert round(seconds(model) / ANSWER) == 7
    assert model.kinds[-1] == "gap_analysis"


def test_every_prompt_of_a_run_has_the_day_it_was_asked() -> None:
    model = Reviser()
    with DeepResearch(
        judge="off",
        store="memory",
        search=[Shelf()],
        model=model,
        clock=FakeClock(),
        report_words=WORDS,
        max_iterations=1,
        reflection="always",
        as_of="2030-01-31",
    ) as engine:
        result = engine.run(QUESTION)
    day = result.state.created_at.date().isoformat()
    assert len(model.calls) > 9  # with what the supervisor thinks
    for call in model.calls:
        assert f"Today is {day}." in call.messages[-1].content, call.system[:80]
        assert "Answer as of 2030-01-31" in call.messages[-1].content, call.system[:80]
    readings = [call for call in model.calls if call.form and "quality_updates" in str(call.form.json_schema)]
    assert readings
    for call in readings:  # why it was searched, and by which search a source was found
        assert "the question itself" in call.messages[-1].content
        assert "Found by: Q1" in call.messages[-1].content
