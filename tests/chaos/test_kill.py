"""kill -9 at every commit of a run, and at random ones, and while it is being resumed."""

from __future__ import annotations

import random
import shutil
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kills import copied, remains, violations
from warm_parent import Exit, WarmParent
from witness import Witness

pytestmark = pytest.mark.timed

RESEARCH = "kills:research"
LONG = {"iterations": 3, "sub_queries": 5, "follow_ups": 5, "sources": 1, "batch_bytes": 900}
WIDE = {**LONG, "sources": 2, "max_concurrent": 5}
AT_LEAST = 70
TIMES = [pytest.param(20, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.sweep)]


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("kills") as warm:
        yield warm


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with one run's database and witness."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "runs.db"

    @property
    def witness(self) -> Witness:
        return Witness(self.folder / "calls")

    def research(self, parent: WarmParent, **more: Any) -> Exit:
        self.folder.mkdir(exist_ok=True)
        return parent.run(RESEARCH, database=self.database, witness=self.witness.path, **more)


@dataclass(frozen=True, slots=True)
class Undisturbed:
    place: Place
    answer: dict[str, Any]

    @property
    def commits(self) -> int:
        return int(self.answer["commits"])


@pytest.fixture(scope="module")
def undisturbed(parent: WarmParent, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    """The run that the killed ones are held against, one call at a time and five."""
    made = {}
    for name, script in (("long", LONG), ("wide", WIDE)):
        place = Place(tmp_path_factory.mktemp(name))
        made[name] = Undisturbed(place, place.research(parent, **script).ok())
        assert made[name].answer["status"] == "completed"
    return made


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """What a reader sees of a run."""
    return {key: answer[key] for key in ("status", "report", "citations", "findings", "gaps", "sources")}


def test_every_call_of_an_undisturbed_run_is_another_unit(undisturbed: dict[str, Undisturbed]) -> None:
    for run in undisturbed.values():
        units = [call.unit for call in run.place.witness.calls()]
        assert len(units) == len(set(units))
        state = remains(run.place.database, run.place.folder / "copy").state
        assert state is not None
        assert state.iteration == 3


@pytest.mark.parametrize(
    "each", [21, pytest.param(1, marks=pytest.mark.slow)]
)  # each 21st, before or after, and all
def test_a_run_killed_at_any_commit_goes_on_as_if_nothing_had_been(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path, each: int
) -> None:
    whole = undisturbed["long"]
    boundaries = [(n, moment) for n in range(1, whole.commits + 1) for moment in ("before", "after")]
    assert len(boundaries) >= AT_LEAST
    wrong = {
        boundary: found
        for boundary in boundaries[::each]
        if (found := killed_and_resumed(parent, whole, folder, [boundary], LONG, repeats=_repeats(boundary)))
    }
    assert wrong == {}


def _repeats(boundary: tuple[int, str]) -> int:
    """With one call at a time, only a unit that was not yet committed can be lost."""
    return 1 if boundary[1] == "before" else 0


@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_twice_at_random_goes_on(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path, seed: int
) -> None:
    assert randomly_killed(parent, undisturbed["wide"], folder, seed) == []


@pytest.mark.parametrize("times", TIMES)
def test_a_run_killed_twice_at_random_goes_on_a_hundred_times(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path, times: int
) -> None:
    wrong = {
        seed: found
        for seed in range(100, 100 + times)
        if (found := randomly_killed(parent, undisturbed["wide"], folder, seed))
    }
    assert wrong == {}


def randomly_killed(parent: WarmParent, whole: Undisturbed, folder: Path, seed: int) -> list[str]:
    """The first kill anywhere, the second one soon after the run was taken up again."""
    chance = random.Random(seed)
    kills = [
        (chance.randint(1, whole.commits), chance.choice(["before", "after"])),
        (chance.randint(1, 8), chance.choice(["before", "after"])),
    ]
    return killed_and_resumed(parent, whole, folder, kills, WIDE, repeats=len(kills) * WIDE["max_concurrent"])


def killed_and_resumed(
    parent: WarmParent,
    whole: Undisturbed,
    folder: Path,
    kills: list[tuple[int, str]],
    script: dict[str, Any],
    *,
    repeats: int,
) -> list[str]:
    """Kill a run, and its resumptions, at these commits; then let it finish. What went wrong, if anything."""
    place = Place(folder / "run")
    shutil.rmtree(place.folder, ignore_errors=True)
    research_id, calls, before, dead = None, 0, None, 0
    for kill in kills:
        exit = place.research(parent, kill=kill, research_id=research_id, **script)
        if exit.killed_by is None:  # it was finished before that commit came
            break
        assert exit.killed_by == signal.SIGKILL
        dead += 1
        calls, before = len(place.witness.calls()), remains(place.database, folder / "copy")
        if not before.runs:
            return [f"{calls} calls were made for a run that does not exist"] if calls else []
        (research_id,) = before.runs
    answer = place.research(parent, research_id=research_id, **script).ok() if dead else exit.ok()
    after = remains(place.database, folder / "copy")
    wrong = [] if shown(answer) == shown(whole.answer) else ["the result is another"]
    if before is None:
        before, calls = after, len(place.witness.calls())
    return wrong + violations(
        before, after, place.witness, whole.place.witness, calls_before=calls, allowed=repeats
    )


# Two processes resume the same run


def test_of_two_processes_that_resume_one_run_one_works_and_the_other_pays_nothing(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path
) -> None:
    assert races(parent, undisturbed["long"], folder, 2) == []


@pytest.mark.parametrize("times", TIMES)
def test_of_two_processes_that_resume_one_run_one_works_a_hundred_times(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path, times: int
) -> None:
    assert races(parent, undisturbed["long"], folder, times) == []


def races(parent: WarmParent, whole: Undisturbed, folder: Path, rounds: int) -> list[list[str]]:
    """Each round from another commit of the run on."""
    wrong = []
    for number in range(rounds):
        place = Place(folder / f"race-{number}")
        kill = (2 + number * 7 % (whole.commits - 2), "after")
        assert place.research(parent, kill=kill, **LONG).killed_by == signal.SIGKILL
        if found := race(parent, whole, place):
            wrong.append([f"after commit {kill[0]}", *found])
    return wrong


def race(parent: WarmParent, whole: Undisturbed, place: Place) -> list[str]:
    before, calls = remains(place.database, place.folder / "copy"), len(place.witness.calls())
    with socket.create_server(("127.0.0.1", 0)) as gate:
        gate.settimeout(300)
        pids = [
            parent.start(
                RESEARCH,
                database=place.database,
                witness=place.witness.path,
                research_id=before.runs[0],
                gate=gate.getsockname()[1],
                **LONG,
            )
            for _ in range(2)
        ]
        waiting = [gate.accept()[0] for _ in pids]
    for connection in waiting:
        connection.close()
    answers = [parent.wait(pid).ok() for pid in pids]
    after = remains(place.database, place.folder / "copy")
    wrong = violations(before, after, place.witness, whole.place.witness, calls_before=calls, allowed=0)
    workers = {call.pid for call in place.witness.calls()[calls:]}
    finished = [answer for answer in answers if answer["status"] == "completed"]
    if len(workers) > 1:
        wrong.append("both worked")
    if not finished or any(shown(answer) != shown(whole.answer) for answer in finished):
        wrong.append(f"the result is another: {[answer['status'] for answer in answers]}")
    if not {answer["status"] for answer in answers} <= {"completed", "busy"}:
        wrong.append(f"an odd ending: {answers}")
    return wrong


def test_a_copy_of_what_was_left_does_not_change_it(
    parent: WarmParent, undisturbed: dict[str, Undisturbed], folder: Path
) -> None:
    place = Place(folder / "run")
    place.research(parent, kill=(10, "after"), **LONG)
    held = {path.name: path.read_bytes() for path in place.folder.iterdir() if path.is_file()}
    remains(place.database, folder / "copy")
    copied(place.database, folder / "copy")
    assert {path.name: path.read_bytes() for path in place.folder.iterdir() if path.is_file()} == held
