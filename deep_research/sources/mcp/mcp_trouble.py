"""What it means when a server cannot be reached, refuses or breaks off: one `RemoteError` for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deep_research.errors import DeepResearchError, RemoteError, bounded_line
from deep_research.logs import told
from deep_research.settings.mcp_servers import McpServer

MAX_WORDS_CHARS = 300  # that are told of what a server says
MAX_RETRY_DIGITS = 7
CONNECTION_CLOSED, INVALID_REQUEST, INTERNAL_ERROR = -32000, -32600, -32603  # codes of JSON-RPC
_REFUSED, _QUOTA = (401, 403, 404), (402, 429)
_UNREACHED = ("ConnectError", "ConnectTimeout")


@dataclass(slots=True)
class Heard:
    """What is known of a connection beside its messages: why it ended, and the latest status of HTTP that is an error,
    with what it says of waiting."""

    end: str = ""
    status: int = 0
    retry_after: str | None = None


def remote_error(name: str, problem: str, *, hint: str = "", **data: Any) -> RemoteError:
    """``data`` has ``trouble``, as of searches (transient, quota, refused), and where it is known ``status``,
    ``retry_after`` (seconds) and ``unreached``."""
    return RemoteError(f"mcp:{name}: {bounded_line(problem, MAX_WORDS_CHARS)}.", hint=hint, **data)


def failure_of(name: str, server: McpServer, error: BaseException, heard: Heard) -> RemoteError:
    """What anything means that the package raises."""
    if isinstance(error, DeepResearchError):  # the process cannot be started, certificates cannot be read
        return remote_error(
            name, error.problem.rstrip("."), hint=error.hint, trouble="transient", unreached=True
        )
    if heard.end:
        return remote_error(name, heard.end, trouble="transient")
    if heard.status:
        return _of_status(name, server, heard)
    code = getattr(error, "code", None)
    if isinstance(code, int) and code != CONNECTION_CLOSED:
        passing = (
            {"trouble": "transient"} if code == INTERNAL_ERROR else {"trouble": "refused", "status": 400}
        )
        return remote_error(name, f"it answered with an error: {told(error)}", **passing)
    if type(error).__name__ in _UNREACHED:
        return remote_error(
            name, "the server cannot be reached", hint="Is it running?", trouble="transient", unreached=True
        )
    kind = type(error).__name__
    what = "the connection broke" if code == CONNECTION_CLOSED else f"its answer cannot be used ({kind})"
    return remote_error(name, what, trouble="transient")


def _of_status(name: str, server: McpServer, heard: Heard) -> RemoteError:
    status, wait = heard.status, _seconds(heard.retry_after)
    trouble = "refused" if status in _REFUSED else "quota" if status in _QUOTA else "transient"
    hints = dict.fromkeys(
        (401, 403), f"Check {server.token_variable or 'whether it needs a token (token_variable)'}."
    )
    hint = hints.get(status, "Check its url." if status < 500 and trouble == "refused" else "")
    more = {} if wait is None else {"retry_after": wait}
    problem = f"the server did not answer (status {status})"
    return remote_error(name, problem, hint=hint, trouble=trouble, status=status, **more)


def _seconds(text: str | None) -> float | None:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= MAX_RETRY_DIGITS
    return float(text) if text is not None and is_number else None
