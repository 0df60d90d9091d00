"""The word on a plan at the command line: at a terminal line by line, elsewhere the run parks and says how to answer."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cli_double import QUESTION, Done

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
pytestmark = pytest.mark.timed
PROMPT = b"plan> "


def at_terminal(lines: Sequence[str | None], *argv: str, data: Path) -> tuple[int, str, str, list[str]]:
    """A command that has a terminal for stdin and stderr, on which the lines are typed, each once it is asked for one;
    None is the end of the input. Its exit code, what the terminal was sent, its stdout, what was searched."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    witness = data.parent / "searched"
    env = {name: value for name, value in os.environ.items() if not name.startswith("DEEP_RESEARCH_")}
    env |= {"PYTHONPATH": str(ROOT), "TERM": "dumb", "PYTHONIOENCODING": "utf-8", "WITNESS": str(witness)}
    process = subprocess.Popen(
        [sys.executable, str(HERE / "cli_double.py"), "quick", *argv, "--data-dir", str(data)],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=env,
        close_fds=True,
    )
    os.close(slave)
    sent, left, asked = bytearray(), list(lines), 0
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        if not chunk:
            break
        sent += chunk
        while sent.count(PROMPT) > asked:
            asked += 1
            line = left.pop(0) if left else None
            os.write(master, b"\x04" if line is None else f"{line}\n".encode())
    os.close(master)
    out, _ = process.communicate(timeout=300)
    searched = witness.read_text(encoding="utf-8").splitlines() if witness.exists() else []
    return process.returncode, sent.decode(), out.decode(), searched


def run(data: Path, *lines: str | None, more: Sequence[str] = ()) -> tuple[int, str, str, list[str]]:
    given = ("run", QUESTION, "--approve-plan", "--max-iterations", "1", "--set", "max_rewordings=0", *more)
    return at_terminal(lines, *given, data=data)


def test_at_a_terminal_a_list_is_shown_and_edited_line_by_line(home: Path) -> None:
    code, screen, out, searched = run(
        home, "help", "drop 9", "add oil of the lamps", "reword 1 keepers by name", "move 4 1", "ok"
    )
    assert code == 0, screen
    assert "  1. " in screen
    assert "It may take 1 to " in screen
    assert "have it planned again" in screen
    assert "There is no search '9'" in screen
    assert searched[:2] == ["oil of the lamps", "keepers by name"]
    assert out.startswith("#")


def test_at_a_terminal_a_sentence_has_it_planned_again(home: Path) -> None:
    code, screen, _, searched = run(home, "Also consider the harbour of Skerryvore.", "ok")
    assert code == 0, screen
    assert any("Skerryvore" in query for query in searched)


def test_a_refused_edit_is_told_in_a_line_and_the_list_stays(home: Path) -> None:
    code, screen, _, searched = run(home, "add see https://evil.example/x?k=1", "ok", "drop 4", "ok")
    assert code == 0, screen
    assert "cannot be searched: it holds an address" in screen
    assert not any("evil" in query for query in searched)


def test_at_the_end_of_the_input_the_run_stays_parked_and_resume_shows_the_plan_again(home: Path) -> None:
    code, screen, out, searched = run(home, "drop 1", None)
    assert (code, out, searched) == (4, "", [])
    assert "deep-research answer deepres-" in screen
    run_id = "deepres-" + screen.rpartition("deep-research answer deepres-")[2][:12]
    code, screen, _, searched = at_terminal(["ok"], "resume", run_id, data=home)
    assert code == 0, screen
    assert searched


@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",)])
def test_without_a_terminal_the_run_parks_with_exit_4_and_says_how_to_answer(
    cli: Callable[..., Done], more: tuple[str, ...]
) -> None:
    done = cli("run", QUESTION, "--approve-plan", *more)
    assert done.code == 4
    if "--json" in more:
        parking = json.loads(done.out)["state"]["parking"] if "state" in json.loads(done.out) else None
        assert parking is None or parking["kind"] == "plan"
        return
    assert done.out == ""
    (last,) = [line for line in done.err.splitlines() if "Parked" in line]
    assert "your word on the plan of " in last
    assert last.endswith(" approve")
    assert "deep-research answer deepres-" in last


def test_json_at_a_terminal_is_for_a_program_that_is_not_asked(home: Path) -> None:
    code, screen, out, searched = run(home, more=("--json",))
    assert (code, searched) == (4, [])
    assert "plan>" not in screen
    assert json.loads(out)["status"] == "parked"


@pytest.mark.parametrize("answer", ['{"sub_queries": []}', '{"sub_query": "a lens"}', '["a lens"]'])
def test_json_of_another_form_is_no_sentence_and_the_run_stays_parked(
    cli: Callable[..., Done], answer: str
) -> None:
    cli("run", QUESTION, "--approve-plan")
    (waiting,) = json.loads(cli("waiting", "--json").out)
    done = cli("answer", waiting["research_id"], answer)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert json.loads(cli("waiting", "--json").out)[0]["parked_at"] == waiting["parked_at"]


def test_a_run_at_a_cap_says_with_which_answer_it_goes_on(cli: Callable[..., Done]) -> None:
    last = cli("run", QUESTION, "--max-searches", "1", "--set", "on_budget_exhausted=ask").err.splitlines()[
        -1
    ]
    command = last.rpartition("deep-research answer ")[2]
    run_id, value = command[:20], command.partition("'")[2].partition("'")[0]
    assert json.loads(value)["max_searches"] > 1
    assert cli("answer", run_id, value).code == 0


def test_at_a_terminal_no_ends_the_run(home: Path) -> None:
    code, screen, out, searched = run(home, "no")
    assert (code, out, searched) == (3, "", [])
    assert "does not want its plan" in " ".join(screen.split())


def test_what_is_agreed_to_is_printed_without_a_terminal_and_by_waiting(cli: Callable[..., Done]) -> None:
    parked = cli("run", QUESTION, "--approve-plan")
    assert (parked.code, parked.out) == (4, "")
    waiting = cli("waiting")
    plan = json.loads(cli("waiting", "--json").out)[0]["about"]
    for said in (" ".join(parked.err.split()), " ".join(waiting.out.split())):
        assert " ".join(plan["brief"].split()) in said
        for number, each in enumerate(plan["sub_queries"], 1):
            assert f"{number}. {each['query']} ({each['rationale']})" in said
        assert "It may take 1 to " in said
    run_id = json.loads(cli("waiting", "--json").out)[0]["research_id"]
    ended = cli("answer", run_id, "cancel")
    assert ended.code == 3
    assert "does not want its plan" in ended.err
