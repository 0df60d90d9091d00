"""Errors of MCP servers that cannot be reached, refuse or break off, as `RemoteError`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deep_research.errors import DeepResearchError, RemoteError, bounded_line
from deep_research.logs import describe_error
from deep_research.settings.mcp_servers import McpServer

MAX_WORDS_CHARS = 200  # that are told of what a server says
CONNECTION_CLOSED, INVALID_REQUEST, INTERNAL_ERROR = -32000, -32600, -32603  # codes of JSON-RPC
_PASSING = (408, 409, 425, 429)  # statuses
_UNREACHED = ("ConnectError", "ConnectTimeout")


@dataclass(slots=True)
class ConnectionState:
    """What is known of a connection beside its messages: why it ended, and the latest status of HTTP that is an error,
    with what it says of waiting."""

    end: str = ""
    status: int = 0
    retry_after: str | None = None


def remote_error(name: str, problem: str, *, hint: str = "", **data: Any) -> RemoteError:
    """``data`` has ``trouble``: transient, refused, or request, where only this request is refused; and where it is known
    ``status``, ``retry_after`` as the server wrote it, and ``unreached``."""
    return RemoteError(f"mcp:{name}: {bounded_line(problem, MAX_WORDS_CHARS)}.", hint=hint, **data)


def failure_of(
    name: str, server: McpServer, error: BaseException, server_state: ConnectionState
) -> RemoteError:
    """What anything means that the package raises."""
    if isinstance(error, DeepResearchError):  # the process cannot be started, certificates cannot be read
        return remote_error(
            name, error.problem.rstrip("."), hint=error.hint, trouble="transient", unreached=True
        )
    if server_state.end:
        return remote_error(name, server_state.end, trouble="transient")
    if server_state.status:
        return _of_status(name, server, server_state)
    code = getattr(error, "code", None)
    if isinstance(code, int) and code != CONNECTION_CLOSED:
        trouble = "transient" if code == INTERNAL_ERROR else "request"
        return remote_error(name, f"it answered with an error: {describe_error(error)}", trouble=trouble)
    if type(error).__name__ in _UNREACHED:
        return remote_error(
            name, "the server cannot be reached", hint="Is it running?", trouble="transient", unreached=True
        )
    kind = type(error).__name__
    what = "the connection broke" if code == CONNECTION_CLOSED else f"its answer cannot be used ({kind})"
    return remote_error(name, what, trouble="transient")


def _of_status(name: str, server: McpServer, server_state: ConnectionState) -> RemoteError:
    status = server_state.status
    key = f"Check {server.token_variable or 'whether it needs a token (token_variable)'}."
    hint = key if status in (401, 403) else "Check its url." if 300 <= status < 500 else ""
    return remote_error(
        name,
        f"the server did not answer (status {status})",
        hint=hint,
        trouble="transient" if status >= 500 or status in _PASSING else "refused",
        status=status,
        retry_after=server_state.retry_after,
    )
