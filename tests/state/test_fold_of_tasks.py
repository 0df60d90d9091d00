"""The fold of tasks: attempts one after the other, what they found and cost, and what cannot have happened."""

from __future__ import annotations

import itertools

import pytest

from deep_research.errors import LogDamagedError
from deep_research.state import SubQueryStatus, TaskFinding, TaskReview
from deep_research.state import events as ev
from deep_research.state.reducer import Fold, fold
from deep_research.testing import FakeClock, sample_log
from deep_research.testing.samples import sample_task

BEGINNING = sample_log("gathering")
TASK = sample_task()
NAMES = [event.name for event in TASK]


def stamped(*events: ev.Event) -> list[ev.Event]:
    clock, place = FakeClock(), len(BEGINNING)
    made = (e.model_copy(update={"seq": place + n, "at": clock()}) for n, e in enumerate(events, 1))
    return [*BEGINNING, *made]


@pytest.mark.parametrize(
    ("many", "attempt", "steps", "found", "reviewed", "earlier", "settled"),
    [
        (1, 0, 0, False, False, 0, False),
        (2, 0, 1, False, False, 0, False),
        (3, 0, 1, True, False, 0, False),
        (4, 0, 1, True, True, 0, False),
        (5, 1, 0, False, False, 1, False),
        (7, 1, 1, True, False, 1, False),
        (8, 1, 1, True, True, 1, False),
        (9, 1, 1, True, True, 1, True),
    ],
    ids=[f"{n}. {NAMES[n - 1]}" for n in (1, 2, 3, 4, 5, 7, 8, 9)],
)
def test_each_event_of_a_task_takes_it_one_step_on(
    many: int, attempt: int, steps: int, found: bool, reviewed: bool, earlier: int, settled: bool
) -> None:
    (task,) = fold(stamped(*TASK[:many])).snapshot().tasks
    assert (task.task.attempt, len(task.steps), len(task.earlier)) == (attempt, steps, earlier)
    assert (task.finding is not None, task.review is not None, task.is_settled) == (found, reviewed, settled)


def test_a_settled_task_leaves_its_sources_and_what_it_took() -> None:
    state = fold(stamped(*TASK)).snapshot()
    (task,) = state.tasks
    sub_query = next(s for s in state.sub_queries if s.id == task.task.sub_query_id)
    assert sub_query.status is SubQueryStatus.COMPLETED
    assert sub_query.source_ids == task.source_ids == (state.sources[0].id,)
    assert state.usage.searches == 2  # one of each attempt
    assert task.outcome.facts
    assert task.quoted_source_ids == frozenset(task.source_ids)


def test_what_goes_on_is_the_latest_finding_without_the_facts_of_one_that_was_rejected() -> None:
    found = TASK[6].finding  # type: ignore[attr-defined]
    task_id = TASK[0].task.id  # type: ignore[attr-defined]
    for first, last, approved, facts in (
        (found, TaskFinding(), True, 0),
        (found, TaskFinding(), False, 0),
        (TaskFinding(), found, True, 1),
        (TaskFinding(), found, False, 0),
    ):
        log = [
            *TASK[:2],
            ev.TaskFinished(task_id=task_id, attempt=0, finding=first),
            *TASK[3:5],
            ev.TaskFinished(task_id=task_id, attempt=1, finding=last),
            ev.TaskReviewed(task_id=task_id, attempt=1, review=TaskReview(approved=approved)),
        ]
        (task,) = fold(stamped(*log)).snapshot().tasks
        assert len(task.outcome.facts) == facts


def test_a_log_of_tasks_that_is_read_back_gives_the_same_state() -> None:
    log = stamped(*TASK)
    again = [ev.decode(e.name, e.version, ev.encode(e)) for e in log]
    assert fold(again).snapshot() == fold(log).snapshot()


@pytest.mark.parametrize(
    "log",
    [
        TASK[1:2],  # a step of a task that nobody dispatched
        (*TASK[:1], TASK[5]),  # of an attempt that did not begin
        (*TASK[:5], TASK[1]),  # of one that is over
        (*TASK[:5], TASK[3]),  # its review
        (*TASK, TASK[5]),  # of a settled task
        (TASK[0].model_copy(update={"task": TASK[0].task.model_copy(update={"sub_query_id": "subq-x"})}),),  # type: ignore[attr-defined]
    ],
    ids=["no task", "no attempt", "an old attempt", "an old review", "settled", "no sub-query"],
)
def test_what_cannot_have_happened_to_a_task_is_damage(log: tuple[ev.Event, ...]) -> None:
    with pytest.raises(LogDamagedError):
        fold(stamped(*log))


def test_in_whatever_order_events_of_tasks_come_the_fold_takes_them_or_calls_it_damage() -> None:
    for order in itertools.permutations(range(len(TASK)), 3):
        state, taken = Fold(), 0
        for event in stamped(*(TASK[n] for n in order)):
            try:
                state.apply(event)
            except LogDamagedError:
                break
            taken += 1
        assert state.seq == taken
