"""What a client is told of a call that failed."""

from __future__ import annotations

import logging

import pytest

from deep_research.errors import RunBusyError, UsageError
from deep_research.logs import configure
from deep_research.mcp_server.call_errors import MAX_LINE_CHARACTERS, error_line
from deep_research.mcp_server.tool_arguments import QuestionArguments

SECRET = "sk-proj-" + "a1B2c3D4" * 6


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("It is wrong.", hint="Do it right."), "It is wrong. Do it right."),
        (RunBusyError("Two\nlines.", hint="And\tmore."), "Two lines. And more."),
        (UsageError("A\x1b[31mred\u202e one.", hint=""), "Ared one."),
        (UsageError(f"The key {SECRET} is refused.", hint=""), "The key *** is refused."),
        (UsageError("Cannot read /usr/share/secret/file.txt.", hint=""), "Cannot read …/file.txt."),
    ],
    ids=["problem and hint", "several lines", "control characters", "a key", "a path"],
)
def test_an_error_of_ours_is_one_clean_line(error, line):
    assert error_line(error) == line


def test_a_long_error_is_cut():
    assert len(error_line(UsageError("x" * 100_000, hint=""))) == MAX_LINE_CHARACTERS


def test_what_is_no_error_of_ours_is_named_by_its_type_and_logged(capsys):
    configure("warning")
    try:
        line = error_line(RuntimeError("/root/inside of us"))
    finally:
        configure(None)
        logging.getLogger("deep_research").setLevel(logging.NOTSET)
    assert line.startswith("Unexpected RuntimeError.")
    assert "inside" not in line
    assert "inside of us" in capsys.readouterr().err


def test_a_call_that_names_nothing_leaves_the_options_of_the_server_as_they_are():
    assert QuestionArguments(question="Who?").options() == {}
    assert QuestionArguments(question="Who?", approve_plan=False).options() == {}
    assert QuestionArguments(question="Who?", max_searches=0).options() == {"max_searches": 0}
