"""A server at an address: what comes from it is bounded, and its token goes nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from deep_research.addresses import is_loopback
from deep_research.models.clients import MAX_CONNECT_SECONDS, bounded, tls
from deep_research.sources.mcp.mcp_trouble import ConnectionState
from deep_research.unpacking import CODINGS

MAX_ANSWER_BYTES = 5_000_000  # of one answer, unpacked
MAX_VALUES = 250_000  # in its JSON


@asynccontextmanager
async def http_streams(
    url: str, token: SecretStr | None, seconds: float, server_state: ConnectionState
) -> AsyncIterator[Any]:
    """The messages of the server, and where those to it are put. ``server_state`` is told of statuses that are errors.
    Redirects to another place are not followed."""
    bound = bounded(MAX_ANSWER_BYTES, values=MAX_VALUES)

    async def note(response: Any) -> None:
        if response.status_code >= 300:
            server_state.status, server_state.retry_after = (
                response.status_code,
                response.headers.get("retry-after"),
            )
        await bound(response)

    headers = {"user-agent": "deep-research", "accept-encoding": CODINGS}
    if token is not None:
        headers["authorization"] = f"Bearer {token.get_secret_value()}"
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS)),
        event_hooks={"response": [note]},
        follow_redirects=False,
        verify=tls(),
        trust_env=not is_loopback(url),
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES) as streams,
    ):
        yield streams
