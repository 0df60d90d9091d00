"""Connections to servers of the Model Context Protocol. Needs the extra ``mcp``; importing this room does not."""

from deep_research.sources.mcp.mcp_connection import McpConnection

__all__ = ["McpConnection"]
