from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from cli_double import QUESTION, Done

from deep_research import __version__
from deep_research.setting_fields import fields_by_path
from deep_research.settings import Settings
from deep_research.store.migrations import MIGRATIONS

Cli = Callable[..., Done]
SECRET = "sk-ant-0123456789abcdef0123"


def found(done: Done, name: str) -> list[dict[str, str]]:
    return [check for check in done.json["checks"] if check["name"] == name]


def test_a_fresh_machine_is_well(plain: Cli, home: Path) -> None:
    done = plain("doctor", "--json")
    assert (done.code, done.err, done.json["ok"]) == (0, "", True)
    assert found(done, "deep-research")[0]["detail"] == __version__
    assert found(done, "database")[0]["detail"] == "does not exist yet"
    assert not home.exists()


def test_the_text_fits_eighty_columns_and_names_every_setting(plain: Cli, tmp_path: Path) -> None:
    done = plain("doctor", "--set", f"system_prompt={'long ' * 60}", "--data-dir", "/".join(["deep"] * 30))
    assert done.code == 0
    words = [word for line in done.out.splitlines() for word in line.split() if len(word) > 50]
    assert all(len(line) <= 80 for line in done.out.splitlines() if not any(word in line for word in words))
    for name in fields_by_path(Settings):
        assert f"\n{name} " in done.out


@pytest.mark.timed
def test_each_setting_comes_with_its_value_and_origin(
    plain: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_GATE_RETRIES", "3")
    (tmp_path / "own.toml").write_text("[research]\nmax_concurrent = 2\n", encoding="utf-8")
    done = plain("doctor", "--json", "--preset", "fast", "--config", "own.toml", "--set", "hook_timeout=7")
    lines = {line["name"]: (line["value"], line["origin"]) for line in done.json["settings"]}
    assert lines["gate_retries"] == ("3", "DEEP_RESEARCH_GATE_RETRIES")
    assert lines["max_concurrent"] == ("2", "own.toml")
    assert lines["max_iterations"] == ("1", "preset fast")
    assert lines["hook_timeout"] == ("7", "argument")
    assert lines["lease_ttl"] == ("15", "default")
    assert lines.keys() == fields_by_path(Settings).keys()


def test_the_corpus_is_counted_and_what_was_skipped_is_said(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "good.md").write_text("# Good\n\nThe Bell Rock lighthouse.\n", encoding="utf-8")
    (tmp_path / "docs" / "bad.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    done = plain("doctor", "--json", "--corpus", "docs")
    counted, many, skipped = found(done, "corpus")
    assert many["detail"] == "1 file or folder was not read"
    assert done.code == 0
    assert counted["detail"].startswith("1 document, 1 passage in ")
    assert (skipped["state"], skipped["detail"].partition(":")[0]) == ("note", "skipped bad.md")


def test_every_file_that_was_skipped_is_named_when_asked_for(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(30):
        (tmp_path / "docs" / f"bad{number:02}.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    for code in (1, 0):  # without a document that can be read, and with one
        few, every = (
            [
                check["detail"]
                for check in found(plain("doctor", "--json", "--corpus", "docs", *more), "corpus")
            ]
            for more in ((), ("--skipped",))
        )
        assert few[-1] == "and 10 more skipped; --skipped names all of them"
        assert [line for line in every if "skipped" in line] == [
            f"skipped bad{number:02}.md: binary data, not text" for number in range(30)
        ]
        assert plain("doctor", "--corpus", "docs", "--skipped").code == code
        assert "bad29.md" in plain("doctor", "--corpus", "docs", "--skipped").out
        (tmp_path / "docs" / "good.md").write_text("# Good\n\nThe Bell Rock lighthouse.\n", encoding="utf-8")


def test_a_database_in_use_is_counted_and_left_as_it_was(plain: Cli, cli: Cli, home: Path) -> None:
    cli("run", QUESTION)
    before = (home / "runs.db").read_bytes()
    done = plain("doctor", "--json")
    assert found(done, "database")[0]["detail"].startswith(f"version {len(MIGRATIONS)}, 1 run, ")
    assert (home / "runs.db").read_bytes() == before
    assert {p.name for p in home.iterdir()} <= {"runs.db", "runs.db.lock"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("settings", ("--set", "max_iterations=99")),
        ("settings", ("--set", "nonsense=1")),
        ("settings", ("--config", "absent.toml")),
        ("model", ("--model", "some:model")),
        ("data directory", ("--data-dir", "file/below")),
        ("corpus", ("--corpus", "absent")),
        ("search", ("--set", "search=tavly")),
        ("search", ("--local-only", "--search", "web")),
    ],
)
def test_what_is_broken_is_said_and_the_rest_still_looked_at(
    plain: Cli, tmp_path: Path, name: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    done = plain("doctor", "--json", *arguments)
    assert (done.code, done.json["ok"]) == (1, False)
    assert "broken" in [check["state"] for check in found(done, name)]
    assert found(done, "packages")
    assert plain("doctor", *arguments).code == 1


def garbage(path: Path) -> None:
    path.write_bytes(b"no database " * 1000)


def newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 1684366704")
    db.execute("PRAGMA user_version = 99")
    db.close()


def torn(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[8192:24576] = b"\xa5" * 16384
    path.write_bytes(raw)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [garbage, newer, torn, a_folder])
def test_a_damaged_database_is_found(
    plain: Cli, cli: Cli, home: Path, damage: Callable[[Path], None]
) -> None:
    cli("run", QUESTION)
    if damage is newer:
        (home / "runs.db").unlink()
    damage(home / "runs.db")
    done = plain("doctor", "--json")
    assert done.code == 1
    assert found(done, "database")[-1]["state"] == "broken"


def test_no_secret_is_printed(plain: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    arguments = ("--set", f"system_prompt=use {SECRET}", "--corpus", f"docs?api_key={SECRET}")
    for extra in ((), ("--json",)):
        done = plain("doctor", *arguments, *extra)
        assert SECRET not in done.out + done.err


def test_a_look_that_fails_unexpectedly_is_itself_a_finding(
    plain: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr("deep_research.interfaces.cli.doctor.version", broken)
    done = plain("doctor", "--json")
    assert done.code == 1
    assert found(done, "packages")[0]["detail"] == "ZeroDivisionError: odd"


def test_where_nothing_reads_pdfs_it_is_said_which_formats_remain(
    plain: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(plain("doctor", "--json"), "readers") == []
    monkeypatch.setitem(sys.modules, "liteparse.parser", None)
    (note,) = found(plain("doctor", "--json"), "readers")
    assert note["state"] == "note"
    assert "Word, web pages, Markdown, text, tables and JSON are still read" in note["detail"]


def test_a_reader_of_another_package_that_cannot_be_loaded_is_named_as_broken(
    plain: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "the reader 'note' cannot be loaded (ImportError: no)"
    monkeypatch.setattr("deep_research.sources.extract.readers.unloadable", lambda: (line,))
    done = plain("doctor", "--json")
    (check,) = found(done, "readers")
    assert (check["state"], check["detail"], done.code) == ("broken", line, 1)


def test_a_library_that_not_every_machine_has_is_told_by_what_is_lost_without_it(
    plain: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_of_it(name: str) -> str:
        if name == "liteparse":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("deep_research.interfaces.cli.doctor.version", none_of_it)
    done = plain("doctor", "--json")
    assert [check["state"] for check in found(done, "packages")] == ["ok"]
    assert done.code == 0
