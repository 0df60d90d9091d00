"""Several processes and one file: they take turns, they fork, they die, they sleep too long."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from warm_parent import WarmParent
from witness import Witness, WitnessedSearch

from deep_research import DeepResearch, RunStatus
from deep_research.errors import (
    AppendRefusedError,
    DeepResearchError,
    RunBusyError,
    StoreFullError,
    StoreLockedError,
)
from deep_research.locks import FileLock
from deep_research.store import Lane, Owner, SQLiteStore
from deep_research.testing import FakeClock, scripted_agents
from deep_research.testing.doubles import results
from deep_research.testing.store_bench import Bench, Listener

pytestmark = pytest.mark.timed

EACH = 2_000
AT_ONCE = 20


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("kills", __name__) as warm:
        yield warm


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def here(function: Any) -> str:
    return f"{__name__}:{function.__name__}"


def bench_over(database: str | Path, **options: Any) -> Bench:
    """With the real time, since other processes go by it."""
    return Bench(lambda _: SQLiteStore(database, **options))


def intact(database: Path) -> dict[str, list[int]]:
    """The sequence numbers of every run of a sound database."""
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT run_id, seq FROM events ORDER BY run_id, seq").fetchall()
    logs: dict[str, list[int]] = {}
    for run_id, seq in rows:
        logs.setdefault(run_id, []).append(seq)
    return logs


class Gate:
    """Where children tell that they got somewhere, and wait until they may go on."""

    def __enter__(self) -> Gate:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(300)
        self.port = self._server.getsockname()[1]
        self._waiting: list[socket.socket] = []
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
        self._server.close()

    def arrived(self) -> None:
        """Wait for one more."""
        self._waiting.append(self._server.accept()[0])

    def open(self) -> None:
        while self._waiting:
            self._waiting.pop().close()


def pass_through(gate: int) -> None:
    with socket.create_connection(("127.0.0.1", gate), timeout=300) as connection:
        connection.recv(1)


# Taking turns


def append_many(database: str, run_id: str) -> int:
    with bench_over(database) as bench:
        lane = bench.create(run_id)
        done = 1
        while done <= EACH:
            outcome = bench.submit(
                *(bench.unit(lane, done + n, texts=[f"shared {done + n}"]) for n in range(AT_ONCE))
            )
            assert outcome == [None] * AT_ONCE
            done += AT_ONCE
    return done


def test_two_processes_append_thousands_of_events_to_one_file(parent: WarmParent, path: Path) -> None:
    pids = [parent.start(here(append_many), database=path, run_id=f"run-{n}") for n in range(2)]
    assert [parent.wait(pid).ok() for pid in pids] == [EACH + 1, EACH + 1]
    assert intact(path) == {f"run-{n}": list(range(1, EACH + 2)) for n in range(2)}


def create_at_once(database: str, run_id: str, gate: int) -> bool:
    pass_through(gate)
    with bench_over(database) as bench:
        bench.create(run_id)
    return True


def test_processes_that_make_the_file_at_the_same_moment_do_not_meet(parent: WarmParent, path: Path) -> None:
    with Gate() as gate:
        pids = [
            parent.start(here(create_at_once), database=path, run_id=f"run-{n}", gate=gate.port)
            for n in range(4)
        ]
        for _ in pids:
            gate.arrived()
        gate.open()
        assert all(parent.wait(pid).ok() for pid in pids)
    assert sorted(intact(path)) == [f"run-{n}" for n in range(4)]


# Forks


def fork_while_open(database: str) -> dict[str, Any]:
    """A process with an open store forks; both go on with the same object, and the parent closes first."""
    bench = bench_over(database)
    mine = bench.create("parent")
    bench.store.runs()
    started, may_go_on = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            lane = bench.create("child")
            os.write(started[1], b"x")
            os.read(may_go_on[0], 1)
            outcome = [bench.append(lane, n) for n in range(1, 30)]
            status = 0 if outcome == [None] * 29 and len(bench.seqs("parent")) == 3 else 2
            bench.store.close()
        finally:
            os._exit(status)
    os.read(started[0], 1)
    outcome = [bench.append(mine, n) for n in (1, 2)]
    seen = len(bench.seqs("child"))
    bench.store.close()
    os.write(may_go_on[1], b"x")
    _, status = os.waitpid(pid, 0)
    return {"status": status, "refused": [str(o) for o in outcome if o], "seen": seen}


def test_after_a_fork_parent_and_child_use_the_same_store(parent: WarmParent, path: Path) -> None:
    answer = parent.run(here(fork_while_open), database=path).ok()
    assert answer == {"status": 0, "refused": [], "seen": 1}
    assert intact(path) == {"parent": [1, 2, 3], "child": list(range(1, 31))}


def fork_while_writing(database: str) -> int:
    """Fork again and again in the middle of a stream of appends; every child uses the store once."""
    bench = bench_over(database)
    lane, listener = bench.create("parent"), Listener()
    bench.store.watch(lane, listener.watch())
    handed_in = []
    for number in range(12):
        units = [bench.unit(lane, 1 + number * 20 + n) for n in range(20)]
        bench.store.submit([append for append, _ in units])
        handed_in += units
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                bench.create(f"child-{number}")
                bench.store.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
    assert [settled.result(timeout=300) for _, settled in handed_in] == [None] * 240
    assert listener.losses.empty()
    bench.store.enqueue_command("parent", "steer", "still heard")
    assert listener.command().payload == "still heard"
    bench.store.close()
    return len(SQLiteStore(database).read("parent"))


def test_a_fork_in_the_middle_of_writing_harms_nobody(parent: WarmParent, path: Path) -> None:
    assert parent.run(here(fork_while_writing), database=path).ok() == 241
    assert sorted(intact(path)) == sorted(["parent", *(f"child-{n}" for n in range(12))])


def engine_over(store: SQLiteStore, witness: Path | str = os.devnull, **more: Any) -> DeepResearch:
    return DeepResearch(
        agents=scripted_agents(iterations=2, without=["gatherer"]),
        search=[WitnessedSearch(lambda request: results(request.query, size=9_000), witness=witness)],
        store=store,
        clock=FakeClock(),
        max_concurrent=1,
        **more,
    )


def open_databases() -> list[str]:
    """The databases that this process has open, where the system tells."""
    found = []
    for fd in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            found.append(os.readlink(fd))
    return [name for name in found if ".db" in Path(name).name]


def research_on_both_sides(database: str, corpus: str) -> dict[str, Any]:
    """An engine is used, then forked: it works in both processes."""
    store = SQLiteStore(database)
    engine = engine_over(store, corpus=corpus, data_dir=str(Path(database).parent))
    first = engine.run("Who kept the light?")
    assert any(source.url and source.url.endswith(".md") for source in first.sources)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            inherited = open_databases()
            done = engine.run("What kept the light?").status is RunStatus.COMPLETED
            status = 2 if inherited else 0 if done else 3
        finally:
            os._exit(status)
    second = engine.run("When was the light kept?")
    _, status = os.waitpid(pid, 0)
    listed = len(engine.list())
    engine.close()
    store.close()
    return {"status": status, "ended": [first.status.value, second.status.value], "listed": listed}


def test_a_forked_engine_works_in_both_processes(parent: WarmParent, path: Path) -> None:
    corpus = path.with_name("corpus")
    corpus.mkdir()
    (corpus / "light.md").write_text("# The light\n\nThe keeper kept the light from 1820 on.\n")
    answer = parent.run(here(research_on_both_sides), database=path, corpus=corpus).ok()
    assert answer == {"status": 0, "ended": ["completed", "completed"], "listed": 3}
    assert len(intact(path)) == 3


# Dying and sleeping


def hold(database: str, gate: int, told: bool = False) -> str:
    """Own a run, with a heartbeat, until told to go on; then try to write to it, or hear first that it is lost."""
    with bench_over(database, heartbeat=0.02, lease_ttl=1.0) as bench:
        lane, listener = bench.create(), Listener()
        bench.store.watch(lane, listener.watch())
        pass_through(gate)
        if told:
            listener.wait_for_loss()
        return type(bench.append(lane, 1)).__name__


def taker(path: Path, *, ahead: float = 0.0) -> SQLiteStore:
    return SQLiteStore(path, now=lambda: time.time() + ahead)


def test_a_run_is_taken_over_from_a_process_that_was_killed(parent: WarmParent, path: Path) -> None:
    with Gate() as gate:
        pid = parent.start(here(hold), database=path, gate=gate.port)
        gate.arrived()
        store = taker(path)
        with pytest.raises(RunBusyError, match=str(pid)):
            store.acquire("run-1", Owner.here("me"))
        os.kill(pid, signal.SIGKILL)
        # Before anybody has waited for it, it is a zombie.
        deadline = time.monotonic() + 20
        while not store.run("run-1").owner.dead() and time.monotonic() < deadline:  # type: ignore[union-attr]
            os.sched_yield()
        assert store.run("run-1").owner.dead()  # type: ignore[union-attr]
        row = store.acquire("run-1", Owner.here("me"))
        assert row.fence == 2
        store.close()
        assert parent.wait(pid).killed_by == signal.SIGKILL


def put_to_sleep(pid: int, path: Path) -> None:
    """Stop a process where it does not write, for whoever sleeps with the lock keeps everybody out."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            os.sched_yield()
        try:
            with closing(FileLock(path.with_name(f"{path.name}.lock"), timeout=0.0)) as lock, lock.hold():
                return
        except StoreLockedError:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("told", [False, True])
def test_a_process_that_slept_too_long_stops_without_writing(
    parent: WarmParent, path: Path, told: bool
) -> None:
    with Gate() as gate:
        pid = parent.start(here(hold), database=path, gate=gate.port, told=told)
        gate.arrived()
        put_to_sleep(pid, path)
        store = taker(path, ahead=3_600)
        row = store.acquire("run-1", Owner.here("me"))
        os.kill(pid, signal.SIGCONT)
        gate.open()
        assert parent.wait(pid).ok() == AppendRefusedError.__name__
        with Bench(lambda _: store) as bench:
            assert bench.append(Lane("run-1", Owner.here("me"), row.fence), 1) is None
    assert intact(path) == {"run-1": [1, 2]}


def test_a_living_process_keeps_its_run_by_its_heartbeat(parent: WarmParent, path: Path) -> None:
    with Gate() as gate:
        pid = parent.start(here(hold), database=path, gate=gate.port)
        gate.arrived()
        store = taker(path)
        first = store.run("run-1").lease_until
        deadline = time.monotonic() + 20
        while store.run("run-1").lease_until <= first and time.monotonic() < deadline:
            os.sched_yield()
        assert store.run("run-1").lease_until > first
        with pytest.raises(RunBusyError):
            store.acquire("run-1", Owner.here("me"))
        store.close()
        gate.open()
        assert parent.wait(pid).ok() == "NoneType"


# A disk that takes no more


def research_with_a_small_disk(database: str, witness: str, room: int) -> dict[str, Any]:
    """The system refuses to let any file grow over ``room`` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    store = SQLiteStore(database)
    engine = engine_over(store, witness)
    try:
        return {"status": engine.run("Who?").status.value}
    except DeepResearchError as error:
        return {"status": type(error).__name__, "message": str(error)}


def resume_all(database: str, witness: str) -> list[str]:
    store = SQLiteStore(database)
    engine = engine_over(store, witness)
    return [engine.resume(row.run_id).status.value for row in store.runs()]


@pytest.mark.parametrize("room", [0, 1_000, 60_000, 90_000, 130_000, 200_000])
def test_where_no_file_may_grow_the_log_stays_whole_and_the_run_goes_on_later(
    parent: WarmParent, path: Path, room: int
) -> None:
    witness = Witness(path.with_name("calls"))
    arguments = {"database": path, "witness": witness.path}
    answer = parent.run(here(research_with_a_small_disk), room=room, **arguments).ok()
    assert answer["status"] == StoreFullError.__name__, answer
    assert "free some space" in answer["message"]
    before = [call.unit for call in witness.calls()]
    assert set(parent.run(here(resume_all), **arguments).ok()) <= {"completed"}
    assert all(seqs == list(range(1, len(seqs) + 1)) for seqs in intact(path).values())
    calls = [call.unit for call in witness.calls()]
    assert len(calls) - len(set(calls)) <= 1
    assert calls[: len(before)] == before
