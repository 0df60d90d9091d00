"""A new index: nobody sees it before it is whole, and nothing of an unfinished one is ever read."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.errors import CorpusError, SearchError
from deep_research.sources.documents.folder import CorpusFolder
from deep_research.sources.documents.index import CorpusIndex
from deep_research.sources.extract.document import Document

WALRUS = ("a.md", Document(title="Walrus", text="The walrus is a mammal."))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.db"


@pytest.fixture
def index(file: Path) -> Iterator[CorpusIndex]:
    made = CorpusIndex(file)
    yield made
    made.close()


def names(file: Path) -> set[str]:
    return {entry.name for entry in file.parent.iterdir()}


def test_it_has_its_name_when_it_is_whole(index: CorpusIndex, file: Path) -> None:
    with index._database.writing():
        assert not file.exists()
        with pytest.raises(SearchError, match="index is gone"):
            index.search("walrus", 1)
    assert index.search("walrus", 1) == []
    assert names(file) >= {"index.db", "index.db.lock"}
    assert "index.db-new" not in names(file)


def test_later_changes_have_a_journal(index: CorpusIndex, file: Path) -> None:
    index.add([WALRUS])
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    def fail() -> None:
        with index._database.writing() as connection:
            connection.execute("DELETE FROM documents")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [hit.path for hit in index.search("walrus", 1)] == ["a.md"]


def test_one_that_fails_leaves_nothing(index: CorpusIndex, file: Path, tmp_path: Path) -> None:
    (tmp_path / "walrus.md").write_text("walrus")
    with CorpusFolder(tmp_path) as folder, pytest.raises(CorpusError, match="closed"):
        index.refresh(folder, max_text_bytes=100, stopped=lambda: True)
    assert names(file) == {"index.db.lock"}
    assert index.add([WALRUS]).documents == 1


def test_a_process_killed_while_it_makes_one_leaves_nothing_that_is_read(
    index: CorpusIndex, file: Path
) -> None:
    code = f"""
import os, signal
from pathlib import Path
from deep_research.sources.documents.index import CorpusIndex
from deep_research.sources.documents.index_writer import IndexWriter
from deep_research.sources.extract.document import Document
with CorpusIndex(Path({str(file)!r}))._database.writing() as connection:
    writer = IndexWriter(connection)
    for n in range(2_000):
        writer.put(f"{{n}}.md", Document(title="Seal", text=f"The seal {{n}} is a mammal. " * 20))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    assert "index.db" not in names(file)
    assert "index.db-new" in names(file)
    with pytest.raises(SearchError):
        index.search("seal", 1)
    assert index.add([WALRUS]).documents == 1
    assert index.search("seal", 1) == []
    assert "index.db-new" not in names(file)


@pytest.mark.parametrize("left", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_another_left_behind_is_replaced(index: CorpusIndex, file: Path, left: bytes) -> None:
    file.parent.mkdir()
    for name in ("index.db-new", "index.db-new-journal", "index.db-wal"):
        (file.parent / name).write_bytes(left)
    assert index.add([WALRUS]).documents == 1
    assert [hit.path for hit in index.search("walrus", 1)] == ["a.md"]


def test_one_that_cannot_get_its_name_is_a_corpus_error(
    index: CorpusIndex, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("deep_research.sources.documents.database.os.fsync", fail)
    with pytest.raises(CorpusError, match="Input/output error"):
        index.add([WALRUS])
    assert names(file) == {"index.db.lock"}


OTTER = ("b.md", Document(title="Otter", text="The otter is a mammal."))
SEAL = ("c.md", Document(title="Seal", text="The seal is a mammal."))


def kept_writer(index: CorpusIndex) -> None:
    """A search and a change, after which a connection that writes is kept."""
    index.search("walrus", 1)
    index.add([WALRUS])
    assert index._database._writer is not None


@pytest.mark.parametrize("then", ["adds", "closes"])
def test_who_wrote_to_the_file_of_before_leaves_the_log_of_the_new_one(
    index: CorpusIndex, file: Path, then: str
) -> None:
    """SQLite removes a log by its name when the last connection to a file is closed."""
    index.add([WALRUS])
    kept_writer(index)
    with closing(CorpusIndex(file)) as other:
        other.delete()
        other.add([OTTER])
        kept_writer(other)
        assert Path(f"{file}-wal").stat().st_size
        if then == "adds":
            index.add([SEAL])
        else:
            index.close()
    with closing(CorpusIndex(file)) as third:
        found = {hit.title for hit in third.search("mammal", 5)}
    assert found == {"Otter", "Walrus", *(["Seal"] if then == "adds" else [])}


def test_changes_one_by_one_use_one_connection(index: CorpusIndex) -> None:
    index.add([WALRUS])
    kept_writer(index)
    writer = index._database._writer
    index.add([OTTER])
    assert index._database._writer == writer


def test_a_change_that_fails_is_undone_and_its_connection_closed(index: CorpusIndex) -> None:
    index.add([WALRUS])
    kept_writer(index)

    def fail() -> None:
        with index._database.writing() as connection:
            connection.execute("DELETE FROM documents")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert index._database._writer is None
    index.add([SEAL])
    assert {hit.title for hit in index.search("mammal", 5)} == {"Walrus", "Seal"}


def test_a_deleted_index_is_let_go_of(index: CorpusIndex, file: Path) -> None:
    index.add([WALRUS])
    kept_writer(index)
    index.delete()
    assert index._database._writer is None
    assert names(file) == {"index.db.lock"}


def test_an_index_that_was_deleted_by_others_is_let_go_of(index: CorpusIndex, file: Path) -> None:
    index.add([WALRUS])
    kept_writer(index)
    file.unlink()
    index.add([OTTER])
    assert index._database._writer is None
    assert {hit.title for hit in index.search("mammal", 5)} == {"Otter"}


def test_whoever_closes_last_leaves_the_log(index: CorpusIndex, file: Path) -> None:
    """Removing it by name could remove that of a file made anew at that moment."""
    index.add([WALRUS])
    kept_writer(index)
    index.add([OTTER])
    index.close()
    assert Path(f"{file}-wal").exists()
    with closing(CorpusIndex(file)) as other:
        assert {hit.title for hit in other.search("mammal", 5)} == {"Walrus", "Otter"}


def test_a_kept_connection_waits_as_long_as_a_new_one(index: CorpusIndex, file: Path) -> None:
    index.add([WALRUS])
    kept_writer(index)
    index.add([(f"{n}.md", Document(title=str(n), text="tower " * 2_000)) for n in range(200)])  # a long log
    index.add([OTTER])
    assert index._database._writer is not None
    (timeout,) = index._database._writer[0].execute("PRAGMA busy_timeout").fetchone()
    assert timeout == 60_000


def test_a_process_made_while_another_thread_writes_does_not_hold_its_lock(file: Path) -> None:
    script = f"""
import os, threading
from pathlib import Path
from deep_research.sources.documents import CorpusIndex, Document
index = CorpusIndex(Path({str(file)!r}), lock_timeout=10)
text = Document(title="Seal", text="The seal is a mammal.")
index.add([("first.md", text)])
index.search("seal", 1)
inside, go = threading.Event(), threading.Event()
def write():
    with index._database.writing():
        inside.set()
        go.wait()
thread = threading.Thread(target=write)
thread.start()
inside.wait()
child = os.fork()
if not child:
    import time
    time.sleep(30)  # lives on, with all that it has open
    os._exit(0)
go.set()
thread.join()
index.add([("second.md", text)])
os.kill(child, 9)
os.waitpid(child, 0)
print(len(index.search("mammal", 5)))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.stdout == "2\n", done.stderr
