from __future__ import annotations

import io
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import QUESTION, Done, Double

from deep_research.interfaces.cli.options import COMMANDS
from deep_research.store.migrations import APPLICATION_ID

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
ABSENT = "deepres-0123456789ab"
SAID = {"answer": ("Yes.",), "steer": ("Mind the lens.",)}  # what a command takes beside the id
WITH_ID = [command.name for command in COMMANDS if "ID" in dict(command.arguments)]


def refused(done: Done, code: int, *parts: str) -> None:
    """One line on stderr that says all of it, nothing on stdout."""
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.startswith("deep-research: ")
    assert len(done.err.splitlines()) == 1, done.err
    for part in parts:
        assert part in done.err


# --- what was typed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ("run", QUESTION, "--max-iteration", "3"),
            "Unknown option '--max-iteration'. Did you mean '--max-iterations'?",
        ),
        (("--max-iteration", "3", "run", QUESTION), "Did you mean '--max-iterations'?"),
        (("run", "--max-iteration"), "Did you mean '--max-iterations'?"),
        (("run", QUESTION, "--qu"), "Unknown option '--qu'."),
        (("list", "--zzzzzzzz"), "Unknown option '--zzzzzzzz'. See `deep-research list --help`."),
        (("list", "--words", "200"), "Unknown option '--words'."),
        (("run", QUESTION, "-x"), "Unknown option '-x'."),
        (("rnu", QUESTION), "Unknown command 'rnu'. Did you mean 'run'?"),
        (("frobnicate",), "Unknown command 'frobnicate'. See `deep-research --help`."),
        ((), "No command was given. See `deep-research --help`."),
        (("--json",), '"hint": "See `deep-research --help`."'),
        (("run",), "required: QUESTION. See `deep-research run --help`."),
        (("status",), "required: ID"),
        (("run", "who", "built", "it?"), "Put the question in quotes."),
        (("list", "surplus"), "Unrecognized arguments: surplus."),
        (("run", QUESTION, "--words"), "expected one argument"),
        (("run", QUESTION, "--json=yes"), "--json"),
        (("run", QUESTION, "--set", "words"), "--set takes NAME=VALUE, got 'words'."),
        (("run", QUESTION, "--set", "=3"), "--set takes NAME=VALUE"),
        (("events", ABSENT, "--after", "-3"), "--after takes a whole number"),
        (("list", "--limit", "few"), "--limit takes a whole number"),
        (("list", "--limit", "0"), "limit must be a whole number above 0"),
        (("list", "--status", "parkd"), "Did you mean 'parked'?"),
        (("list", "--after", "run-1"), "is not a run id"),
        (("list", "--log-level", "loud"), "Unknown log level 'loud'."),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(cli: Cli, argv: tuple[str, ...], said: str) -> None:
    done = cli(*argv)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--set", "x=3"),
            "Unknown setting 'x'. `deep-research doctor` and docs/settings.md name all of them.",
        ),
        (("--set", "max_iteration=3"), "Unknown setting 'max_iteration'. Did you mean 'max_iterations'?"),
        (("--set", "max-iterations=11"), "max_iterations must be between 1 and 10, got 11"),
        (("--max-iterations", "many"), "max_iterations must be a whole number between 1 and 10, got 'many'"),
        (("--max-sub-queries", "1"), "max_sub_queries must be between 2 and 20"),
        (("--max-sources-per-query", "0"), "max_sources_per_query"),
        (("--words", "5"), "report_words must be between 100 and 20000"),
        (("--max-searches", "-1"), "max_searches must be at least 0"),
        (("--max-seconds", "nan"), "max_seconds"),
        (("--preset", "fats"), "Unknown preset 'fats'. Did you mean 'fast'?"),
        (
            ("--model", "opnai:model"),
            "Unknown model service 'opnai' in 'opnai:model'. Did you mean 'openai'?",
        ),
        (("--strict", "2"), "min_supported"),
        (("--strict", "most"), "min_supported"),
        (("--set", "models=analyser=ollama:m"), "Unknown model role 'analyser'. Did you mean 'analyzer'?"),
        (("--set", "search=tavly"), "Unknown search provider 'tavly'."),
        (("--set", "store=paper"), "store must be one of 'sqlite', 'memory', got 'paper'"),
        (("--data-dir", ""), "data_dir must be a path"),
        (("--config", "absent.toml"), "There is no config file absent.toml."),
        (("--config", "."), "The config file . cannot be read"),
        (("--config", "broken.toml"), "The config file broken.toml is not valid TOML, line 2"),
        (("--config", "binary.toml"), "is not UTF-8 text"),
        (("--config", "slip.toml"), "Unknown setting 'max_iteration' in slip.toml. Did you mean"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_starts(
    cli: Cli, tmp_path: Path, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "broken.toml").write_text("[research]\nmax_iterations = \n", encoding="utf-8")
    (tmp_path / "binary.toml").write_bytes(b"[research]\n\xff\xfe")
    (tmp_path / "slip.toml").write_text("[research]\nmax_iteration = 3\n", encoding="utf-8")
    search = {} if "search=tavly" in arguments else {"search": [Double()]}
    refused(cli("run", QUESTION, *arguments, **search), 2, said)
    assert not home.exists()


# --- questions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "The question is empty."),
        (" \n\t", "The question is empty."),
        ("why " * 5_001, "20,003 characters; 20,000 are allowed."),
        ("why\udc80?", "characters that are not text"),
    ],
)
def test_a_question_that_cannot_be_researched_is_refused(cli: Cli, question: str, said: str) -> None:
    refused(cli("run", question), 2, said)
    assert cli("list", "--json").json == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "The question is empty."),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"why " * 250_001, "longer than 1,000,000 bytes"),
    ],
)
def test_a_question_from_stdin_is_checked_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, raw: bytes, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    refused(cli("run", "-"), 2, said)


# --- corpora -----------------------------------------------------------------------------------------------


def test_without_anything_to_search_nothing_starts(plain: Cli) -> None:
    refused(plain("run", QUESTION), 2, "There is nothing to search.", "--corpus PATH")
    assert plain("list", "--json").json == []


@pytest.mark.parametrize(
    ("corpus", "said"), [("absent", "absent"), ("empty", "No readable document"), ("x.bin", "x.bin")]
)
def test_a_corpus_that_cannot_be_searched_is_refused(
    plain: Cli, tmp_path: Path, corpus: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.bin").write_bytes(b"\0")
    refused(plain("run", QUESTION, "--corpus", corpus), 2, said)


def test_the_offline_preset_wants_documents_and_no_provider(plain: Cli) -> None:
    refused(plain("run", QUESTION, "--preset", "offline"), 2, "There is nothing to search.")
    assert plain("run", "Who built the Bell Rock lighthouse?", "--preset", "offline", "--sample").code == 0


# --- run ids -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", WITH_ID)
@pytest.mark.parametrize(
    "run_id",
    ["deepres-123", "../../etc/passwd", "deepres-0123456789AB", "", "%s" * 200, "deepres-0123456789ab\n"],
)
def test_what_is_no_run_id_is_refused_by_every_command(cli: Cli, command: str, run_id: str) -> None:
    refused(
        cli(command, run_id, *SAID.get(command, ())), 2, "is not a run id.", "`deep-research list` shows them"
    )


@pytest.mark.parametrize("command", WITH_ID)
def test_a_run_that_does_not_exist_is_said_by_every_command(cli: Cli, command: str) -> None:
    said = SAID.get(command, ())
    refused(cli(command, ABSENT, *said), 2, f"No run '{ABSENT}'.")
    error = cli(command, ABSENT, *said, "--json").error
    assert error == {
        "code": "run_not_found",
        "message": f"No run '{ABSENT}'.",
        "hint": "`deep-research list` shows the runs of this data directory.",
    }


# --- databases ---------------------------------------------------------------------------------------------


def a_newer_version(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 99")
    db.execute("CREATE TABLE runs (run_id TEXT)")
    db.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all, " * 400)


def a_foreign_program(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()


@pytest.mark.parametrize("command", [("run", QUESTION), ("list",), ("show", ABSENT), ("delete", ABSENT)])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (a_newer_version, "The database was written by deep-research"),
        (garbage, "is damaged or not a database"),
        (a_foreign_program, "belongs to another program"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_and_left_alone(
    cli: Cli, home: Path, damage: Callable[[Path], None], said: str, command: tuple[str, ...]
) -> None:
    home.mkdir()
    damage(home / "runs.db")
    before = (home / "runs.db").read_bytes()
    refused(cli(*command), 1, said)
    assert (home / "runs.db").read_bytes() == before


@pytest.mark.parametrize("command", [("run", QUESTION), ("list",)])
def test_a_data_directory_that_cannot_be_made_is_said(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    refused(cli(*command, "--data-dir", "file/below"), 1, "cannot be opened or written", "--data-dir")
