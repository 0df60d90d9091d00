"""HTTP routes to list, add, show, edit, export and forget memory entries. A token reaches only the entries of its own
user, even with the role admin."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from deep_research.memory import MemoryEntry
from deep_research.research import DeepResearch
from deep_research.research.memories import MemoryExport
from deep_research.research.operations import OPERATIONS, ROUTES
from deep_research.server.access import SCHEMES, service_of, user_with
from deep_research.server.list_pages import PAGE_SIZE, Page, entry_behind_cursor, entry_cursor
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.request_models import arguments, request_model
from deep_research.server.routes import model_response
from deep_research.server.run_routes import PAGED
from deep_research.server.users import User

_Call = Callable[[DeepResearch, dict[str, Any]], Awaitable[BaseModel]]


class Forgotten(BaseModel):
    """How many entries were forgotten."""

    forgotten: int


async def _list(engine: DeepResearch, values: dict[str, Any]) -> BaseModel:
    limit, after = values.pop("limit", PAGE_SIZE), values.pop("after", None)
    at = None if after is None else entry_behind_cursor(after)
    entries = await engine.amemory_list(limit=limit + 1, after=at, **values)
    cursor = entry_cursor(entries[limit - 1]) if len(entries) > limit else None
    return Page[MemoryEntry](data=list(entries[:limit]), next=cursor)


async def _forget(engine: DeepResearch, values: dict[str, Any]) -> BaseModel:
    return Forgotten(forgotten=await engine.amemory_forget(**values))


# The call of each operation, and the model of its response.
_CALLS: dict[str, tuple[_Call, type[BaseModel]]] = {
    "memory_list": (_list, Page[MemoryEntry]),
    "memory_add": (lambda engine, values: engine.amemory_add(**values), MemoryEntry),
    "memory_show": (lambda engine, values: engine.amemory_show(**values), MemoryEntry),
    "memory_edit": (lambda engine, values: engine.amemory_edit(**values), MemoryEntry),
    "memory_export": (lambda engine, values: engine.amemory_export(**values), MemoryExport),
    "memory_forget": (_forget, Forgotten),
}


def memory_routes(*, has_tokens: bool) -> APIRouter:
    """Return the routes of the memory operations. ``has_tokens``: the token gives the user; otherwise the request names a
    ``user_id``."""
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    for operation_name, (call, model) in _CALLS.items():
        operation, route = OPERATIONS[operation_name], ROUTES[operation_name]
        router.add_api_route(
            route.path,
            _endpoint(operation_name, call, has_tokens=has_tokens),
            methods=[route.method],
            status_code=route.status,
            response_model=model,
            summary=operation.summary,
            name=operation_name,
            operation_id=operation_name,
        )
    return router


def _endpoint(operation_name: str, call: _Call, *, has_tokens: bool) -> Callable[..., Awaitable[Response]]:
    """The coroutine function of a route; FastAPI reads its parameters from the signature that is made here."""
    operation, route = OPERATIONS[operation_name], ROUTES[operation_name]

    async def endpoint(
        request: Request, user: User, entry_id: str | None = None, payload: BaseModel | None = None
    ) -> Response:
        values = arguments(payload)
        if has_tokens:
            values["user_id"] = user.name
        if entry_id is not None:
            values["entry_id"] = entry_id
        return await model_response(await call(service_of(request).engine, values), route.status)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("request", kind, annotation=Request),
        inspect.Parameter("user", kind, annotation=Annotated[User, Depends(user_with(operation.right))]),
    ]
    if "{entry_id}" in route.path:
        parameters.append(inspect.Parameter("entry_id", kind, annotation=str))
    more: Mapping[str, Any] = PAGED if operation_name == "memory_list" else {}
    without = ("entry_id", *more, *(("user_id",) if has_tokens else ()))
    of_query = route.method == "GET"
    model = request_model(operation_name, of_query=of_query, without=without, more=more)
    if model is not None:
        place = Query() if of_query else Body()
        parameters.append(inspect.Parameter("payload", kind, annotation=Annotated[model, place]))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = operation_name
    return endpoint
