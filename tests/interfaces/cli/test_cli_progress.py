from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_double import QUESTION, Done
from every_event import MISHAPS

from deep_research.interfaces.cli import progress
from deep_research.interfaces.cli.console import Console
from deep_research.interfaces.cli.progress import ASCII, Count, Marks, picture
from deep_research.interfaces.cli.session import Look
from deep_research.presentation import phrases
from deep_research.presentation.event_text import in_words, steps
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state import events as ev
from deep_research.state.reducer import Fold
from deep_research.testing import sample_log

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ESCAPE = re.compile(r"\x1b\[(\d*)([A-Za-z])")


class Screen:
    """As much of a terminal as the progress uses: lines, moving up, clearing."""

    def __init__(self) -> None:
        self.rows = [""]
        self.row = 0
        self.widest = 0

    def feed(self, data: str) -> None:
        place = 0
        while place < len(data):
            escape = ESCAPE.match(data, place)
            if escape:
                self._obey(escape[1], escape[2])
                place = escape.end()
                continue
            self._write(data[place])
            place += 1

    def _obey(self, number: str, command: str) -> None:
        if command == "A":
            self.row -= int(number)
            assert self.row >= 0, "moved above the first line"
        elif command == "K":
            self.rows[self.row] = ""
        elif command == "J":
            del self.rows[self.row + 1 :]
            self.rows[self.row] = ""
        else:
            assert command == "m", f"unexpected escape sequence {command}"

    def _write(self, character: str) -> None:
        if character == "\n":
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append("")
        elif character != "\r":
            assert character.isprintable(), f"control character {character!r}"
            self.rows[self.row] += character
            self.widest = max(self.widest, phrases.width(self.rows[self.row]))


def on_terminal(*argv: str, columns: int, lines: int = 24, **environment: str) -> tuple[int, str, str]:
    """A command whose stderr is a terminal: its exit code, what the terminal was sent, its stdout."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [sys.executable, str(HERE / "cli_double.py"), *argv]
    env = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"} | environment
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, env=env, close_fds=True
    )
    os.close(slave)
    sent = bytearray()
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        if not chunk:
            break
        sent += chunk
    os.close(master)
    out, _ = process.communicate(timeout=300)
    return process.returncode, sent.decode(), out.decode()


@pytest.mark.parametrize("columns", [80, 40])
def test_on_a_terminal_progress_is_redrawn_in_place_within_its_width_and_taken_away(columns: int) -> None:
    question = f"\u202e{QUESTION} \x1b\x07"
    code, sent, out = on_terminal("steady", "run", question, columns=columns)
    assert code == 0, sent
    screen = Screen()
    screen.feed(sent)
    assert "gathering" in sent
    assert "✓" in sent
    assert screen.widest < columns
    left = [row for row in screen.rows if row]
    assert left[0].startswith("Answered: 3 sources,")
    assert re.fullmatch(r"deep-research show deepres-[0-9a-f]{12}", left[-1])
    assert "\x1b[2K" not in out


def test_without_colour_wanted_there_is_none() -> None:
    _, plain, _ = on_terminal("quick", "run", QUESTION, columns=80, NO_COLOR="1")
    _, coloured, _ = on_terminal("quick", "run", QUESTION, columns=80)
    assert re.search(r"\x1b\[\d+m", coloured)
    assert not re.search(r"\x1b\[\d+m", plain)


def test_a_dumb_terminal_and_log_lines_get_plain_lines() -> None:
    _, dumb, _ = on_terminal("quick", "run", QUESTION, columns=80, TERM="dumb")
    _, logged, _ = on_terminal("quick", "run", QUESTION, "--log-level", "error", columns=80)
    for sent in (dumb, logged):
        assert "planning: " in sent
        assert "\x1b" not in sent


def test_elsewhere_there_is_one_plain_line_for_each_finished_phase_and_sub_query(cli: Cli) -> None:
    lines = cli("run", QUESTION, "--max-iterations", "1").err.splitlines()
    said = [re.sub(r"\d+", "N", line) for line in lines]
    assert said[0].startswith("Run deepres-")
    assert said[1] == "planning: N sub-queries"
    queries = [line for line in said if line.startswith("'")]
    assert queries
    assert all(line.endswith("': N sources") for line in queries)
    for phase in ("gathering", "analysis", "synthesis"):
        assert sum(line.startswith(f"{phase}: ") for line in lines) == 1
    assert all(line.isprintable() for line in lines)


# --- the picture -------------------------------------------------------------------------------------------


def fold_of(number: int, **changes: object) -> Fold:
    status = [SubQueryStatus.COMPLETED, SubQueryStatus.FAILED, SubQueryStatus.PENDING]
    queries = tuple(
        SubQuery(id=f"subq-{i}", query=f"sub-query {i} {'long ' * 30}", status=status[min(i, 2)])
        for i in range(number)
    )
    state = DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=queries)
    return Fold(state.model_copy(update=changes))


def drawn(
    fold: Fold, searching: dict[str, str] | None = None, *, columns: int = 80, lines: int = 24
) -> list[str]:
    return picture(fold, searching or {}, seconds=65, columns=columns, lines=lines, marks=ASCII, turn=0)


def test_the_picture_shows_phases_and_the_sub_queries_of_this_iteration() -> None:
    fold = fold_of(4)
    rows = drawn(fold, {fold.sub_queries["subq-2"].query: ""}, columns=40)
    assert rows[:3] == [
        "Iteration 1, 1:05",
        "+ planning    4 sub-queries",
        "- gathering   2 of 4 searched, 0 sources",
    ]
    assert [row[:17] for row in rows[3:7]] == [
        "    + sub-query 0",
        "    x sub-query 1",
        "    - sub-query 2",
        "    . sub-query 3",
    ]
    assert rows[7:] == [". analysis", ". synthesis", ". refinement"]


def test_the_picture_shows_how_many_pages_of_a_search_were_read_and_what_is_waited_for() -> None:
    fold = fold_of(3)
    rows = drawn(fold, {fold.sub_queries["subq-2"].query: "2 of 5 pages"}, columns=50)
    assert rows[5].startswith("    - 2 of 5 pages: sub-query 2")


def test_while_documents_are_indexed_it_says_how_many_were_read(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_INDEXING_SECONDS", 0.0)

    async def watched() -> None:
        for kind in (progress.Live, progress.Lines):
            async with kind(Console(), lambda: 1_234):
                while "Reading documents: 1,234 files" not in capsys.readouterr().err:
                    await asyncio.sleep(0)

    asyncio.run(watched())
    assert progress.indexing_line(lambda: None) == ""


# --- words -------------------------------------------------------------------------------------------------


def told() -> Iterator[tuple[ev.Event, list[str]]]:
    """Events, and all that is said of them."""
    fold = Fold()
    for event in sample_log("refinement", done=True):
        fold.apply(event)
        yield event, [in_words(event, fold), *steps(event, fold)]
    for event in MISHAPS:
        yield event, [in_words(event, fold_of(1)), *steps(event, fold_of(1))]


def test_every_event_is_told_in_words_and_not_by_its_name() -> None:
    seen = set()
    for event, said in told():
        seen.add(event.name)
        lines = [line for line in said if line]
        assert lines, event.name
        assert not [name for name in ev.EVENT_TYPES if any(name in line for line in lines)]
    assert seen == set(ev.EVENT_TYPES)


def test_with_verbose_the_plan_and_the_reasons_of_gaps_and_decisions_are_told() -> None:
    said = {event.name: lines for event, lines in told()}
    assert said["plan.made"][1].startswith("Plan: ")
    assert said["plan.made"][2].startswith("  - ")
    assert said["phase.ended"][1].startswith("  ")
    assert any(line.startswith("  - missing: ") for line in said["sources.analyzed"])
    assert re.match(r"  - \w+: .* \(to search: .*\)", said["gaps.assessed"][2])
    assert said["decision.made"][1].startswith("Decision: ")


@pytest.mark.parametrize("columns", [1, 10, 20, 40, 80, 200])
@pytest.mark.parametrize("lines", [1, 5, 7, 10, 24])
def test_the_picture_fits_any_terminal(columns: int, lines: int) -> None:
    rows = drawn(fold_of(20), columns=columns, lines=lines)
    assert len(rows) <= lines
    assert all(phrases.width(row) <= columns for row in rows)


def test_a_low_terminal_shows_the_unfinished_sub_queries_first() -> None:
    rows = drawn(fold_of(20), lines=10)
    assert [row[:17] for row in rows[3:7]] == [
        *(f"    . sub-query {n}" for n in (2, 3, 4)),
        "    . and 17 more",
    ]


def test_every_mark_is_one_column_wide() -> None:
    for marks in (Marks(), ASCII):
        assert {phrases.width(m) for m in (marks.tick, marks.failed, marks.waiting, *marks.turns)} == {1}


@pytest.mark.parametrize("talks", [True, False])
def test_a_long_count_is_told_every_ten_seconds(talks: bool, capsys: pytest.CaptureFixture[str]) -> None:
    args = SimpleNamespace(verbose=False, quiet=not talks, json=False)
    settings = SimpleNamespace(log_level=None)
    session = Look(args=args, console=Console(), settings=settings, runs=None)  # type: ignore[arg-type]
    now = iter([0.0, 4.0, 9.0, 11.0, 15.0, 22.0])
    with Count(session, "claims checked", lambda: next(now)) as count:
        for done in range(1, 6):
            count(done * 1_000, 12_000)
    told = ["3,000 of 12,000 claims checked", "5,000 of 12,000 claims checked"]
    assert capsys.readouterr().err.splitlines() == (told if talks else [])
