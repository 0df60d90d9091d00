"""`chat` and `sessions` at the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timed

ROOT = Path(__file__).parents[3]
TALK = "How tall is Cape Hatteras Lighthouse?\n\nAnd how old is it?\n"


def command(*argv, data, typed=None):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEEP_RESEARCH_")}
    env |= {"PYTHONPATH": str(ROOT), "DEEP_RESEARCH_HOME": str(data)}
    return subprocess.run(
        [sys.executable, "-m", "deep_research", *argv],
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env=env,
        cwd=data.parent,
        check=False,
    )


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    data = tmp_path_factory.mktemp("home") / "data"
    return data, command("chat", "--sample", "--session", "my towers", data=data, typed=TALK)


def test_a_chat_answers_line_by_line_and_names_its_sources(talked):
    _, done = talked
    assert done.returncode == 0
    assert "198.49 feet (60.5 metres)" in done.stdout
    assert "[1] Cape Hatteras Lighthouse, cape-hatteras.md" in done.stdout
    assert "Question: How old is Cape Hatteras Lighthouse?" in done.stderr
    assert done.stderr.splitlines()[-1] == "Continue with: deep-research chat '--session=my towers' --sample"


def test_a_session_is_shown_listed_exported_and_deleted(talked, tmp_path):
    data, _ = talked
    listed = json.loads(command("sessions", "list", "--json", data=data).stdout)
    assert [(each["session_id"], each["turns"]) for each in listed] == [("my towers", 2)]
    table = command("sessions", "list", data=data).stdout
    assert "my towers" in table
    assert all(len(line) <= 80 for line in table.splitlines())
    shown = command("sessions", "show", "my towers", data=data).stdout
    assert "> And how old is it?\n  researched: How old is Cape Hatteras Lighthouse?\n" in shown
    command("sessions", "export", "my towers", "--out", str(tmp_path / "s.json"), data=data)
    exported = json.loads((tmp_path / "s.json").read_text())
    assert exported["session_id"] == "my towers"
    assert [turn["user_message"] for turn in exported["turns"]] == [
        line for line in TALK.splitlines() if line
    ]
    command("chat", "--sample", "--session", "other", data=data, typed="Who built Bell Rock?")
    assert command("sessions", "delete", "other", data=data).stderr == "Deleted 1 run.\n"
    assert [
        each["session_id"] for each in json.loads(command("sessions", "list", "--json", data=data).stdout)
    ] == ["my towers"]


def test_a_chat_for_programs_prints_a_line_of_json_for_each_question(tmp_path):
    done = command("chat", "--sample", "--json", data=tmp_path / "data", typed=TALK)
    turns = [json.loads(line) for line in done.stdout.splitlines()]
    assert [turn["question"] for turn in turns] == [
        "How tall is Cape Hatteras Lighthouse?",
        "How old is Cape Hatteras Lighthouse?",
    ]
    assert [turn["searches"] for turn in turns] == [1, 0]


def test_an_error_of_one_question_does_not_end_a_chat(tmp_path):
    typed = f"{'x' * 30_000}\nHow tall is Cape Hatteras Lighthouse?\n"
    done = command("chat", "--sample", "-q", data=tmp_path / "data", typed=typed)
    assert done.returncode == 0
    assert "30,000 characters" in done.stderr
    assert "198.49 feet" in done.stdout


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("sessions", "sing"), 2, "Unknown action 'sing'. Known: delete, export, list, rename, show."),
        (("sessions", "show"), 2, "sessions show needs a session"),
        (("sessions", "list", "--out", "x"), 2, "takes no --out"),
        (("sessions", "list"), 0, "No runs yet"),
        (("chat", "--session", "x" * 300, "--sample"), 2, "A session needs a name"),
    ],
)
def test_wrong_use_is_one_clear_line(tmp_path, argv, code, words):
    done = command(*argv, data=tmp_path / "data", typed="")
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
