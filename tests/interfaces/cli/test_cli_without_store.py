from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import Done

Plain = Callable[..., Done]
RUN = "deepres-0a1b2c3d4e5f"
OF_ALL = (("list",), ("waiting",), ("wake",))
OF_ONE = (
    *((verb, RUN) for verb in ("resume", "pause", "status", "show", "events", "cancel", "delete", "verify")),
    ("events", RUN, "--follow"),
    ("answer", RUN, "The one in Scotland."),
    ("answer", RUN, "The one in Scotland.", "--no-run"),
    ("steer", RUN, "Also the north."),
    ("pack", RUN, "--out", "run.zip"),
)


@pytest.mark.parametrize("words", OF_ALL, ids=" ".join)
def test_where_there_is_no_store_a_command_about_all_runs_says_so_and_makes_none(
    plain: Plain, home: Path, words: tuple[str, ...]
) -> None:
    missing = home / "typo"
    done = plain(*words, "--data-dir", str(missing))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"No runs yet: there is no store of runs in {missing}.\n"
    assert plain(*words, "--data-dir", str(missing), "--json").json == []
    assert not home.exists()


@pytest.mark.parametrize("words", OF_ONE, ids=" ".join)
def test_where_there_is_no_store_a_command_about_one_run_names_the_place_and_makes_none(
    plain: Plain, home: Path, words: tuple[str, ...]
) -> None:
    done = plain(*words, "--data-dir", str(home / "typo"))
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"deep-research: No run '{RUN}': there is no store of runs in {home / 'typo'}. "
        "Name the folder of the run with --data-dir.\n"
    )
    assert not home.exists()


@pytest.mark.parametrize("words", [("show", "other.zip"), ("verify", "other.zip"), ("cancel", "typo")])
def test_where_there_is_no_store_what_is_no_run_is_refused_as_such(
    plain: Plain, home: Path, words: tuple[str, ...]
) -> None:
    done = plain(*words)
    assert done.code == 2
    assert "store" not in done.err
    assert not home.exists()


@pytest.mark.parametrize("words", [("list",), ("show", RUN)], ids=" ".join)
def test_a_database_that_was_emptied_is_named_as_that(
    plain: Plain, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "runs.db").touch()
    done = plain(*words, "--data-dir", str(tmp_path))
    assert f"the database {tmp_path / 'runs.db'} is empty" in done.err
    assert (tmp_path / "runs.db").stat().st_size == 0
