"""docs/server.md: its commands and programs are run as they stand, against a server on another port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_process import PATIENCE
from test_access import EXPECTED

from deep_research.server.problems import OPENAI_PATHS

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of the page, on a free port."""
    _, command = blocks("sh")[0].splitlines()
    assert command.startswith("deep-research serve ")
    assert command.endswith("--port 8000")
    argv = command.replace("--port 8000", "--port 0 --json").split()[1:]
    env = {**os.environ, "DEEP_RESEARCH_HOME": str(tmp_path_factory.mktemp("home"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "deep_research", *argv], stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        yield re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_report_is_had_by_curl(address: str, tmp_path: Path) -> None:
    script = "set -e\n" + blocks("sh")[1].replace(ADDRESS, address)
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "event: run.completed" in done.stdout
    assert done.stdout.rpartition("# How tall is the Cape Hatteras lighthouse?")[2].count("[1]") >= 1


@pytest.mark.parametrize("number", [0, 1], ids=["httpx", "openai"])
def test_a_report_is_had_by_python(address: str, number: int, tmp_path: Path) -> None:
    code = blocks("py")[number].replace(ADDRESS, address)
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr
    assert "[1]" in done.stdout


def test_the_page_names_every_route() -> None:
    named = set(re.findall(r"`(GET|POST|DELETE|PUT|PATCH) (/[^`]*)`", PAGE))
    of_others = (*OPENAI_PATHS, "/langgraph")  # which those whose protocol it is describe
    assert named == {route for route in EXPECTED if not route[1].startswith(of_others)}


def test_the_commands_of_the_page_make_and_revoke_a_token(tmp_path: Path) -> None:
    env = {**os.environ, "DEEP_RESEARCH_HOME": str(tmp_path)}
    block = next(each for each in blocks("sh") if "token add" in each)
    for line in block.splitlines():
        argv = line.split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "deep_research", *argv], capture_output=True, text=True, env=env, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr
    assert time.strftime("%Y") in (tmp_path / "tokens.jsonl").read_text()


def test_the_unit_runs_a_command_that_there_is() -> None:
    from deep_research.interfaces.cli.parsing import parse

    unit = (ROOT / "config" / "deep-research.service").read_text()
    (command,) = re.findall(r"^ExecStart=\S*/deep-research (.*)$", unit, re.MULTILINE)
    args = parse(command.split())
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(stop) > int(args.drain_seconds)
