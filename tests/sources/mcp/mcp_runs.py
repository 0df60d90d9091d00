"""Servers of tests, what is known of their processes, and connections to them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deep_research.settings.mcp_servers import McpServer
from deep_research.sources.mcp import McpConnection

HERE = Path(__file__).parent
PATIENCE = 60.0  # seconds


def odd(
    folder: Path, *deeds: str, results: Any = None, env: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The table of an odd server that does these deeds."""
    variables = {"ODD_LOG": str(folder / "odd.log"), **(env or {})}
    if results is not None:
        (folder / "results.json").write_text(json.dumps(results))
        variables["ODD_RESULTS"] = str(folder / "results.json")
    given = {"tools": ["search"], "search_tool": "search", **more}
    return {
        "command": sys.executable,
        "args": [str(HERE / "odd_server.py"), *deeds],
        "env": variables,
        **given,
    }


def notes(folder: Path, **more: Any) -> dict[str, Any]:
    """The table of the server of notes."""
    env = {"NOTES_LOG": str(folder / "notes.log"), **more.pop("env", {})}
    given = {"tools": ["search_notes", "read_note"], "search_tool": "search_notes", **more}
    return {"command": sys.executable, "args": [str(HERE / "note_server.py")], "env": env, **given}


def connection(table: dict[str, Any], name: str = "odd") -> McpConnection:
    return McpConnection(name, McpServer.model_validate(table))


def lines(folder: Path, name: str = "odd.log") -> list[str]:
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


def pids(folder: Path, name: str = "odd.log") -> list[int]:
    return [int(line.removeprefix("pid ")) for line in lines(folder, name) if line.startswith("pid ")]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (
        stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    )  # dead, and not yet reaped


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def all_gone(folder: Path, name: str = "odd.log") -> None:
    """At least one was there."""
    found = pids(folder, name)
    assert found
    until(lambda: not any(map(is_alive, found)))
