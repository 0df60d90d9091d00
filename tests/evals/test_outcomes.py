"""Outcomes are kept a line each, and survive a process that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_research.errors import UsageError
from evals.outcomes import Outcome, OutcomeFile

ONE = Outcome(id="q1", sources=("a", "b"), status="completed", searches=2, seconds=0.5)
TWO = Outcome(id="q2", cited=("é",), report="# Ä", completeness=0.25)


def kept(path: Path, *added: Outcome, fresh: bool = False) -> dict[str, Outcome]:
    file = OutcomeFile(path, fresh=fresh)
    for outcome in added:
        file.add(outcome)
    file.close()
    return file.kept


def test_what_was_added_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kept.jsonl"
    assert kept(path, ONE, TWO) == {}
    assert kept(path) == {"q1": ONE, "q2": TWO}


def test_half_a_last_line_is_left_out_and_spoils_nothing_after_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    kept(path, ONE, TWO)
    path.write_bytes(path.read_bytes()[:-20])
    assert kept(path, Outcome(id="q3")) == {"q1": ONE}
    assert kept(path).keys() == {"q1", "q3"}


def test_lines_of_another_form_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"id": "q9"}\n[]\nnull\n\n', encoding="utf-8")
    assert kept(path) == {}


def test_fresh_throws_away_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    kept(path, ONE)
    assert kept(path, TWO, fresh=True) == {}
    assert kept(path) == {"q2": TWO}


def test_two_cannot_keep_in_one_file_at_a_time(tmp_path: Path) -> None:
    file = OutcomeFile(tmp_path / "kept.jsonl")
    with pytest.raises(UsageError, match="Another process is doing this evaluation"):
        OutcomeFile(tmp_path / "kept.jsonl")
    file.close()
    kept(tmp_path / "kept.jsonl")


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="Nothing can be kept"):
        OutcomeFile(tmp_path / "file" / "kept.jsonl")
