"""The routes of the API, made from the table of operations: rights, parameters and results are those of the verbs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from deep_research.research.operations import OPERATIONS, ROUTES, Operation, Route
from deep_research.research.run_summary import RunSummary
from deep_research.server.access import SCHEMES, run_with, service_of, user_with
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.request_models import arguments, request_model, result_of
from deep_research.server.service import Service
from deep_research.server.users import User

Work = Callable[[Service, User, Any, dict[str, Any]], Awaitable[Any]]
# Verbs that the service carries out in its own way: service, user, run and what the request names.
_WORK: dict[str, Work] = {
    "resume": lambda service, user, run, values: service.resume(user, run, values),
    "answer": lambda service, user, run, values: service.answer(user, run, values["value"]),
    "cancel": lambda service, user, run, _values: service.cancel(user, run),
    "verify": lambda service, _user, run, _values: service.verify(run),
}
PLAIN = ("status", "result", "verify", "delete", "cancel", "pause", "resume", "steer", "answer", "estimate")


def plain_routes(*, has_tokens: bool) -> APIRouter:
    """Return the routes of the operations that are served as they are; `run_routes` has the others. ``has_tokens``: the
    token gives the user; otherwise the request names a ``user_id``."""
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    for verb in PLAIN:
        operation, route = OPERATIONS[verb], ROUTES[verb]
        model = None if route.status == 204 else result_of(operation) if route.status == 200 else RunSummary
        router.add_api_route(
            route.path,
            _endpoint(operation, route, (*route.without, *(("user_id",) if has_tokens else ()))),
            methods=[route.method],
            status_code=route.status,
            response_model=model,
            summary=operation.summary,
            name=verb,
            operation_id=verb,
        )
    return router


def _endpoint(
    operation: Operation, route: Route, without: Sequence[str]
) -> Callable[..., Awaitable[Response]]:
    """The coroutine function of a route; FastAPI reads its parameters from the signature that is made here."""
    work = _WORK.get(operation.name) or _verb(operation)

    async def endpoint(
        request: Request, user: User, run: RunSummary | None = None, payload: BaseModel | None = None
    ) -> Response:
        service = service_of(request)
        result = await work(service, user, run, arguments(payload))
        if route.status == 204:
            return Response(status_code=204)
        if not isinstance(result, BaseModel):
            assert run is not None
            result = await service.summary(user, run.research_id)
        return await model_response(result, route.status)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("request", kind, annotation=Request),
        inspect.Parameter("user", kind, annotation=Annotated[User, Depends(user_with(operation.right))]),
    ]
    if operation.of_run:
        parameters.append(
            inspect.Parameter(
                "run", kind, annotation=Annotated[RunSummary, Depends(run_with(operation.right))]
            )
        )
    of_query = route.method in ("GET", "DELETE")
    model = request_model(operation.name, of_query=of_query, without=without)
    if model is not None:
        place = Query() if of_query else Body()
        optional = not any(info.is_required() for info in model.model_fields.values())
        default = model() if optional and route.method == "POST" else inspect.Parameter.empty
        parameters.append(
            inspect.Parameter("payload", kind, annotation=Annotated[model, place], default=default)
        )
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = operation.name
    return endpoint


def _verb(operation: Operation) -> Work:
    async def work(service: Service, _: User, run: RunSummary | None, values: dict[str, Any]) -> Any:
        verb = getattr(service.engine, f"a{operation.name}")
        return await verb(*([run.research_id] if run is not None else []), **values)

    return work


async def model_response(
    model: BaseModel, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A model as JSON. It is written off the loop: a result may be megabytes."""
    body = await asyncio.to_thread(model.model_dump_json)
    return Response(body, status, headers, media_type="application/json")
