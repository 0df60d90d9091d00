"""The queue that every store is to workers, one function a promise."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from deep_research.state import ParkedKind, Parking, QueuePlace, RunStatus, WhenDue
from deep_research.state.projection import Projection
from deep_research.store import Owner
from deep_research.testing.store_bench import Bench

RUNS_AT_ONCE, WORKERS = 20, 4


def _submit(bench: Bench, run_id: str, *, user: str | None = None, **place: object) -> None:
    """A queued run that nobody owns; each is a second younger than the one before."""
    bench.now += 1
    queue = QueuePlace.model_validate(place)
    stands = Projection(status=RunStatus.QUEUED, queue=queue)
    bench.create(run_id, projection=stands, user_id=user, release=True)


def _claims(bench: Bench, *besides: str) -> list[str]:
    """What one worker claims until nothing is left."""
    claims = []
    while (row := bench.store.claim(bench.owner("worker"), besides=besides)) is not None:
        bench.now += 1
        claims.append(row.run_id)
    return claims


def _moment(bench: Bench, seconds: float) -> datetime:
    return datetime.fromtimestamp(bench.now + seconds, UTC)


def a_claimed_run_belongs_to_its_worker(bench: Bench) -> None:
    _submit(bench, "run-1")
    row = bench.store.claim(bench.owner("worker"))
    assert row is not None
    assert (row.run_id, row.fence, row.owner) == ("run-1", 2, bench.owner("worker"))
    assert bench.store.run("run-1").owned(bench.now)
    assert bench.store.claim(bench.owner("other")) is None


def a_row_says_the_place_of_its_run(bench: Bench) -> None:
    later = _moment(bench, 3_600)
    _submit(bench, "run-1", priority=7, not_before=later)
    assert bench.store.run("run-1").projection.queue == QueuePlace(priority=7, not_before=later)


def a_run_that_nobody_submitted_is_not_claimed(bench: Bench) -> None:
    for status in RunStatus:
        if status is not RunStatus.QUEUED:
            parking = Parking(waiting_for="a word") if status is RunStatus.PARKED else None
            bench.create(status.value, projection=Projection(status=status, parking=parking), release=True)
    assert _claims(bench) == []


def runs_are_claimed_by_priority_then_user_by_user_then_by_age(bench: Bench) -> None:
    for run_id, user, priority in (
        ("ann-1", "ann", 0),
        ("ann-2", "ann", 0),
        ("ann-3", "ann", 0),
        ("bob-1", "bob", 0),
        ("bob-2", "bob", 0),
        ("nobody-1", None, 0),
        ("last", "eve", -1),
        ("first", "ann", 9),
    ):
        _submit(bench, run_id, user=user, priority=priority)
    # ann was served with "first", so the others come before her.
    assert _claims(bench) == ["first", "bob-1", "nobody-1", "ann-1", "bob-2", "ann-2", "ann-3", "last"]


def no_run_is_claimed_before_its_time(bench: Bench) -> None:
    _submit(bench, "later", not_before=_moment(bench, 60), priority=9)
    _submit(bench, "now")
    assert _claims(bench) == ["now"]
    bench.now += 60
    assert _claims(bench, "now") == ["later"]


def a_run_whose_worker_died_is_claimed_again(bench: Bench) -> None:
    queue = QueuePlace()
    for name, owner in (("alive", bench.owner()), ("dead", bench.dead_owner())):
        bench.create(name, owner=owner, projection=Projection(status=RunStatus.RUNNING, queue=queue))
    assert _claims(bench) == ["dead"]


def a_parked_run_is_claimed_when_it_is_due_or_answered(bench: Bench) -> None:
    past, future = _moment(bench, -60), _moment(bench, 3_600)
    question = Parking(waiting_for="a word", pause_id="pause-1")
    outage = Parking(waiting_for="a service", kind=ParkedKind.OUTAGE)
    for name, parking, more in (
        ("asks", question, {}),
        ("answered", question, {}),
        ("due", question, {"until": past}),
        ("due-to-end", question, {"until": past, "then": WhenDue.ABORT}),
        ("due-to-stay", question, {"until": past, "then": WhenDue.STAY}),
        ("not-yet", question, {"until": future}),
        ("outage-over", outage, {"until": past}),
        ("paused", outage, {"kind": ParkedKind.PAUSE}),
        ("shut-down", outage, {"kind": ParkedKind.SHUTDOWN}),
        ("steered", question, {}),
        ("not-asked", outage, {}),
    ):
        bench.now += 1
        stands = Projection(status=RunStatus.PARKED, parking=parking.model_copy(update=more))
        bench.create(name, projection=stands, release=True)
    bench.store.enqueue_command("answered", "answer", '"yes"')
    bench.store.enqueue_command("not-asked", "answer", '"yes"')
    bench.store.enqueue_command("steered", "steer", "{}")
    assert _claims(bench) == ["answered", "due", "due-to-end", "outage-over", "shut-down"]


def a_run_that_ended_is_claimed_no_more(bench: Bench) -> None:
    for status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        bench.create(status.value, projection=Projection(status=status, queue=QueuePlace()), release=True)
    assert _claims(bench) == []


def runs_are_passed_over_by_their_ids(bench: Bench) -> None:
    for run_id in ("run-1", "run-2", "run-3"):
        _submit(bench, run_id)
    assert _claims(bench, "run-1", "run-3", "no such run") == ["run-2"]


def workers_at_once_never_claim_the_same_run(bench: Bench) -> None:
    for number in range(RUNS_AT_ONCE):
        _submit(bench, f"run-{number:02}", user=f"user-{number % 3}")
    claims: list[str] = []

    def work(owner: Owner) -> None:
        while (row := bench.store.claim(owner)) is not None:
            claims.append(row.run_id)

    workers = [threading.Thread(target=work, args=(bench.owner(f"worker-{n}"),)) for n in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(claims) == [f"run-{number:02}" for number in range(RUNS_AT_ONCE)]
