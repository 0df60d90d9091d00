"""The routes of sessions. Their names may be any text, and stand in queries."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from pydantic import Field

from deep_research.errors import RunNotFoundError
from deep_research.research.operations import OPERATIONS, ROUTES, Right
from deep_research.research.sessions import MAX_SESSION_CHARS, SessionSummary, SessionTurn
from deep_research.server.access import SCHEMES, service_of, user_with
from deep_research.server.list_pages import Page, page_of_sessions, slice_page
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.request_models import StrictModel
from deep_research.server.routes import model_response
from deep_research.server.run_routes import PageRequest
from deep_research.server.users import User

_Name = Annotated[str, Field(min_length=1, max_length=MAX_SESSION_CHARS)]
_UserName = Annotated[str | None, Field(max_length=MAX_SESSION_CHARS)]
_Reader = Annotated[User, Depends(user_with(Right.READ))]
_Controller = Annotated[User, Depends(user_with(Right.CONTROL))]
_Deleter = Annotated[User, Depends(user_with(Right.DELETE))]


class SessionsRequest(PageRequest):
    """A part of the sessions, of one user where an admin names one."""

    user: _UserName = None


class SessionRequest(StrictModel):
    """A session, of the user that an admin names."""

    session_id: _Name
    user_id: _UserName = None


class TitleRequest(SessionRequest):
    """A session and its title."""

    title: _Name


class TurnsRequest(SessionRequest, PageRequest):
    """A part of the turns of a session."""


def session_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    for verb, endpoint, model in (
        ("sessions", _sessions, Page[SessionSummary]),
        ("session_turns", _turns, Page[SessionTurn]),
        ("session_rename", _rename, None),
        ("session_delete", _delete, None),
    ):
        route = ROUTES[verb]
        router.add_api_route(
            route.path,
            endpoint,
            methods=[route.method],
            status_code=route.status,
            response_model=model,
            summary=OPERATIONS[verb].summary,
            operation_id=verb,
        )
    return router


def _owner(user: User, name: str | None) -> str | None:
    """Whose session is meant: the caller's, or that of the user whom the request names. Raises `RunNotFoundError` for
    one that is not for the user to see."""
    if name is None or name == user.name:
        return user.name
    if not user.sees(name):
        raise RunNotFoundError("There is no such session.", hint="GET /v1/sessions lists yours.")
    return name


async def _sessions(request: Request, user: _Reader, query: Annotated[SessionsRequest, Query()]) -> Response:
    owner = query.user if user.may(Right.ADMIN) else _owner(user, query.user)
    sessions = await service_of(request).engine.asessions(user=owner)
    data, cursor = page_of_sessions(sessions, query.after, query.limit)
    return await model_response(Page[SessionSummary](data=list(data), next=cursor))


async def _turns(request: Request, user: _Reader, query: Annotated[TurnsRequest, Query()]) -> Response:
    owner = _owner(user, query.user_id)
    turns = await service_of(request).engine.asession_turns(query.session_id, user_id=owner)
    data, cursor = slice_page(turns, query.after, query.limit)
    return await model_response(Page[SessionTurn](data=list(data), next=cursor))


async def _rename(request: Request, user: _Controller, body: TitleRequest) -> Response:
    owner = _owner(user, body.user_id)
    await service_of(request).engine.asession_rename(body.session_id, body.title, user_id=owner)
    return Response(status_code=204)


async def _delete(request: Request, user: _Deleter, query: Annotated[SessionRequest, Query()]) -> Response:
    owner = _owner(user, query.user_id)
    await service_of(request).engine.asession_delete(query.session_id, user_id=owner)
    return Response(status_code=204)
