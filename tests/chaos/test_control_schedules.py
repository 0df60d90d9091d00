"""Three processes have a say in one run at random, and are killed and stopped meanwhile: one owner at a time, every row
in one event or refused, one ending, and nothing that was kept is paid for again.

What is looked at is the log, what the witness was told, and what triggers in the database saw: whose the run was, which
rows came, and in the transaction of which events they went.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from control_runs import BEGUN, OVER, PATIENCE
from kills import commits
from warm_parent import WarmParent
from witness import Witness

from deep_research.state import CommandKind
from deep_research.state import events as ev
from deep_research.store import SQLiteStore

pytestmark = pytest.mark.timed

ACTORS = ("one", "two", "three")
VERBS = {
    "steer": 4,
    "steer by command": 1,
    "answer": 3,
    "answer later": 2,
    "answer by command": 1,
    "wake": 2,
    "take over": 3,
    "cancel": 0.4,
}
LONG_LEASE, SHORT_LEASE = 100.0, 0.25  # seconds: an owner that lives is passed over with the short one alone
A_CHUNK, ALL = 15, 300
STOPPED = "stopped"

AUDIT = """
CREATE TABLE audit (n INTEGER PRIMARY KEY, what TEXT, id INTEGER, kind TEXT, payload TEXT, seq INTEGER, fence INTEGER,
                    owner TEXT);
CREATE TRIGGER posted AFTER INSERT ON commands BEGIN
    INSERT INTO audit (what, id, kind, payload) VALUES ('posted', NEW.id, NEW.kind, NEW.payload); END;
CREATE TRIGGER used AFTER DELETE ON commands BEGIN
    INSERT INTO audit (what, id, kind, payload) VALUES ('used', OLD.id, OLD.kind, OLD.payload); END;
CREATE TRIGGER created AFTER INSERT ON runs BEGIN
    INSERT INTO audit (what, fence, owner) VALUES ('owned', NEW.fence, NEW.owner); END;
CREATE TRIGGER owned AFTER UPDATE OF owner ON runs BEGIN
    INSERT INTO audit (what, fence, owner) VALUES ('owned', NEW.fence, NEW.owner); END;
CREATE TRIGGER appended AFTER UPDATE OF last_seq ON runs BEGIN
    INSERT INTO audit (what, id, seq, fence, owner) VALUES ('appended', OLD.last_seq, NEW.last_seq, NEW.fence, NEW.owner);
END;
"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What three processes do in one run, and the signals that reach them: each as the witness has so many lines."""

    seed: int
    lease: float
    steps: dict[str, list[tuple[str, str, float, str]]]
    signals: list[tuple[int, int, str]]

    @classmethod
    def of(cls, seed: int) -> Schedule:
        chance = random.Random(seed)
        steps = {}
        for actor in ACTORS:
            names = chance.choices(list(VERBS), list(VERBS.values()), k=chance.randint(5, 9))
            steps[actor] = [
                (f"{actor}-{n}", verb, chance.uniform(0, 0.12), f"Mind the marker {seed}-{actor}-{n}.")
                for n, verb in enumerate(names)
            ]
        steps["one"].insert(0, ("one-start", "start", 0.0, ""))
        signals = [
            (chance.randint(1, 40), chance.choice([signal.SIGKILL, signal.SIGTERM]), chance.choice(ACTORS))
            for _ in range(chance.randint(1, 4))
        ]
        return cls(seed, SHORT_LEASE if seed % 5 == 4 else LONG_LEASE, steps, sorted(signals))


@dataclass(slots=True)
class Played:
    """A schedule as it came: what stands in its database and what the witness and the processes told."""

    folder: Path
    dead: set[int] = field(default_factory=set)
    reached: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.folder / "runs.db"

    @property
    def witness(self) -> Witness:
        return Witness(self.folder / "witness")

    @property
    def told(self) -> Witness:
        return Witness(self.folder / "told")

    def log(self) -> list[ev.Event]:
        with closing(sqlite3.connect(self.database)) as db:
            rows = db.execute("SELECT type, version, body FROM events ORDER BY seq").fetchall()
        return [ev.decode(*row) for row in rows]

    def audit(self) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.database)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM audit ORDER BY n")]


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("kills", "control_runs") as warm:
        yield warm


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.sweep, *([pytest.mark.slow] if first == 0 else [])])
        for first in range(0, ALL, A_CHUNK)
    ],
)
def test_of_three_processes_one_owns_a_run_and_what_any_of_them_says_is_heard_once(
    parent: WarmParent, folder: Path, first: int
) -> None:
    wrong, reached = {}, Counter[str]()
    for seed in range(first, first + A_CHUNK):
        played = play(parent, Schedule.of(seed), folder)
        reached += played.reached
        if played.wrong:
            wrong[seed] = played.wrong
    print(f"schedules {first} to {first + A_CHUNK - 1}: {dict(sorted(reached.items()))}")
    assert wrong == {}
    assert set(VERBS) <= set(reached)  # whom a signal reaches is chance: the line above tells
    assert reached["units"]


def test_the_schedules_hold_every_verb_and_both_signals() -> None:
    schedules = [Schedule.of(seed) for seed in range(A_CHUNK)]
    assert {verb for s in schedules for steps in s.steps.values() for _, verb, *_ in steps} == {
        *VERBS,
        "start",
    }
    assert {number for s in schedules for _, number, _ in s.signals} == {signal.SIGKILL, signal.SIGTERM}
    assert Schedule.of(7) == Schedule.of(7)


# Playing one


def play(parent: WarmParent, schedule: Schedule, folder: Path) -> Played:
    played = Played(folder / "played")
    shutil.rmtree(played.folder, ignore_errors=True)
    played.folder.mkdir()
    store = SQLiteStore(played.database)
    store.open()
    store.close()
    with closing(sqlite3.connect(played.database)) as db:
        db.executescript(AUDIT)
    _act(parent, schedule, played)
    for aborted in (False, True):
        ended = parent.run(
            "control_runs:finish", database=played.database, witness=played.witness.path, aborted=aborted
        ).ok()
        log = played.log()
        if log and not log[-1].terminal:
            played.wrong.append(f"it has not ended: {ended}")
        if not aborted:
            played.reached[f"ended {ended['status']}"] += 1
            played.wrong += endings(log)
    if played.log():
        played.wrong += [*owners(schedule, played), *rows(played), *units(schedule, played)]
    return played


def _act(parent: WarmParent, schedule: Schedule, played: Played) -> None:
    """Lets the three go, sends the signals as their times come, and starts anew who was ended by one."""

    def started(actor: str) -> int:
        done = {call.unit for call in played.told.calls()}
        left = [step for step in schedule.steps[actor] if step[0] not in done]
        return parent.start(
            "control_runs:actor",
            database=played.database,
            witness=played.witness.path,
            told=played.told.path,
            steps=left,
            lease=schedule.lease,
            seed=schedule.seed,
        )

    def ended(pid: int) -> None:
        exit = parent.wait(pid, PATIENCE)
        if exit.killed_by is not None:
            played.dead.add(pid)
        elif exit.error is not None:
            played.wrong.append(exit.error)

    pids = {"one": started("one")}
    _until(lambda: bool(played.log()) or not _lives(pids["one"]))
    pids |= {actor: started(actor) for actor in ACTORS[1:]}
    for lines, number, actor in schedule.signals:
        _until(
            lambda lines=lines: len(played.witness.calls()) >= lines or not any(map(_lives, pids.values()))
        )
        if not _lives(pids[actor]):
            continue
        if number == signal.SIGKILL:
            os.kill(pids[actor], signal.SIGSTOP)  # it begins no unit between the note and its death
            played.witness.note(STOPPED, str(pids[actor]))
        os.kill(pids[actor], number)
        played.reached[signal.Signals(number).name] += 1
        ended(pids[actor])
        pids[actor] = started(actor)
    for pid in pids.values():
        ended(pid)
    verbs = {name: verb for steps in schedule.steps.values() for name, verb, *_ in steps}
    for call in played.told.calls():
        if call.given == BEGUN:
            played.reached[verbs[call.unit]] += 1
        elif call.given.startswith(("fault", "exit 1")):
            played.wrong.append(f"{verbs[call.unit]}: {call.given}")


def _until(met: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline, "nothing goes on"
        time.sleep(0.002)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# What must hold


def endings(log: list[ev.Event]) -> list[str]:
    """One ending: it is the last word, or somebody went on with a run that was aborted."""
    over = [n for n, event in enumerate(log) if event.terminal]
    found = {
        f"the log has gaps: {[event.seq for event in log]}": [e.seq for e in log]
        != list(range(1, len(log) + 1)),
        f"{len(over)} endings": bool(log)
        and [n for n in over if not (log[n].name == "run.aborted" and _resumed(log, n + 1))]
        != [len(log) - 1],
    }
    return [what for what, wrong in found.items() if wrong]


def _resumed(log: list[ev.Event], n: int) -> bool:
    return n < len(log) and isinstance(log[n], ev.RunResumed)


def owners(schedule: Schedule, played: Played) -> list[str]:
    """Each takes the run with a higher fence: from nobody, from a dead process, or, with the short lease alone, from one
    that lives."""
    wrong: list[str] = []
    fence, owner = 0, None
    for row in played.audit():
        if (row["what"] == "appended" and (row["fence"], row["owner"]) != (fence, owner)) or (
            row["what"] == "appended" and owner is None
        ):
            wrong.append(f"appended by nobody: {row}")
        if row["what"] != "owned":
            continue
        if row["owner"] is not None:
            if row["fence"] <= fence:
                wrong.append(f"taken under fence {row['fence']} after {fence}")
            if owner is not None and json.loads(owner)["pid"] in played.dead:
                played.reached["took from a dead process"] += 1
            elif owner is not None and schedule.lease == SHORT_LEASE:
                played.reached["passed over a process that lives"] += 1
            elif owner is not None:
                wrong.append(f"{row['owner']} took it from {owner}, which lives")
        fence, owner = row["fence"], row["owner"]
    return wrong


def rows(played: Played) -> list[str]:
    """Every row went once, in the transaction of the event that it became, or of the one that refused it."""
    log = played.log()
    left: dict[int, dict[str, Any]] = {}
    wrong: list[str] = []
    within: list[ev.Event] = []
    taken = False
    for row in played.audit():
        match row["what"]:
            case "posted":
                left[row["id"]] = row
            case "appended":
                within, taken = log[row["id"] : row["seq"]], False
            case "owned":
                taken = row["owner"] is not None
            case "used":
                if left.pop(row["id"], None) is None:
                    wrong.append(f"used twice: {row}")
                came = _became(row, [] if taken else within)
                played.reached[f"{row['kind']} row {came or 'lost'}"] += 1
                if came is None:
                    wrong.append(
                        f"{row['kind']} row {row['id']} went with {[e.name for e in within]}, {taken=}"
                    )
    wrong += [f"left behind: {row}" for row in left.values()]
    said = Counter(event.text for event in log if isinstance(event, ev.RunSteered))
    said += Counter(
        json.dumps(event.answer)
        for event in log
        if isinstance(event, ev.RunResumed) and "marker" in str(event.answer)
    )
    return wrong + [f"{count} events say {text}" for text, count in said.items() if count > 1]


def _became(row: dict[str, Any], within: list[ev.Event]) -> str | None:
    """What a row became with these events: None for nothing."""
    if row["kind"] == CommandKind.CANCEL and not within:
        return "passed over by who took the run"
    for event in within:
        match event:
            case ev.RunSteered() if row["kind"] == CommandKind.STEER:
                if event.text == json.loads(row["payload"])["text"]:
                    return "told"
            case ev.RunResumed() if row["kind"] == CommandKind.ANSWER:
                return "answered" if event.answer == json.loads(row["payload"]) else "too late"
            case ev.NoticeAdded() if row["kind"] == CommandKind.ANSWER and event.notice.name == "command":
                return "too late"
            case ev.RunResumed() if row["kind"] == CommandKind.RELEASE:
                return "taken over"
            case ev.RunAborted() if row["kind"] == CommandKind.CANCEL:
                return "cancelled"
            case ev.RunCompleted():
                return "too late"
    return None


def units(schedule: Schedule, played: Played) -> list[str]:
    """A unit is begun by the owner alone and not beside another process's; one that was begun before was cut short; and
    none is begun whose result was in the log."""
    log, wrong = played.log(), []
    kept = commits(log)
    wrong += [f"kept twice: {unit}" for unit, count in Counter(u for _, u in kept).items() if count > 1]
    seq_of = {unit: seq for seq, unit in kept}
    aborts = [event.seq for event in log if isinstance(event, ev.RunAborted)]
    forced = schedule.lease == SHORT_LEASE
    open_units: dict[int, Counter[str]] = {}
    before: dict[str, tuple[int, int]] = {}
    workers: list[int] = []
    for call in played.witness.calls():
        if call.unit == STOPPED:
            open_units.pop(int(call.given), None)
            continue
        what, _, unit = call.unit.partition(" ")
        if what == OVER:
            open_units.get(call.pid, Counter())[unit] -= 1
            continue
        seen, owner = map(int, call.given.split())
        if unit in seq_of and seq_of[unit] <= seen:
            wrong.append(f"paid twice: {unit}, kept with event {seq_of[unit]}, was begun after event {seen}")
        if owner != call.pid and not forced:
            wrong.append(f"{unit} was begun by {call.pid} while {owner} owned the run")
        others = {pid: +count for pid, count in open_units.items() if pid != call.pid and +count}
        if others and not forced:
            wrong.append(f"{call.pid} begins {unit} while {others} are under way")
        if unit in before:
            pid, then = before[unit]
            cut = pid in played.dead or forced or any(then < seq <= seen for seq in aborts)
            played.reached["units begun again"] += 1
            if not cut:
                wrong.append(
                    f"paid twice: {unit} was begun after events {then} and {seen}, and nothing cut it"
                )
        before[unit] = call.pid, seen
        if not workers or workers[-1] != call.pid:
            workers.append(call.pid)
        open_units.setdefault(call.pid, Counter())[unit] += 1
    played.reached["units"] += len(before)
    played.reached["took from another process"] += max(0, len(workers) - 1)
    return wrong


def test_what_is_looked_for_is_found() -> None:
    cancelled, steered = {"kind": "cancel", "payload": ""}, {"kind": "steer", "payload": '{"text": "a"}'}
    assert _became(steered, [ev.RunSteered(text="b")]) is None
    assert _became(steered, [ev.RunSteered(text="b"), ev.RunSteered(text="a")]) == "told"
    assert _became(cancelled, [ev.RunSteered(text="b")]) is None
    resumed, completed = ev.RunResumed(seq=2), ev.RunCompleted(seq=1)
    assert endings([completed, resumed, completed.model_copy(update={"seq": 3})]) == ["2 endings"]
