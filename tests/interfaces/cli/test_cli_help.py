from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import Done

from deep_research.errors import ConfigurationError, DeepResearchError, StoreError, UsageError, WorkError
from deep_research.interfaces.cli.console import _BY_OUTCOME, MEANINGS, Exit, of_error, of_run
from deep_research.interfaces.cli.options import COMMANDS, COMMON, Command
from deep_research.interfaces.cli.parsing import candidates, parse
from deep_research.state import AbortReason

Cli = Callable[..., Done]
NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize(
    "argv",
    [["--help"], ["-h"], ["--help-all"], *([name, "--help-all"] for name in NAMES), ["--json", "-h", "run"]],
)
def test_help_fits_eighty_columns_and_has_an_example(cli: Cli, argv: list[str]) -> None:
    done = cli(*argv)
    assert (done.code, done.err) == (0, "")
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert "example:\n  deep-research " in done.out
    assert max(len(line) for line in done.out.splitlines()) > 60


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_help_of_a_command_names_each_of_its_options(cli: Cli, command: object) -> None:
    out = cli(command.name, "--help-all").out  # type: ignore[attr-defined]
    for option in (*COMMON, *command.options):  # type: ignore[attr-defined]
        assert f"  {option.usage} " in out or f"  {option.usage}\n" in out


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_short_help_has_the_options_of_the_command_and_the_common_ones_in_one_line(
    cli: Cli, command: Command
) -> None:
    lines = cli(command.name, "--help").out.splitlines()
    assert lines[-1] == "also: -c PATH, --search NAME, -m NAME, --json, -q, -v; all: --help-all"
    said = "\n".join(lines[:-1])
    assert all(f"  {option.usage}" in said for option in command.options)
    assert not any(f"  {option.usage}" in said for option in COMMON)


def test_short_options_are_the_long_ones() -> None:
    short = parse(["run", "-c", "a", "-c", "b", "-m", "m", "-o", "r.md", "-q", "-v", "Who?"])
    long = parse(
        [
            "run",
            *["--corpus", "a", "--corpus", "b", "--model", "m", "--out", "r.md", "--quiet", "--verbose"],
            "Who?",
        ]
    )
    assert short == long
    assert parse(["-V"]).text == "version"


def test_a_letter_means_one_thing_everywhere() -> None:
    letters = {(o.short, o.flag) for c in COMMANDS for o in (*COMMON, *c.options) if o.short}
    assert len(letters) == len({short for short, _ in letters}) == 5


# Completion


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(map(shlex.quote, words))
    program = f'deep-research() {{ {shlex.quote(sys.executable)} -m deep_research "$@"; }}'
    asked = f"{program}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _deep_research"
    asked += '; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_offers_commands_options_values_and_files(cli: Cli, tmp_path: Path) -> None:
    script = cli("completion", "bash").out
    (tmp_path / "papers.md").touch()
    for words, offered in {
        ("",): NAMES,
        ("re",): ["researcher", "resume", "replay"],
        ("run", "--max-s"): [
            "--max-sub-queries",
            "--max-sources-per-query",
            "--max-searches",
            "--max-seconds",
            "--max-supervisor-retries",
        ],
        ("events", "--max-s"): ["--max-supervisor-retries"],
        ("run", "--fetch-c"): ["--fetch-concurrency", "--fetch-contact", "--fetch-cpu-seconds"],
        ("--json", "events", "--fo"): ["--follow"],
        ("run", "--preset", "f"): ["fast"],
        ("run", "-o", f"{tmp_path}/pa"): [f"{tmp_path}/papers.md"],
        ("run", "--max-usd", ""): [],
        ("verify", f"{tmp_path}/pa"): [f"{tmp_path}/papers.md"],
        ("archive", "r"): ["restore"],
        ("completion", ""): ["bash", "zsh", "fish"],
    }.items():
        assert completed(script, "deep-research", *words) == offered, words


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_option_of_a_command_is_offered_with_its_help(command: Command) -> None:
    offered = dict(line.split("\t") for line in candidates([command.name, "-"]).splitlines())
    for option in (*COMMON, *command.options):
        for flag in option.flags:
            assert offered[flag] == option.help.rstrip(".")


def test_the_commands_are_offered_with_what_they_do() -> None:
    offered = dict(line.split("\t") for line in candidates([""]).splitlines())
    assert offered == {command.name: command.summary.rstrip(".") for command in COMMANDS}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_can_be_read_by_it(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).out
    assert "deep-research completion words -- " in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_an_unknown_shell_is_refused(cli: Cli) -> None:
    done = cli("completion", "fisch")
    assert (done.code, done.err) == (2, "deep-research: Unknown shell 'fisch'. Did you mean 'fish'?\n")


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_example_of_a_command_can_be_read(command: object) -> None:
    words = shlex.split(command.example)  # type: ignore[attr-defined]
    assert parse(words[1:]).command == command.name  # type: ignore[attr-defined]


def test_every_reason_to_abort_has_its_exit_code() -> None:
    assert {reason.value for reason in AbortReason} <= _BY_OUTCOME.keys()
    assert of_run("aborted", "error") == of_run("aborted", "config") == 1
    assert {of_run("aborted", r) for r in ("cancelled", "refused", "timeout", "budget", "no_evidence")} == {3}
    assert (of_run("completed", None), of_run("parked", None), of_run("running", None)) == (0, 4, 1)


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UsageError, 2), (ConfigurationError, 2), (StoreError, 1), (WorkError, 1), (DeepResearchError, 1)],
)
def test_every_error_has_its_exit_code(kind: type[DeepResearchError], code: int) -> None:
    assert of_error(kind("wrong")) == code


def test_the_reference_explains_every_exit_code() -> None:
    assert MEANINGS.keys() == set(Exit)
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 4, 130, 143]


def test_what_follows_two_dashes_is_no_option() -> None:
    args = parse(["run", "--json", "--", "--why is it so?"])
    assert (args.question, args.json) == ("--why is it so?", True)
