"""Authentication of requests and the rights of their user: the dependencies of every route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer

from deep_research.errors import RunNotFoundError
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.server.users import LOCAL_USER, User
from deep_research.state.identity import RUN_ID

if TYPE_CHECKING:
    from deep_research.server.service import Service

MAX_TOKEN_CHARS = 512

# They say in the OpenAPI document where a token stands; `user_of` reads it.
SCHEMES = (
    Security(HTTPBearer(auto_error=False, description="A token of `deep-research token add`.")),
    Security(APIKeyHeader(name="x-api-key", auto_error=False, description="The same token.")),
)


def service_of(request: Request) -> Service:
    """The service of the application that a request came to."""
    return cast("Service", request.app.state.service)


def token_of(request: Request) -> str | None:
    """The token of a request: of ``Authorization: Bearer``, else of ``x-api-key``. None without one, and for one that is
    too long to be a token."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    token = value.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "").strip()
    return token if 0 < len(token) <= MAX_TOKEN_CHARS else None


async def user_of(request: Request) -> User:
    """The sender of a request; `LOCAL_USER` on a server without tokens. Raises `TokenError`."""
    tokens = service_of(request).tokens
    return LOCAL_USER if tokens is None else tokens.user(token_of(request))


def user_with(right: Right) -> Callable[[User], Awaitable[User]]:
    """A dependency that gives the sender of a request, who needs the right. It raises `TokenError`, `RightError`."""

    async def check_user(user: Annotated[User, Depends(user_of)]) -> User:
        user.check(right)
        return user

    return check_user


def run_with(right: Right) -> Callable[[Request, str, User], Awaitable[RunSummary]]:
    """A dependency that gives where the run in the path of a request stands, on whose sender the right is checked. It
    raises `TokenError`, `RightError`, and `RunNotFoundError` also for the run of somebody else and for what is no id."""

    async def find_run(
        request: Request, research_id: str, user: Annotated[User, Depends(user_of)]
    ) -> RunSummary:
        user.check(right)
        if not RUN_ID.match(research_id):
            raise RunNotFoundError.of(research_id)
        return await service_of(request).summary(user, research_id)

    return find_run
