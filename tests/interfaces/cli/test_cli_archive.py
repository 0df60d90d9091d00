"""`archive`: what was left out of prompts is listed, given back, and removed when its time is over."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cli_double import QUESTION, Done

from deep_research.budget.archive import Archive, ArchiveRecord
from deep_research.state.journal import utc_now

Cli = Callable[..., Done]
TEXT = "Größe: 3 ½\r\nder zweite Absatz"


@pytest.fixture
def archive(home: Path) -> Archive:
    return Archive(home / "archive", 168, utc_now)


def save(archive: Archive, content: str = TEXT, **fields: object) -> ArchiveRecord:
    given = {"item_id": "src-1", "item_type": "source", "reason": "dropped", "original_tokens": 9} | fields
    return archive.save(content, **given)  # type: ignore[arg-type]


def aged(folder: Path, record: ArchiveRecord, hours: float) -> None:
    path = folder / f"{record.content_hash.removeprefix('sha256:')}.json"
    then = time.time() - hours * 3600
    os.utime(path, (then, then))


def test_the_list_is_newest_first_and_says_when_each_expires(
    plain: Cli, archive: Archive, home: Path
) -> None:
    old, young = save(archive, "an older text"), save(archive)
    aged(home / "archive", old, 150)
    head, first, second = plain("archive", "list").out.splitlines()
    assert head.split() == ["HASH", "KEPT", "SINCE", "EXPIRES", "SIZE"]
    assert first.startswith(young.content_hash[7:19])
    assert "in 7 days" in first
    assert "in 18 h" in second
    listed = plain("archive", "list", "--json").json
    assert [entry["content_hash"] for entry in listed] == [young.content_hash, old.content_hash]
    assert listed[0].keys() == {"content_hash", "archived_at", "expires_at", "size"}


def test_the_beginning_of_a_hash_gives_the_text_back(plain: Cli, archive: Archive, tmp_path: Path) -> None:
    record = save(archive, metadata={"title": "A"})
    digest = record.content_hash.removeprefix("sha256:")
    for given in (digest, digest[:6], record.content_hash, f"sha256:{digest[:6].upper()}"):
        assert plain("archive", "restore", given).out == f"{TEXT}\n"
    assert plain("archive", "restore", digest[:6], "--json").json["metadata"] == {"title": "A"}
    done = plain("archive", "restore", digest[:6], "--out", "original.txt")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "original.txt").read_bytes().decode() == TEXT


def test_a_beginning_that_fits_several_is_refused(plain: Cli, archive: Archive) -> None:
    hashes = [save(archive, f"text {n}").content_hash for n in range(17)]
    digits = [name[7] for name in hashes]
    twice = next(digit for digit in digits if digits.count(digit) > 1)
    done = plain("archive", "restore", twice)
    assert (done.code, done.out) == (2, "")
    assert f"{digits.count(twice)} archived texts have a hash that begins with {twice}." in done.err


def test_what_has_expired_is_removed_and_counted(plain: Cli, archive: Archive, home: Path) -> None:
    for number in range(3):
        aged(home / "archive", save(archive, f"text {number}"), 169 if number else 1)
    assert plain("archive", "clean", "--set", "content_archive.ttl_hours=200").out.startswith("Removed 0 ")
    assert plain("archive", "clean").out == "Removed 2 expired texts, 1 left.\n"
    assert plain("archive", "clean", "--json").json == {"removed": 0}


def test_thousands_are_removed_in_one_go(
    plain: Cli, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deep_research.budget.archive.MAX_REMOVALS", 2)
    for number in range(5):
        save(archive, f"text {number}")
    done = plain("archive", "clean", "--json", "--set", "content_archive.ttl_hours=1e-9")
    assert done.json == {"removed": 5}


def test_another_folder_is_looked_at_and_left_as_it_was(plain: Cli, archive: Archive, tmp_path: Path) -> None:
    save(archive)
    other = tmp_path / "other"
    other.mkdir(mode=0o755)
    (other / "letter.txt").write_text("mine", encoding="utf-8")
    for action in ("list", "clean"):
        done = plain("archive", action, "--set", f"content_archive.dir={other}", "--json")
        assert done.json in ([], {"removed": 0})
    assert stat.S_IMODE(other.stat().st_mode) == 0o755
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lst",), "Unknown action 'lst'. Did you mean 'list'?"),
        (("restore",), "restore needs the hash of a text."),
        (("restore", "x1"), "'x1' is not a hash."),
        (("restore", "../../etc"), "'../../etc' is not a hash."),
        (("restore", "a" * 65), "is not a hash."),
        (("list", "abc"), "archive list takes neither a hash nor --out."),
        (("clean", "--out", "x"), "archive clean takes neither a hash nor --out."),
        (("restore", "abc", "--out", "absent/x"), "--out absent/x cannot be written"),
        (("list", "--set", "content_archive.ttl_hours=-1"), "content_archive.ttl_hours must be"),
        ((), "The following arguments are required: ACTION."),
    ],
)
def test_wrong_use_is_one_line(plain: Cli, home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = plain("archive", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not home.exists()


def test_what_cannot_be_had_is_one_line(plain: Cli, archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for arguments, said in (
        (("restore", "abc"), "No archived text has a hash that begins with abc."),
        (("list", "--set", "content_archive.dir=file"), "file cannot be used: Not a directory."),
    ):
        done = plain("archive", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert said in done.err


def test_an_empty_archive_says_whether_anything_would_come_into_it(plain: Cli) -> None:
    assert plain("archive", "list").err == "Nothing is archived; content_archive.enabled is off.\n"
    on = ("--set", "content_archive.enabled=true")
    assert plain("archive", "list", *on).err == "Nothing is archived.\n"
    assert plain("archive", "list", "--quiet").err == ""


def test_a_run_removes_what_has_expired_where_the_archive_is_on(
    cli: Cli, archive: Archive, home: Path
) -> None:
    aged(home / "archive", save(archive), 1000)
    for switch, left in (("false", 1), ("true", 0)):
        assert cli("run", QUESTION, "--set", f"content_archive.enabled={switch}").code == 0
        assert len(archive.list()) == left


def test_an_archive_that_cannot_be_cleaned_keeps_no_one_from_research(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    on = ("--set", "content_archive.enabled=true", "--set", "content_archive.dir=file")
    done = cli("run", QUESTION, *on, "--log-level", "warning")
    assert done.code == 0
    assert "archive_not_cleaned" in done.err


def test_an_expired_text_says_so_until_it_is_removed(plain: Cli, archive: Archive, home: Path) -> None:
    aged(home / "archive", save(archive), timedelta(days=8).total_seconds() / 3600)
    assert plain("archive", "list").out.splitlines()[1].split()[-3] == "expired"
