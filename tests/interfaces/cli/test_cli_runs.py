from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_double import QUESTION, Done, Double

from deep_research import StopResearch
from deep_research.errors import ConfigurationError, SearchError, StoreFullError
from deep_research.research import DeepResearch, ResearchResult
from deep_research.state.events import EVENT_TYPES
from deep_research.store import MemoryStore
from deep_research.store.base import Append
from deep_research.supervisor.hooks import Park, SupervisorHooks

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
ID = re.compile(r"deepres-[0-9a-f]{12}")


def raising(error: Exception) -> Callable[[Any], Any]:
    async def agent(_: Any) -> Any:
        raise error

    return agent


# --- what goes where ---------------------------------------------------------------------------------------


def test_the_report_goes_to_stdout_and_all_else_to_stderr(cli: Cli) -> None:
    done = cli("run", QUESTION)
    assert done.code == 0
    assert done.out.startswith(f"# {QUESTION}")
    assert "Robert Stevenson" in done.out
    assert "sub-queries" in done.err
    assert "Answered: 3 sources" in done.err


def test_files_that_could_not_be_read_are_named_while_it_runs_and_in_the_report(
    plain: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "good.md").write_text("# Bell Rock\n\nThe Bell Rock lighthouse is 35 metres tall.\n")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 and no more")
    done = plain("run", "How tall is the Bell Rock lighthouse?", "--corpus", str(folder))
    said = "A file was not read: bad.pdf (a damaged PDF)."
    assert (done.code, done.err.count(said), done.out.count(said)) == (0, 1, 1)
    assert "35 metres" in done.out


def test_the_last_line_counts_what_there_is_and_says_how_to_show_it_again(cli: Cli) -> None:
    done = cli("run", QUESTION)
    last = done.err.splitlines()[-1]
    assert re.match(
        r"Answered: \d+ sources, \d+ findings, \d+ citations?, \d+ sentences?, all quoted from sources\. ",
        last,
    )
    command = last.partition("Show it again with: ")[2].split()
    again = cli(*command[1:])
    assert again.code == 0
    assert again.out == done.out


def test_a_data_directory_that_was_given_stands_in_the_commands_that_are_printed(cli: Cli) -> None:
    done = cli("run", QUESTION, "--data-dir", "my runs")
    assert done.err.rstrip().endswith("--data-dir 'my runs'")


def test_with_json_stdout_is_one_result_and_stderr_is_silent(cli: Cli) -> None:
    done = cli("run", QUESTION, "--json")
    assert done.err == ""
    assert done.json.keys() == ResearchResult.model_fields.keys()
    assert done.json["status"] == "completed"
    assert {"number", "source_id", "quote", "start", "end", "content_hash"} <= done.json["citations"][
        0
    ].keys()
    assert {"id", "title", "url", "quality", "content_hash"} <= done.json["sources"][0].keys()


def test_quiet_says_nothing_about_a_completed_run(cli: Cli) -> None:
    assert cli("run", QUESTION, "--quiet").err == ""


def test_verbose_has_a_line_for_every_step(cli: Cli) -> None:
    done = cli("run", QUESTION, "--verbose")
    for said in ("\nPlan: ", "\nRead ", "\nWeighed ", "\nDecision: ", "  Planning was evaluated. "):
        assert said in done.err
    assert not [name for name in EVENT_TYPES if name in done.err]


def test_verbose_shows_progress_beside_json(cli: Cli) -> None:
    done = cli("run", QUESTION, "--json", "--verbose")
    assert done.json["status"] == "completed"
    assert "\nPlan: " in done.err


def test_options_may_stand_before_or_after_the_command(cli: Cli) -> None:
    before = cli("--json", "--set", "max_concurrent=2", "run", QUESTION, "--set", "gate_retries=0")
    after = cli("run", "--json", QUESTION, "--set=gate_retries=0")
    assert before.json["report"] == after.json["report"]
    assert before.json["state"]["options"]["gate_retries"] == 0
    assert after.json["state"]["options"]["gate_retries"] == 0


def test_the_options_of_run_reach_the_run(cli: Cli) -> None:
    given = {
        "--max-iterations": "2",
        "--max-sub-queries": "3",
        "--max-sources-per-query": "1",
        "--words": "200",
        "--max-searches": "7",
        "--max-fetches": "9",
        "--max-seconds": "33.5",
        "--system-prompt": "Be brief.",
    }
    done = cli("run", QUESTION, "--json", *(word for pair in given.items() for word in pair))
    options = done.json["state"]["options"]
    assert (options["max_iterations"], options["max_sub_queries"]) == (2, 3)
    assert (options["max_sources_per_query"], options["report_words"]) == (1, 200)
    assert (options["budget"]["max_searches"], options["budget"]["max_seconds"]) == (7, 33.5)
    assert options["budget"]["max_fetches"] == 9
    assert options["system_prompt"] == "Be brief."


def test_set_can_take_a_cap_away(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_MAX_SEARCHES", "0")
    assert cli("run", QUESTION).code == 3
    assert cli("run", QUESTION, "--set", "max_searches=none").code == 0


def test_a_preset_and_a_config_file_are_taken(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[research]\nmax_sub_queries = 4\n", encoding="utf-8")
    done = cli("run", QUESTION, "--json", "--preset", "fast", "--config", "own.toml")
    options = done.json["state"]["options"]
    assert (options["max_iterations"], options["max_sub_queries"]) == (1, 4)


def test_the_question_can_come_from_stdin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"\ufeff{QUESTION}\n".encode())))
    assert cli("run", "-", "--json").json["query"] == QUESTION


def test_the_sample_documents_are_found_and_answer(plain: Cli) -> None:
    done = plain("run", "--sample", "When was the Bell Rock light first shown?", "--max-iterations", "1")
    assert done.code == 0
    assert "1 February 1811" in done.out


def test_documents_are_searched_where_corpus_says(plain: Cli, tmp_path: Path) -> None:
    for name, text in (
        ("one", "The Bell Rock lighthouse was built by Robert Stevenson."),
        ("two", "Nothing."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    done = plain("--corpus", "one", "run", "Who built the Bell Rock lighthouse?", "--corpus", "two", "--json")
    assert done.code == 0
    assert done.json["sources"][0]["url"] == "one/page.md"


# --- --out -------------------------------------------------------------------------------------------------


def test_out_takes_the_report_and_stdout_stays_empty(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", QUESTION, "--out", "report.md")
    assert done.out == ""
    assert "Report in report.md." in done.err
    assert (tmp_path / "report.md").read_text("utf-8").startswith(f"# {QUESTION}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "report.md"]


def test_out_beside_json_takes_the_report(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", QUESTION, "--json", "--out", "report.md")
    assert done.json["report"] == (tmp_path / "report.md").read_text("utf-8")


def test_an_earlier_file_is_replaced_and_keeps_its_mode(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    cli("run", QUESTION, "--out", "report.md")
    assert target.read_text("utf-8").startswith("# Who")
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_link_given_as_out_stays_a_link(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to("real.md")
    cli("run", QUESTION, "--out", "link.md")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text("utf-8").startswith("# Who")


def test_a_device_given_as_out_is_written_to_and_not_replaced(cli: Cli) -> None:
    assert cli("run", QUESTION, "--out", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    "target", [".", "missing/report.md", "file/report.md", "nul\0.md", "~nobody-here/x.md"]
)
def test_a_place_that_cannot_be_written_is_refused_before_the_run(
    cli: Cli, tmp_path: Path, target: str, home: Path
) -> None:
    (tmp_path / "file").touch()
    double = Double()
    done = cli("run", QUESTION, "--out", target, search=[double])
    assert done.code == 2
    assert done.err.startswith("deep-research: --out ")
    assert len(done.err.splitlines()) == 1
    assert double.queries == []
    assert not (home / "runs.db").exists()


def test_a_run_without_a_report_leaves_the_file_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("old", encoding="utf-8")
    assert cli("run", QUESTION, "--out", "report.md", search=[Double(empty=True)]).code == 3
    assert (tmp_path / "report.md").read_text("utf-8") == "old"


# --- how a run ends ----------------------------------------------------------------------------------------


def stopping(*_: Any) -> None:
    raise StopResearch


@pytest.mark.parametrize(
    ("reason", "code", "options", "arguments"),
    [
        ("no_evidence", 3, {"search": [Double(empty=True)]}, ()),
        ("budget", 3, {}, ("--max-searches", "0")),
        ("timeout", 3, {"search": [Double(lambda _: 600.0)]}, ("--set", "task_timeout=0.2")),
        ("cancelled", 3, {"hooks": SupervisorHooks(before_phase=stopping)}, ()),
        ("error", 1, {"agents": {"planner": raising(RuntimeError("broken"))}}, ()),
        ("config", 1, {"agents": {"planner": raising(ConfigurationError("no key"))}}, ()),
    ],
)
def test_an_aborted_run_says_why_in_one_line_and_by_its_exit_code(
    cli: Cli, reason: str, code: int, options: dict[str, Any], arguments: Sequence[str]
) -> None:
    done = cli("run", QUESTION, "--quiet", *arguments, **options)
    assert done.code == code
    assert done.err.startswith(f"Aborted ({reason}): ")
    assert done.out == ""
    again = cli("run", QUESTION, "--json", *arguments, **options)
    assert (again.code, again.json["status"], again.json["reason"]) == (code, "aborted", reason)


def test_without_evidence_the_gaps_are_listed_and_no_report_is_printed(cli: Cli) -> None:
    done = cli("run", QUESTION, search=[Double(empty=True)])
    assert done.out == ""
    _, _, words = done.err.rpartition("Aborted (no_evidence): ")
    advice, *gaps = words.splitlines()
    assert "add documents with --corpus" in advice
    assert gaps
    assert all(gap.startswith("  - Not found: ") for gap in gaps)


def test_where_nothing_could_be_searched_the_last_line_says_how_to_go_on(cli: Cli) -> None:
    away = Double(failing=SearchError("mine cannot be reached: there may be no network."))
    done = cli("run", QUESTION, "--set", "gate_retries=0", search=[away])
    assert done.code == 3
    assert "there may be no network. Fix this, then continue with: deep-research resume" in done.err
    assert "other words" not in done.err


def test_a_run_that_is_stopped_with_findings_prints_a_partial_report(cli: Cli) -> None:
    def late(state: Any, _: Any) -> None:
        if state.findings:
            raise StopResearch

    done = cli("run", QUESTION, hooks=SupervisorHooks(after_phase=late))
    assert done.code == 3
    assert "Partial report" in done.out
    assert "A partial report was written from " in done.err


def test_a_parked_run_says_what_it_waits_for_and_goes_on_with_the_answer(cli: Cli) -> None:
    hooks = SupervisorHooks(think_pause=lambda state, prompt: Park("the editor's word"))
    done = cli("run", QUESTION, hooks=hooks)
    assert done.code == 4
    last = done.err.splitlines()[-1]
    assert last.startswith("Parked: the run waits for the editor's word. Answer with: deep-research resume ")
    run_id = ID.findall(last)[0]
    done = cli("resume", run_id, "--answer", "Go on.", "--with-new-setup", "--json")
    assert (done.code, done.json["status"]) == (0, "completed")


def test_a_cancelled_pause_is_still_answered_and_an_answer_nobody_waits_for_is_wrong_use(cli: Cli) -> None:
    parked = cli("run", QUESTION, "--json", hooks=SupervisorHooks(before_phase=lambda *_: Park("a word")))
    run_id = parked.json["research_id"]
    cli("cancel", run_id)
    shown = cli("show", run_id)
    assert "cancelled while it waited for a word. Answer and continue with: deep-research resume" in shown.err
    assert shown.err.rstrip().endswith("--answer TEXT")
    assert cli("resume", run_id, "--answer", "Go on.", "--with-new-setup").code == 0
    again = cli("resume", run_id, "--answer", "Go on.")
    assert (again.code, again.err) == (
        2,
        f"deep-research: Run '{run_id}' waits for no answer. `deep-research status {run_id}` shows its status.\n",
    )


def test_a_completed_run_is_not_researched_again_by_resume(cli: Cli) -> None:
    first = cli("run", QUESTION, "--json")
    double = Double()
    again = cli("resume", first.json["research_id"], "--json", search=[double])
    assert again.code == 0
    assert again.json["report"] == first.json["report"]
    assert double.queries == []


def test_a_resumed_run_tells_only_what_is_new(cli: Cli) -> None:
    first = cli("run", QUESTION, "--max-searches", "0")
    run_id = ID.findall(first.err)[0]
    done = cli("resume", run_id)
    assert done.err.startswith(f"Resumed run {run_id}\n")
    assert "planning: " not in done.err


def test_a_run_in_memory_offers_no_command_that_could_not_find_it(cli: Cli) -> None:
    done = cli("run", QUESTION, "--set", "store=memory")
    assert done.code == 0
    assert "deep-research show" not in done.err


# --- what must never happen --------------------------------------------------------------------------------


def test_an_unexpected_error_is_one_line(cli: Cli) -> None:
    def broken(**_: Any) -> DeepResearch:
        raise ZeroDivisionError("by zero, api_key=abcdef123456")

    done = cli("list", engine=broken)
    assert done.code == 1
    assert done.err.startswith("deep-research: Unexpected ZeroDivisionError: by zero, api_key=***")
    assert "--log-level debug" in done.err
    assert len(done.err.splitlines()) == 1


def test_debug_logs_show_the_traceback_of_an_unexpected_error(cli: Cli) -> None:
    def broken(**_: Any) -> DeepResearch:
        raise ZeroDivisionError("by zero")

    assert "Traceback (most recent call last)" in cli("list", "--log-level", "debug", engine=broken).err


def test_outside_text_cannot_act_on_the_terminal(cli: Cli) -> None:
    evil = "Is \x1b]0;owned\x07this \x1b[2J\u202eright\u2066? \x9b31mBell Rock lighthouse"
    for done in (
        cli("run", evil),
        cli("run", evil, search=[Double(empty=True)]),
        cli("list"),
        cli("run", evil, "--x\x1b[2J"),
    ):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", done.err)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]", cli("list").out)


def test_a_store_that_fails_on_the_way_is_one_line_after_the_progress(cli: Cli) -> None:
    class Filling(MemoryStore):
        """Full after the third unit."""

        units = 0

        def submit(self, appends: Sequence[Append]) -> None:
            self.units += len(appends)
            if self.units > 3:
                raise StoreFullError("The disk is full.", hint="Free some space and resume the run.")
            super().submit(appends)

    done = cli("run", QUESTION, store=Filling())
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "deep-research: The disk is full. Free some space and resume the run."
    assert "Traceback" not in done.err


# --- the set-up of a run -----------------------------------------------------------------------------------


def budgeted(plain: Cli, corpus: Path, *more: str) -> str:
    """A run that ended for want of searches, and can be resumed."""
    corpus.mkdir(exist_ok=True)
    (corpus / "bell.md").write_text("Robert Stevenson built the Bell Rock lighthouse in 1810.", "utf-8")
    done = plain("run", QUESTION, "--corpus", str(corpus), "--max-searches", "0", *more)
    return ID.findall(done.err)[0]


def test_resume_finds_the_documents_of_a_run(plain: Cli, tmp_path: Path) -> None:
    run_id = budgeted(plain, tmp_path / "docs")
    done = plain("resume", run_id, "--json")
    assert (done.code, done.json["reason"]) == (3, "budget")
    (tmp_path / "docs").rename(tmp_path / "moved")
    gone = plain("resume", run_id)
    assert gone.code == 2
    assert "'docs', which was " in gone.err
    assert plain("resume", run_id, "--corpus", "moved").code == 3


def test_a_run_keeps_its_options_and_resume_takes_no_others(plain: Cli, tmp_path: Path) -> None:
    run_id = budgeted(plain, tmp_path / "docs", "--set", "report_words=300")
    member = plain("resume", run_id, "--tasks-max-steps", "3")
    assert (member.code, member.out) == (2, "")
    assert "The run began with tasks.max_steps=8 and keeps it." in member.err
    refused = plain("resume", run_id, "--set", "report_words=120")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "deep-research: The run began with report_words=300 and keeps it. "
        "Remove report_words, or start another run.\n"
    )
    assert plain("resume", run_id, "--set", "report_words=300").code == 3


def test_resume_refuses_another_setup_in_one_line_and_takes_it_when_told(plain: Cli, tmp_path: Path) -> None:
    run_id = budgeted(plain, tmp_path / "docs", "--set", "reflection=never")
    refused = plain("resume", run_id, "--set", "reflection=always", "--json")
    assert refused.code == 2
    assert refused.error["code"] == "set_up"
    assert "reflection was never and is always" in refused.error["message"]
    assert "--with-new-setup" in refused.error["hint"]
    done = plain("resume", run_id, "--set", "reflection=always", "--with-new-setup", "--json")
    assert any("reflection was never and is always" in notice["message"] for notice in done.json["notices"])
    assert "setup.changed       reflection was never and is always" in plain("events", run_id).out


@pytest.mark.parametrize(
    ("named", "variable", "leave"),
    [
        (("--set", "reflection=always"), None, "Remove --set"),
        (("--set", "reflection=always", "--corpus", "docs"), None, "Remove --corpus and --set"),
        ((), "always", "Change the settings back (`doctor` shows where each comes from)"),
    ],
)
def test_who_resumes_with_another_setup_at_a_prompt_is_told_what_to_type(
    plain: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: tuple[str, ...],
    variable: str | None,
    leave: str,
) -> None:
    run_id = budgeted(plain, tmp_path / "docs", "--set", "reflection=never")
    if variable:
        monkeypatch.setenv("DEEP_RESEARCH_REFLECTION", variable)
    assert plain("resume", run_id, *named).err.splitlines()[-1] == (
        "deep-research: The run began with another set-up: reflection was never and is always. "
        f"{leave} to continue as before, or add --with-new-setup to continue with the new set-up."
    )


def test_a_cap_on_searches_is_told_once_and_no_round_begins_without_one(plain: Cli) -> None:
    question = "Who built Bell Rock, what lamps has Eddystone, and how does a zebra tango with gryphons?"
    done = plain("run", "--sample", question, "--max-searches", "2", "--max-iterations", "3")
    assert [line for line in done.err.splitlines() if line.startswith("Round")] == []
    assert done.err.count("The cap of 2 searches was reached") == 1
    told = [line for line in done.out.splitlines() if "The cap of 2 searches was reached" in line]
    last = plain("show", re.findall(r"deepres-\w+", done.err)[-1], "--json").json
    assert told == [f"- {limit['message']}" for limit in last["limits"] if limit["name"] == "max_searches"]
    assert len(told) == 1


def test_on_a_terminal_a_report_is_shown_without_escapes_and_elsewhere_it_is_markdown(
    plain: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("The cache_key of foo [draft] is <b>3</b> &#27;[2J and 5 &lt; 6.\n")
    file = tmp_path / "report.md"
    ran = plain("run", "What is the cache_key of foo?", "--corpus", "a.txt")
    shown = ("show", re.findall(r"deepres-\w+", ran.err)[-1])
    assert r"of foo \[draft\] is &lt;b>3" in ran.out == plain(*shown).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    screen = plain(*shown).out
    assert "of foo [draft] is <b>3</b> " in screen
    assert "\x1b" not in screen
    plain(*shown, "--out", str(file))
    assert file.read_text() == ran.out


def test_a_report_can_be_written_to_a_pipe(cli: Cli) -> None:
    reading, writing = os.pipe()
    done = cli("run", QUESTION, "--out", f"/dev/fd/{writing}")
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        assert pipe.read().startswith(f"# {QUESTION}")
    assert (done.code, done.out) == (0, "")
