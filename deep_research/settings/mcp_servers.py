"""Servers of the Model Context Protocol that the user configures: how each is reached, and which of its tools may be
called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.patterns import regex
from deep_research.settings.values import Name, Names, display_value, plain

MAX_TIMEOUT = 600.0  # seconds
_NAME = regex(r"[a-z][a-z0-9_]{0,19}")  # it begins the names of tools
_PIN = regex(r"[0-9a-f]{64}")
_FORMS = {
    "env": "a table of texts by variable",
    "pins": "a table of SHA-256 hashes (64 hex digits) by tool",
    "private": "true or false",
    "timeout": f"a number above 0 and at most {MAX_TIMEOUT:g}",
    **dict.fromkeys(("args", "variables", "tools", "approved"), "a list of texts"),
}


def _texts(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class McpServer(BaseModel):
    """A server: a ``command`` with ``args`` that is started here, or a ``url``.

    ``env`` are variables that the process gets, ``variables`` names of those of this environment that it gets as well;
    ``token_variable`` names the one whose value goes to the ``url`` as a bearer token. ``tools`` may be called where the
    server declares that they only read, ``approved`` whatever it declares; no others ever. ``search_tool`` is the one of
    them that searches, ``query_argument`` the argument that takes the words: without it the only text that it requires.
    ``pins`` are hashes of tools, see `deep_research.sources.mcp.mcp_listing.tool_hash`. ``private``: what its tools give
    is the user's alone. ``timeout`` is in seconds, for connecting and listing together, and for each call.

    Example:
        McpServer(command="notes-mcp", args=("--root", "/home/ann/notes"), tools=("search_notes",))
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    command: Name | None = None
    args: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()
    env: dict[Name, str] = Field(default_factory=dict, repr=False)  # one of them may be a key
    variables: Names = ()
    url: Name | None = None
    token_variable: Name | None = None
    tools: Names = ()
    approved: Names = ()
    search_tool: Name | None = None
    query_argument: Name | None = None
    pins: dict[Name, str] = Field(default_factory=dict)
    private: bool = False
    timeout: float = Field(default=30.0, gt=0, le=MAX_TIMEOUT)

    @property
    def callable_tools(self) -> tuple[str, ...]:
        """All that may be called, as far as the configuration says."""
        return tuple(dict.fromkeys((*self.tools, *self.approved)))


def _servers(value: object) -> object:
    """A table of servers by name. Raises `SettingsError` and `UnknownNameError`, which say of which server and what."""
    if not isinstance(value, Mapping):
        return value
    return {name: _server(str(name), server) for name, server in value.items()}


def _server(name: str, value: Any) -> Any:
    if isinstance(value, McpServer):
        return value
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"mcp_servers: '{plain(name)}' is not a name for a server.",
            hint="Use at most 20 small letters, digits and _, and begin with a letter.",
            setting="mcp_servers",
        )
    if not isinstance(value, Mapping):
        raise _refusal(name, f"must be a table, got {display_value(value)}")
    try:
        server = McpServer.model_validate(dict(value))
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        key = str(details["loc"][0])
        if details["type"] == "extra_forbidden":
            raise UnknownNameError.of(
                "setting", plain(key), McpServer.model_fields, where=f"mcp_servers.{name}"
            ) from None
        # The value of a variable may be a key.
        got = "" if key == "env" else f", got {display_value(details['input'])}"
        raise _refusal(f"{name}.{key}", f"must be {_FORMS.get(key, 'a text')}{got}") from None
    if problem := _problem(server):
        raise _refusal(name, problem)
    return server


def _problem(server: McpServer) -> str:
    """What of a server does not go together; empty where all does."""
    if (server.command is None) == (server.url is None):
        return "needs either a command or a url"
    if server.command is not None and "/" in server.command and not _is_whole(server.command):
        command = display_value(server.command)
        return f"names a command by a part of its path ({command}): name it alone, or its whole path"
    if server.url is not None:
        if server.args or server.env or server.variables:
            return "has a url, and args, env or variables, which only a command takes"
        if not _is_address(server.url):
            return "needs a url such as https://mcp.example/mcp, without user, password, query and fragment"
    elif server.token_variable is not None:
        return "has a token_variable, which only a url takes; name variables of a command in variables"
    if server.search_tool is not None and server.search_tool not in server.callable_tools:
        return f"has a search_tool that is in neither tools nor approved: {display_value(server.search_tool)}"
    if strange := [tool for tool in server.pins if tool not in server.callable_tools]:
        return f"has a pin of a tool that is in neither tools nor approved: {display_value(strange[0])}"
    if any(not _PIN.fullmatch(pin) for pin in server.pins.values()):
        return f"has pins that are not {_FORMS['pins']}"
    return ""


def _is_whole(command: str) -> bool:
    return command.startswith("~/") or Path(command).is_absolute()


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    beside = parts.username or parts.password or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not beside


def _refusal(place: str, problem: str) -> SettingsError:
    return SettingsError(
        f"mcp_servers.{place} {problem}.",
        hint='See "MCP servers as sources and tools" in docs/mcp.md.',
        setting="mcp_servers",
    )


McpServers = Annotated[dict[Name, McpServer], BeforeValidator(_servers)]
