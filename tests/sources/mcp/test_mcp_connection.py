"""A connection to a server that hangs, breaks or floods ends in time, with an error of ours, and leaves no process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp_runs import HERE, PATIENCE, all_gone, connection, is_alive, lines, notes, odd, pids, until

from deep_research.errors import ConfigurationError, MissingKeyError, RemoteError
from deep_research.sources.mcp import mcp_connection
from deep_research.sources.mcp.mcp_process import INHERITED

pytestmark = pytest.mark.timed

ASKED = {"query": "orm"}


def called(table: dict[str, Any], name: str = "search", seconds: float = PATIENCE) -> Any:
    """What a call of a tool gives; its connection is closed after it."""

    async def journey() -> Any:
        server = connection(table)
        try:
            return await server.call(name, ASKED, seconds)
        finally:
            await server.aclose()

    return asyncio.run(journey())


FAILURES = {
    "it hangs before it is connected": (("hang-connect",), "no connection within 1 s"),
    "it hangs when it is asked for its tools": (("hang-list",), "no connection within 1 s"),
    "it hangs in a call": (("hang-call",), "no answer within 1 s"),
    "it dies in a call": (("die-call",), "the connection broke"),
    "it answers 10 MB": (("large",), "more than 5,000,000 bytes"),
    "it writes without end": (("flood",), "more than 5,000,000 bytes"),
    "it denies the connection": (("deny",), "it answered with an error"),
}


@pytest.mark.parametrize("deeds", [pytest.param(deeds, id=name) for name, deeds in FAILURES.items()])
def test_what_a_server_does_wrong_is_one_error_and_leaves_no_process(
    deeds: tuple[tuple[str, ...], str], tmp_path: Path
) -> None:
    is_left = "no connection" in deeds[1]  # before it has said a word, maybe
    table = odd(tmp_path, *deeds[0], "child", "stubborn", timeout=1.0 if is_left else PATIENCE)
    with pytest.raises(RemoteError, match=deeds[1]) as failed:
        called(table, seconds=1.0 if "no answer" in deeds[1] else PATIENCE)
    assert str(failed.value).startswith("mcp:odd: ")
    assert str(failed.value).isprintable()
    assert is_left or len(pids(tmp_path)) == 2
    until(lambda: not any(map(is_alive, pids(tmp_path))))


@pytest.mark.parametrize("command", ["no-such-command-anywhere", sys.executable])
def test_a_command_that_is_none_or_ends_at_once_is_an_error(command: str) -> None:
    table = {"command": command, "args": ["-c", "pass"], "tools": ["search"], "timeout": PATIENCE}
    with pytest.raises(RemoteError, match=r"cannot be started|connection broke"):
        called(table)


def test_lines_that_are_no_messages_are_passed_over(tmp_path: Path) -> None:
    assert called(odd(tmp_path, "noise")).content[0].text == "The tower is 90 feet tall."


def test_a_listing_without_an_end_is_left(tmp_path: Path) -> None:
    assert called(odd(tmp_path, "endless-list")).is_error is False
    assert lines(tmp_path).count("tools/list") == mcp_connection.MAX_PAGES


def test_a_server_that_hung_is_started_anew(tmp_path: Path) -> None:
    table = odd(tmp_path, "hang-first-call", env={"ODD_ONCE": str(tmp_path / "once")}, timeout=PATIENCE)

    async def journey() -> None:
        server = connection(table)
        with pytest.raises(RemoteError, match="no answer"):
            await server.call("search", ASKED, 2.0)
        for _ in range(20):  # the time is short for a machine that stands still
            try:
                assert (await server.call("search", ASKED, 2.0)).content
                break
            except RemoteError:
                continue
        else:
            raise AssertionError("it never answered again")
        await server.aclose()

    asyncio.run(journey())
    assert len(pids(tmp_path)) >= 2
    all_gone(tmp_path)


@pytest.mark.parametrize("name", ["forget_note", "environment", "nothing", "tree"])
def test_only_what_is_listed_and_declared_is_called(name: str, tmp_path: Path) -> None:
    table = notes(tmp_path, tools=["search_notes", "forget_note", "nothing"])
    with pytest.raises(RemoteError, match=f"{name} is not called: "):
        called(table, name)
    assert not [line for line in lines(tmp_path, "notes.log") if not line.startswith("pid")]


def test_what_the_owner_approves_is_called(tmp_path: Path) -> None:
    table = notes(tmp_path, approved=["forget_note"])

    async def journey() -> None:
        server = connection(table)
        assert (await server.call("forget_note", {"title": "x"}, PATIENCE)).content[0].text == "gone"
        await server.aclose()

    asyncio.run(journey())


def test_a_process_gets_a_minimal_environment_and_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY", "SECRET_OF_OURS", "NOTES_TOKEN"):
        monkeypatch.setenv(name, f"canary-{name}-0123456789")
    table = notes(tmp_path, tools=["environment"], search_tool=None, variables=["NOTES_TOKEN"])
    seen = json.loads(json.loads(called(table, "environment").content[0].text)["text"])
    assert set(seen) <= {*INHERITED, "NOTES_LOG", "NOTES_TOKEN", "LC_CTYPE"}
    assert [name for name, value in seen.items() if "canary" in value] == ["NOTES_TOKEN"]


def test_a_process_does_not_work_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('of the folder')")
    monkeypatch.chdir(tmp_path)
    assert called(odd(tmp_path)).content
    assert os.getcwd() == str(tmp_path)


def test_a_variable_that_is_not_set_is_told_before_anything_is_started(tmp_path: Path) -> None:
    with pytest.raises(MissingKeyError, match="'odd' needs NO_SUCH_VARIABLE"):
        connection(odd(tmp_path, variables=["NO_SUCH_VARIABLE"]))
    assert not pids(tmp_path)


def test_without_the_package_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_connection, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'deep-research\[mcp\]'"):
        connection(odd(tmp_path))


def test_all_who_ask_at_once_share_one_process(tmp_path: Path) -> None:
    async def journey() -> None:
        server = connection(odd(tmp_path))
        answers = await asyncio.gather(*(server.call("search", ASKED, PATIENCE) for _ in range(8)))
        assert len(answers) == 8
        await server.aclose()
        await server.aclose()

    asyncio.run(journey())
    assert len(pids(tmp_path)) == 1
    all_gone(tmp_path)


@pytest.mark.parametrize("deed", ["hang-connect", "hang-list", "hang-call"])
def test_who_is_cancelled_leaves_nothing_once_it_is_closed(deed: str, tmp_path: Path) -> None:
    async def journey() -> None:
        server = connection(odd(tmp_path, deed, "child", "stubborn", timeout=PATIENCE))
        call = asyncio.create_task(server.call("search", ASKED, PATIENCE))
        await asyncio.to_thread(until, lambda: len(pids(tmp_path)) == 2)
        call.cancel()
        (raised,) = await asyncio.gather(call, return_exceptions=True)
        assert isinstance(raised, asyncio.CancelledError)
        await server.aclose()

    asyncio.run(journey())
    all_gone(tmp_path)


def test_a_loop_that_ends_without_closing_takes_its_process_along(tmp_path: Path) -> None:
    async def journey() -> None:
        await connection(odd(tmp_path, "child", "stubborn")).call("search", ASKED, PATIENCE)

    asyncio.run(journey())
    all_gone(tmp_path)


KILLED_LOOP = """
import asyncio, sys, threading
from pathlib import Path
sys.path.insert(0, {here!r})
from mcp_runs import connection, odd
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()
server = connection(odd(Path({folder!r}), "child", "stubborn"))
call = server.call("search", {{"query": "orm"}}, 60.0)
asyncio.run_coroutine_threadsafe(call, loop).result(60)
{end}
"""
ENDS = {
    "the loop is stopped and closed": "loop.call_soon_threadsafe(loop.stop); thread.join(); loop.close()",
    "the thread of the loop is left": "loop.call_soon_threadsafe(loop.stop); thread.join()",
    "an error ends the program": "loop.call_soon_threadsafe(loop.stop); thread.join(); raise SystemExit(3)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_ends_takes_the_processes_along(end: str, tmp_path: Path) -> None:
    program = KILLED_LOOP.format(here=str(HERE), folder=str(tmp_path), end=ENDS[end])
    subprocess.run([sys.executable, "-c", program], timeout=PATIENCE, capture_output=True)
    assert len(pids(tmp_path)) == 2
    all_gone(tmp_path)


def test_a_server_that_heeds_its_stdin_ends_with_a_program_that_is_killed(tmp_path: Path) -> None:
    program = KILLED_LOOP.format(here=str(HERE), folder=str(tmp_path), end="thread.join()").replace(
        '"child", "stubborn"', ""
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    until(lambda: any(line.startswith("call") for line in lines(tmp_path)))
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    all_gone(tmp_path)


def test_each_loop_has_its_own_process(tmp_path: Path) -> None:
    server = connection(odd(tmp_path))
    failures: list[BaseException] = []

    async def journey() -> None:
        await server.call("search", ASKED, PATIENCE)
        await server.aclose()

    def work() -> None:
        try:
            asyncio.run(journey())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures
    assert len(pids(tmp_path)) == 3
    all_gone(tmp_path)


def test_a_fork_that_ends_leaves_the_process_of_its_parent(tmp_path: Path) -> None:
    async def journey() -> None:
        server = connection(odd(tmp_path))
        await server.call("search", ASKED, PATIENCE)
        from deep_research.sources.mcp.mcp_process import _kill_group

        _kill_group(pids(tmp_path)[0], os.getpid() + 1)
        assert is_alive(pids(tmp_path)[0])
        assert (await server.call("search", ASKED, PATIENCE)).content
        await server.aclose()

    asyncio.run(journey())
    gc.collect()
    all_gone(tmp_path)
