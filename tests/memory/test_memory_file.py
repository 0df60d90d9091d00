"""The SQLite memory and its file: nothing is left of what was forgotten, and a bad file or disk is one clear error."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import (
    DeepResearchError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreVersionError,
)
from deep_research.memory import MemoryKind, SQLiteMemory
from deep_research.memory.sqlite_memory import APPLICATION_ID, PAGE_BYTES
from deep_research.testing.memory_bench import USER, MemoryBench

STEPS, TURN = 1_200, 300  # calls, and after how many the file shrinks or grows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.sqlite3"


@contextmanager
def benched(path: Path, kind: type[SQLiteMemory] = SQLiteMemory, **options: Any) -> Iterator[MemoryBench]:
    with MemoryBench(lambda: kind(path, **options)) as bench:
        yield bench


def left_of(text: str, folder: Path) -> list[str]:
    """The files of a folder that hold a text, in whatever encoding, or its first half or its second."""
    pieces = (text, text[: len(text) // 2], text[len(text) // 2 :])
    wanted = [piece.encode(code) for piece in pieces for code in ("utf-8", "utf-16-le", "utf-16-be")]
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(each in file.read_bytes() for each in wanted)]


# Forgetting


def test_no_byte_is_left_of_what_was_put_edited_and_forgotten(path: Path) -> None:
    first, second, words = "the-first-canary-4f1d", "the-second-canary-91bb", "the-words-of-the-canary-07"
    with benched(path) as bench:
        bench.put(*(bench.entry(number, "Likes short reports. " * 20) for number in range(2, 40)))
        bench.put(bench.entry(1, first * 40, words=words * 40))
        assert left_of(first, path.parent) == left_of(words, path.parent) == ["memory.sqlite3"]
        bench.put(bench.entry(1, second))
        assert left_of(first, path.parent) == left_of(words, path.parent) == []
        assert left_of(second, path.parent) == ["memory.sqlite3"]
        bench.memory.forget(USER, ids=["mem-1"])
        assert left_of(second, path.parent) == []
        assert len(bench.ids()) == 38


def test_the_name_of_a_user_whose_entries_are_forgotten_is_nowhere(path: Path) -> None:
    name = "a-user-of-the-name-5e0c"
    with benched(path) as bench:
        bench.put(bench.entry(user="bob"))
        bench.put(*(bench.entry(number, f"{name} {number}", user=name) for number in range(100)))
        bench.memory.forget(name, everything=True)
        assert left_of(name, path.parent) == []
        assert bench.ids("bob") == ["mem-1"]


@pytest.mark.parametrize(("page", "longest"), [(PAGE_BYTES, 60), (PAGE_BYTES, 400), (4_096, 400)])
def test_no_copy_is_left_where_the_file_grows_and_shrinks(
    path: Path, monkeypatch: pytest.MonkeyPatch, page: int, longest: int
) -> None:
    """SQLite moves rows between pages then, and with pages of 4,096 bytes `secure_delete` alone leaves copies."""
    monkeypatch.setattr("deep_research.memory.sqlite_memory.PAGE_BYTES", page)
    chance = random.Random(2)
    live: dict[str, str] = {}

    class Hasty(SQLiteMemory):
        def _forbid_copies(self, db: sqlite3.Connection) -> None:
            super()._forbid_copies(db)
            db.execute("PRAGMA synchronous = OFF")  # no power is lost here

    with benched(path, Hasty) as bench:
        for step in range(STEPS):
            grows = (step // TURN) % 2 == 0
            entry_id = f"mem-{chance.randrange(3_000)}"
            if (chance.random() < 0.9) == grows or not live:
                live[entry_id] = f"c{step:04d}z"
                text = (live[entry_id] * 200)[: chance.randrange(6, longest)]
                bench.put(bench.entry(step, text).model_copy(update={"id": entry_id}))
            else:
                entry_id = chance.choice(list(live))
                del live[entry_id]
                assert bench.memory.forget(USER, ids=[entry_id]) == 1
            if step % 8 == 0:
                found = {canary.decode() for canary in re.findall(rb"c\d{4}z", path.read_bytes())}
                assert found == set(live.values())
    assert len(live) < STEPS // 2


def test_only_the_file_itself_is_there_after_every_call(path: Path) -> None:
    with benched(path) as bench:
        for call in (
            lambda: bench.put(bench.entry(), bench.entry(2)),
            lambda: bench.memory.list(USER),
            lambda: bench.memory.search(USER, "reports"),
            lambda: bench.memory.forget(USER, ids=["mem-1"]),
            lambda: bench.memory.forget(USER, everything=True),
        ):
            call()
            assert [file.name for file in path.parent.iterdir()] == ["memory.sqlite3"]


def test_a_file_that_was_given_a_write_ahead_log_loses_it_before_it_is_written(path: Path) -> None:
    canary = "the-canary-of-the-log-33"
    with benched(path) as bench:
        bench.put(bench.entry(1, canary))
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = WAL")
        bench.memory.forget(USER, everything=True)
        assert left_of(canary, path.parent) == []
        assert [file.name for file in path.parent.iterdir()] == ["memory.sqlite3"]


# How the file is set up


def test_no_file_is_made_before_something_is_put(path: Path) -> None:
    with benched(path) as bench:
        bench.memory.open()
        assert bench.ids() == []
        assert bench.memory.search(USER, "reports") == []
        assert bench.memory.forget(USER, everything=True) == 0
        assert not path.parent.exists()
        bench.put(bench.entry())
        assert path.exists()


def test_the_file_and_its_folder_are_the_owners_alone(path: Path) -> None:
    with benched(path) as bench:
        bench.put(bench.entry())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with benched(path) as bench:
        assert bench.ids() == []
        bench.put(bench.entry())
        assert bench.ids() == ["mem-1"]


def test_a_transaction_that_fails_leaves_nothing_behind(path: Path) -> None:
    canary = "the-canary-of-the-failure-12"

    class Failing(SQLiteMemory):
        def commit_transaction(self, db: sqlite3.Connection) -> None:
            raise sqlite3.OperationalError("it failed")

    with benched(path) as bench:
        bench.put(bench.entry())
        with benched(path, Failing) as failing, pytest.raises(DeepResearchError, match="it failed"):
            failing.put(failing.entry(2, canary))
        assert bench.ids() == ["mem-1"]
    assert left_of(canary, path.parent) == []


# What it refuses


def use_everything(path: Path) -> None:
    with benched(path) as bench:
        bench.memory.open()
        for entry in bench.memory.list(USER):
            bench.memory.get(USER, entry.id)
        bench.memory.search(USER, "reports")
        bench.put(bench.entry(3))
        bench.memory.forget(USER, kinds=list(MemoryKind))


def filled(path: Path) -> None:
    with benched(path) as bench:
        bench.put(*(bench.entry(number, "Likes short reports. " * 90) for number in range(40)))


def test_a_newer_file_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match="Upgrade"):
        use_everything(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, version: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    before = path.read_bytes()
    with benched(path) as bench, pytest.raises(StoreDamagedError, match="another program"):
        bench.put(bench.entry())
    with pytest.raises(StoreDamagedError, match="another program"):
        use_everything(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "garbage", [b"no database at all" * 500, b"SQLite format 3\x00" + b"\xff" * 9_000, os.urandom(4_096)]
)
def test_garbage_is_refused_and_left_alone(path: Path, garbage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(garbage)
    with pytest.raises(StoreDamagedError) as refused:
        use_everything(path)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == garbage


def test_a_damaged_page_is_a_typed_error_wherever_it_is(path: Path, tmp_path: Path) -> None:
    filled(path)
    whole, refused = path.read_bytes(), 0
    pages = list(range(0, len(whole), 512))
    for start in pages:
        hurt = tmp_path / "hurt.sqlite3"
        hurt.write_bytes(whole[:start] + b"\xa5" * 512 + whole[start + 512 :])
        try:
            use_everything(hurt)
        except StoreDamagedError:
            refused += 1
        hurt.with_name("hurt.sqlite3-journal").unlink(missing_ok=True)
    assert refused > len(pages) / 2


@pytest.mark.parametrize("body", [None, "", b"", b"{}", b"\xff", b"[" * 100_000, b'{"id": 3}', "text", 7])
def test_a_damaged_entry_is_a_typed_error_and_can_be_forgotten(path: Path, body: object) -> None:
    with benched(path) as bench:
        bench.put(bench.entry(1), bench.entry(2))
        with closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE entries SET body = coalesce(?, zeroblob(9)) WHERE id = 'mem-1'", (body,))
            db.commit()
        for call in (bench.ids, lambda: bench.memory.get(USER, "mem-1")):
            with pytest.raises(StoreDamagedError):
                call()
        assert bench.memory.forget(USER, ids=["mem-1"]) == 1
        assert bench.ids() == ["mem-2"]


@pytest.mark.parametrize("kind", ["under a file", "a folder", "a dangling link into nowhere"])
def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "memory.sqlite3"
    if kind == "under a file":
        target.write_text("a file")
        target = target / "below" / "memory.sqlite3"
    elif kind == "a folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "missing" / "memory.sqlite3")
    with benched(target) as bench, pytest.raises(StoreReadOnlyError, match="--data-dir"):
        bench.put(bench.entry())


def test_a_full_disk_is_a_typed_error_and_keeps_what_was_committed(path: Path) -> None:
    class Small(SQLiteMemory):
        def _connect(self) -> sqlite3.Connection:
            db = super()._connect()
            db.execute("PRAGMA max_page_count = 40")
            return db

    with benched(path, Small) as bench:
        bench.put(bench.entry(1))
        with pytest.raises(StoreFullError, match="free some space"):
            bench.put(*(bench.entry(number, "x" * 2_000) for number in range(2, 30)))
        assert bench.ids() == ["mem-1"]
    with benched(path) as bench:
        bench.put(bench.entry(2))
        assert bench.ids() == ["mem-2", "mem-1"]


@pytest.mark.timed
@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_lock_that_is_not_let_go_of_is_a_typed_error(path: Path, lock: str) -> None:
    filled(path)
    with benched(path, lock_seconds=0.05) as bench:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(f"BEGIN {lock}")
            for call in (
                lambda: bench.put(bench.entry()),
                lambda: bench.memory.forget(USER, everything=True),
            ):
                with pytest.raises(StoreLockedError):
                    call()
            if lock == "IMMEDIATE":
                assert len(bench.ids()) == 40
        bench.put(bench.entry(99))
        assert bench.ids()[0] == "mem-99"


def test_the_file_says_whose_it_is(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as db:
        found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "journal_mode")]
        assert found == [APPLICATION_ID, "delete"]
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
