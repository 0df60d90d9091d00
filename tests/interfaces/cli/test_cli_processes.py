from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_double import QUESTION, Done

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DOUBLE = [sys.executable, str(HERE / "cli_double.py")]
MODULE = [sys.executable, "-m", "deep_research"]
RUN_ID = re.compile(r"deepres-[0-9a-f]{12}")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def call(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


@contextmanager
def hanging(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run that has one sub-query searched and hangs in the next."""
    command = [*DOUBLE, "second-hangs", "run", QUESTION, "--set", "max_concurrent=1", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], part: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if part in line:
            return
    raise AssertionError(f"it ended without saying {part!r}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_run_that_goes_on_where_it_was(
    number: int, code: int, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = tmp_path / "searches"
    monkeypatch.setenv("WITNESS", str(witness))
    with hanging("--data-dir", "my runs", "--corpus", str(ROOT / "docs" / "examples" / "corpus")) as process:
        until(process, "': ")
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, "")
    last = err.splitlines()[-1]
    run_id = RUN_ID.findall(last)[0]
    assert last.startswith(f"deep-research: Interrupted; run {run_id} is saved. Continue with: ")
    assert last.endswith("docs/examples/corpus --data-dir 'my runs' --set max_concurrent=1")
    listed = cli("list", "--json", "--data-dir", "my runs").json
    assert [(run["research_id"], run["status"]) for run in listed] == [(run_id, "interrupted")]
    before = witness.read_text("utf-8").splitlines()
    done = cli("resume", run_id, "--data-dir", "my runs")
    assert done.code == 0, done.err
    assert done.out.startswith("# Who built")
    after = witness.read_text("utf-8").splitlines()[len(before) :]
    assert before[0] not in after


def test_beside_json_an_interruption_is_one_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hanging("--json", "--verbose") as process:
        until(process, "sources")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    error = json.loads(err.splitlines()[-1])["error"]
    assert error["code"] == "interrupted"
    assert "deep-research resume deepres-" in error["hint"]


def test_a_second_ctrl_c_ends_at_once_even_while_a_thread_does_not_stop(tmp_path: Path) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text(
        "import os, signal, sys, threading\n"
        "from deep_research.interfaces.cli.session import Signals\n"
        "with Signals() as signals:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "print(signals.code, flush=True)\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"130\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, b"")


@pytest.mark.parametrize("command", [("show",), ("events", "--json"), ("events", "--follow")])
def test_a_reader_that_goes_away_is_no_error(command: tuple[str, ...], cli: Cli) -> None:
    run_id = RUN_ID.findall(cli("run", QUESTION).err)[0]
    name, *flags = command
    with subprocess.Popen(
        [*MODULE, name, run_id, *flags, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, b"")


def test_a_run_whose_reader_went_away_ends_as_it_would_have() -> None:
    with subprocess.Popen(
        [*DOUBLE, "quick", "run", QUESTION], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert err.splitlines()[-1].startswith("Answered: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*MODULE, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300
        )
    assert done.returncode == 1
    assert done.stderr.startswith("deep-research: The output cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


def test_closed_streams_are_no_crash() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *DOUBLE, "quick", "run", QUESTION], timeout=300
    )
    assert done.returncode == 0


def test_output_is_utf_8_whatever_the_locale_says() -> None:
    command = [*DOUBLE, "quick", "run", QUESTION]
    done = subprocess.run(
        command,
        capture_output=True,
        timeout=300,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
    )
    assert "灯台" in done.stdout.decode("utf-8")


@pytest.mark.parametrize("argument", ["--help", "--version", "run --help", "rnu", "--nonsense"])
def test_help_version_and_slips_load_nothing_of_the_engine(argument: str) -> None:
    code = (
        "import sys; from deep_research.interfaces.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'pydantic', 'asyncio', 'sqlite3', 'structlog', 'httpx'};"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = call(sys.executable, "-c", code, *argument.split())
    assert done.returncode == 0, done.stderr


def test_the_module_can_be_run() -> None:
    done = call(*MODULE, "--version")
    assert re.fullmatch(r"deep-research \d+\.\d+\.\d+(?:\.dev\d+)?\n", done.stdout)
    assert done.returncode == 0
