"""The checks of `doctor` on the MCP servers of the settings, and the hashes that pin their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deep_research.errors import ConfigurationError, RemoteError
from deep_research.interfaces.cli.doctor_checks import BROKEN, NOTE, OK, Check
from deep_research.settings import Settings

if TYPE_CHECKING:
    from deep_research.sources.mcp import McpConnection


def mcp_servers(settings: Settings, *, probe: bool) -> Iterator[Check]:
    """One line for each server; ``probe`` starts or asks it, and tells which of its tools may be called."""
    if settings.local_only:
        return
    from deep_research.assembly.mcp_choice import McpConnections

    connections = McpConnections(settings.mcp_servers)
    for name, server in settings.mcp_servers.items():
        try:
            connection = connections.connection(name)
        except ConfigurationError as error:
            yield Check(f"mcp:{name}", BROKEN, str(error))
            continue
        if not server.callable_tools:
            yield Check(f"mcp:{name}", NOTE, "not used: name the tools that may be called (tools)")
        elif probe:
            yield from asyncio.run(_probed(connection))
        else:
            yield Check(f"mcp:{name}", OK, f"may be asked for {', '.join(server.callable_tools)}")


async def _probed(connection: McpConnection) -> list[Check]:
    from deep_research.sources.mcp.mcp_listing import refusal

    place = f"mcp:{connection.name}"
    try:
        listed = await connection.tools()
    except RemoteError as error:
        return [Check(place, BROKEN, str(error).removeprefix(f"{place}: "))]
    finally:
        await connection.aclose()
    checks = []
    for name in connection.server.callable_tools:
        why = refusal(connection.server, name, listed)
        pinned = "pinned" if name in connection.server.pins else "not pinned"
        detail = (
            f"{name} is not called: {why}" if why else f"{name} may be called, {pinned}: {listed[name].hash}"
        )
        checks.append(Check(place, NOTE if why else OK, detail))
    return checks
