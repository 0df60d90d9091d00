"""Checks of every store on appending, texts, deleting and listing, one function a promise. The first line of each says
the promise."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from deep_research.errors import (
    AppendRefusedError,
    ContentMissingError,
    DeepResearchError,
    RunStateError,
)
from deep_research.state import AbortReason, DeepResearchPhase, RunStatus
from deep_research.state.journal import Content
from deep_research.state.projection import Projection
from deep_research.store import Command, Lane, NewRun, StoredEvent
from deep_research.testing.patience import PATIENCE_SECONDS
from deep_research.testing.store_bench import (
    RUNNING,
    START_SECONDS,
    Bench,
    Listener,
    create_completed,
    expect,
    expect_busy,
    expect_missing,
    expect_unknown,
)

MAX_COMMANDS = 1_000

HOSTILE = (
    "",
    "\x00",
    '"}],{"type":"run.completed"',
    "\\u0000\\ud800",
    "</script><!--",
    "'; DROP TABLE events; --",
    "שלום · 你好 · 👩‍👩‍👧‍👦 · e\u0301 · \u202e",
    "line\nbreak\r\n\ttab",
)
SQL_IDS = (
    "x' OR '1'='1",
    "run-1'; DELETE FROM runs; --",
    'run-1" --',
    "run-1\x00",
    "%",
    "_un-1",
    "run-1 ",
    "RUN-1",
    "",
)


# Creating and appending


def a_new_run_can_be_read_back(bench: Bench) -> None:
    bench.create(query="Who?")
    row = bench.store.run("run-1")
    assert (row.run_id, row.query, row.last_seq, row.fence) == ("run-1", "Who?", 1, 1)
    assert [(e.seq, e.type, e.version, e.body) for e in bench.store.read("run-1")] == [
        (1, "note", 1, b'{"n": 0}')
    ]


def a_new_run_belongs_to_who_created_it(bench: Bench) -> None:
    bench.create(owner=bench.owner("mine"))
    row = bench.store.run("run-1")
    assert row.owner == bench.owner("mine")
    assert row.owned(bench.now)


def a_store_without_runs_is_empty(bench: Bench) -> None:
    assert list(bench.store.runs()) == []
    assert bench.store.read("run-1") == []


def opening_twice_is_no_harm(bench: Bench) -> None:
    bench.store.open()
    bench.store.open()
    bench.create()
    assert bench.seqs() == [1]


def events_are_read_in_the_order_they_were_appended(bench: Bench) -> None:
    lane = bench.create()
    for expected in range(1, 30, 3):
        assert bench.append(lane, expected, 3) is None
    assert bench.seqs() == list(range(1, 32))


def reading_starts_after_a_sequence_number(bench: Bench) -> None:
    bench.append(bench.create(), 1, 9)
    assert [e.seq for e in bench.store.read("run-1", after=7)] == [8, 9, 10]


def reading_after_the_end_gives_nothing(bench: Bench) -> None:
    bench.create()
    assert bench.store.read("run-1", after=1) == []
    assert bench.store.read("run-1", after=10**9) == []


def reading_can_be_limited(bench: Bench) -> None:
    bench.append(bench.create(), 1, 9)
    assert [e.seq for e in bench.store.read("run-1", limit=2)] == [1, 2]
    assert [e.seq for e in bench.store.read("run-1", after=3, limit=2)] == [4, 5]
    assert bench.store.read("run-1", limit=0) == []


def a_negative_after_reads_from_the_start(bench: Bench) -> None:
    bench.append(bench.create(), 1, 2)
    assert [e.seq for e in bench.store.read("run-1", after=-5)] == [1, 2, 3]


def a_unit_is_stored_whole(bench: Bench) -> None:
    lane = bench.create()
    assert bench.append(lane, 1, 500, texts=["one", "two"]) is None
    assert bench.store.run("run-1").last_seq == 501
    assert len(bench.store.read("run-1")) == 501


def an_append_at_the_wrong_place_is_refused(bench: Bench) -> None:
    lane = bench.create()
    assert isinstance(bench.append(lane, 5), AppendRefusedError)
    assert bench.seqs() == [1]


def an_append_cannot_overwrite(bench: Bench) -> None:
    lane = bench.create()
    bench.append(lane, 1, 2)
    assert isinstance(bench.append(Lane("run-1", lane.owner, 1), 0), AppendRefusedError)
    assert bench.store.read("run-1")[0].body == b'{"n": 0}'
    assert bench.seqs() == [1, 2, 3]


def a_refused_append_closes_its_lane(bench: Bench) -> None:
    lane = bench.create()
    bench.append(lane, 7)
    assert lane.closed
    assert isinstance(bench.append(lane, 1), AppendRefusedError)
    assert bench.seqs() == [1]


def everything_behind_a_refused_append_is_refused(bench: Bench) -> None:
    lane = bench.create()
    outcome = bench.submit(bench.unit(lane, 1), bench.unit(lane, 9), bench.unit(lane, 2), bench.unit(lane, 3))
    assert [isinstance(o, AppendRefusedError) for o in outcome] == [False, True, True, True]
    assert bench.seqs() == [1, 2]


def a_refused_append_leaves_no_text_behind(bench: Bench) -> None:
    lane = bench.create()
    bench.append(lane, 5, texts=["never"])
    expect_missing(bench, "never")


def a_refused_append_does_not_change_the_row(bench: Bench) -> None:
    lane = bench.create()
    before = bench.store.run("run-1")
    bench.append(lane, 5, projection=Projection(status=RunStatus.COMPLETED))
    assert bench.store.run("run-1") == before


def a_refused_first_append_leaves_no_run_behind(bench: Bench) -> None:
    lane = Lane("run-1", bench.owner(), fence=1)
    assert isinstance(bench.append(lane, 3, new_run=NewRun(query="Why?")), AppendRefusedError)
    expect_unknown(lambda: bench.store.run("run-1"))


def the_refusal_names_the_run(bench: Bench) -> None:
    failure = bench.append(bench.create(), 5)
    assert isinstance(failure, AppendRefusedError)
    assert failure.data["research_id"] == "run-1"


def one_refused_run_does_not_harm_the_others_of_its_batch(bench: Bench) -> None:
    lanes = [bench.create(f"run-{n}") for n in range(5)]
    outcome = bench.submit(*(bench.unit(lane, 4 if n == 2 else 1) for n, lane in enumerate(lanes)))
    assert [o is None for o in outcome] == [True, True, False, True, True]
    assert [bench.store.run(f"run-{n}").last_seq for n in range(5)] == [2, 2, 1, 2, 2]


def appends_of_one_lane_may_be_handed_in_together(bench: Bench) -> None:
    lane = bench.create()
    assert bench.submit(*(bench.unit(lane, n) for n in range(1, 101))) == [None] * 100
    assert bench.seqs() == list(range(1, 102))


def a_run_cannot_be_created_twice(bench: Bench) -> None:
    bench.create(query="first")
    second = Lane("run-1", bench.owner("other"), fence=1)
    assert isinstance(bench.append(second, 0, new_run=NewRun(query="second")), AppendRefusedError)
    assert bench.store.run("run-1").query == "first"


def an_append_to_a_run_that_does_not_exist_is_refused(bench: Bench) -> None:
    lane = Lane("nobody", bench.owner(), fence=1)
    assert isinstance(bench.append(lane, 0), AppendRefusedError)
    expect_unknown(lambda: bench.store.run("nobody"))


def handing_nothing_in_is_no_harm(bench: Bench) -> None:
    bench.store.submit([])
    bench.create()
    assert bench.seqs() == [1]


def every_append_is_settled_once(bench: Bench) -> None:
    lanes = [bench.create(f"run-{n}") for n in range(3)]
    bench.mailbox.batches.clear()
    bench.submit(*(bench.unit(lane, n) for n in range(1, 21) for lane in lanes))
    assert sorted(run for batch in bench.mailbox.batches for run in batch) == sorted(
        lane.run_id for lane in lanes for _ in range(20)
    )


# Texts


def a_text_is_read_back_byte_for_byte(bench: Bench) -> None:
    text = "".join(HOSTILE)
    bench.create(texts=[text])
    assert bench.store.contents([Content.of(text).hash]) == [text.encode()]


def texts_are_given_in_the_order_of_their_hashes(bench: Bench) -> None:
    bench.create(texts=["a", "b", "c"])
    hashes = [Content.of(text).hash for text in "cab"]
    assert bench.store.contents(hashes) == [b"c", b"a", b"b"]


def no_texts_are_no_texts(bench: Bench) -> None:
    assert bench.store.contents([]) == []


def the_same_text_twice_is_kept_once(bench: Bench) -> None:
    lane = bench.create(texts=["same", "same"])
    assert bench.append(lane, 1, texts=["same"]) is None
    bench.create("run-2", texts=["same"])
    assert bench.store.contents([Content.of("same").hash]) == [b"same"]


def a_missing_text_is_a_typed_error(bench: Bench) -> None:
    bench.create(texts=["there"])
    expect_missing(bench, "not there")


def one_missing_text_among_others_is_an_error(bench: Bench) -> None:
    bench.create(texts=["there"])
    hashes = [Content.of("there").hash, Content.of("not there").hash]
    error = expect(ContentMissingError, lambda: bench.store.contents(hashes))
    assert error.data["content_hash"] == hashes[1]


def an_empty_text_is_a_text(bench: Bench) -> None:
    bench.create(texts=[""])
    assert bench.store.contents([Content.of("").hash]) == [b""]


def a_large_text_and_a_large_event_are_kept(bench: Bench) -> None:
    text, body = "ä" * 2_000_000, b'{"n": "%s"}' % (b"x" * 3_000_000)
    lane = bench.create(texts=[text])
    assert bench.append(lane, 1, bodies=[body]) is None
    assert bench.store.contents([Content.of(text).hash]) == [text.encode()]
    assert bench.store.read("run-1", after=1)[0].body == body


def hostile_strings_are_only_strings(bench: Bench) -> None:
    for number, text in enumerate(HOSTILE):
        bench.create(f"run-{number}", query=text, user_id=text, session_id=text, bodies=[text.encode()])
        row = bench.store.run(f"run-{number}")
        assert (row.query, row.user_id, row.session_id) == (text, text, text)
        assert bench.store.read(f"run-{number}")[0].body == text.encode()
    assert len(bench.store.runs()) == len(HOSTILE)


# Deleting


def a_deleted_run_is_gone(bench: Bench) -> None:
    create_completed(bench, texts=["text"])
    bench.store.delete("run-1")
    expect_unknown(lambda: bench.store.run("run-1"))
    assert bench.store.read("run-1") == []
    assert list(bench.store.runs()) == []


def deleting_removes_the_texts_of_the_run(bench: Bench) -> None:
    create_completed(bench, texts=["text"])
    bench.store.delete("run-1")
    expect_missing(bench, "text")


def a_text_that_another_run_uses_survives(bench: Bench) -> None:
    create_completed(bench, texts=["shared", "alone"])
    create_completed(bench, "run-2", texts=["shared"])
    bench.store.delete("run-1")
    assert bench.store.contents([Content.of("shared").hash]) == [b"shared"]
    expect_missing(bench, "alone")
    bench.store.delete("run-2")
    expect_missing(bench, "shared")


def deleting_an_owned_run_is_refused(bench: Bench) -> None:
    bench.create()
    expect_busy(lambda: bench.store.delete("run-1"))
    assert bench.seqs() == [1]


def deleting_the_run_of_a_dead_process_is_allowed(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    bench.store.delete("run-1")
    expect_unknown(lambda: bench.store.run("run-1"))


def a_completed_run_takes_no_commands(bench: Bench) -> None:
    create_completed(bench)
    try:
        bench.store.enqueue_command("run-1", "steer", "too late")
    except RunStateError:
        return
    raise AssertionError("a command was left for a run that nobody works on any more")


def what_is_left_when_a_run_completes_goes_to_its_final_event(bench: Bench) -> None:
    lane = bench.create()
    ids = [bench.store.enqueue_command("run-1", "steer", text) for text in ("answered", "first", "second")]
    last_commands: list[Command] = []

    def closing(left: Sequence[Command]) -> list[StoredEvent]:
        last_commands.extend(left)
        return [StoredEvent(2 + n, "note", 1, b"{}") for n in range(len(left) + 1)]

    final = replace(RUNNING, status=RunStatus.COMPLETED)
    assert bench.append(lane, 1, projection=final, release=True, consumed=ids[:1], closing=closing) is None
    assert [(command.id, command.payload) for command in last_commands] == [
        (ids[1], "first"),
        (ids[2], "second"),
    ]
    assert bench.seqs() == [1, 2, 3, 4]
    assert bench.store.run("run-1").last_seq == 4
    assert bench.store.pending_commands("run-1") == []


def a_command_that_comes_while_a_run_completes_is_refused_or_goes_to_its_final_event(bench: Bench) -> None:
    """Several leave commands as fast as they can until the run takes none: the last word gets each that was taken."""
    lane, last_commands, accepted_ids = bench.create(), list[Command](), list[int]()
    start = threading.Barrier(3)

    def leave() -> None:
        start.wait(timeout=PATIENCE_SECONDS)
        for _ in range(MAX_COMMANDS):
            try:
                accepted_ids.append(bench.store.enqueue_command("run-1", "steer"))
            except RunStateError:
                return

    def closing(left: Sequence[Command]) -> list[StoredEvent]:
        last_commands.extend(left)
        return [StoredEvent(2, "note", 1, b"{}")]

    threads = [threading.Thread(target=leave) for _ in range(2)]
    for thread in threads:
        thread.start()
    start.wait(timeout=PATIENCE_SECONDS)
    final = replace(RUNNING, status=RunStatus.COMPLETED)
    assert bench.append(lane, 1, projection=final, release=True, closing=closing) is None
    for thread in threads:
        thread.join(timeout=PATIENCE_SECONDS)
    assert sorted(accepted_ids) == sorted(command.id for command in last_commands)


def commands_wait_for_who_works_on_the_run_next_in_their_order(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    ids = [bench.store.enqueue_command("run-1", "steer", text) for text in ("first", "second")]
    assert [(command.id, command.payload) for command in bench.store.pending_commands("run-1")] == [
        (ids[0], "first"),
        (ids[1], "second"),
    ]


def deleting_a_run_removes_its_commands(bench: Bench) -> None:
    bench.create(owner=bench.dead_owner())
    bench.store.enqueue_command("run-1", "steer", "left")
    bench.store.delete("run-1")
    lane = bench.create()
    listener = Listener()
    bench.store.watch(lane, listener.watch())
    bench.store.enqueue_command("run-1", "steer", "right")
    assert listener.command().payload == "right"


def the_lane_of_a_deleted_run_is_refused(bench: Bench) -> None:
    lane = bench.create(owner=bench.dead_owner())
    bench.store.delete("run-1")
    assert isinstance(bench.append(lane, 1), AppendRefusedError)


def a_deleted_id_can_be_used_again(bench: Bench) -> None:
    create_completed(bench)
    bench.store.delete("run-1")
    bench.create(query="again")
    assert bench.store.run("run-1").query == "again"


# Rows


def the_row_follows_every_append(bench: Bench) -> None:
    lane = bench.create()
    projection = Projection(
        status=RunStatus.ABORTED,
        reason=AbortReason.TIMEOUT,
        phase=DeepResearchPhase.SYNTHESIS,
        iteration=3,
    )
    later = datetime.fromtimestamp(START_SECONDS + 60, UTC)
    bench.append(lane, 1, 2, projection=projection, at=later)
    row = bench.store.run("run-1")
    assert (row.projection, row.last_seq, row.updated_at) == (projection, 3, later)
    assert row.created_at == datetime.fromtimestamp(START_SECONDS, UTC)


def every_status_reason_and_phase_is_kept(bench: Bench) -> None:
    lane, expected = bench.create(), 1
    for status in RunStatus:
        for reason in (None, *AbortReason):
            for phase in DeepResearchPhase:
                projection = Projection(status=status, reason=reason, phase=phase, iteration=expected)
                assert bench.append(lane, expected, projection=projection) is None
                assert bench.store.run("run-1").projection == projection
                expected += 1


def runs_are_listed_newest_first(bench: Bench) -> None:
    for number in range(5):
        bench.create(f"run-{number}", at=datetime.fromtimestamp(START_SECONDS + number, UTC))
    assert [row.run_id for row in bench.store.runs()] == [f"run-{n}" for n in (4, 3, 2, 1, 0)]


def runs_of_one_moment_are_listed_in_a_fixed_order(bench: Bench) -> None:
    for number in range(5):
        bench.create(f"run-{number}")
    assert [row.run_id for row in bench.store.runs()] == [f"run-{n}" for n in (4, 3, 2, 1, 0)]


def the_list_can_be_limited(bench: Bench) -> None:
    for number in range(5):
        bench.create(f"run-{number}")
    assert [row.run_id for row in bench.store.runs(limit=2)] == ["run-4", "run-3"]
    assert list(bench.store.runs(limit=0)) == []


def user_and_session_are_kept(bench: Bench) -> None:
    bench.create(user_id="ada", session_id="s-1")
    bench.create("run-2")
    row, bare = bench.store.run("run-1"), bench.store.run("run-2")
    assert (row.user_id, row.session_id) == ("ada", "s-1")
    assert (bare.user_id, bare.session_id) == (None, None)


def places_are_kept_beside_the_log_and_change_with_an_append(bench: Bench) -> None:
    lane = bench.create(places=("/a/docs", "/b/docs"))
    assert bench.store.run("run-1").places == ("/a/docs", "/b/docs")
    bench.append(lane, 1)
    assert bench.store.run("run-1").places == ("/a/docs", "/b/docs")
    bench.append(lane, 2, moved=("/c",))
    assert bench.store.run("run-1").places == ("/c",)
    assert b"/c" not in b"".join(event.body for event in bench.store.read("run-1"))


def times_keep_their_instant(bench: Bench) -> None:
    moment = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)
    bench.append(bench.create(at=moment), 1, at=moment + timedelta(microseconds=1))
    row = bench.store.run("run-1")
    assert (row.created_at, row.updated_at) == (moment, moment + timedelta(microseconds=1))


def unknown_runs_are_a_typed_error(bench: Bench) -> None:
    bench.create()
    expect_unknown(lambda: bench.store.run("nobody"))
    expect_unknown(lambda: bench.store.acquire("nobody", bench.owner()))
    expect_unknown(lambda: bench.store.delete("nobody"))


def ids_that_look_like_sql_are_only_ids(bench: Bench) -> None:
    bench.create()
    for run_id in SQL_IDS:
        assert bench.store.read(run_id) == []
        expect_unknown(partial(bench.store.run, run_id))
        expect_unknown(partial(bench.store.delete, run_id))
        expect_unknown(partial(bench.store.enqueue_command, run_id, run_id, run_id))
        expect(ContentMissingError, partial(bench.store.contents, [run_id]))
    assert bench.seqs() == [1]


def runs_may_be_named_like_sql(bench: Bench) -> None:
    lanes = {run_id: bench.create(run_id, query=run_id, texts=[run_id]) for run_id in SQL_IDS}
    assert {row.run_id for row in bench.store.runs()} == set(SQL_IDS)
    for run_id, lane in lanes.items():
        assert bench.append(lane, 1) is None
        bench.store.release(lane)
        bench.store.delete(run_id)
    assert list(bench.store.runs()) == []


def values_that_cannot_be_stored_are_refused_and_harm_nobody(bench: Bench) -> None:
    bench.create()
    for value in ("\ud800", "run-1\udfff"):
        expect(DeepResearchError, partial(bench.store.run, value))
        expect(DeepResearchError, partial(bench.store.delete, value))
        expect(DeepResearchError, partial(bench.store.enqueue_command, value, "cancel"))
        expect(DeepResearchError, partial(bench.store.acquire, value, bench.owner()))
    bench.create("run-2")
    assert bench.seqs("run-2") == [1]
