"""Several processes and one memory: they take turns, they fork, they are killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from warm_parent import WarmParent

from deep_research.memory import SQLiteMemory
from deep_research.testing.memory_bench import USER, MemoryBench

pytestmark = pytest.mark.timed

EACH = 60
PATIENCE = 300.0
FILLER = "x" * 1_900


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent("deep_research.memory.sqlite_memory", __name__) as warm:
        yield warm


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


def here(function: Any) -> str:
    return f"{__name__}:{function.__name__}"


def bench_over(path: str | Path) -> MemoryBench:
    return MemoryBench(lambda: SQLiteMemory(path, lock_seconds=PATIENCE))


def intact(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Taking turns


def put_and_forget(path: str, first: int) -> int:
    with bench_over(path) as bench:
        for number in range(first, first + EACH):
            bench.put(bench.entry(number), bench.entry(number + EACH * 10))
            assert bench.memory.forget(USER, ids=[f"mem-{number + EACH * 10}"]) == 1
            bench.memory.list(USER, limit=2)
    return first


def test_two_processes_put_and_forget_in_one_file(parent: WarmParent, path: Path) -> None:
    pids = [parent.start(here(put_and_forget), path=path, first=first) for first in (0, EACH)]
    assert [parent.wait(pid).ok() for pid in pids] == [0, EACH]
    with bench_over(path) as bench:
        assert sorted(bench.ids()) == sorted(f"mem-{number}" for number in range(2 * EACH))
    intact(path)


# Forks


def fork_while_remembering(path: str) -> int:
    """Fork again and again while another thread writes; every child uses the memory once."""
    bench, over = bench_over(path), threading.Event()
    bench.put(bench.entry(0))  # the record is built at its first use, under a lock of pydantic's

    def write() -> None:
        while not over.is_set():
            bench.put(bench.entry(0))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(1, 13):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    bench.put(bench.entry(number))
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        over.set()
        thread.join()
    return len(bench.ids())


def test_a_fork_in_the_middle_of_writing_harms_nobody(parent: WarmParent, path: Path) -> None:
    assert parent.run(here(fork_while_remembering), path=path).ok() == 13
    intact(path)


# Dying


class MortalMemory(SQLiteMemory):
    """A memory whose process dies before or after its n-th commit. Its cache is so small that before a commit much of it
    is in the file already, and the journal has what was there."""

    def __init__(self, path: str, commit: int, moment: str) -> None:
        super().__init__(path, lock_seconds=PATIENCE)
        self.commit, self.moment = commit, moment

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.execute("PRAGMA cache_size = 5")
        return db

    def commit_transaction(self, db: sqlite3.Connection) -> None:
        self.commit -= 1
        if self.commit == 0 and self.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        super().commit_transaction(db)
        if self.commit == 0 and self.moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)


def put_until_killed(path: str, commit: int, moment: str) -> None:
    with MemoryBench(lambda: MortalMemory(path, commit, moment)) as bench:
        for step in range(10):
            bench.put(*(bench.entry(10 * step + n, f"step-{step} {FILLER}") for n in range(10)))


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("commit", [1, 2, 5])
def test_a_killed_process_leaves_each_committed_entry_and_no_other(
    parent: WarmParent, path: Path, commit: int, moment: str
) -> None:
    ended = parent.run(here(put_until_killed), path=path, commit=commit, moment=moment)
    assert ended.killed_by == signal.SIGKILL
    done = commit if moment == "after" else commit - 1
    with bench_over(path) as bench:
        assert sorted(bench.ids()) == sorted(f"mem-{number}" for number in range(10 * done))
        bench.put(bench.entry(1_000))
    intact(path)
    assert f"step-{done}".encode() not in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def forget_until_killed(path: str, moment: str) -> None:
    MortalMemory(path, 1, moment).forget(USER, everything=True)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_a_killed_process_was_forgetting_is_there_whole_or_gone_without_a_trace(
    parent: WarmParent, path: Path, moment: str
) -> None:
    entries = [bench_entry(number) for number in range(30)]
    with bench_over(path) as bench:
        bench.put(*entries)
        assert parent.run(here(forget_until_killed), path=path, moment=moment).killed_by == signal.SIGKILL
        assert bench.memory.list(USER) == (entries[::-1] if moment == "before" else [])
        bench.memory.forget(USER, everything=True)
        assert bench.ids() == []
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert b"canary" not in path.read_bytes()


def bench_entry(number: int) -> Any:
    return MemoryBench.entry(None, number, f"canary-{number} {FILLER}")  # type: ignore[arg-type]
