"""What is typed at the prompt as an answer or a steer: the same value for `answer` and `resume --answer`, and refusals in
the words of the prompt."""

from __future__ import annotations

import json

import pytest

from deep_research import DeepResearch
from deep_research.interfaces.cli.main import main
from deep_research.store import SQLiteStore


@pytest.fixture
def parked(tmp_path, monkeypatch):
    """A run that waits for the word on its plan, in the store of the prompt."""
    monkeypatch.setenv("DEEP_RESEARCH_DATA_DIR", str(tmp_path))

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "light.md").write_text(
        "# The light\n\nAda Brook kept the light of the Orm reef in 1811.\n"
    )
    with DeepResearch(
        store=SQLiteStore(tmp_path / "runs.db"),
        corpus=tmp_path / "docs",
        data_dir=str(tmp_path),
    ) as research:
        yield research, research.run("Who kept the light?", approve_plan=True).research_id


@pytest.mark.parametrize("command", [("answer", "{id}", "7"), ("resume", "{id}", "--answer", "7")])
def test_a_typed_answer_of_the_wrong_form_is_refused_and_the_run_stays_parked(parked, capsys, command):
    research, run_id = parked
    assert main([word.format(id=run_id) for word in command]) == 2
    assert "answer is invalid" in capsys.readouterr().err
    assert research.status(run_id).status == "parked"


@pytest.mark.parametrize("command", [("answer",), ("resume", "--answer")])
def test_an_edited_plan_typed_as_json_is_one_by_either_command(parked, capsys, command):
    research, run_id = parked
    verb, *flag = command
    edit = {"sub_queries": [{"query": "keeper of the Orm light"}]}
    assert main([verb, run_id, *flag, json.dumps(edit)]) == 0, capsys.readouterr().err
    resumed = [event for event in research.events(run_id) if event.name == "run.resumed"]
    assert [event.answer for event in resumed] == [edit]


def test_steering_with_nothing_names_the_flags(parked, capsys):
    _, run_id = parked
    assert main(["steer", run_id]) == 2
    said = capsys.readouterr().err
    assert "--drop, --since or --stop-searching" in said
    assert "drop_sub_query" not in said
