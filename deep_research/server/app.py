"""The application: an engine behind HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from deep_research import __version__
from deep_research.errors import StoreError
from deep_research.server.access import service_of
from deep_research.server.langgraph_routes import langgraph_routes
from deep_research.server.mcp_routes import mcp_routes
from deep_research.server.memory_routes import memory_routes
from deep_research.server.metrics import metric_routes
from deep_research.server.openai_routes import openai_routes
from deep_research.server.problem_responses import PROBLEMS, add_problem_schemas
from deep_research.server.problems import add_error_handlers
from deep_research.server.request_gate import LOOPBACK_HOSTS, RequestGate, RequestLimits
from deep_research.server.researcher_routes import researcher_routes
from deep_research.server.routes import plain_routes
from deep_research.server.run_routes import run_routes
from deep_research.server.service import Service, Tokens
from deep_research.server.session_routes import session_routes
from deep_research.server.upload_routes import upload_routes

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

Routes = Literal["all", "researcher"]
READY_SECONDS = 5.0  # for the store to be read


class Health(BaseModel):
    """Whether the server works: ``ok``, or what keeps it from that."""

    status: str


def create_app(
    engine: DeepResearch,
    tokens: Tokens | None = None,
    *,
    allowed_hosts: Sequence[str] = LOOPBACK_HOSTS,
    limits: RequestLimits | None = None,
    routes: Routes = "all",
) -> FastAPI:
    """An application that serves an engine, which stays the caller's to close. Without ``tokens`` every request is the
    owner's. ``allowed_hosts`` are the names under which it may be reached, ``["*"]`` any.
    ``routes`` may be those of the ``"researcher"`` alone, with health.

    It can be mounted: ``app.mount("/research", create_app(engine))``. It needs no lifespan of its own, which a mounted
    application does not get. Two things are the parent's then: to work on what is submitted (`DeepResearch.awork`, here
    or in another process), and to set ``app.state.service.closing`` when its process is asked to end, so that open
    streams do. `deep_research.server.serving.serve` does both.

    Example:
        app = create_app(DeepResearch(corpus="docs/"))
    """
    service = Service(engine, tokens)
    app = FastAPI(
        title="deep_research",
        version=__version__,
        docs_url=None,  # its pages load scripts of another server
        redoc_url=None,
        telemetry={"tracing": False},
    )
    app.state.service = service
    app.add_middleware(
        RequestGate,
        allowed_hosts=allowed_hosts,
        limits=limits or RequestLimits(),
        count=service.count_answer,
    )
    routers = _routers(routes, allowed_hosts, has_tokens=tokens is not None)
    add_error_handlers(app, [*app.routes, *(route for router in routers for route in router.routes)])
    for router in routers:
        app.include_router(router)
    _describe(app)
    return app


def _routers(routes: Routes, allowed_hosts: Sequence[str], *, has_tokens: bool) -> tuple[APIRouter, ...]:
    researcher = (_health_routes(), researcher_routes(), langgraph_routes())
    if routes == "researcher":
        return researcher
    return (
        *researcher,
        metric_routes(),
        plain_routes(has_tokens=has_tokens),
        run_routes(has_tokens=has_tokens),
        session_routes(),
        memory_routes(has_tokens=has_tokens),
        openai_routes(),
        upload_routes(),
        mcp_routes(allowed_hosts),
    )


def _health_routes() -> APIRouter:
    router = APIRouter(responses={status: PROBLEMS[status] for status in (400, 403, 414, 431)})
    router.add_api_route("/healthz", _healthy, response_model=Health, operation_id="healthz")
    router.add_api_route(
        "/readyz",
        _ready,
        response_model=Health,
        operation_id="readyz",
        responses={503: {"description": "It takes no requests now.", "model": Health}},
    )
    return router


async def _healthy() -> Health:
    """Whether the process answers."""
    return Health(status="ok")


async def _ready(request: Request) -> JSONResponse:
    """Whether requests may be sent here: not while the server stops, or when its store cannot be read."""
    service = service_of(request)
    status = "ok"
    if service.closing.is_set():
        status = "closing"
    else:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await service.engine.alist(limit=1)
        except (StoreError, TimeoutError):
            status = "store"
    return JSONResponse({"status": status}, 200 if status == "ok" else 503)


def _describe(app: FastAPI) -> None:
    """Add what FastAPI does not know of the answers to the OpenAPI document."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        add_problem_schemas(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
