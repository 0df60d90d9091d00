"""`memory`: what is remembered about a user is listed, shown, added, changed, taken along and forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import Done

Cli = Callable[..., Done]


@pytest.fixture
def ids(plain: Cli) -> list[str]:
    """Entries of ann, the oldest first."""
    texts = ("preferences", "Short reports, please. " * 10), ("profile", "Keeper of a\nlighthouse.")
    return [plain("memory", "add", *each, "--user", "ann", "--json").json["id"] for each in texts]


def test_the_list_is_newest_first_and_fits_eighty_columns(plain: Cli, ids: list[str]) -> None:
    done = plain("memory", "list", "--user", "ann")
    head, *lines = done.out.splitlines()
    assert head.split() == ["ID", "KIND", "SINCE"]
    assert [line.split()[0] for line in lines[::2]] == ids[::-1]
    assert lines[1] == "    Keeper of a lighthouse."
    assert lines[3].startswith("    Short reports, please. Short")
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert [each["id"] for each in plain("memory", "list", "--user", "ann", "--json").json] == ids[::-1]


def test_a_list_is_by_kinds_and_pages(plain: Cli, ids: list[str]) -> None:
    listed = plain(
        "memory", "list", "--user", "ann", "--kind", "profile", "--kind", "episodes", "--json"
    ).json
    assert [each["id"] for each in listed] == ids[1:]
    page = plain("memory", "list", "--user", "ann", "--limit", "1")
    assert page.err == f"More: add --after {ids[1]}\n"
    rest = plain("memory", "list", "--user", "ann", "--limit", "1", "--after", ids[1])
    assert ids[0] in rest.out
    assert rest.err == ""


def test_an_entry_is_shown_changed_and_forgotten(plain: Cli, ids: list[str], home: Path) -> None:
    shown = plain("memory", "show", ids[0], "--user", "ann").out.splitlines()
    assert [line.split()[0] for line in shown[:3]] == ["id", "kind", "since"]
    assert all(len(line) <= 80 for line in shown)
    changed = plain("memory", "edit", ids[0], "Long reports, please.", "--user", "ann")
    assert (changed.code, changed.out) == (0, f"Changed {ids[0]}.\n")
    assert plain("memory", "show", ids[0], "--user", "ann", "--json").json["text"] == "Long reports, please."
    assert b"Short reports" not in (home / "memory.sqlite3").read_bytes()
    assert plain("memory", "forget", ids[0], "--user", "ann").out == "Forgot 1 entry of ann.\n"
    assert plain("memory", "forget", "--kind", "episodes", "--user", "ann", "--json").json == {"forgotten": 0}
    assert plain("memory", "forget", "--all", "--user", "ann").out == "Forgot 1 entry of ann.\n"
    done = plain("memory", "list", "--user", "ann")
    assert (done.code, done.out, done.err) == (0, "", "Nothing is remembered about ann.\n")


def test_everything_is_taken_along_as_json(plain: Cli, ids: list[str], tmp_path: Path) -> None:
    exported = plain("memory", "export", "--user", "ann").json
    assert exported["user_id"] == "ann"
    assert [each["id"] for each in exported["entries"]] == ids[::-1]
    done = plain("memory", "export", "--user", "ann", "--out", "ann.json")
    assert (done.out, done.err) == ("", "Wrote 2 entries to ann.json.\n")
    assert json.loads((tmp_path / "ann.json").read_text()) == exported


def test_users_are_apart_and_nothing_is_made_for_a_look(plain: Cli, home: Path) -> None:
    assert plain("memory", "list").err == "Nothing is remembered about runs without a user.\n"
    assert plain("memory", "list", "--json").json == []
    assert plain("memory", "forget", "--all").code == 0
    assert not home.exists()
    entry_id = plain("memory", "add", "profile", "Keeper.", "--json").json["id"]
    for user in ("ann", "", "None"):
        assert plain("memory", "list", "--user", user, "--json").json == []
        assert plain("memory", "show", entry_id, "--user", user).code == 2
    assert [each["id"] for each in plain("memory", "list", "--json").json] == [entry_id]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["remember"], "Unknown action 'remember'. Known: add, edit, export, forget, list, show."),
        (["lst"], "Unknown action 'lst'. Did you mean 'list'?"),
        (["show"], "memory show needs ID."),
        (["add"], "memory add needs KIND."),
        (["add", "profile"], "memory add needs TEXT."),
        (["add", "episodes", "x"], "Only runs add episodes"),
        (["add", "dreams", "x"], "Unknown kind of memory 'dreams'."),
        (["add", "profile", "x" * 2_001], "2,001 characters"),
        (["edit", "mem-1", "x"], "no entry 'mem-1'"),
        (["show", "mem-1"], "no entry 'mem-1'"),
        (["forget", "mem-1"], "no entry 'mem-1'"),
        (["forget"], "memory forget needs something to forget."),
        (["forget", "mem-1", "--all"], "memory forget needs something to forget."),
        (["list", "mem-1"], "memory list takes no ID."),
        (["list", "--all"], "memory list takes no --all."),
        (["show", "mem-1", "--kind", "profile"], "memory show takes no --kind."),
        (["list", "--limit", "few"], "--limit takes a whole number"),
        (["list", "--kind", "dreams"], "Unknown kind of memory 'dreams'."),
        (["export", "--out", "/no/such/folder/x"], "cannot be written"),
        (["list", "--set", "memory=nowhere"], "Unknown memory 'nowhere'."),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_wrong_use_is_one_line(plain: Cli, argv: list[str], words: str, home: Path) -> None:
    done = plain("memory", *argv)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1
    error = json.loads(plain("memory", *argv, "--json").err)["error"]
    assert words in f"{error['message']} {error['hint']}"
    assert not home.exists()


def test_a_bad_file_is_one_line(plain: Cli, home: Path) -> None:
    home.mkdir()
    (home / "memory.sqlite3").write_bytes(b"no database" * 100)
    done = plain("memory", "list")
    assert (done.code, done.out) == (1, "")
    assert "is damaged or not a database" in done.err
    assert done.err.count("\n") == 1
