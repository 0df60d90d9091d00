"""Figures of a server, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from deep_research.research.operations import Right
from deep_research.server.access import SCHEMES, service_of, user_with
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state import RunStatus

MAX_COUNT = 10_000  # runs of one status that are counted
_COUNTED = tuple(status for status in RunStatus if not status.is_final)
_KIND = "text/plain; version=0.0.4; charset=utf-8"


def metric_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    router.add_api_route(
        "/metrics",
        _metrics,
        response_class=PlainTextResponse,
        summary="Give the figures of the server in Prometheus' text format.",
        operation_id="metrics",
    )
    return router


async def _metrics(
    request: Request, _: Annotated[User, Depends(user_with(Right.ADMIN))]
) -> PlainTextResponse:
    service = service_of(request)
    runs = {status: len(await service.engine.alist(status=status, limit=MAX_COUNT)) for status in _COUNTED}
    return PlainTextResponse("\n".join([*_lines(service, runs), ""]), media_type=_KIND)


def _lines(service: Service, runs: dict[RunStatus, int]) -> Iterator[str]:
    yield "# HELP deep_research_runs Runs that have not ended, at most 10000 of each status."
    yield "# TYPE deep_research_runs gauge"
    yield from (f'deep_research_runs{{status="{status}"}} {count}' for status, count in runs.items())
    yield "# HELP deep_research_streams Streams of events that are open."
    yield "# TYPE deep_research_streams gauge"
    yield f"deep_research_streams {service.streams.count}"
    yield "# HELP deep_research_requests_total Requests that were answered."
    yield "# TYPE deep_research_requests_total counter"
    for (method, status), count in sorted(service.answers.items()):
        yield f'deep_research_requests_total{{method="{method}",status="{status}"}} {count}'
