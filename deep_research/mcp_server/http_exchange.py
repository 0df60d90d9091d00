"""One request of the protocol over HTTP, and its answer: nothing is kept between two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from deep_research.mcp_server.protocol_server import protocol_server
from deep_research.mcp_server.research_tools import Tools

ANY_HOST = "*"
_LOWERED = (b"host", b"origin")  # headers whose case means nothing


def transport_security(allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    """What the protocol's own check takes for hosts and origins: those of these names, at any port. ``"*"`` is any.

    Example:
        transport_security(["localhost"]).allowed_origins  # ["http://localhost", "http://localhost:*", "https://..."]
    """
    if ANY_HOST in allowed_hosts:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [each for name in allowed_hosts for each in (name.lower(), f"{name.lower()}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


async def answer_request(
    tools: Tools,
    error_line: Callable[[Exception], str],
    security: TransportSecuritySettings,
    body: bytes,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Answer a request, of which ``body`` was read, over the tools of its sender. Ends with the answer, and when the
    client leaves.

    There is no session: any server over the same store answers the next request of a client, of either era of the
    protocol.
    """
    manager = StreamableHTTPSessionManager(
        protocol_server(tools, error_line),
        stateless=True,
        security_settings=security,
        max_request_body_size=len(body) + 1,  # who calls has a limit of its own
    )
    headers = [(name, value.lower() if name in _LOWERED else value) for name, value in scope["headers"]]
    async with manager.run():
        await manager.handle_request({**scope, "headers": headers}, _replayed(body, receive), send)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then what comes from the client: its leaving."""
    is_read = False

    async def next_message() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
