"""The archive: whole records or none, its owner's alone, and a folder whose content nobody vouches for."""

import errno
import json
import multiprocessing
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from deep_research.budget import archive as module
from deep_research.budget.archive import Archive
from deep_research.errors import (
    ContentMissingError,
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    UsageError,
)
from deep_research.state.identity import sha256_hex

START = datetime(2024, 1, 15, 10, 30, tzinfo=UTC)


@pytest.fixture
def clock():
    """A clock that stands until somebody sets ``now``."""
    made = Mock(now=START)
    made.side_effect = lambda: made.now
    return made


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "archive"


@pytest.fixture
def archive(folder, clock):
    return Archive(folder, 168, clock)


def save(archive, content="The full text.", **fields):
    given = {"item_id": "src-001", "item_type": "source", "reason": "dropped", "original_tokens": 5_000}
    return archive.save(content, **(given | fields))


def test_a_record_is_a_file_with_the_names_of_the_spec(archive, folder):
    record = save(archive, "Größe 3 ½", metadata={"url": "https://example.com/article", "title": "A"})
    digest = sha256_hex("Größe 3 ½".encode())
    (path,) = folder.iterdir()
    assert path.name == f"{digest}.json"
    named = {"content_hash": f"sha256:{digest}", "content": "Größe 3 ½", "item_id": "src-001"}
    kept = {"archived_at": "2024-01-15T10:30:00Z", "archive_reason": "dropped", "original_tokens": 5_000}
    about = {"item_type": "source", "metadata": {"url": "https://example.com/article", "title": "A"}}
    assert json.loads(path.read_text("utf-8")) == named | kept | about
    assert archive.get(record.content_hash) == record


def test_folder_and_files_are_their_owners_alone(archive, folder):
    folder.mkdir(parents=True, mode=0o777)
    folder.chmod(0o777)
    old = os.umask(0)
    try:
        save(archive)
    finally:
        os.umask(old)
    (path,) = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)


def test_an_equal_text_is_one_record_the_later_one(archive, clock):
    save(archive)
    clock.now += timedelta(hours=1)
    record = save(archive, item_id="src-002")
    assert archive.get(record.content_hash).item_id == "src-002"
    assert [entry.archived_at for entry in archive.list()] == [clock.now]


def test_what_is_not_there_is_told(archive, folder):
    assert (archive.list(), archive.clean()) == ([], 0)
    assert not folder.exists()
    for name in (f"sha256:{'0' * 64}", "../../etc/passwd", "sha256:../x", "", "0" * 64):
        with pytest.raises(ContentMissingError):
            archive.get(name)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff\xfe", b'{"content": "x"}', b"[" * 100_000], ids=lambda body: body[:4]
)
def test_a_damaged_file_is_told(archive, folder, body):
    record = save(archive)
    next(folder.iterdir()).write_bytes(body)
    with pytest.raises(StoreDamagedError, match="no record can be read from it"):
        archive.get(record.content_hash)


@pytest.mark.parametrize("field", ["content", "content_hash"])
def test_a_text_that_is_not_the_one_it_is_named_by_is_told(archive, folder, field):
    record = save(archive)
    (path,) = folder.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: "another"}))
    with pytest.raises(StoreDamagedError, match="not the one it is named by"):
        archive.get(record.content_hash)


def test_what_is_older_than_it_is_kept_is_removed(archive, clock):
    old = save(archive, "old").content_hash
    clock.now += timedelta(hours=100)
    young = save(archive, "young").content_hash
    clock.now += timedelta(hours=68)
    assert archive.clean() == 1
    assert [entry.content_hash for entry in archive.list()] == [young]
    with pytest.raises(ContentMissingError):
        archive.get(old)


def test_cleaning_is_bounded_and_takes_the_oldest_first(archive, clock, monkeypatch):
    hashes = []
    for content in "bcade":
        hashes.append(save(archive, content).content_hash)
        clock.now += timedelta(hours=1)
    assert [entry.content_hash for entry in archive.list()] == hashes
    monkeypatch.setattr(module, "MAX_REMOVALS", 3)
    clock.now += timedelta(hours=200)
    assert archive.clean() == 3
    assert [entry.content_hash for entry in archive.list()] == hashes[3:]


def test_what_others_put_there_is_never_touched(archive, folder, tmp_path, clock):
    save(archive)
    (path,) = folder.iterdir()
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (folder / "notes.txt").write_text("mine")
    (folder / "ABC.json").write_text("{}")
    (folder / ("a" * 64 + ".json")).symlink_to(secret)
    (folder / ("b" * 64 + ".json")).mkdir()
    os.mkfifo(folder / ("c" * 64 + ".json"))
    (folder / ".x.tmp").write_text("")
    for entry in (secret, folder / "notes.txt", folder / "ABC.json", folder / ".x.tmp"):
        os.utime(entry, (0, 0))
    assert len(archive.list()) == 1
    for name in "abc":
        with pytest.raises(StoreDamagedError):
            archive.get(f"sha256:{name * 64}")
    clock.now += timedelta(days=3_000)
    assert archive.clean() == 1
    assert not path.exists()
    assert len(list(folder.iterdir())) == 6
    assert secret.exists()


def test_a_link_in_the_place_of_a_record_is_replaced_and_not_followed(archive, folder, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    folder.mkdir(parents=True)
    path = folder / f"{sha256_hex(b'text')}.json"
    path.symlink_to(victim)
    record = save(archive, "text")
    assert victim.read_text() == "untouched"
    assert not path.is_symlink()
    assert archive.get(record.content_hash) == record


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_a_folder_that_is_none_is_refused(archive, folder, tmp_path, kind):
    folder.parent.mkdir()
    if kind == "file":
        folder.write_text("")
    else:
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / ("elsewhere" if kind == "link" else "nowhere"))
    with pytest.raises(StoreReadOnlyError, match=r"content_archive\.dir"):
        save(archive)
    assert list((tmp_path / "elsewhere").iterdir() if kind != "file" else []) == []


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.ENOSPC, StoreFullError), (errno.EROFS, StoreReadOnlyError)]
)
def test_a_save_that_fails_leaves_nothing_behind(archive, folder, monkeypatch, number, raised):
    kept = save(archive, "kept")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(number, os.strerror(number))))
    with pytest.raises(raised, match="cannot be used"):
        save(archive, "lost")
    monkeypatch.undo()
    assert [path.name for path in folder.iterdir()] == [f"{kept.content_hash[7:]}.json"]


def test_what_an_interrupted_save_left_goes_with_the_next_cleaning(archive, folder):
    save(archive)
    left = folder / f".{'a' * 64}.{'b' * 16}.tmp"
    left.write_text("{")
    assert (len(archive.list()), archive.clean(), len(archive.list())) == (1, 1, 1)
    assert not left.exists()


def test_what_is_no_text_is_refused(archive, folder):
    with pytest.raises(UsageError):
        save(archive, "half a pair \ud800")
    assert not folder.exists()


def _busily(folder, turn):
    archive = Archive(folder, 1, lambda: START + timedelta(hours=turn))
    for n in range(15):
        record = save(archive, f"text {n % 5}", item_id=f"{turn}")
        with suppress(ContentMissingError):  # another may have cleaned it: to that one it is old
            assert archive.get(record.content_hash).content == record.content
        archive.clean()


@pytest.mark.timed
def test_processes_that_share_a_folder_find_whole_records_only(folder):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_busily, args=(folder, turn)) for turn in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    archive = Archive(folder, 1, lambda: START)
    assert all(archive.get(entry.content_hash) for entry in archive.list())
    assert all(path.suffix == ".json" for path in folder.iterdir())
