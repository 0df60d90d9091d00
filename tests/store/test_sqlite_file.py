"""The SQLite store and its file: how it is set up, what it refuses, what a bad disk does to it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch, RunStatus
from deep_research.errors import (
    DeepResearchError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreVersionError,
)
from deep_research.state.journal import Content
from deep_research.store import SQLiteStore
from deep_research.store import writer as store_writer
from deep_research.store.migrations import APPLICATION_ID, MIGRATIONS
from deep_research.store.writer import wal_needs_lock
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents
from deep_research.testing.doubles import results
from deep_research.testing.store_bench import Bench


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.db"


@contextmanager
def benched(path: Path, **options: Any) -> Iterator[Bench]:
    with Bench(lambda now: SQLiteStore(path, now=now, **options)) as bench:
        yield bench


def pragma(path: Path, name: str) -> Any:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]


def filled(path: Path, *, runs: int = 3, events: int = 40) -> None:
    with benched(path) as bench:
        for number in range(runs):
            lane = bench.create(f"run-{number}", texts=[f"text {number} " * 3_000])
            assert bench.append(lane, 1, events) is None
            bench.store.release(lane)


# How it is set up


def test_the_log_is_written_ahead_and_synced_in_large_pages(path: Path) -> None:
    with benched(path) as bench:
        bench.create()
        wanted = {"journal_mode": "wal", "synchronous": 2, "page_size": 8192, "trusted_schema": 0}
        found = bench.store._write(  # type: ignore[attr-defined]
            lambda db: {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}
        )
        assert found == wanted
    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "user_version") == len(MIGRATIONS)


def test_the_file_and_its_folder_are_the_owners_alone(path: Path) -> None:
    with benched(path) as bench:
        bench.create()
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


def test_nothing_is_opened_before_it_is_used(path: Path) -> None:
    SQLiteStore(path).close()
    assert not path.parent.exists()


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with benched(path) as bench:
        bench.create()
    assert pragma(path, "user_version") == len(MIGRATIONS)


def test_a_half_made_database_is_migrated(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    with benched(path) as bench:
        bench.create()
    assert pragma(path, "user_version") == len(MIGRATIONS)


def test_a_migration_that_fails_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ((*MIGRATIONS[0], "CREATE TABLE runs (again TEXT)"),)
    monkeypatch.setattr("deep_research.store.migrations.MIGRATIONS", broken)
    with pytest.raises(DeepResearchError):
        SQLiteStore(path).open()
    assert pragma(path, "user_version") == 0
    monkeypatch.undo()
    with benched(path) as bench:
        bench.create()


# What it refuses


def test_a_newer_database_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="Upgrade"):
        SQLiteStore(path).open()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, version: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    before = path.read_bytes()
    with pytest.raises(StoreDamagedError, match="another program"):
        SQLiteStore(path).runs()
    assert path.read_bytes() == before
    assert not path.with_name("runs.db-wal").exists()


@pytest.mark.parametrize(
    "garbage", [b"not a database at all" * 500, b"SQLite format 3\x00" + b"\xff" * 9_000, os.urandom(4_096)]
)
def test_garbage_is_refused_and_left_alone(path: Path, garbage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(garbage)
    with pytest.raises(StoreDamagedError):
        SQLiteStore(path).open()
    assert path.read_bytes() == garbage


def use_everything(path: Path) -> None:
    store = SQLiteStore(path)
    try:
        for row in store.runs():
            store.read(row.run_id)
            store.enqueue_command(row.run_id, "steer")
            store.delete(row.run_id)
        store.contents([Content.of(f"text {n} " * 3_000).hash for n in range(3)])
    finally:
        store.close()


def test_a_damaged_page_is_a_typed_error_wherever_it_is(path: Path, tmp_path: Path) -> None:
    filled(path)
    whole = path.read_bytes()
    pages = len(whole) // 8192
    assert pages > 10
    refused = 0
    for page in range(pages):
        hurt = tmp_path / f"page-{page}.db"
        hurt.write_bytes(whole[: page * 8192] + b"\xa5" * 8192 + whole[(page + 1) * 8192 :])
        try:
            use_everything(hurt)
        except DeepResearchError:
            refused += 1
    assert refused > pages / 2


def test_a_file_cut_short_is_a_typed_error(path: Path) -> None:
    filled(path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreDamagedError):
        use_everything(path)


@pytest.mark.parametrize("kind", ["under a file", "a folder", "a dangling link into nowhere"])
def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "runs.db"
    if kind == "under a file":
        target.write_text("a file")
        target = target / "below" / "runs.db"
    elif kind == "a folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "missing" / "runs.db")
    with pytest.raises(StoreReadOnlyError, match="--data-dir"):
        SQLiteStore(target).open()


def test_a_database_that_became_read_only_is_a_typed_error_and_keeps_its_log(path: Path) -> None:
    with benched(path) as bench:
        lane = bench.create()
        bench.store._write(lambda db: db.execute("PRAGMA query_only = 1"))  # type: ignore[attr-defined]
        assert isinstance(bench.append(lane, 1), StoreReadOnlyError)
        assert bench.seqs() == [1]


# Locked


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    with open(path.with_name(path.name + ".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_database(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


LOCKS = [locked_database, *([locked_file] if wal_needs_lock() else [])]


@pytest.mark.timed
@pytest.mark.parametrize("locked", LOCKS)
def test_a_lock_that_is_not_let_go_of_is_a_typed_error(
    path: Path, locked: Callable[[Path], contextmanager[None]]
) -> None:
    with benched(path, lock_timeout=0.05) as bench:
        lane, other = bench.create(), bench.create("run-2")
        with locked(path):
            outcome = bench.submit(bench.unit(lane, 1), bench.unit(other, 1))
            assert [type(o) for o in outcome] == [StoreLockedError, StoreLockedError]
            with pytest.raises(StoreLockedError):
                bench.store.enqueue_command("run-1", "cancel")
            assert bench.seqs() == [1]
        bench.create("run-3")
        assert bench.seqs("run-3") == [1]


@pytest.mark.timed
def test_a_database_locked_from_the_start_is_a_typed_error(path: Path) -> None:
    filled(path)
    with locked_file(path) if wal_needs_lock() else locked_database(path):
        store = SQLiteStore(path, lock_timeout=0.05)
        with pytest.raises(StoreLockedError):
            store.enqueue_command("run-0", "cancel")
        store.close()


# Full


def limit_pages(store: SQLiteStore, more: int) -> None:
    def work(db: sqlite3.Connection) -> None:
        (now,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {now + more}")

    store._write(work)


def test_a_full_disk_is_a_typed_error_and_keeps_what_was_committed(path: Path) -> None:
    with benched(path) as bench:
        lane = bench.create(texts=["kept"])
        assert isinstance(bench.store, SQLiteStore)
        limit_pages(bench.store, 4)
        outcome = [bench.append(lane, n, texts=[f"{n}" * 6_000]) for n in range(1, 20)]
        kept = outcome.index(next(o for o in outcome if o is not None))
        assert isinstance(outcome[kept], StoreFullError)
        assert bench.seqs() == list(range(1, kept + 2))
        assert bench.store.run("run-1").last_seq == kept + 1
        limit_pages(bench.store, 10_000)
        bench.store.release(lane)
        assert bench.append(bench.take(), kept + 1, texts=["room again"]) is None
    assert pragma(path, "integrity_check") == "ok"


def test_a_run_stopped_by_a_full_disk_goes_on_when_there_is_room(path: Path) -> None:
    store = SQLiteStore(path)
    search = ScriptedSearch(lambda request: results(request.query, size=20_000))
    with DeepResearch(
        agents=scripted_agents(iterations=2, without=["gatherer"]),
        search=[search],
        store=store,
        clock=FakeClock(),
        max_concurrent=1,
    ) as engine:
        store.open()
        limit_pages(store, 6)
        with pytest.raises(StoreFullError, match="free some space"):
            engine.run("Who?")
        (row,) = store.runs()
        assert [e.seq for e in store.read(row.run_id)] == list(range(1, row.last_seq + 1))
        limit_pages(store, 10_000)
        result = engine.resume(row.run_id)
    store.close()
    assert result.status is RunStatus.COMPLETED
    asked = [request.query for request in search.requests]
    assert len(asked) - len(set(asked)) <= 1


# Clocks


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1)])
def test_a_clock_that_jumps_does_not_stop_a_run(path: Path, jump: timedelta) -> None:
    clock = FakeClock()

    async def jumping(_: object) -> None:
        clock.move(jump)

    store = SQLiteStore(path)
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]),
        search=[ScriptedSearch(before=jumping)],
        store=store,
        clock=clock,
    ) as engine:
        result = engine.run("Who?")
        assert result.status is RunStatus.COMPLETED
        assert engine.result(result.research_id).report == result.report
    store.close()


# The write-ahead log


@pytest.fixture
def small_log(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(store_writer, "CHECKPOINT_BYTES", 256 * 1024)
    return 256 * 1024


def wal_size(path: Path) -> int:
    return path.with_name("runs.db-wal").stat().st_size


@pytest.mark.skipif(not wal_needs_lock(), reason="newer SQLite checkpoints by itself")
def test_the_write_ahead_log_stays_bounded(path: Path, small_log: int) -> None:
    sizes = []
    with benched(path) as bench:
        lane = bench.create()
        for number in range(1, 150):
            assert bench.append(lane, number, texts=[f"{number} " * 5_000]) is None
            sizes.append(wal_size(path))
        assert len(bench.seqs()) == 150
    assert max(sizes) < 2 * small_log
    assert pragma(path, "integrity_check") == "ok"


@pytest.mark.skipif(not wal_needs_lock(), reason="newer SQLite checkpoints by itself")
def test_a_reader_that_stays_does_not_hold_up_the_writer(path: Path, small_log: int) -> None:
    with benched(path) as bench:
        lane = bench.create()
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchone()
            for number in range(1, 60):  # each waits 20 s at most: see Bench
                assert bench.append(lane, number, texts=[f"{number} " * 5_000]) is None
            assert wal_size(path) > small_log
            reader.execute("COMMIT")
        assert bench.append(lane, 60) is None
        assert wal_size(path) < small_log


@pytest.mark.skipif(not wal_needs_lock(), reason="newer SQLite checkpoints by itself")
def test_what_was_committed_stands_when_the_checkpoint_fails(
    path: Path, small_log: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with benched(path) as bench:
        lane = bench.create()
        monkeypatch.setattr(store_writer, "empty_log", fails)
        outcome = [bench.append(lane, n, texts=[f"{n} " * 5_000]) for n in range(1, 60)]
        assert outcome == [None] * 59
        assert len(bench.seqs()) == 60


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (
            "0.1.0.dev9",
            r"written by deep-research 0\.1\.0\.dev9 \(formats 00000000\); this is deep-research 0\.1\.0",
        ),
        ("9\x1b[31m" * 9, r"written by deep-research 9\?\?31m9\?\?31m"),
        (None, r"written by deep-research before 0\.1\.0"),
        (b"\xff\x00", r"written by deep-research .*xff"),
    ],
)
def test_a_database_of_other_shapes_is_refused_by_the_version_that_wrote_it_and_left_alone(
    path: Path, package: str | bytes | None, words: str
) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "UPDATE format SET package = ?, shapes = ?", (package, "0" * 64)
        ) if package else db.execute("DROP TABLE format")
        db.commit()
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match=words) as refused:
        SQLiteStore(path).open()
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("what", ["emptied", "replaced", "removed"])
def test_a_database_that_is_taken_away_while_it_is_in_use_is_named_as_that(path: Path, what: str) -> None:
    with benched(path) as bench:
        lane = bench.create()
        if what == "emptied":
            os.truncate(path, 0)
        elif what == "removed":
            path.unlink()
        else:
            path.with_name("other.db").write_bytes(path.read_bytes())
            path.with_name("other.db").rename(path)
        for use in (bench.store.runs, lambda: bench.store.enqueue_command(lane.run_id, "steer", "x")):
            with pytest.raises(StoreDamagedError, match=f"was {what} while it was in use"):
                use()


def test_a_database_in_a_folder_that_cannot_be_written_is_read(path: Path) -> None:
    filled(path)
    before, beside = path.read_bytes(), {each.name for each in path.parent.iterdir()}
    for each in (path.parent, path):
        each.chmod(0o555)
    for each in path.parents[:-2]:
        each.chmod(each.stat().st_mode | 0o055)
    SQLiteStore(path).close()  # what it needs is loaded
    child = os.fork()
    if not child:  # who may not write here
        code = 1
        try:
            os.setgroups([])
            os.setegid(65534)
            os.seteuid(65534)
            store = SQLiteStore(path)
            row = store.runs()[0]
            code = 0 if store.read(row.run_id) else 2
            try:
                store.enqueue_command(row.run_id, "steer", "x")
            except StoreReadOnlyError:
                store.close()
            else:
                code = 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} == beside
