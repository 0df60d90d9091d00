"""The MCP servers of an engine: one connection to each for all its parts, made when it is first needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.phases.gathering.tasks.tool import BUILT_IN
from deep_research.settings import Settings
from deep_research.settings.mcp_servers import McpServer
from deep_research.state import Permissions

if TYPE_CHECKING:
    from deep_research.phases.gathering.tasks.mcp_tools import ToolServer
    from deep_research.sources.mcp import McpConnection


class McpConnections:
    """The connections to the servers of the settings. Thread-safe."""

    def __init__(self, servers: Mapping[str, McpServer]) -> None:
        self.servers = servers
        self._gate = threading.Lock()
        self._connections: dict[str, McpConnection] = {}

    def connection(self, name: str) -> McpConnection:
        """To the server of that name; nothing is opened. Raises `UnknownNameError`, `MissingKeyError` and
        `ConfigurationError`."""
        if name not in self.servers:
            raise UnknownNameError.of("MCP server", name, self.servers, where="mcp_servers")
        from deep_research.sources.mcp import McpConnection  # who has no server needs nothing of it

        with self._gate:
            if name not in self._connections:
                self._connections[name] = McpConnection(name, self.servers[name])
            return self._connections[name]

    async def aclose(self) -> None:
        """End the connections of the running loop."""
        with self._gate:
            connections = list(self._connections.values())
        await asyncio.gather(*(connection.aclose() for connection in connections))


def tool_servers(
    settings: Settings, connections: McpConnections, permissions: Permissions, tool_names: Collection[str]
) -> tuple[ToolServer, ...]:
    """The servers with the tools that agents may be offered; none where nothing may leave this machine. ``tool_names``
    are those of other tools. Raises `ConfigurationError` for two tools of one name."""
    if settings.local_only or not connections.servers:
        return ()
    from deep_research.phases.gathering.tasks.mcp_tools import ToolServer, agent_name

    used_names = {*BUILT_IN, *tool_names}
    servers = []
    for server, configured in connections.servers.items():
        tools: dict[str, str] = {}
        for own in configured.callable_tools:
            name = agent_name(server, own)
            if name in used_names:
                raise ConfigurationError(
                    f"There are two tools '{name}', of which one is {own} of the MCP server '{server}'.",
                    hint="Rename the server in mcp_servers.",
                )
            used_names.add(name)
            may_ask = permissions.may_search(f"mcp:{server}")
            if may_ask and (permissions.tools is None or name in permissions.tools):
                tools[name] = own
        if tools:
            servers.append(
                ToolServer(name=server, tools=tools, connect=partial(connections.connection, server))
            )
    return tuple(servers)
