from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cli_double import QUESTION, Done, Double

from deep_research import StopResearch
from deep_research.supervisor.hooks import SupervisorHooks

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
FIELDS = ["research_id", "query", "user_id", "session_id", "status", "reason", "phase", "iteration"]
FIELDS += ["created_at", "updated_at", "message", "waiting_for", "until", "pause_id", "parked_kind"]
FIELDS += ["priority", "not_before", "seconds"]
FIELDS += [
    "searches_done",
    "searches_planned",
    "sources",
    "findings",
    "tokens",
    "cost_usd",
    "answer_coverage",
]
DETAIL = [*FIELDS, "answers", "limits", "notices"]


@pytest.fixture
def run_id(cli: Cli) -> str:
    return str(cli("run", QUESTION, "--json").json["research_id"])


def test_list_is_empty_before_the_first_run(cli: Cli) -> None:
    done = cli("list")
    assert (done.code, done.out, done.err) == (0, "", "No runs yet.\n")
    assert cli("list", "--json").json == []


def test_list_shows_the_newest_first_within_eighty_columns(cli: Cli) -> None:
    for number in (1, 2):
        cli("run", f"{QUESTION} {'Tell me more about it. ' * 5}{number}", "--quiet")
    done = cli("list")
    assert done.out.startswith("RUN ")
    assert len(re.findall(r"^deepres-", done.out, re.M)) == 2
    assert all(len(line) <= 80 for line in done.out.splitlines())
    runs = cli("list", "--json").json
    assert [run["query"][-1] for run in runs] == ["2", "1"]
    assert list(runs[0]) == FIELDS


def test_list_says_what_each_run_was_asked_how_far_it_came_and_why_it_stands(cli: Cli) -> None:
    from deep_research.supervisor.hooks import Park

    until = datetime(2027, 3, 1, 12, tzinfo=UTC)
    cli("run", QUESTION, "--quiet")
    cli("run", QUESTION, "--quiet", search=[Double(empty=True)])
    cli("run", QUESTION, hooks=SupervisorHooks(before_phase=lambda *_: Park("a\x1b[2J word", until=until)))
    lines = cli("list").out.splitlines()[1:]
    parked, aborted, completed = lines[:4], lines[4:8], lines[8:]
    assert {parked[1], aborted[1], completed[1]} == {f"    {QUESTION}"}
    assert parked[2].startswith("    searched 0 of 0, 0 sources, 0 findings, ")
    assert parked[3] == f"    waits for a word until {until.astimezone():%Y-%m-%d %H:%M}"
    assert aborted[3].startswith("    No source")
    assert re.fullmatch(r"    searched \d+ of \d+, 3 sources, \d+ findings, [\d.]+ s", completed[2])
    assert len(completed) == 3
    assert all(len(line) <= 80 for line in lines)


def test_list_takes_filters_and_pages(cli: Cli) -> None:
    for number in range(3):
        cli("run", f"{QUESTION} {number}", "--quiet")
    cli("run", "Who was it?", "--quiet", search=[Double(empty=True)])
    ids = [run["research_id"] for run in cli("list", "--json").json]
    for found, options in (
        (ids[1:], ("--status", "completed")),
        (ids[:1], ("--status", "aborted", "--text", "WHO WAS")),
        ([], ("--user", "ada", "--session", "s-1")),
        (ids[:2], ("--limit", "2")),
        (ids[2:], ("--after", ids[1], "--limit", "2")),
        (ids[2:3], ("--status=completed", "--after", ids[1], "--limit", "1")),
    ):
        assert [run["research_id"] for run in cli("list", "--json", *options).json] == found
    assert cli("list", "--limit", "2").err == f"More: add --after {ids[1]}\n"
    assert cli("list", "--limit", "4").err == ""
    assert cli("list", "--user", "ada").err == "No runs match.\n"


def test_status_says_why_in_whole_and_how_far_a_run_came(cli: Cli) -> None:
    run_id = cli("run", QUESTION, "--json", search=[Double(empty=True)]).json["research_id"]
    lines = cli("status", run_id).out.splitlines()
    names = [line[:10].strip() for line in lines]
    assert [name for name in names if name] == [
        *(
            "run",
            "question",
            "status",
            "why",
            "phase",
            "answered",
            "searches",
            "sources",
            "findings",
            "tokens",
            "dollars",
        ),
        *("seconds", "created", "updated", "answers"),
    ]
    message = cli("status", run_id, "--json").json["message"]
    assert message in " ".join(line[10:] for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_status_says_where_a_run_stands(cli: Cli, run_id: str) -> None:
    done = cli("status", run_id)
    assert done.code == 0
    assert f"run       {run_id}" in done.out
    assert "status    completed" in done.out
    summary = cli("status", run_id, "--json").json
    assert list(summary) == DETAIL
    assert summary["status"] == "completed"


def test_status_and_show_answer_about_an_aborted_run_with_code_0(cli: Cli) -> None:
    run_id = cli("run", QUESTION, "--json", search=[Double(empty=True)]).json["research_id"]
    assert "status    aborted (no_evidence)" in cli("status", run_id).out
    done = cli("show", run_id)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("Aborted (no_evidence)")
    assert cli("show", run_id, "--json").json["reason"] == "no_evidence"


def test_show_prints_the_result_again(cli: Cli, run_id: str, tmp_path: Any) -> None:
    shown = cli("show", run_id)
    assert shown.out.startswith("# Who built")
    assert shown.err == ""
    assert cli("show", run_id, "--json").json["research_id"] == run_id
    cli("show", run_id, "--out", "again.md")
    assert (tmp_path / "again.md").read_text("utf-8") == cli("show", run_id).out


def test_events_are_one_line_each_and_numbered_without_a_gap(cli: Cli, run_id: str) -> None:
    lines = cli("events", run_id, "--json").out.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run.created"
    assert events[-1]["type"] == "run.completed"
    plain = cli("events", run_id).out.splitlines()
    assert len(plain) == len(events)
    assert all(len(line) <= 80 for line in plain)


def test_events_after_a_number_leave_out_what_came_before(cli: Cli, run_id: str) -> None:
    every = cli("events", run_id, "--json").out.splitlines()
    assert cli("events", run_id, "--json", "--after", "5").out.splitlines() == every[5:]
    assert cli("events", run_id, "--after", "99999").out == ""


def test_events_can_be_followed_to_the_end_of_a_run(cli: Cli, run_id: str) -> None:
    assert cli("events", run_id, "--json", "--follow").out == cli("events", run_id, "--json").out


def test_cancel_ends_a_run_that_waits(cli: Cli) -> None:
    from deep_research.supervisor.hooks import Park

    parked = cli("run", QUESTION, "--json", hooks=SupervisorHooks(before_phase=lambda *_: Park("a word")))
    run_id = parked.json["research_id"]
    assert (parked.code, parked.json["message"]) == (4, "a word")
    done = cli("cancel", run_id, "--json")
    assert (done.code, done.json["status"], done.json["reason"]) == (0, "aborted", "cancelled")
    assert (list(done.json), done.err) == (FIELDS, "")
    assert cli("cancel", run_id).err == "Nothing to cancel: the run is already aborted.\n"


def test_cancel_of_a_run_that_has_ended_changes_nothing_and_says_so(cli: Cli, run_id: str) -> None:
    events = cli("events", run_id).out
    done = cli("cancel", run_id)
    assert done.code == 0
    assert "status    completed" in done.out
    assert done.err == "Nothing to cancel: the run is already completed.\n"
    assert cli("cancel", run_id, "--json").err == ""
    assert cli("events", run_id).out == events


def test_delete_removes_a_run(cli: Cli, run_id: str) -> None:
    other = cli("run", f"{QUESTION} Again.", "--json").json["research_id"]
    assert cli("delete", run_id, "--json").json == {"deleted": run_id}
    assert cli("delete", other).out == f"Deleted {other}.\n"
    assert cli("list", "--json").json == []
    assert cli("show", run_id).code == 2


def test_what_was_found_so_far_is_shown_of_a_stopped_run(cli: Cli) -> None:
    def stop(state: Any, _: Any) -> None:
        if state.sources:
            raise StopResearch

    run_id = cli("run", QUESTION, "--json", hooks=SupervisorHooks(after_phase=stop)).json["research_id"]
    assert cli("show", run_id, "--json").json["sources"]
