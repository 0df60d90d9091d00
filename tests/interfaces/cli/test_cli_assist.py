"""`assist` at the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import docx
import pytest

pytestmark = pytest.mark.timed

ROOT = Path(__file__).parents[3]
QUESTION = "How tall is the Cape Hatteras Lighthouse?"


@pytest.fixture
def command(tmp_path):
    # Nobody listens at that port: a researcher of this machine is no part of a test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEEP_RESEARCH_")}
    env |= {"PYTHONPATH": str(ROOT), "DEEP_RESEARCH_HOME": str(tmp_path / "data")}
    env |= {"RESEARCHER_SERVICE_URL": "http://127.0.0.1:9"}

    def run(*argv, typed=None, **more):
        return subprocess.run(
            [sys.executable, "-m", "deep_research", "assist", *argv],
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            env=env | more,
            cwd=tmp_path,
            check=False,
        )

    return run


def test_a_plan_of_two_steps_ends_with_a_document_of_the_whole_report(command, tmp_path):
    done = command(QUESTION, "--plan", "research,create_document", "--sample", "--out", "light.docx")
    assert done.returncode == 0, done.stderr
    assert "198.49 feet (60.5 metres)" in done.stdout
    assert f"Document: {tmp_path / 'light.docx'}" in done.stdout
    assert [line.partition(": ")[2] for line in done.stderr.splitlines() if line.startswith("plan-")] == [
        "research, create_document"
    ]
    assert "research: completed" in done.stderr
    words = "\n".join(paragraph.text for paragraph in docx.Document(tmp_path / "light.docx").paragraphs)
    assert "References" in words
    assert all(len(line) <= 80 for line in command("--list").stdout.splitlines())
    (plan,) = json.loads(command("--list", "--json").stdout)
    assert (plan["status"], plan["steps"]) == ("completed", ["research", "create_document"])
    again = command("--resume", plan["id"], "--json")
    assert json.loads(again.stdout)["completed"] == ["research", "create_document"]
    (tmp_path / "mine.docx").write_text("mine")
    refused = command(QUESTION, "--out", "mine.docx")
    assert (refused.returncode, (tmp_path / "mine.docx").read_text()) == (2, "mine")
    (tmp_path / "data" / "plans" / "plan-000000000000.json").write_text("{")
    listed = command("--list")
    assert plan["id"] in listed.stdout
    assert "assist --delete plan-000000000000" in listed.stderr
    assert command("--delete", "plan-000000000000").returncode == 0
    assert command("--list").stderr == ""


def test_a_step_that_fails_says_how_to_go_on(command):
    done = command(QUESTION, "--plan", "create_document")
    assert done.returncode == 1
    first, *_, problem, again = done.stderr.splitlines()
    assert first.startswith("Nothing of http://127.0.0.1:9 is used")
    assert "There is no completed research" in problem
    assert again.startswith("Continue with: deep-research assist --resume=plan-")
    with_file = command(QUESTION, "--plan", "create_document", "--out", "a.html").stderr.splitlines()[-1]
    assert with_file.endswith("--out a.html")


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ((), "needs a request, --resume PLAN, --delete PLAN or --list"),
        (("x", "--plan", ""), "--plan names no capability"),
        (("x", "--out", "r.html", "--format", "docx"), "is no docx"),
        (("x", "--out", "/dev/null.html/x.html", "--plan", "foo"), "cannot be written"),
        (("--delete", "plan-0123456789ab"), "No plan 'plan-0123456789ab'"),
        (("x", "--list"), "Give one of these"),
        (("x", "--plan", "reserch"), "Did you mean 'research'?"),
        (("x", "--format", "pdf"), "Unknown format 'pdf'"),
        (("x", "--out", "report.txt"), "does not end with .html or .docx"),
        (("x", "--agents", "nowhere.toml"), "nowhere.toml cannot be used"),
        (("--resume", "plan-0123456789ab"), "No plan 'plan-0123456789ab'"),
        (("--resume", "../x"), "No plan '../x'"),
        (("--resume", "plan-0123456789ab", "--plan", "research"), "keeps its steps"),
    ],
)
def test_wrong_use_is_one_line(argv, problem, command):
    done = command(*argv, "--sample", RESEARCHER_SERVICE_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert problem in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_small_talk_needs_no_research(command):
    done = command("Hello!")
    assert (done.returncode, done.stdout) == (0, "Hello. Send me a question, and I research it.\n")


def test_the_request_comes_from_stdin(command):
    done = command("-", "--sample", "--quiet", typed=QUESTION)
    assert done.returncode == 0
    assert "198.49 feet" in done.stdout
    assert done.stderr == ""
