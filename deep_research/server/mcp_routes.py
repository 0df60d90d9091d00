"""The tools of research for clients of the Model Context Protocol, over streamable HTTP. Needs the extra ``mcp``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from deep_research.mcp_server.research_tools import Tools
from deep_research.server.access import SCHEMES, service_of, user_of
from deep_research.server.live_stream import EVENT_SCHEMA
from deep_research.server.mcp_runs import UserRuns, user_error_line
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.problems import RequestRefused
from deep_research.server.users import User

PATH = "/mcp"
JSON, STREAM = "application/json", "text/event-stream"
_PACKAGE = "mcp"  # of the extra
_MESSAGE = {"schema": {"type": "object", "description": "A message of JSON-RPC."}}

Exchange = Callable[[Tools, bytes, Scope, Receive, Send], Awaitable[None]]


def mcp_routes(allowed_hosts: Sequence[str]) -> APIRouter:
    """``allowed_hosts`` as of `create_app`. Without the package of the extra the route says how to install it."""
    exchange = None if find_spec(_PACKAGE) is None else _exchange(allowed_hosts)

    async def mcp(request: Request, user: Annotated[User, Depends(user_of)]) -> Response:
        """A message of a client of the Model Context Protocol, of the revision 2026-07-28 or one with a handshake. There
        are no sessions, and there is no stream but that of an answer."""
        if exchange is None:
            raise RequestRefused(
                501,
                "missing_extra",
                "This server has no MCP.",
                "Its owner runs pip install 'deep-research[mcp]'.",
            )
        service = service_of(request)
        service.streams.check(user.name)
        body = await request.body()
        if not body:
            raise RequestRefused(400, "no_message", "The request has no body.", "Send a message of JSON-RPC.")
        return _McpResponse(exchange, Tools(UserRuns(service, user)), body)

    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS, tags=["mcp"])
    router.add_api_route(
        PATH,
        mcp,
        methods=["POST"],
        response_class=Response,
        responses=_RESPONSES,
        openapi_extra={"requestBody": {"required": True, "content": {JSON: _MESSAGE}}},
        operation_id="mcp",
    )
    return router


def _exchange(allowed_hosts: Sequence[str]) -> Exchange:
    from deep_research.mcp_server.http_exchange import answer_request, transport_security

    security = transport_security(allowed_hosts)

    async def exchange(tools: Tools, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_request(tools, user_error_line, security, body, scope, receive, send)

    return exchange


class _McpResponse(Response):
    """The answer to a message, as the package ``mcp`` makes it."""

    def __init__(self, exchange: Exchange, tools: Tools, body: bytes) -> None:
        super().__init__()
        self._answer = partial(exchange, tools, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)


def _problem_or_message(status: int) -> dict[str, Any]:
    content = PROBLEMS[status]["content"]
    return {**PROBLEMS[status], "content": {**content, JSON: _MESSAGE}}


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, after notes of progress where it is a stream.",
        "content": {JSON: _MESSAGE, STREAM: {"itemSchema": EVENT_SCHEMA}},
    },
    202: {"description": "A message that has no answer."},
    406: {"description": "The header `Accept` has to name both kinds of an answer."},
    501: {"description": "The package of the extra is missing.", "content": PROBLEMS[500]["content"]},
    **{status: _problem_or_message(status) for status in (400, 404, 500)},
}
