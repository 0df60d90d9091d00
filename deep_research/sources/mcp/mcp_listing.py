"""The tools that a server lists: which of them may be called, and whether they are what their owner pinned. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from deep_research.settings.mcp_servers import McpServer

_TEXT = "string"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as its server describes it, in words that nobody has checked. ``is_read_only`` is what the server declares:
    its own word."""

    name: str
    description: str
    schema: Mapping[str, Any]
    is_read_only: bool

    @property
    def hash(self) -> str:
        return tool_hash(self.name, self.description, self.schema)

    @property
    def properties(self) -> Mapping[str, Any]:
        value = self.schema.get("properties")
        return value if isinstance(value, Mapping) else {}

    @property
    def required(self) -> tuple[str, ...]:
        value = self.schema.get("required")
        return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()

    def query_argument(self) -> str | None:
        """The only text that it requires; None where there is none, or several."""
        texts = [name for name in self.required if kind_of(self.properties.get(name)) == _TEXT]
        return texts[0] if len(texts) == 1 else None


def tool_hash(name: str, description: str, schema: Mapping[str, Any]) -> str:
    """What a pin holds: the SHA-256 (hex) of name, description and input schema as JSON, ``["name", "description",
    {…}]``, with sorted keys, without spaces, in UTF-8.

    Example:
        tool_hash("search_notes", "Searches the notes.", {"type": "object"})
    """
    canonical_json = json.dumps(
        [name, description, schema], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return sha256(canonical_json.encode("utf-8", "surrogatepass")).hexdigest()


def kind_of(schema: Any) -> str | None:
    """The JSON type of a value, without null; None where there are several, or it is not said."""
    if not isinstance(schema, Mapping):
        return None
    type_ = schema.get("type")
    kinds = [type_] if isinstance(type_, str) else type_ if isinstance(type_, list) else _alternatives(schema)
    types = [kind for kind in kinds if isinstance(kind, str) and kind != "null"]
    return types[0] if len(types) == 1 else None


def _alternatives(schema: Mapping[str, Any]) -> Iterable[Any]:
    options = schema.get("anyOf")
    return (
        (each.get("type") for each in options if isinstance(each, Mapping))
        if isinstance(options, list)
        else ()
    )


def refusal(
    server: McpServer, name: str, listed: Mapping[str, ListedTool], pins: Mapping[str, str] | None = None
) -> str:
    """Why a tool may not be called, in the middle of a sentence; empty where it may. ``pins`` are the hashes that a run
    has of tools of this server."""
    tool = listed.get(name)
    if name not in server.callable_tools:
        return "the configuration does not list it"
    if tool is None:
        return "the server does not list it"
    if not tool.is_read_only and name not in server.approved:
        return "the server does not declare that it only reads, and it is not in approved"
    if (pin := server.pins.get(name)) is not None and pin != tool.hash:
        return f"it is not what was pinned: its hash is {tool.hash} now"
    if (before := (pins or {}).get(name)) is not None and before != tool.hash:
        return f"its server has changed it since the run began: its hash was {before} and is {tool.hash}"
    return ""
