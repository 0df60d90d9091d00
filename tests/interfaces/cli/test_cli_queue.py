from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from cli_double import QUESTION, Done

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]


def test_submit_prints_the_id_and_a_worker_does_the_work(cli: Cli) -> None:
    submitted = cli("submit", QUESTION, "--max-iterations", "1")
    assert (submitted.code, submitted.err) == (0, "")
    run_id = submitted.out.strip()
    assert cli("status", run_id, "--json").json["status"] == "queued"
    assert run_id in cli("list", "--status", "queued").out
    worked = cli("worker", "--once", "--concurrency", "2")
    assert (worked.code, worked.out) == (0, "")
    assert worked.err.endswith("Worked on 1 run.\n")
    assert cli("status", run_id, "--json").json["status"] == "completed"
    assert "A worker took run" not in cli("show", run_id).out
    assert cli("worker", "--once", "--json").json == {"runs": 0}


def test_submit_as_json_gives_the_run(cli: Cli) -> None:
    given = ("--idempotency-key", "a", "--priority", "-3", "--not-before", "2999-01-01")
    first, again = (cli("submit", QUESTION, *given, "--json").json for _ in range(2))
    assert first["research_id"] == again["research_id"]
    assert first["status"] == "queued"
    assert datetime.fromisoformat(first["not_before"]) == datetime(2999, 1, 1).astimezone()
    assert [run["research_id"] for run in cli("list", "--json").json] == [first["research_id"]]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("submit",), "QUESTION"),
        (("submit", QUESTION, "--priority", "high"), "--priority takes a whole number"),
        (("submit", QUESTION, "--priority", "1000"), "priority is a whole number from -100 to 100"),
        (("submit", QUESTION, "--not-before", "soon"), "not_before a time such as"),
        (("submit", QUESTION, "--set", "store=memory"), "no worker could find it"),
        (("submit", " "), "The question is empty"),
        (("worker", "--concurrency", "0"), "a whole number from 1"),
        (("worker", "now"), "Unrecognized arguments: now"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_gets_one_line(cli: Cli, words: tuple[str, ...], line: str) -> None:
    done = cli(*words)
    assert done.code == 2
    assert done.out == ""
    assert line in done.err
    assert done.err.count("\n") <= 2
