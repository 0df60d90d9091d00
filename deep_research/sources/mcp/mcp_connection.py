"""The connection to one server: opened when it is first asked for, once for each loop, and closed with it.

A task of the loop opens the connection, holds it and closes it, for every caller: what the client of the package
``mcp`` opens has to be closed by the task that opened it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from deep_research.calls import first
from deep_research.errors import ConfigurationError, MissingKeyError, RemoteError
from deep_research.logs import get_log, register_secret
from deep_research.models.clients import PerLoop, secret_key
from deep_research.patterns import regex
from deep_research.settings.mcp_servers import McpServer
from deep_research.sources.mcp.mcp_listing import ListedTool, refusal
from deep_research.sources.mcp.mcp_trouble import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    ConnectionState,
    failure_of,
    remote_error,
)

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

CLOSE_SECONDS = 3.0  # for a connection to end; then its task is cancelled
MAX_PAGES, MAX_TOOLS = 20, 1_000  # of a listing
_PACKAGE = "mcp"  # of the extra
_SECRET_NAME = regex(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)  # of a variable
_SILENT = logging.NullHandler()
log = get_log("mcp")


@dataclass(frozen=True, slots=True)
class _Open:
    client: Client
    tools: Mapping[str, ListedTool]


class McpConnection:
    """The connections to the server of that ``name``, one for each loop. Nothing is started or asked before the first
    use.

    Raises `ConfigurationError` where the package ``mcp`` is missing, and `MissingKeyError` for a variable that is not
    set.

    Example:
        notes = McpConnection("notes", settings.mcp_servers["notes"])
        result = await notes.call("search_notes", {"query": "harbour"}, 30.0)
    """

    def __init__(self, name: str, server: McpServer) -> None:
        if find_spec(_PACKAGE) is None:
            raise ConfigurationError(
                f"The MCP server '{name}' needs another package.", hint="pip install 'deep-research[mcp]'"
            )
        variables = (*server.variables, *((server.token_variable,) if server.token_variable else ()))
        missing = tuple(each for each in variables if not os.environ.get(each, "").strip())
        if missing:
            raise MissingKeyError(
                f"The MCP server '{name}' needs {' and '.join(missing)}.",
                hint="Set it in the environment, or leave the server out.",
                name=name,
                needs=missing,
            )
        self.name = name
        self.server = server
        self._token = secret_key(None, variable=server.token_variable) if server.token_variable else None
        environment = {each: os.environ[each] for each in server.variables} | server.env
        for variable, value in environment.items():
            if _SECRET_NAME.search(variable):
                register_secret(value.strip())
        self._sessions = PerLoop(self._session, _Session.aclose)

    async def tools(self) -> Mapping[str, ListedTool]:
        """What the server lists, by name. Raises `RemoteError`."""
        return (await self._sessions.here().opened()).tools

    async def call(
        self, name: str, arguments: Mapping[str, Any], seconds: float, *, expected: str | None = None
    ) -> CallToolResult:
        """The server's answer, which may be an error of the tool. ``expected`` is the hash that the tool has to have.
        Raises `RemoteError` for a tool that may not be called, and where there is no answer within ``seconds``."""
        pins = {name: expected} if expected else {}
        return await self._sessions.here().call(name, arguments, min(seconds, self.server.timeout), pins)

    async def aclose(self) -> None:
        """End the connection of the running loop, with the process that was started for it."""
        await self._sessions.aclose()

    def _session(self) -> _Session:
        return _Session(self.name, self.server, self._token)


@dataclass(eq=False)
class _Session:
    """The connection of one loop. ``busy`` counts calls under way; ``_holders`` are the tasks that hold it, or
    still close one that broke."""

    name: str
    server: McpServer
    token: SecretStr | None
    server_state: ConnectionState = field(default_factory=ConnectionState)
    busy: int = 0
    _holders: set[asyncio.Task[None]] = field(default_factory=set)
    _ready: asyncio.Future[_Open] | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def opened(self) -> _Open:
        """The open connection. All who ask while it is being opened wait for the same one. Raises `RemoteError`."""
        if self._ready is None or self._closing.is_set():
            self._ready = asyncio.get_running_loop().create_future()
            self._closing, self.server_state = asyncio.Event(), ConnectionState()
            hold = self._hold(self._ready, self._closing, self.server_state)
            holder = asyncio.create_task(hold, name=f"mcp {self.name}")
            self._holders.add(holder)
            holder.add_done_callback(partial(self._release_waiters, self._ready, self._closing))
        return await asyncio.shield(self._ready)

    async def call(
        self, name: str, arguments: Mapping[str, Any], seconds: float, pins: Mapping[str, str]
    ) -> CallToolResult:
        import mcp_types

        opened = await self.opened()
        if why := refusal(self.server, name, opened.tools, pins):
            raise self._error(f"{name} is not called: {why}", "refused")
        parameters = mcp_types.CallToolRequestParams(name=name, arguments=dict(arguments))
        server_state, closing = self.server_state, self._closing
        server_state.status = 0
        self.busy += 1
        try:
            async with asyncio.timeout(seconds):
                # Not `call_tool`, which matches what comes with patterns that the server wrote, in time without bound.
                return await opened.client.session.send_request(
                    mcp_types.CallToolRequest(params=parameters), mcp_types.CallToolResult
                )
        except TimeoutError:
            if self.busy == 1:  # it may hang for good, and nobody else waits for it
                closing.set()
            raise self._error(f"no answer within {seconds:g} s") from None
        except Exception as error:
            failure = self._failure(error, server_state)
            if getattr(error, "code", CONNECTION_CLOSED) in (CONNECTION_CLOSED, INVALID_REQUEST):
                closing.set()
            raise failure from None
        finally:
            self.busy -= 1

    async def aclose(self) -> None:
        self._closing.set()
        holders = set(self._holders)
        if self._ready is not None and not self._ready.done():  # it is being opened
            for holder in holders:
                holder.cancel()
        try:
            if holders:
                await asyncio.wait(holders, timeout=CLOSE_SECONDS)
        finally:
            for holder in holders:
                holder.cancel()

    async def _hold(
        self, ready: asyncio.Future[_Open], closing: asyncio.Event, server_state: ConnectionState
    ) -> None:
        """Opens the connection, holds it until it is to be closed, and closes it."""
        failure: RemoteError | None = None
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.timeout):
                    client = await stack.enter_async_context(self._client(server_state, closing))
                    tools = await _listing(client)
                ready.set_result(_Open(client, tools))
                await closing.wait()
        except Exception as error:  # of the package, whose errors come in groups
            cause = first(error)
            late = f"no connection within {self.server.timeout:g} s"
            failure = (
                self._error(late) if isinstance(cause, TimeoutError) else self._failure(cause, server_state)
            )
            log.debug("connection_failed", server=self.name, error=str(failure))
        if failure is not None and not ready.done():
            ready.set_exception(failure)

    def _release_waiters(
        self, ready: asyncio.Future[_Open], closing: asyncio.Event, holder: asyncio.Task[None]
    ) -> None:
        """Nobody waits for a task that has ended, also where it was cancelled before it began."""
        self._holders.discard(holder)
        closing.set()
        if not ready.done():
            ready.set_exception(self._error("the connection was closed"))
        ready.exception()  # the caller may be gone

    def _client(
        self, server_state: ConnectionState, closing: asyncio.Event
    ) -> AbstractAsyncContextManager[Client]:
        from mcp import Client
        from mcp_types import Implementation

        # What the package logs quotes what the server sent: without a handler it would go to the terminal.
        logging.getLogger(_PACKAGE).addHandler(_SILENT)
        transport: Any = self._streams(server_state, closing)
        who = Implementation(name="deep-research", version="1")
        return Client(transport, cache=None, client_info=who)

    def _streams(
        self, server_state: ConnectionState, closing: asyncio.Event
    ) -> AbstractAsyncContextManager[Any]:
        server = self.server
        if server.url is not None:
            from deep_research.sources.mcp.mcp_http import http_streams

            return http_streams(server.url, self.token, server.timeout, server_state)
        from deep_research.sources.mcp.mcp_process import environment_of, process_streams

        def on_end(reason: str) -> None:
            server_state.end = server_state.end or reason
            closing.set()

        command = (str(Path(server.command or "").expanduser()), *server.args)
        return process_streams(command, environment_of(server.env, server.variables), on_end)

    def _failure(self, error: BaseException, server_state: ConnectionState) -> RemoteError:
        return failure_of(self.name, self.server, error, server_state)

    def _error(self, problem: str, trouble: str = "transient") -> RemoteError:
        return remote_error(self.name, problem, trouble=trouble)


async def _listing(client: Client) -> dict[str, ListedTool]:
    import mcp_types

    tools: dict[str, ListedTool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=mcp_types.PaginatedRequestParams(cursor=cursor))
        for tool in page.tools[: MAX_TOOLS - len(tools)]:
            hints = tool.annotations
            tools.setdefault(
                tool.name,
                ListedTool(
                    name=tool.name,
                    description=tool.description or "",
                    schema=tool.input_schema,
                    is_read_only=hints is not None and hints.read_only_hint is True,
                ),
            )
        cursor = page.next_cursor
        if not cursor or len(tools) >= MAX_TOOLS:
            break
    return tools
