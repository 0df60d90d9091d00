"""Conformance checks of `RunJournal` with any store. Each public function whose only parameter is ``desk`` or ``bench``
is one check (see `promises`)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.errors import AppendRefusedError, ContentMissingError, DeepResearchError, RunStateError
from deep_research.state import (
    AbortReason,
    AgentDecision,
    DeepResearchPhase,
    Guidance,
    Parking,
    RunOptions,
    RunStatus,
    SupervisorAction,
)
from deep_research.state import events as ev
from deep_research.state.journal import Content
from deep_research.state.reducer import Fold, fold
from deep_research.store import Command, Feed, Lane, LoopOutbox, NewRun, RunJournal
from deep_research.testing.doubles import FakeClock
from deep_research.testing.patience import PATIENCE_SECONDS
from deep_research.testing.samples import sample_log, sample_task, sample_texts
from deep_research.testing.store_bench import Bench, Listener

ROUND_COUNT = 250


class RecordingFold(Fold):
    """A fold that remembers which events were applied to it."""

    def __init__(self) -> None:
        super().__init__()
        self.applied: list[int] = []

    def apply(self, event: ev.Event) -> None:
        super().apply(event)
        self.applied.append(event.seq)


@dataclass(slots=True)
class StartedRun:
    """A run that has just started, on a running loop. Checks call it ``desk``."""

    bench: Bench
    journal: RunJournal
    fold: RecordingFold
    outbox: LoopOutbox
    feed: Feed

    @property
    def run_id(self) -> str:
        return self.journal.lane.run_id

    def log(self) -> list[ev.Event]:
        rows = self.bench.store.read(self.run_id)
        return [ev.decode(row.type, row.version, row.body) for row in rows]


def on_a_loop(
    check: Callable[[StartedRun], Coroutine[Any, Any, None]],
) -> Callable[[Bench], None]:
    """Turn a check of a started run into a check that takes a bench."""

    async def started(bench: Bench) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            desk = open_run(bench)
            await desk.journal.record(*beginning(desk.run_id))
            await check(desk)

    def run(bench: Bench) -> None:
        asyncio.run(started(bench))

    run.__name__ = check.__name__
    run.__doc__ = check.__doc__
    return run


def open_run(bench: Bench, run_id: str = "run-1", outbox: LoopOutbox | None = None) -> StartedRun:
    outbox = outbox or LoopOutbox(bench.store, asyncio.get_running_loop())
    state, feed = RecordingFold(), Feed()
    journal = RunJournal(
        bench.store,
        Lane(run_id, bench.owner(), fence=1),
        fold=state,
        outbox=outbox,
        feed=feed,
        clock=FakeClock(),
        new_run=NewRun(query="Why?"),
        unapplied=lambda left, _: (ev.RunSteered(refused=f"{left.kind} {left.payload}"),),
    )
    return StartedRun(bench, journal, state, outbox, feed)


def beginning(run_id: str) -> Sequence[ev.Event]:
    created, started = sample_log()[:2]
    return created.model_copy(update={"research_id": run_id, "options": RunOptions()}), started


def note(text: str = "look closer") -> ev.Event:
    return ev.GuidanceGiven(
        guidance=Guidance(phase=DeepResearchPhase.ANALYSIS, iteration=1, text=text, origin="test")
    )


def aborted() -> ev.Event:
    return ev.RunAborted(
        reason=AbortReason.CANCELLED, message="Enough.", phase=DeepResearchPhase.PLANNING, iteration=1
    )


# Recording


async def what_was_recorded_is_in_the_state_and_on_disk(desk: StartedRun) -> None:
    await desk.journal.record(note("one"), note("two"))
    assert [g.text for g in desk.journal.state.guidance] == ["one", "two"]
    assert [event.seq for event in desk.log()] == [1, 2, 3, 4]


async def the_row_follows_the_state(desk: StartedRun) -> None:
    row = desk.bench.store.run(desk.run_id)
    assert (row.projection.status, row.last_seq) == (RunStatus.RUNNING, 2)
    await desk.journal.record(aborted())
    row = desk.bench.store.run(desk.run_id)
    assert (row.projection.status, row.projection.reason) == (RunStatus.ABORTED, AbortReason.CANCELLED)


async def recording_nothing_is_no_event(desk: StartedRun) -> None:
    await desk.journal.record()
    assert len(desk.log()) == 2


async def events_are_applied_in_the_order_they_were_handed_in(desk: StartedRun) -> None:
    await asyncio.gather(*(desk.journal.record(note(str(n)), note(f"{n}b")) for n in range(100)))
    expected = [text for n in range(100) for text in (str(n), f"{n}b")]
    assert [g.text for g in desk.journal.state.guidance] == expected
    assert desk.fold.applied == list(range(1, 203))


async def every_event_is_applied_once(desk: StartedRun) -> None:
    for number in range(10):
        await desk.journal.record(note(str(number)))
    assert desk.fold.applied == list(range(1, 13))


async def the_live_state_is_the_fold_of_the_log(desk: StartedRun) -> None:
    await asyncio.gather(*(desk.journal.record(note(str(n))) for n in range(20)))
    assert fold(desk.log()).snapshot() == desk.journal.state


async def watchers_are_woken_by_every_commit(desk: StartedRun) -> None:
    watcher = desk.feed.join(desk.run_id)
    for number in range(3):
        await desk.journal.record(note(str(number)))
        await watcher.wait(PATIENCE_SECONDS)


async def saved_texts_are_read_back(desk: StartedRun) -> None:
    texts = ["α", "", "β" * 50_000]
    await desk.journal.record(note(), contents=[Content.of(text) for text in texts])
    assert await desk.journal.texts([Content.of(text).hash for text in texts]) == texts


async def tasks_are_in_the_state_and_on_disk_step_by_step_with_their_texts(desk: StartedRun) -> None:
    planned = next(event for event in sample_log("gathering") if isinstance(event, ev.PlanMade))
    await desk.journal.record(planned)
    text = sample_texts()[0]
    for event in sample_task():
        texts = [Content.of(text)] if isinstance(event, ev.TaskStepped) else []
        await desk.journal.record(event, contents=texts)
        assert fold(desk.log()).snapshot().tasks == desk.journal.state.tasks
    (task,) = desk.journal.state.tasks
    assert (task.task.attempt, task.is_settled, len(task.earlier)) == (1, True, 1)
    assert await desk.journal.texts([use.result_hash or "" for step in task.steps for use in step.uses]) == [
        text
    ]


async def a_text_that_was_never_saved_is_a_typed_error(desk: StartedRun) -> None:
    outcome = await asyncio.gather(desk.journal.texts(["0" * 64]), return_exceptions=True)
    assert isinstance(outcome[0], ContentMissingError)


async def an_event_that_cannot_be_written_leaves_the_journal_usable(desk: StartedRun) -> None:
    decision = AgentDecision(
        agent="x", action="x", rationale="", inputs={"x": object()}, timestamp=FakeClock()()
    )
    unwritable = ev.DecisionMade(action=SupervisorAction.PROCEED, decision=decision)
    outcome = await asyncio.gather(desk.journal.record(unwritable), return_exceptions=True)
    assert isinstance(outcome[0], Exception)
    await desk.journal.record(note())
    assert [event.seq for event in desk.log()] == [1, 2, 3]


async def an_event_that_cannot_happen_closes_the_journal_and_tells_who_waits(desk: StartedRun) -> None:
    impossible = ev.SubQueryFailed(sub_query_id="subq-unknown", error="never asked")
    outcome = await asyncio.gather(desk.journal.record(impossible), return_exceptions=True)
    assert isinstance(outcome[0], DeepResearchError)
    assert desk.journal.is_closed


# Ending


async def after_the_final_event_nothing_is_recorded(desk: StartedRun) -> None:
    await desk.journal.record(ev.RunCompleted())
    outcome = await asyncio.gather(desk.journal.record(note()), return_exceptions=True)
    assert isinstance(outcome[0], RunStateError)
    assert desk.log()[-1].terminal


async def what_is_handed_in_with_the_final_event_in_flight_is_refused(desk: StartedRun) -> None:
    outcome = await asyncio.gather(
        desk.journal.record(ev.RunCompleted()),
        desk.journal.record(note()),
        desk.journal.record(aborted()),
        return_exceptions=True,
    )
    assert [isinstance(o, RunStateError) for o in outcome] == [False, True, True]
    assert [event.terminal for event in desk.log()] == [False, False, True]
    assert desk.journal.state.status is RunStatus.COMPLETED


async def who_comes_after_the_final_event_sees_it_stored(desk: StartedRun) -> None:
    ending = asyncio.ensure_future(desk.journal.record(ev.RunCompleted()))
    await asyncio.sleep(0)
    assert await _seen_after(desk, aborted()) is RunStatus.COMPLETED
    await ending


async def the_final_event_lets_go_of_the_run(desk: StartedRun) -> None:
    await desk.journal.record(aborted())
    assert desk.bench.store.run(desk.run_id).owner is None
    assert desk.bench.store.acquire(desk.run_id, desk.bench.owner("two")).fence == 2


async def parking_lets_go_of_the_run(desk: StartedRun) -> None:
    await desk.journal.record(ev.RunParked(parking=Parking(waiting_for="a word")))
    row = desk.bench.store.run(desk.run_id)
    assert (row.owner, row.projection.status) == (None, RunStatus.PARKED)
    assert desk.journal.is_closed


# Losing


async def a_lost_run_refuses_and_stays_as_it_was(desk: StartedRun) -> None:
    _take_away(desk)
    outcome = await asyncio.gather(*(desk.journal.record(note()) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(o, AppendRefusedError) for o in outcome)
    assert desk.journal.is_closed
    assert desk.fold.applied == [1, 2]
    assert len(desk.log()) == 2


async def losing_one_run_does_not_stop_the_others_of_the_loop(desk: StartedRun) -> None:
    other = open_run(desk.bench, "run-2", desk.outbox)
    await other.journal.record(*beginning("run-2"))
    _take_away(desk)
    outcome = await asyncio.gather(
        desk.journal.record(note()), other.journal.record(note()), return_exceptions=True
    )
    assert isinstance(outcome[0], AppendRefusedError)
    assert outcome[1] is None
    assert len(other.log()) == 3


# Commands


async def a_consumed_command_is_gone_with_the_append_that_answers_it(desk: StartedRun) -> None:
    store, listener = desk.bench.store, Listener()
    store.watch(desk.journal.lane, listener.watch())
    store.enqueue_command(desk.run_id, "steer", "answered")
    command = await asyncio.to_thread(listener.command)
    desk.journal.consume(command.id)
    await desk.journal.record(note())
    again = Listener()
    store.unwatch(desk.journal.lane)
    store.watch(desk.journal.lane, again.watch())
    store.enqueue_command(desk.run_id, "steer", "open")
    assert (await asyncio.to_thread(again.command)).payload == "open"


async def a_command_that_ends_a_run_is_gone_with_its_final_event_and_not_before(desk: StartedRun) -> None:
    store = desk.bench.store
    command = store.enqueue_command(desk.run_id, "cancel")
    desk.journal.consume_at_last(Command(command, desk.run_id, "cancel"))
    await desk.journal.record(note())
    assert [left.id for left in store.pending_commands(desk.run_id)] == [command]
    await desk.journal.record(aborted())
    assert store.pending_commands(desk.run_id) == []


async def commands_that_nobody_acted_on_are_named_before_the_final_event_of_a_completed_run(
    desk: StartedRun,
) -> None:
    store = desk.bench.store
    store.enqueue_command(desk.run_id, "steer", "answered")
    (command,) = store.pending_commands(desk.run_id)
    desk.journal.consume(command.id)
    store.enqueue_command(desk.run_id, "steer", "first")
    store.enqueue_command(desk.run_id, "pause", "second")
    await desk.journal.record(note(), ev.RunCompleted())
    *_, noted, first, second, last = desk.log()
    refusals = [event.refused for event in (first, second) if isinstance(event, ev.RunSteered)]
    assert isinstance(noted, ev.GuidanceGiven)
    assert refusals == ["steer first", "pause second"]
    assert isinstance(last, ev.RunCompleted)
    assert store.pending_commands(desk.run_id) == []
    assert fold(desk.log()).snapshot() == desk.journal.state
    assert store.run(desk.run_id).last_seq == last.seq


# Cancelling


async def a_cancelled_waiter_does_not_undo_what_it_handed_in(desk: StartedRun) -> None:
    waiter = asyncio.ensure_future(desk.journal.record(note("kept")))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    await desk.journal.record(note("after"))
    assert [g.text for g in desk.journal.state.guidance] == ["kept", "after"]
    assert fold(desk.log()).snapshot() == desk.journal.state


def after_any_cancellation_the_state_is_the_fold_of_the_log(bench: Bench) -> None:
    chance = random.Random(7)  # noqa: S311 - a test's dice

    async def rounds() -> None:
        outbox = LoopOutbox(bench.store, asyncio.get_running_loop())
        async with asyncio.timeout(3 * PATIENCE_SECONDS):
            for number in range(ROUND_COUNT):
                await _cancelled_at_random(open_run(bench, f"run-{number}", outbox), chance)

    asyncio.run(rounds())


async def _cancelled_at_random(desk: StartedRun, chance: random.Random) -> None:
    """Several writers and two endings, each cancelled at some moment or not at all."""
    await desk.journal.record(*beginning(desk.run_id))
    events = [note(str(n)) for n in range(chance.randint(1, 8))]
    for ending in (ev.RunCompleted(), aborted()):
        if chance.random() < 0.5:
            events.insert(chance.randint(0, len(events)), ending)
    waiters = [asyncio.ensure_future(desk.journal.record(event)) for event in events]
    for waiter in chance.sample(waiters, chance.randint(0, len(waiters))):
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(0)
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    if not desk.journal.is_closed:
        await desk.journal.record(note("end"))
    else:
        await asyncio.gather(desk.journal.record(note("end")), return_exceptions=True)
    log = desk.log()
    assert fold(log).snapshot() == desk.journal.state
    assert desk.fold.applied == [event.seq for event in log] == list(range(1, len(log) + 1))
    assert sum(event.terminal for event in log) <= 1
    assert not any(event.terminal for event in log[:-1])


async def _seen_after(desk: StartedRun, event: ev.Event) -> RunStatus:
    """The status that a refused writer finds."""
    try:
        await desk.journal.record(event)
    except RunStateError:
        return desk.journal.state.status
    raise AssertionError("it was recorded")


def _take_away(desk: StartedRun) -> None:
    store, lane = desk.bench.store, desk.journal.lane
    store.release(Lane(lane.run_id, lane.owner, lane.fence))
    store.acquire(lane.run_id, desk.bench.owner("two"))
