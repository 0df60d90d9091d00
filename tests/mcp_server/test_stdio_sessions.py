"""Sessions over stdio, many of them and cut short: nothing but the protocol on stdout, and no process that stays."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp_server_process import PATIENCE, TOWER, connected, environment, lines, scripted, until_reached

pytestmark = pytest.mark.timed

SESSIONS = 50


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked for its code does not."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until_ended(process_id: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while is_alive(process_id):
        assert time.monotonic() < deadline, f"process {process_id} lives on"
        time.sleep(0.05)


def session(home: Path, given: dict[str, bool]) -> None:
    """A whole session, of whose every line on stdout is a message."""
    with lines(scripted(home, given)) as client:
        client.begin()
        client.call(1, "research", question=TOWER)
        status = client.answer(1)["result"]
        client.send(b"no JSON")
        assert client.answer(None)["error"]["code"] == -32700
        client.call(2, "research_list")
        assert len(client.answer(2)["result"]["structuredContent"]["runs"]) == 1
        client.leave()
        code, err = client.wait()
        assert code == 0, err
        assert not client.has_orphans()
    assert ("is broken" in json.dumps(status)) is bool(given.get("fails"))
    assert "printed on stdout" in err
    for line in client.received:
        assert json.loads(line)["jsonrpc"] == "2.0"


@pytest.mark.slow
def test_fifty_sessions_have_nothing_but_messages_on_stdout_whatever_is_printed_and_crashes(tmp_path):
    def numbered(number: int) -> None:
        session(tmp_path / str(number), {"noisy": True, "fails": number % 2 == 1})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(numbered, range(SESSIONS)))


@pytest.mark.parametrize("fails", [False, True])
def test_a_session_has_nothing_but_messages_on_stdout_whatever_is_printed_and_crashes(tmp_path, fails):
    session(tmp_path, {"noisy": True, "fails": fails})


def test_a_client_that_is_killed_leaves_no_server_behind_and_a_run_that_can_be_gone_on_with(tmp_path):
    script = Path(__file__).with_name("client_to_kill.py")
    env = {**os.environ, **environment()}
    client = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], env=env, stderr=subprocess.DEVNULL
    )
    try:
        asyncio.run(until_reached(tmp_path))
        server = int((tmp_path / "pid").read_text())
        assert is_alive(server)
    finally:
        client.kill()
        client.wait()
    wait_until_ended(server)

    async def journey() -> None:
        async with connected(scripted(tmp_path, {})) as client:
            (run,) = (await client.call_tool("research_list", {})).structured_content["runs"]
            done = await client.call_tool("research_answer", {"research_id": run["research_id"]})
            assert done.structured_content["status"] == "completed"

    asyncio.run(journey())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_cancels_its_call_and_leaves_leaves_no_server_behind(tmp_path, mode):
    async def journey() -> int:
        async with connected(scripted(tmp_path, {"pause": 600}), mode) as client:
            call = asyncio.create_task(client.call_tool("research", {"question": TOWER}))
            await until_reached(tmp_path)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            return int((tmp_path / "pid").read_text())

    wait_until_ended(asyncio.run(journey()))
