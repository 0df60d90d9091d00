"""Databases that are on disk are opened, listed, read and gone on with by the package as it is now."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from make_databases import DATABASES, Making, seen

from deep_research import RunStatus, SupervisorHooks
from deep_research.errors import StoreVersionError, UsageError
from deep_research.state import AbortReason
from deep_research.state import events as ev

NAMES = sorted(path.name.removesuffix(".db.gz") for path in DATABASES.glob("*.db.gz"))
CASES = [
    pytest.param(name, run_id, run, id=f"{name}: {run['label']}")
    for name in NAMES
    for run_id, run in json.loads((DATABASES / f"{name}.json").read_text(encoding="utf-8")).items()
    if run["status"] != "completed"
]
STILL_MISSING = ("aborted without evidence",)  # what a resumed run has no more of than before
ANSWER = "Say who paid for it."


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp("golden") for name in NAMES}
    for name, folder in folders.items():
        with gzip.open(DATABASES / f"{name}.db.gz") as packed, (folder / "runs.db").open("wb") as raw:
            shutil.copyfileobj(packed, raw)
    return folders


@pytest.fixture
def making(unpacked: dict[str, Path], tmp_path: Path) -> Iterator[Any]:
    """An engine like the one that made a database, over a copy of it."""

    def over(name: str) -> Making:
        shutil.copyfile(unpacked[name] / "runs.db", tmp_path / "runs.db")
        return Making(tmp_path, name == "model")

    return over


@pytest.mark.parametrize("name", NAMES)
def test_every_run_of_an_old_database_is_listed(name: str, making: Any) -> None:
    runs = json.loads((DATABASES / f"{name}.json").read_text(encoding="utf-8"))
    with making(name).engine() as research:
        listed = {run.research_id: run for run in research.list()}
    assert set(listed) == set(runs)
    for run_id, run in runs.items():
        expected = "interrupted" if run["label"].startswith("interrupted") else run["status"]
        assert listed[run_id].status == expected
        assert listed[run_id].query == run["query"]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_an_old_database_reads_as_it_did_when_it_was_made(name: str, making: Any) -> None:
    runs = json.loads((DATABASES / f"{name}.json").read_text(encoding="utf-8"))
    with making(name).engine() as research:
        for run_id, run in runs.items():
            events = research.events(run_id)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            result = research.result(run_id)
            assert json.loads(json.dumps(seen(result, run["label"], events[-1].seq))) == run
            for citation in result.citations:
                assert research.text(citation)[citation.start : citation.end] == citation.quote


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_an_old_database_says_why_it_stands_and_how_far_it_came(name: str, making: Any) -> None:
    runs = json.loads((DATABASES / f"{name}.json").read_text(encoding="utf-8"))
    with making(name).engine() as research:
        for listed in research.list():
            run, state = runs[listed.research_id], research.result(listed.research_id).state
            assert listed.waiting_for == run["waiting_for"]
            assert listed.pause_id == (state.parking.pause_id if state.parking else None)
            assert listed.message or run["status"] != "aborted"
            assert (listed.sources, listed.findings) == (len(run["sources"]), len(run["findings"]))
            assert (listed.tokens, listed.cost_usd) == (sum(run["tokens"]), state.usage.cost_usd)
            planned, done = len(state.current_sub_queries()), len(state.completed_sub_queries())
            assert (listed.searches_done, listed.searches_planned) == (done, planned)
        parked = [run_id for run_id, run in runs.items() if run["status"] == "parked"]
        assert {run.research_id for run in research.list(parked_kind="question")} == set(parked)


@pytest.mark.parametrize(
    ("name", "run_id", "run"),
    [
        pytest.param(*case.values, id=case.id, marks=pytest.mark.slow if n % 3 else ())
        for n, case in enumerate(CASES)
    ],
)
def test_a_run_of_an_old_database_goes_on_where_it_was_left(
    name: str, run_id: str, run: dict[str, Any], making: Any
) -> None:
    with making(name).engine() as research:
        before = research.events(run_id)
        result = research.resume(run_id, answer=ANSWER if run["status"] == "parked" else None, setup="new")
        after = research.events(run_id)
        assert list(after[: len(before)]) == list(before)
        searched = [event.sub_query_id for event in after if isinstance(event, ev.SubQueryCompleted)]
        assert len(searched) == len(set(searched))
        assert {source[0] for source in run["sources"]} <= {source.id for source in result.sources}
        if run["label"] in STILL_MISSING:
            assert (result.status, result.reason) == (RunStatus.ABORTED, AbortReason(run["reason"]))
            return
        assert result.status is RunStatus.COMPLETED, result.message
        assert result.report
        for citation in result.citations:
            assert research.text(citation)[citation.start : citation.end] == citation.quote


@pytest.mark.parametrize("name", NAMES)
def test_what_waits_in_an_old_database_is_told_and_takes_an_answer_a_steer_and_a_cancellation(
    name: str, making: Any
) -> None:
    runs = json.loads((DATABASES / f"{name}.json").read_text(encoding="utf-8"))
    parked = sorted(run_id for run_id, run in runs.items() if run["status"] == "parked")
    hooks = SupervisorHooks(
        think_pause=lambda state, prompt: None
    )  # of the set-up that these runs began with
    with making(name).engine(hooks, max_iterations=2) as research:
        waiting = {each.research_id: each for each in research.waiting()}
        assert sorted(waiting) == parked
        for run_id, each in waiting.items():
            assert (each.kind, each.asks) == ("question", True)
            assert each.waiting_for == runs[run_id]["waiting_for"]
        assert research.wake() == []  # nobody answered
        answered, left, cancelled = parked[:3]
        log = research.events(answered)
        with pytest.raises(UsageError, match="answer is invalid"):
            research.answer(answered, 7)
        assert research.events(answered) == log
        research.steer(answered, "Mind the keepers.")
        done = research.answer(answered, ANSWER)
        assert done is not None
        assert done.status is RunStatus.COMPLETED, done.message
        came = research.events(answered)[len(log) :]
        assert [event.answer for event in came if isinstance(event, ev.RunResumed)] == [ANSWER]
        assert [event.text for event in came if isinstance(event, ev.RunSteered)] == ["Mind the keepers."]
        research.answer(left, ANSWER, run=False)
        assert [result.research_id for result in research.wake()] == [left]
        assert research.cancel(cancelled).status is RunStatus.ABORTED


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET status = 'reviewing' WHERE run_id = ?",
        "UPDATE events SET version = 99 WHERE seq = 3 AND run_id = ?",
        "UPDATE events SET type = 'page.turned' WHERE seq = 3 AND run_id = ?",
        "UPDATE events SET body = json_set(body, '$.later', 1) WHERE seq = 3 AND run_id = ?",
        "UPDATE events SET body = json_set(body, '$.options.later', 1) WHERE seq = 1 AND run_id = ?",
    ],
)
def test_a_run_that_a_newer_package_went_on_with_is_not_called_damaged(change: str, making: Any) -> None:
    name = NAMES[0]
    prepared = making(name)
    run_id = next(case.values[1] for case in CASES if case.values[0] == name)
    with closing(sqlite3.connect(prepared.folder / "runs.db", isolation_level=None)) as db:
        db.execute(change, (run_id,))
    with prepared.engine() as research:
        for look in (research.result, research.resume):
            with pytest.raises(StoreVersionError, match="Upgrade"):
                look(run_id)
