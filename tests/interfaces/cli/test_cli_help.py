from __future__ import annotations

from collections.abc import Callable

import pytest
from cli_double import Done

from deep_research.errors import ConfigurationError, DeepResearchError, StoreError, UsageError, WorkError
from deep_research.interfaces.cli.exits import _BY_OUTCOME, MEANINGS, Exit, of_error, of_run
from deep_research.interfaces.cli.options import COMMANDS, COMMON, parse
from deep_research.state import AbortReason

Cli = Callable[..., Done]
NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize(
    "argv", [["--help"], ["-h"], *([name, "--help"] for name in NAMES), ["--json", "-h", "run"]]
)
def test_help_fits_eighty_columns_and_has_an_example(cli: Cli, argv: list[str]) -> None:
    done = cli(*argv)
    assert (done.code, done.err) == (0, "")
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert "example:\n  deep-research " in done.out
    assert max(len(line) for line in done.out.splitlines()) > 60


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_help_of_a_command_names_each_of_its_options(cli: Cli, command: object) -> None:
    out = cli(command.name, "--help").out  # type: ignore[attr-defined]
    for option in (*COMMON, *command.options):  # type: ignore[attr-defined]
        assert f"  {option.usage} " in out or f"  {option.usage}\n" in out


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_example_of_a_command_can_be_read(command: object) -> None:
    import shlex

    words = shlex.split(command.example)  # type: ignore[attr-defined]
    assert parse(words[1:]).command == command.name  # type: ignore[attr-defined]


def test_every_reason_to_abort_has_its_exit_code() -> None:
    assert {reason.value for reason in AbortReason} <= _BY_OUTCOME.keys()
    assert of_run("aborted", "error") == of_run("aborted", "config") == 1
    assert {of_run("aborted", r) for r in ("cancelled", "timeout", "budget", "no_evidence")} == {3}
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
