"""What cannot be: at the prompt each is refused in one line with its exit code, and nothing is lost or left."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deep_research import Budget, DeepResearch, Park, RunStatus, SupervisorHooks
from deep_research.interfaces.cli.main import main
from deep_research.store import SQLiteStore
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.doubles import results

pytestmark = pytest.mark.timed

QUESTION = "Who kept the light?"
ABSENT = "deepres-0123456789ab"
MEGABYTE = "x" * 1_000_000
VERBS = ("answer", "steer", "pause", "cancel", "resume", "wake", "waiting", "delete")
SAID = {"answer": ("1811",), "steer": ("Mind the lens.",)}


def year(state: Any, phase: str) -> Park | None:
    asks = phase == "gathering" and not state.answers and "kept" in state.query
    return Park("the year", answer_schema={"type": "integer"}) if asks else None


class Desk:
    """A store with four runs, and the prompt over it: one that asks for a year, one that was cancelled where it asked,
    one that is completed, and one that its budget ended."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self._capsys = folder / "runs.db", capsys
        self.store = SQLiteStore(self.path)
        self.search = ScriptedSearch(lambda request: results(request.query, size=20_000))
        with self.engine() as research:
            self.parked = research.run(QUESTION).research_id
            self.completed = research.run("What is known of towers?").research_id
            self.aborted = research.run("What of lamps?", budget=Budget(max_searches=0)).research_id
            self.cancelled = research.run("Who kept the tower?").research_id
            research.cancel(self.cancelled)

    def engine(self, **given: Any) -> DeepResearch:
        made = {
            "store": self.store,
            "hooks": SupervisorHooks(before_phase=year),
            "agents": scripted_agents(without=["gatherer"]),
            "search": [self.search],
            "max_concurrent": 1,
        }
        return DeepResearch(**given | made)

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = main(argv, engine=self.engine)
        return (int(code), *self._capsys.readouterr())

    def all(self) -> dict[str, Any]:
        """All that is kept of the runs."""
        return {
            row.run_id: (row.projection, self.store.read(row.run_id), self.store.pending_commands(row.run_id))
            for row in self.store.runs()
        }


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    made = Desk(tmp_path, capsys)
    yield made
    made.store.close()


NOT_FIT = {
    "an answer of the wrong type": (("answer", "parked", "in summer"), 2, "answer is invalid"),
    "an answer of the wrong type, left": (("answer", "parked", '"1811"', "--no-run"), 2, "answer is invalid"),
    "an answer of the wrong type on resuming": (("resume", "parked", "--answer", "[1811]"), 2, "answer is invalid"),
    "an answer of 1 MB": (("answer", "parked", MEGABYTE), 2, "answer is invalid"),
    "an answer with NUL": (("answer", "parked", "18\x0011"), 2, "answer is invalid"),
    "an answer that is half a character": (("answer", "parked", "\udc80"), 2, "answer is invalid"),
    "an answer of the wrong type where it was cancelled": (("answer", "cancelled", "x"), 2, "answer is invalid"),
    "an answer to no question": (("answer", "aborted", "1811"), 2, "waits for no answer"),
    "an answer to no question on resuming": (
        ("resume", "aborted", "--answer", "1811"),
        2,
        "waits for no answer",
    ),
    "an answer after the end": (("answer", "completed", "1811"), 2, "waits for no answer"),
    "an answer after the end, left": (("answer", "completed", "1811", "--no-run"), 2, "waits for no answer"),
    "a steer of 1 MB": (("steer", "parked", MEGABYTE), 2, "1,000,000 characters"),
    "a steer with NUL": (("steer", "parked", "a\0b"), 2, "not text"),
    "a steer that is half a character": (("steer", "parked", "a\udc80"), 2, "not text"),
    "a steer of nothing": (("steer", "parked", "  "), 2, "guidance is empty"),
    "a steer to a completed run": (("steer", "completed", "Mind the lens."), 2, "completed"),
    "a steer to drop what is not there": (("steer", "parked", "--drop", "subq-no"), 2, "no sub-query"),
    "a steer since no day": (("steer", "parked", "--since", "tomorrow"), 2, "is not a day"),
    "a pause after the end": (("pause", "completed"), 2, "nothing to pause"),
    "more money where none was wanted": (
        ("resume", "completed", "--max-searches", "9"),
        2,
        "left nothing out",
    ),
    **{
        f"{verb} of an unknown run": ((verb, ABSENT, *SAID.get(verb, ())), 2, f"No run '{ABSENT}'")
        for verb in VERBS
        if verb not in ("wake", "waiting")
    },
    **{
        f"{verb} of what is no id": ((verb, "run-1", *SAID.get(verb, ())), 2, "is not a run id")
        for verb in VERBS
        if verb not in ("wake", "waiting")
    },
}


def refused(done: tuple[int, str, str], code: int, said: str) -> None:
    assert done[:2] == (code, ""), done
    (line,) = done[2].splitlines()
    assert line.startswith("deep-research: ")
    assert said in line
    assert len(line) < 1_000
    assert "\0" not in line


@pytest.mark.parametrize("case", NOT_FIT)
def test_what_does_not_fit_is_refused_and_leaves_all_as_it_was(desk: Desk, case: str) -> None:
    argv, code, said = NOT_FIT[case]
    before, searches = desk.all(), len(desk.search.requests)
    refused(desk(*(str(getattr(desk, word, word)) if word.isalpha() else word for word in argv)), code, said)
    assert desk.all() == before
    assert len(desk.search.requests) == searches


def test_an_answer_that_is_given_twice_is_taken_once(desk: Desk) -> None:
    assert desk("answer", desk.parked, "1811")[0] == 0
    before, searches = desk.all(), len(desk.search.requests)
    refused(desk("answer", desk.parked, "1812"), 2, "waits for no answer")
    assert desk.all() == before
    assert len(desk.search.requests) == searches


def test_what_was_cancelled_where_it_asked_takes_the_answer_that_it_asked_for(desk: Desk) -> None:
    assert desk("answer", desk.cancelled, "1811")[0] == 0
    assert desk.store.run(desk.cancelled).projection.status is RunStatus.COMPLETED


def test_of_answers_that_are_left_twice_the_last_is_taken_and_none_stays(desk: Desk) -> None:
    for year in ("1811", "1812"):
        assert desk("answer", desk.parked, year, "--no-run")[0] == 0
    assert desk("wake")[0] == 0
    _, log, commands = desk.all()[desk.parked]
    assert [json.loads(e.body)["answer"] for e in log if e.type == "run.resumed"] == [1812]
    assert not commands


@pytest.mark.parametrize("verb", VERBS)
def test_a_newer_store_is_refused_by_every_verb_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    desk = Desk(tmp_path, capsys)
    run_id, before = desk.parked, desk.all()
    desk.store.close()
    with closing(sqlite3.connect(desk.path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        db.execute("PRAGMA user_version = 99")
    about = () if verb in ("wake", "waiting") else (run_id, *SAID.get(verb, ()))
    held = desk.path.read_bytes()
    desk.store = SQLiteStore(desk.path)
    refused(desk(verb, *about), 1, "version 99")
    desk.store.close()
    assert desk.path.read_bytes() == held
    with closing(sqlite3.connect(desk.path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    desk.store = SQLiteStore(desk.path)
    assert desk.all() == before
    desk.store.close()


def room_for(store: SQLiteStore, pages: int) -> None:
    """A disk on which the database may grow by so many pages."""

    def work(db: sqlite3.Connection) -> None:
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0] + pages}")

    store._write(work)


def test_on_a_full_disk_a_steer_is_refused_and_nothing_is_lost(desk: Desk) -> None:
    room_for(desk.store, 0)
    before = desk.all()
    while (done := desk("steer", desk.parked, "Mind the lens. " * 1_000))[0] == 0:  # what room there is
        before = desk.all()
        assert len(before[desk.parked][2]) < 100
    refused(done, 1, "free some space")
    assert desk.all() == before
    room_for(desk.store, 10_000)
    assert desk("steer", desk.parked, "Mind the lens.")[0] == 0
    assert desk("answer", desk.parked, "1811")[0] == 0


@pytest.mark.parametrize("pages", [0, 2, 6, 12])
def test_on_a_full_disk_a_run_that_was_answered_stops_and_goes_on_when_there_is_room(
    desk: Desk, pages: int
) -> None:
    before, searches = desk.all()[desk.parked][1], len(desk.search.requests)
    room_for(desk.store, pages)
    code, out, err = desk("answer", desk.parked, "1811")
    assert (code, out) == (1, "")
    last = err.splitlines()[-1]
    assert last.startswith("deep-research: ")
    assert "free some space" in last
    projection, log, _ = desk.all()[desk.parked]
    assert log[: len(before)] == before
    assert projection.status in (RunStatus.PARKED, RunStatus.RUNNING)
    room_for(desk.store, 10_000)
    again = (
        ("resume", desk.parked) if projection.status is RunStatus.RUNNING else ("answer", desk.parked, "1811")
    )
    code, out, err = desk(*again)
    assert code == 0, err
    assert out.startswith("#")
    asked = [request.query for request in desk.search.requests[searches:]]
    assert len(asked) - len(set(asked)) <= 1  # the one whose answer could not be written
