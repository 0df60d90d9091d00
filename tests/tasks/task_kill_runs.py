"""A run whose two sub-queries are tasks: one is sent back once, the other takes five steps; then a third one goes out in
a second wave. It is killed at chosen commits.
What a child of a `WarmParent` does."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import kills
from task_runs import TaskModel, attempt_of, engine, number_of, task_of
from task_steps import quoting, searching
from witness import Witness, WitnessedSearch

from deep_research.models.base import ModelCall
from deep_research.testing.doubles import FakeClock, page, results

QUESTION = "What is known of the keepers of the light?"
PLAN = ("keepers of the first light", "keepers of the second light")
SECOND_WAVE = "keepers of the third light"


class Worker(TaskModel):
    """Searches, reads on, is done; what it is asked is witnessed first."""

    def __init__(self, witness: str) -> None:
        super().__init__(_step, _review, plan=PLAN, waves=_wave)
        self._witness = Witness(witness)

    def answer(self, call: ModelCall) -> str:
        kills.note_prompt(self._witness, call, call.form.name if call.form else "text")
        return super().answer(call)


def _step(said: str) -> dict[str, Any]:
    task, number = task_of(said), number_of(said)
    if number == 1:
        return {"thought": "Begin."} | searching(f"{task} {attempt_of(said)}")
    if task == PLAN[1] and 1 < number < 5:
        more = {"tool": "read_more", "source": "S2"}
        return {"actions": [more, *searching(f"{task} once more {number}")["actions"]]}
    return quoting(page(f"{task} {attempt_of(said)}", 0, size=0)) | {"missing": ["what they earned"]}


def _wave(said: str) -> dict[str, Any]:
    if "Wave 1 of" in said:
        thought = "The third is not known."
        return {"is_enough": False, "thought": thought, "tasks": [{"question": SECOND_WAVE}]}
    return {"is_enough": True, "thought": "That is all."}


def _review(said: str) -> dict[str, Any]:
    return {"approved": task_of(said) != PLAN[0] or bool(attempt_of(said)), "critique": "Look for others."}


class Watched(kills.MortalStore):
    """Tells how long the log was after each commit, in ``lengths``."""

    def __init__(self, path: str, *, kill: Sequence[Any] | None = None) -> None:
        super().__init__(path, kill=kill)
        self.lengths: list[int] = []

    def die_at(self, *moment: int | str) -> None:
        if moment[1] == "after":
            with closing(sqlite3.connect(self.path)) as db:
                self.lengths.append(db.execute("SELECT max(seq) FROM events").fetchone()[0] or 0)
        super().die_at(*moment)


def research(
    database: str, witness: str, *, research_id: str | None = None, kill: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Start a run, or resume one. Says what came of it."""
    store = Watched(database, kill=kill)
    search = WitnessedSearch(lambda r: results(r.query, 2, size=9_000), witness=f"{witness}-searches")
    parts = {"store": store, "search": [search], "clock": FakeClock(), "data_dir": str(Path(database).parent)}
    made = engine(Worker(witness), max_concurrent=1, **parts)
    result = made.resume(research_id) if research_id else made.run(QUESTION)
    tasks = (task.model_copy(update={"steps": _untimed(task.steps)}) for task in result.state.tasks)
    return {
        **kills.shown(result, store),
        "findings": [finding.model_dump(mode="json") for finding in result.findings],
        "gaps": [gap.description for gap in result.gaps],
        "tasks": [task.model_dump(mode="json") for task in tasks],
        "events": [event.name for event in made.events(result.research_id)],
        "lengths": store.lengths,
    }


def _untimed(steps: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(step.model_copy(update={"seconds": 0.0}) for step in steps)
