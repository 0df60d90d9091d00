"""Tools of MCP servers as tools of tasks: which are offered in a run, and how one is used.

What a server says of its tools is shown to an agent as words from outside, and what they give as any outside text. An
agent gives plain values alone, so a tool that requires another kind of argument is not offered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import ConfigurationError, RemoteError, ToolError, bounded_line
from deep_research.logs import masked_value
from deep_research.patterns import regex
from deep_research.phases.gathering.handoff import GatheredSource
from deep_research.phases.gathering.source_reading import EXTRACT
from deep_research.phases.gathering.tasks.tool import Link, TaskView, Tool, ToolResult
from deep_research.sources.mcp.mcp_connection import McpConnection
from deep_research.sources.mcp.mcp_listing import ListedTool, kind_of, refusal
from deep_research.sources.search.mcp_results import ResultItem, items_of
from deep_research.sources.search.mcp_search import address_of, titled

MAX_DESCRIPTION_CHARS = 600  # of what a server says of a tool
MAX_ARGUMENT_CHARS = 160  # and of each of its arguments
MAX_ARGUMENTS = 12
MAX_CHOICES = 20  # of an argument, that an agent is told
MAX_ERROR_CHARS = 400
MAX_NAME_CHARS = 40
_KINDS: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
_NO_WORD = regex(r"[^A-Za-z0-9]+")


def agent_name(server: str, tool: str) -> str:
    """The name that agents use: ``notes_search`` for the tool ``search`` of ``notes``."""
    return f"{server}_{_NO_WORD.sub('_', tool).strip('_').lower()}"[:MAX_NAME_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """A server whose ``tools`` agents may be offered: its own names by those that agents use. ``connect`` raises
    `ConfigurationError`."""

    name: str
    tools: Mapping[str, str]
    connect: Callable[[], McpConnection]


@dataclass(slots=True)
class Offer:
    """The tools that there are in a run by the names that agents use, their hashes, and why others are not there."""

    tools: dict[str, Tool] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


async def offer_of(servers: Sequence[ToolServer], wanted: Collection[str], known: Mapping[str, str]) -> Offer:
    """What the servers offer of the tools that are ``wanted``. ``known`` are hashes that the run has of them: a tool that
    is another one now is not offered."""
    matching = [server for server in servers if any(name in wanted for name in server.tools)]
    whole = Offer()
    for offer in await asyncio.gather(*(_offer(server, wanted, known) for server in matching)):
        whole.tools |= offer.tools
        whole.hashes |= offer.hashes
        whole.notes += offer.notes
    return whole


async def _offer(server: ToolServer, wanted: Collection[str], known: Mapping[str, str]) -> Offer:
    try:
        connection = server.connect()
        listed = await connection.tools()
    except (RemoteError, ConfigurationError) as error:
        problem = f"{error.problem} {error.hint}".strip()
        return Offer(notes=[f"The tools of the MCP server '{server.name}' are not there. {problem}"])
    offer = Offer()
    for name, own in server.tools.items():
        if name not in wanted:
            continue
        why = refusal(connection.server, own, listed, {own: known[name]} if name in known else {})
        if not why:
            try:
                offer.tools[name] = _tool(name, connection, listed[own])
                offer.hashes[name] = listed[own].hash
            except ToolError as error:
                why = error.problem
        if why:
            offer.notes.append(f"The tool {own} of the MCP server '{server.name}' is not offered: {why}.")
    return offer


class _McpTool(Tool):
    """``fields`` are the server's names of arguments by those that agents use."""

    searches: ClassVar[int] = 1

    def __init__(self, connection: McpConnection, listed: ListedTool, fields: Mapping[str, str]) -> None:
        self._connection, self._listed, self._fields = connection, listed, fields

    async def __call__(self, arguments: BaseModel, view: TaskView) -> ToolResult:
        values = arguments.model_dump(mode="json", exclude_none=True)
        masked_arguments = masked_value({self._fields[name]: value for name, value in values.items()})
        answer = await self._connection.call(
            self._listed.name, masked_arguments, self.timeout, expected=self._listed.hash
        )
        size = sum(len(getattr(block, "text", "")) for block in answer.content) // TEXT_UNIT_CHARS
        items = await off_loop(size, items_of, answer.structured_content, answer.content)
        if answer.is_error:
            words = next((item.text for item in items if item.text), "it says nothing of it")
            raise ToolError(f"{self.name} failed: {bounded_line(words, MAX_ERROR_CHARS)}", asked=True)
        service = f"mcp:{self._connection.name}"
        return ToolResult(
            sources=tuple(self._source(item, service) for item in items if item.text),
            links=tuple(_link(item, service) for item in items if not item.text),
            searches=1,
        )

    def _source(self, item: ResultItem, service: str) -> GatheredSource:
        """A text of the server. That it stands at an address only the server says."""
        details = {"provider": service} | ({"read": EXTRACT} if item.url else {})
        return GatheredSource(
            title=item.title or titled(item.text),
            url=address_of(item, service),
            snippet=item.snippet,
            content=item.text,
            published=item.published,
            metadata=details,
        )


def _link(item: ResultItem, service: str) -> Link:
    return Link(
        address=item.url or "",
        title=item.title or item.url or "",
        snippet=item.snippet,
        published=item.published,
        provider=service,
    )


def _tool(tool_name: str, connection: McpConnection, listed: ListedTool) -> Tool:
    """Raises `ToolError` for one that no agent can use."""
    arguments_type, fields = _arguments(tool_name, listed)

    class OfferedTool(_McpTool):
        name = tool_name
        description = f"A tool of the MCP server {connection.name}, which says below what it does."
        outside_description = _described(listed)
        arguments = arguments_type
        timeout = connection.server.timeout
        private = connection.server.private

    return OfferedTool(connection, listed, fields)


def _arguments(tool_name: str, listed: ListedTool) -> tuple[type[BaseModel], dict[str, str]]:
    """A model of the plain arguments, and the server's names by the model's."""
    definitions: dict[str, Any] = {}
    fields: dict[str, str] = {}
    names = dict.fromkeys((*listed.required, *listed.properties))  # the required ones first
    for own in names:
        kind = _KINDS.get(kind_of(listed.properties.get(own)) or "")
        name = _field_name(own)
        is_required = own in listed.required
        is_usable = kind is not None and name not in definitions and len(definitions) < MAX_ARGUMENTS
        if not is_usable and is_required:
            raise ToolError(
                f"its argument {bounded_line(own, MAX_NAME_CHARS)} is none that an agent can give"
            )
        if not is_usable:
            continue
        description = f"{name} of {tool_name}"
        definitions[name] = (
            (kind, Field(description=description))
            if is_required
            else (kind | None, Field(default=None, description=description))  # type: ignore[operator]
        )
        fields[name] = own
    if not definitions:  # a step names its tool and something to do with it
        definitions["reason"] = (str | None, Field(default=None, description=f"why {tool_name} is used"))
    model: type[BaseModel] = create_model(
        "Arguments", __config__=ConfigDict(allow_inf_nan=False), **definitions
    )
    return model, fields


def _field_name(own: str) -> str:
    """A name that a field of a model can have, and that no part of an action has."""
    name = _NO_WORD.sub("_", own).strip("_")[:MAX_NAME_CHARS] or "value"
    name = f"a_{name}" if name[0].isdigit() else name
    return f"{name}_" if name == "tool" or name.startswith("model_") or hasattr(BaseModel, name) else name


def _described(listed: ListedTool) -> str:
    """What the server says of a tool and its arguments, in one line."""
    lines = [bounded_line(listed.description, MAX_DESCRIPTION_CHARS)]
    for own, schema in list(listed.properties.items())[:MAX_ARGUMENTS]:
        properties = schema if isinstance(schema, Mapping) else {}
        description, choices = properties.get("description"), properties.get("enum")
        words = description if isinstance(description, str) else ""
        if isinstance(choices, list):
            words = f"{words} one of {json.dumps(choices[:MAX_CHOICES], ensure_ascii=False)}"
        if words.strip():
            lines.append(f"{_field_name(own)}: {bounded_line(words, MAX_ARGUMENT_CHARS)}")
    return "; ".join(line for line in lines if line)
