"""The table of an MCP server: what it may hold, and what is said of one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.settings import load_settings

URL = "https://mcp.example/mcp"
PIN = "0" * 64


def load(servers: Any, **more: Any) -> Any:
    return load_settings(
        overrides={"mcp_servers": servers}, environ={}, cwd=Path("/"), **more
    ).settings.mcp_servers


GOOD: list[dict[str, Any]] = [
    {"command": "notes"},
    {"command": "/usr/bin/notes", "args": ["--root", "x"], "env": {"A": "b"}, "variables": ["TOKEN"]},
    {"command": "~/bin/notes", "tools": "search", "search_tool": "search"},
    {"url": URL, "token_variable": "TOKEN", "tools": ["search"], "pins": {"search": PIN}, "timeout": 5},
    {
        "url": "http://127.0.0.1:8000/mcp",
        "approved": ["search"],
        "search_tool": "search",
        "query_argument": "q",
    },
    {"url": URL, "private": True},
]


@pytest.mark.parametrize("given", GOOD)
def test_a_table_of_a_server_is_read(given: dict[str, Any]) -> None:
    (server,) = load({"notes": given}).values()
    assert (server.command or server.url) == (given.get("command") or given.get("url"))
    assert load({"notes": server})["notes"] is server


BAD: list[tuple[Any, str]] = [
    ({}, r"mcp_servers\.notes needs either a command or a url"),
    ({"command": "a", "url": URL}, r"mcp_servers\.notes needs either a command or a url"),
    ("notes", r"mcp_servers\.notes must be a table, got 'notes'"),
    ({"command": 7}, r"mcp_servers\.notes\.command must be a text, got 7"),
    ({"command": ""}, r"mcp_servers\.notes\.command must be a text, got ''"),
    ({"command": "./notes"}, "names a command by a part of its path"),
    ({"command": "a/b"}, "names a command by a part of its path"),
    ({"command": "a", "args": "x"}, r"mcp_servers\.notes\.args must be a list of texts, got 'x'"),
    ({"command": "a", "args": [7]}, "must be a list of texts, got 7"),
    ({"command": "a", "env": ["A"]}, r"mcp_servers\.notes\.env must be a table of texts by variable\."),
    ({"command": "a", "tools": [7]}, "must be a list of texts"),
    ({"command": "a", "token_variable": "T"}, "which only a url takes"),
    ({"command": "a", "search_tool": "s"}, "in neither tools nor approved: 's'"),
    ({"command": "a", "pins": {"s": PIN}}, "has a pin of a tool that is in neither tools nor approved: 's'"),
    ({"command": "a", "tools": ["s"], "pins": {"s": "0"}}, "SHA-256"),
    ({"command": "a", "timeout": 0}, r"must be a number above 0 and at most 600, got 0"),
    ({"command": "a", "timeout": 601}, "at most 600, got 601"),
    ({"command": "a", "private": "yes"}, "must be true or false, got 'yes'"),
    ({"url": URL, "args": ["x"]}, "which only a command takes"),
    ({"url": "mcp.example"}, "needs a url such as https://mcp.example/mcp"),
    ({"url": f"{URL}?key=1"}, "without user, password, query and fragment"),
    ({"url": "https://me:word@mcp.example/"}, "without user, password, query and fragment"),
    ({"url": "http://[::1"}, "needs a url such as"),
]


@pytest.mark.parametrize(("given", "line"), BAD)
def test_what_is_wrong_in_a_table_is_one_line_that_names_it(given: Any, line: str) -> None:
    with pytest.raises(SettingsError, match=line) as refused:
        load({"notes": given})
    assert "\n" not in str(refused.value)
    assert "docs/mcp.md" in refused.value.hint


def test_a_key_of_a_table_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="search_tool"):
        load({"notes": {"command": "a", "search_tol": "s"}})


@pytest.mark.parametrize("name", ["", "Notes", "9", "a b", "a-b", "a" * 21, "../x"])
def test_a_name_begins_the_names_of_tools(name: str) -> None:
    with pytest.raises(SettingsError, match="is not a name for a server"):
        load({name: {"command": "a"}})


def test_a_value_of_a_variable_is_in_no_error_and_in_no_representation() -> None:
    with pytest.raises(SettingsError) as refused:
        load({"notes": {"command": "a", "env": {"TOKEN": 1234567890123456}}})
    assert "1234567890123456" not in repr(refused.value)
    assert "a-secret-0123456789" not in repr(
        load({"notes": {"command": "a", "env": {"TOKEN": "a-secret-0123456789"}}})
    )


def test_servers_are_read_of_a_file_and_of_a_variable(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f'[research.mcp_servers.notes]\ncommand = "notes"\ntools = ["a"]\n[research.mcp_servers.web]\nurl = "{URL}"\n'
    )
    found = load_settings(overrides={}, config="mine.toml", environ={}, cwd=tmp_path).settings.mcp_servers
    assert set(found) == {"notes", "web"}
    variable = {"DEEP_RESEARCH_MCP_SERVERS": json.dumps({"notes": {"command": "notes", "tools": ["a"]}})}
    found = load_settings(overrides={}, environ=variable, cwd=tmp_path).settings.mcp_servers
    assert found["notes"].tools == ("a",)
