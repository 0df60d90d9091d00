"""LangServe's own client. What it pins clashes with what we need, so it has an environment of its own, which stays in the
temporary directory from one run of the tests to the next."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from server_process import PATIENCE, server

from deep_research.state.identity import sha256_hex

pytestmark = [pytest.mark.timed, pytest.mark.slow]

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
SCRIPT = Path(__file__).with_name("langserve_client.py")
PINNED = ("langserve[client]==0.3.3", "langchain-core==1.8.3", "pydantic==2.14.4")
INSTALL_SECONDS = 600.0
UNREACHABLE = ("from versions: none", "Max retries exceeded", "Temporary failure", "timed out", "refused")


def environment() -> Path:
    """The Python that has the client. Skips the test where no registry is reached."""
    digest = sha256_hex(" ".join((*PINNED, sys.version)).encode())[:12]
    kept = Path(tempfile.gettempdir()) / f"deep-research-langserve-{os.getuid()}-{digest}"
    if not kept.exists():
        made = Path(tempfile.mkdtemp(prefix=f"{kept.name}-"))
        try:
            fill(made)
            made.rename(kept)  # whole, or not there
        except OSError:
            if not kept.exists():  # else another process was faster
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    assert kept.stat().st_uid == os.getuid(), f"{kept} is of somebody else"
    return kept / "bin" / "python"


def fill(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True, timeout=PATIENCE
    )
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--retries", "1", *PINNED]
    try:
        done = subprocess.run(pip, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"no registry gave the client within {INSTALL_SECONDS:g} seconds")
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        pytest.skip(f"no registry is reached: {done.stderr.strip().splitlines()[-1]}")
    assert not done.returncode, done.stderr


@pytest.fixture(scope="session")
def got(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the client gets from a server over the sample corpus."""
    python = environment()
    with server(tmp_path_factory.mktemp("home"), corpus=str(CORPUS)) as process:
        done = subprocess.run(
            [str(python), "-I", str(SCRIPT), process.address],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def is_contract(messages: list[list[str]]) -> bool:
    ((kind, content),) = messages
    contract = json.loads(content)
    summary = contract["data"]["research_summary"]
    return (
        kind == "AIMessage"
        and contract["completed_capability"] == "research"
        and bool(summary["key_points"] and summary["sources"])
    )


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_the_client_gets_one_message_with_the_contract(got: Mapping[str, Any], way: str) -> None:
    assert is_contract(got[way])


def test_the_states_of_a_batch_are_answered_in_their_order(got: Mapping[str, Any]) -> None:
    topics = [
        json.loads(content)["data"]["research_summary"]["topic"]
        for ((_, content),) in map(list, got["batch"])
    ]
    assert [topic.split()[0] for topic in topics] == ["How", "Who"]
    assert all(map(is_contract, got["batch"]))


def test_a_greeting_gets_a_sentence(got: Mapping[str, Any]) -> None:
    ((kind, content),) = got["greeting"]
    assert kind == "AIMessage"
    assert not content.startswith("{")
    assert content.endswith((".", "?", "!"))


def test_the_client_shows_why_a_state_is_refused(got: Mapping[str, Any]) -> None:
    assert "should be a valid list" in got["refused"]
