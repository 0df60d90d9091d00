"""Checks of every store on owners, commands, threads and stores over one place, one function a promise."""

from __future__ import annotations

import threading
from functools import partial

from deep_research.errors import (
    AppendRefusedError,
    RunBusyError,
)
from deep_research.state import RunStatus
from deep_research.state.journal import Content
from deep_research.store import Lane
from deep_research.testing.patience import PATIENCE_SECONDS, wait_until
from deep_research.testing.store_bench import (
    Bench,
    Listener,
    expect_busy,
    expect_unknown,
    run_together,
)

# Owning


def a_live_owner_keeps_its_run(bench: Bench) -> None:
    bench.create(owner=bench.owner("one"))
    expect_busy(lambda: bench.store.acquire("run-1", bench.owner("two")))
    assert bench.store.run("run-1").owner == bench.owner("one")


def an_owner_who_lives_is_passed_over_by_his_fence_alone(bench: Bench) -> None:
    lane = bench.create()
    first = bench.store.run("run-1").fence
    expect_busy(lambda: bench.store.acquire("run-1", bench.owner("two"), over=first + 1))
    assert bench.store.acquire("run-1", bench.owner("two"), over=first).fence == first + 1
    assert isinstance(bench.append(lane, 1), AppendRefusedError)
    expect_busy(lambda: bench.store.acquire("run-1", bench.owner("three"), over=first))


def the_refusal_names_the_owner(bench: Bench) -> None:
    owner = bench.owner("one")
    bench.create(owner=owner)
    error = expect_busy(lambda: bench.store.acquire("run-1", bench.owner("two")))
    assert error.data["owner"]["pid"] == owner.pid
    assert error.data["research_id"] == "run-1"


def the_run_of_a_dead_process_is_taken_over(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    row = bench.store.acquire("run-1", bench.owner("two"))
    assert row.owner == bench.owner("two")
    assert row.owned(bench.now)


def a_run_that_was_let_go_can_be_acquired(bench: Bench) -> None:
    bench.store.release(bench.create())
    assert bench.store.acquire("run-1", bench.owner("two")).fence == 2


def every_acquiring_raises_the_fence(bench: Bench) -> None:
    bench.store.release(bench.create())
    fences = []
    for _ in range(5):
        lane = bench.take()
        fences.append(lane.fence)
        bench.store.release(lane)
    assert fences == [2, 3, 4, 5, 6]


def a_stale_fence_is_refused(bench: Bench) -> None:
    old = bench.create(owner=bench.dead_owner())
    new = bench.take()
    assert isinstance(bench.append(old, 1), AppendRefusedError)
    assert bench.append(new, 1) is None
    assert bench.seqs() == [1, 2]


def a_fence_from_the_future_is_refused(bench: Bench) -> None:
    lane = bench.create()
    assert isinstance(bench.append(Lane("run-1", lane.owner, 9), 1), AppendRefusedError)


def the_old_owner_cannot_let_go_of_the_new_ones_run(bench: Bench) -> None:
    old = bench.create(owner=bench.dead_owner())
    bench.take()
    bench.store.release(old)
    assert bench.store.run("run-1").owned(bench.now)


def releasing_closes_the_lane(bench: Bench) -> None:
    lane = bench.create()
    bench.store.release(lane)
    assert lane.closed
    assert not bench.store.run("run-1").owned(bench.now)
    assert isinstance(bench.append(lane, 1), AppendRefusedError)


def releasing_twice_is_no_harm(bench: Bench) -> None:
    lane = bench.create()
    bench.store.release(lane)
    bench.store.release(lane)
    assert bench.store.run("run-1").owner is None


def an_append_can_let_go_of_the_run(bench: Bench) -> None:
    lane = bench.create()
    assert bench.append(lane, 1, release=True) is None
    row = bench.store.run("run-1")
    assert row.owner is None
    assert lane.closed
    assert bench.store.acquire("run-1", bench.owner("two")).last_seq == 2


def nothing_gets_in_behind_a_releasing_append(bench: Bench) -> None:
    lane = bench.create()
    outcome = bench.submit(bench.unit(lane, 1, release=True), bench.unit(lane, 2))
    assert [o is None for o in outcome] == [True, False]
    assert bench.seqs() == [1, 2]


def a_refused_release_does_not_let_go(bench: Bench) -> None:
    lane = bench.create()
    bench.append(lane, 8, release=True)
    assert bench.store.run("run-1").owner == lane.owner


def acquiring_gives_the_row_as_it_is_now(bench: Bench) -> None:
    lane = bench.create(owner=bench.dead_owner())
    bench.append(lane, 1, 4)
    row = bench.store.acquire("run-1", bench.owner("two"))
    assert (row.last_seq, row.fence, row.query) == (5, 2, "Why?")


def an_unfinished_run_without_an_owner_reads_as_interrupted(bench: Bench) -> None:
    lane = bench.create()
    assert bench.store.run("run-1").status(bench.now) is RunStatus.RUNNING
    bench.store.release(lane)
    assert bench.store.run("run-1").status(bench.now) is RunStatus.INTERRUPTED


def only_one_of_many_threads_acquires(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    won: list[str] = []

    def attempt(token: str) -> None:
        try:
            bench.store.acquire("run-1", bench.owner(token))
            won.append(token)
        except RunBusyError:
            pass

    run_together([partial(attempt, f"thread-{n}") for n in range(8)])
    assert len(won) == 1
    assert bench.store.run("run-1").fence == 2


def a_lease_that_ran_out_is_taken_over(bench: Bench) -> None:
    bench.create(owner=bench.stranger())
    expect_busy(lambda: bench.store.acquire("run-1", bench.owner("two")))
    bench.now += 3_600
    assert bench.store.acquire("run-1", bench.owner("two")).fence == 2


def a_clock_that_jumps_back_does_not_free_a_run(bench: Bench) -> None:
    bench.create(owner=bench.stranger())
    bench.now -= 86_400
    expect_busy(lambda: bench.store.acquire("run-1", bench.owner("two")))


def a_clock_that_jumps_does_not_refuse_the_owner(bench: Bench) -> None:
    lane = bench.create()
    for expected, jump in enumerate((86_400, -2 * 86_400, 86_400), start=1):
        bench.now += jump
        assert bench.append(lane, expected) is None
    assert bench.seqs() == [1, 2, 3, 4]


# Commands


def a_command_reaches_the_owner(bench: Bench) -> None:
    lane, listener = bench.create(), Listener()
    bench.store.watch(lane, listener.watch())
    number = bench.store.enqueue_command("run-1", "cancel", "please")
    command = listener.command()
    assert (command.id, command.run_id, command.kind, command.payload) == (
        number,
        "run-1",
        "cancel",
        "please",
    )


def a_command_queued_before_the_watch_arrives(bench: Bench) -> None:
    lane, listener = bench.create(), Listener()
    bench.store.enqueue_command("run-1", "cancel")
    bench.store.watch(lane, listener.watch())
    assert listener.command().kind == "cancel"


def commands_arrive_in_order_and_once(bench: Bench) -> None:
    lane, listener = bench.create(), Listener()
    bench.store.watch(lane, listener.watch())
    for number in range(5):
        bench.store.enqueue_command("run-1", "steer", str(number))
    assert [listener.command().payload for _ in range(5)] == list("01234")
    bench.store.enqueue_command("run-1", "steer", "last")
    assert listener.command().payload == "last"


def a_command_arrives_at_the_run_it_is_for(bench: Bench) -> None:
    listeners = {}
    for run in ("run-1", "run-2"):
        listeners[run] = Listener()
        bench.store.watch(bench.create(run), listeners[run].watch())
    bench.store.enqueue_command("run-2", "cancel")
    assert listeners["run-2"].command().run_id == "run-2"
    assert listeners["run-1"].commands.empty()


def commands_have_growing_numbers(bench: Bench) -> None:
    bench.create()
    numbers = [bench.store.enqueue_command("run-1", "steer") for _ in range(5)]
    assert numbers == sorted(set(numbers))


def a_consumed_command_does_not_arrive_again(bench: Bench) -> None:
    lane = bench.create(owner=bench.dead_owner())
    consumed_id = bench.store.enqueue_command("run-1", "steer", "done")
    bench.store.enqueue_command("run-1", "steer", "open")
    assert bench.append(lane, 1, consumed=[consumed_id]) is None
    listener = Listener()
    bench.store.watch(bench.take(), listener.watch())
    assert listener.command().payload == "open"


def an_unanswered_command_survives_a_new_owner(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    bench.store.enqueue_command("run-1", "answer", "42")
    listener = Listener()
    bench.store.watch(bench.take(), listener.watch())
    assert listener.command().payload == "42"


def acquiring_drops_commands_to_cancel(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    bench.store.enqueue_command("run-1", "cancel")
    bench.store.enqueue_command("run-1", "answer", "42")
    listener = Listener()
    bench.store.watch(bench.take(), listener.watch())
    assert listener.command().kind == "answer"
    assert listener.commands.empty()


def after_unwatching_nothing_arrives(bench: Bench) -> None:
    first, second = Listener(), Listener()
    lane = bench.create()
    bench.store.watch(lane, first.watch())
    bench.store.unwatch(lane)
    bench.store.enqueue_command("run-1", "cancel")
    bench.store.watch(lane, second.watch())
    assert second.command().kind == "cancel"
    assert first.commands.empty()


def the_loser_of_a_run_is_told(bench: Bench) -> None:
    lane, listener = bench.create(owner=bench.dead_owner()), Listener()
    bench.store.watch(lane, listener.watch())
    bench.take()
    assert listener.wait_for_loss()
    assert lane.closed


def a_command_for_an_unknown_run_is_refused(bench: Bench) -> None:
    expect_unknown(lambda: bench.store.enqueue_command("nobody", "cancel"))


# Threads, and stores over one place


def many_threads_append_to_runs_of_their_own(bench: Bench) -> None:
    def work(number: int) -> None:
        lane = bench.create(f"run-{number}", texts=["shared", f"own {number}"])
        for expected in range(1, 26):
            assert bench.append(lane, expected, texts=["shared", f"{number}/{expected}"]) is None

    run_together([partial(work, n) for n in range(8)])
    for number in range(8):
        assert bench.seqs(f"run-{number}") == list(range(1, 27))


def readers_see_whole_units_while_others_write(bench: Bench) -> None:
    lane = bench.create()
    stop = threading.Event()

    def write() -> None:
        try:
            for expected in range(1, 151, 3):
                assert bench.append(lane, expected, 3) is None
        finally:
            stop.set()

    def look() -> None:
        while not stop.is_set():
            seqs = bench.seqs()
            assert seqs == list(range(1, len(seqs) + 1))
            assert (len(seqs) - 1) % 3 == 0

    run_together([write, look, look, look])
    assert len(bench.seqs()) == 151


def what_was_handed_in_is_settled_by_closing(bench: Bench) -> None:
    lane = bench.create()
    units = [bench.unit(lane, n) for n in range(1, 200)]
    for append, _ in units:
        bench.store.submit([append])
    bench.store.close()
    assert [future.result(timeout=PATIENCE_SECONDS) for _, future in units] == [None] * 199


def a_closed_store_opens_again_when_used(bench: Bench) -> None:
    lane = bench.create()
    bench.store.close()
    bench.store.close()
    assert bench.append(lane, 1) is None
    assert bench.seqs() == [1, 2]


def closing_while_others_call_loses_nobody(bench: Bench) -> None:
    def work(number: int) -> None:
        lane = bench.create(f"run-{number}")
        for expected in range(1, 16):
            assert bench.append(lane, expected) is None
            bench.store.enqueue_command(f"run-{number}", "steer")

    def close() -> None:
        for _ in range(15):
            bench.store.close()

    run_together([*(partial(work, n) for n in range(3)), close])
    assert [len(bench.seqs(f"run-{n}")) for n in range(3)] == [16, 16, 16]


def a_new_store_over_the_same_place_has_everything(bench: Bench) -> None:
    bench.create(query="Who?", texts=["text"], user_id="ada")
    bench.store.close()
    other = bench.another()
    assert other.run("run-1").query == "Who?"
    assert other.run("run-1").user_id == "ada"
    assert [e.seq for e in other.read("run-1")] == [1]
    assert other.contents([Content.of("text").hash]) == [b"text"]


def two_stores_over_one_place_see_each_other(bench: Bench) -> None:
    lane, other = bench.create(), bench.another()
    assert other.run("run-1").last_seq == 1
    assert bench.append(lane, 1) is None
    assert [e.seq for e in other.read("run-1")] == [1, 2]


def a_command_left_through_another_store_arrives(bench: Bench) -> None:
    lane, listener = bench.create(), Listener()
    bench.store.watch(lane, listener.watch())
    bench.another().enqueue_command("run-1", "cancel", "from afar")
    assert listener.command().payload == "from afar"


def the_loser_is_told_of_a_taking_through_another_store(bench: Bench) -> None:
    lane, listener = bench.create(owner=bench.dead_owner()), Listener()
    bench.store.watch(lane, listener.watch())
    bench.another().acquire("run-1", bench.owner("two"))
    assert listener.wait_for_loss()
    assert isinstance(bench.append(lane, 1), AppendRefusedError)


def a_heartbeat_keeps_the_lease(bench: Bench) -> None:
    lane, listener = bench.create(owner=bench.stranger()), Listener()
    bench.store.watch(lane, listener.watch())
    before = bench.store.run("run-1").lease_until
    bench.now += 5
    wait_until(lambda: bench.store.run("run-1").lease_until > before)
    expect_busy(lambda: bench.another().acquire("run-1", bench.owner("two")))


def without_a_watch_the_lease_runs_out(bench: Bench) -> None:
    lane, listener = bench.create(owner=bench.stranger()), Listener()
    bench.store.watch(lane, listener.watch())
    bench.store.unwatch(lane)
    bench.now += 3_600
    assert bench.another().acquire("run-1", bench.owner("two")).fence == 2
    assert listener.losses.empty()
