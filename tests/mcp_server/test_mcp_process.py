"""The process of the server: what stands on its stdout, calls that are cancelled, and clients that go."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_server_process import (
    PATIENCE,
    TOWER,
    connected,
    environment,
    keyless,
    lines,
    scripted,
    until_reached,
)

from deep_research.interfaces.cli import server_command
from deep_research.interfaces.cli.main import main
from deep_research.mcp_server.stdio_transport import MAX_MESSAGE_BYTES

pytestmark = pytest.mark.timed

LONG = {"pause": 600}


def resumed(home: Path) -> str:
    """The status of the only run of a folder, once another server goes on with it."""

    async def journey() -> str:
        async with connected(scripted(home, {})) as client:
            (run,) = (await client.call_tool("research_list", {})).structured_content["runs"]
            assert run["status"] in ("parked", "interrupted")
            done = await client.call_tool("research_answer", {"research_id": run["research_id"]})
            return str(done.structured_content["status"])

    return asyncio.run(journey())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_leaves_a_run_that_can_be_gone_on_with(tmp_path, mode):
    async def journey() -> None:
        notes: asyncio.Queue[str | None] = asyncio.Queue()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            notes.put_nowait(message)

        async with connected(scripted(tmp_path, LONG), mode) as client:
            work = client.call_tool("research", {"question": TOWER}, progress_callback=on_progress)
            call = asyncio.create_task(work)
            await until_reached(tmp_path)
            for _ in range(2):  # the second one by the time that a silent run is told of again
                assert await asyncio.wait_for(notes.get(), PATIENCE)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            status = "running"
            while status == "running":
                (run,) = (await client.call_tool("research_list", {})).structured_content["runs"]
                status = run["status"]
            assert status in ("interrupted", "parked")
            done = await client.call_tool("research_answer", {"research_id": run["research_id"]})
            assert done.structured_content["status"] == "completed"

    asyncio.run(journey())


def test_a_started_run_is_steered_and_cancelled_and_keeps_what_it_found(tmp_path):
    async def journey() -> None:
        async with connected(scripted(tmp_path, LONG)) as client:
            run = await client.call_tool("research_start", {"question": TOWER})
            run_id = run.structured_content["research_id"]
            await until_reached(tmp_path)
            busy = await client.call_tool("research_answer", {"research_id": run_id})
            assert busy.is_error
            assert "is in progress" in busy.content[0].text
            steered = await client.call_tool(
                "research_steer", {"research_id": run_id, "text": "Also the keepers."}
            )
            assert not steered.is_error
            cancelled = await client.call_tool("research_cancel", {"research_id": run_id})
            assert cancelled.structured_content["status"] == "aborted"

    asyncio.run(journey())


@pytest.mark.parametrize("how", ["its stdin is closed", "SIGTERM", "SIGINT"])
@pytest.mark.parametrize("tool", ["research", "research_start"])
def test_a_server_without_its_client_ends_and_leaves_its_runs_resumable(tmp_path, how, tool):
    with lines(scripted(tmp_path, LONG)) as client:
        client.begin()
        client.call(1, tool, question=TOWER)
        asyncio.run(until_reached(tmp_path))
        if how == "its stdin is closed":
            client.leave()
        else:
            client.signal(signal.Signals[how])
        code, err = client.wait()
        assert code == 0, err
        assert not client.has_orphans()
        assert "Traceback" not in err
    assert resumed(tmp_path) == "completed"


def test_a_thread_that_never_ends_keeps_no_server_without_its_client(tmp_path):
    with lines(scripted(tmp_path, {"stuck": True})) as client:
        client.begin()
        client.call(1, "research", question=TOWER)
        asyncio.run(until_reached(tmp_path))
        client.leave()
        client.wait()
        assert not client.has_orphans()
    assert resumed(tmp_path) == "completed"


def test_a_client_that_closes_both_ends_at_once_is_gone(tmp_path):
    with lines(scripted(tmp_path, LONG)) as client:
        client.begin()
        client.call(1, "research", question=TOWER)
        asyncio.run(until_reached(tmp_path))
        client.stop_reading()
        client.leave()
        code, err = client.wait()
        assert code == 0, err
    assert resumed(tmp_path) == "completed"


def test_stdout_has_nothing_but_the_protocol_whatever_imported_code_prints(tmp_path):
    with lines(scripted(tmp_path, {"noisy": True})) as client:
        client.begin()
        client.call(1, "research", question=TOWER)
        answer = client.answer(1)
        client.leave()
        code, err = client.wait()
    assert answer["result"]["structuredContent"]["status"] == "completed"
    assert code == 0
    assert len([line for line in client.received if b'"id":1' in line.replace(b" ", b"")]) == 1
    for line in client.received:
        assert json.loads(line)["jsonrpc"] == "2.0"
    for noise in ("printed on stdout", "bytes on stdout", "written on descriptor 1", "printed by a child"):
        assert err.count(noise) == 2, err
    assert "a warning" in err


def test_an_agent_that_crashes_is_told_as_a_result_and_the_server_goes_on(tmp_path):
    with lines(scripted(tmp_path, {"fails": True})) as client:
        client.begin()
        client.call(1, "research", question=TOWER)
        answer = client.answer(1)
        client.call(2, "research_list")
        listed = client.answer(2)
        client.leave()
        code, err = client.wait()
    assert code == 0, err
    assert "is broken" in json.dumps(answer["result"])
    assert len(listed["result"]["structuredContent"]["runs"]) == 1
    for line in client.received:
        assert json.loads(line)["jsonrpc"] == "2.0"


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        pytest.param(b"no JSON", None, PARSE_ERROR, id="no JSON"),
        pytest.param(b"\xff\xfe\x00", None, PARSE_ERROR, id="no text"),
        pytest.param(b'{"jsonrpc": "2.0"', None, PARSE_ERROR, id="cut"),
        pytest.param(b"[" * 100_000, None, PARSE_ERROR, id="deep"),
        pytest.param(b"x" * (2 * MAX_MESSAGE_BYTES), None, INVALID_REQUEST, id="too long"),
        pytest.param(b"[]", None, INVALID_REQUEST, id="no object"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 7}', None, INVALID_REQUEST, id="no message"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 7, "method": 1}', 7, INVALID_REQUEST, id="no method"),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}', 7, METHOD_NOT_FOUND, id="unknown method"
        ),
    ],
)
def test_a_line_that_is_no_request_of_the_protocol_has_an_error_and_the_session_goes_on(
    tmp_path, line, number, code
):
    with lines(keyless(tmp_path)) as client:
        client.begin()
        client.send(line)
        error = client.answer(number)
        assert error["error"]["code"] == code
        client.call(1, "research_list")
        assert client.answer(1)["result"]["structuredContent"]["runs"] == []
        client.leave()
        code, err = client.wait()
        assert code == 0, err


def test_white_space_between_messages_is_no_message(tmp_path):
    with lines(keyless(tmp_path)) as client:
        client.begin()
        client.send(b"\r\n \n")
        client.call(1, "research_list")
        assert client.answer(1)["result"]["structuredContent"]["runs"] == []
        assert len(client.received) == 2


@pytest.mark.parametrize("text", [b"half of a \\ud83d", b"\\udc00", b"no \xff text"])
def test_a_request_with_half_a_character_is_answered(tmp_path, text):
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "research_list",'
    with lines(keyless(tmp_path)) as client:
        client.begin()
        client.send(call + b' "arguments": {"text": "%s"}}}' % text)
        assert client.answer(1)["result"]["structuredContent"]["runs"] == []


def test_a_client_that_leaves_before_it_says_a_word_is_gone(tmp_path):
    with lines(keyless(tmp_path)) as client:
        client.leave()
        code, err = client.wait()
        assert code == 0, err
        assert client.received == []


def test_wrong_options_are_told_on_stderr_alone(tmp_path):
    with lines(keyless(tmp_path, "--max-searches", "few")) as client:
        code, err = client.wait()
        assert code == 2
        assert err.count("\n") == 1
        assert client.received == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_process_without_stdin_or_stdout_says_so(tmp_path, closed):
    command = shlex.join([sys.executable, *keyless(tmp_path)])
    ran = subprocess.run(
        ["/bin/sh", "-c", f"exec {command} {closed}"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment()},
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("deep-research: stdin or stdout is closed,")


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(server_command, "find_spec", lambda name: None)
    assert main(["mcp"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("deep-research: The MCP server needs another package. pip install 'deep-research[mcp]'\n")


def test_the_library_loads_nothing_of_the_extra():
    code = (
        "import sys, deep_research, deep_research.interfaces.cli.main; deep_research.DeepResearch;"
        "print({name.partition('.')[0] for name in sys.modules} & {'mcp', 'mcp_types', 'starlette'})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    assert ran.stdout.strip() == "set()"
