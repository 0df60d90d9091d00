"""Which tools of a server may be called, and by what hash they are pinned."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from deep_research.settings.mcp_servers import McpServer
from deep_research.sources.mcp.mcp_listing import ListedTool, kind_of, refusal, tool_hash

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def listed(**more: Any) -> ListedTool:
    given = {"name": "search", "description": "Searches.", "schema": SCHEMA, "is_read_only": True}
    return ListedTool(**(given | more))


def server(**more: Any) -> McpServer:
    return McpServer.model_validate({"command": "notes"} | more)


PIN = listed().hash
RULES = [
    ({"tools": ["search"]}, {}, {}, ""),
    ({}, {}, {}, "the configuration does not list it"),
    ({"tools": ["other"]}, {}, {}, "the configuration does not list it"),
    ({"tools": ["search"]}, {"is_read_only": False}, {}, "does not declare that it only reads"),
    ({"approved": ["search"]}, {"is_read_only": False}, {}, ""),
    ({"tools": ["search"], "pins": {"search": PIN}}, {}, {}, ""),
    (
        {"tools": ["search"], "pins": {"search": PIN}},
        {"description": "Sends."},
        {},
        "it is not what was pinned",
    ),
    ({"tools": ["search"], "pins": {"search": PIN}}, {"schema": {}}, {}, "it is not what was pinned"),
    ({"approved": ["search"], "pins": {"search": PIN}}, {"description": ""}, {}, "it is not what was pinned"),
    ({"tools": ["search"]}, {}, {"search": PIN}, ""),
    ({"tools": ["search"]}, {"description": "Sends."}, {"search": PIN}, "changed it since the run began"),
]


@pytest.mark.parametrize(("configured", "declared", "known", "why"), RULES)
def test_a_tool_is_called_where_owner_and_server_say_so(
    configured: dict[str, Any], declared: dict[str, Any], known: dict[str, str], why: str
) -> None:
    found = refusal(server(**configured), "search", {"search": listed(**declared)}, known)
    assert (why in found) if why else found == ""


def test_a_tool_that_is_not_there_is_not_called() -> None:
    assert refusal(server(tools=["search"]), "search", {}) == "the server does not list it"


def test_a_hash_is_of_name_description_and_schema_and_of_no_order() -> None:
    line = '["search","Sucht – überall.",{"a":1,"b":[2]}]'
    assert tool_hash("search", "Sucht – überall.", {"b": [2], "a": 1}) == sha256(line.encode()).hexdigest()
    assert len({tool_hash("a", "b", {}), tool_hash("b", "a", {}), tool_hash("a", "b", {"c": 1})}) == 3


QUERIES = [
    (SCHEMA, "query"),
    ({"properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["n", "q"]}, "q"),
    ({"properties": {"q": {"type": "string"}, "site": {"type": "string"}}, "required": ["q"]}, "q"),
    ({"properties": {"q": {"type": "string"}, "r": {"type": "string"}}, "required": ["q", "r"]}, None),
    ({"properties": {"q": {"type": "string"}}}, None),
    ({"properties": [], "required": "q"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("schema", "argument"), QUERIES)
def test_the_words_go_to_the_only_text_that_is_required(schema: dict[str, Any], argument: str | None) -> None:
    assert listed(schema=schema).query_argument() == argument


KINDS = [
    ({"type": "string"}, "string"),
    ({"type": ["string", "null"]}, "string"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, None),
    ({"type": ["integer", "string"]}, None),
    ({"type": 7, "anyOf": 7}, None),
    ({}, None),
    ("string", None),
    (None, None),
]


@pytest.mark.parametrize(("schema", "kind"), KINDS)
def test_the_kind_of_an_argument_is_its_only_type(schema: Any, kind: str | None) -> None:
    assert kind_of(schema) == kind
