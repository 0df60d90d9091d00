"""Errors as HTTP answers: problem+json (RFC 9457), and OpenAI's shape under the paths of its clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from deep_research.errors import (
    ConfigurationError,
    ContentMissingError,
    DeepResearchError,
    MemoryFullError,
    MemoryNotFoundError,
    QuotaError,
    RepeatedKeyError,
    RightError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    TokenError,
    UsageError,
)
from deep_research.logs import describe_error, get_log, placeless, redact, redact_value

OPENAI_PATHS = ("/v1/responses", "/v1/chat", "/v1/models")
MAX_FAULTS = 20  # of a request that are named
MAX_PLACES = 10  # of names that lead to a fault
MAX_FAULT_CHARS = 300
_SHOWN_DATA = ("research_id", "retry_after", "kind", "name", "status", "phase", "cap", "limit")
log = get_log("server")
_HIDDEN_DETAILS = {
    HTTPStatus.INSUFFICIENT_STORAGE: "The server's disk is full.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The server cannot use its store at the moment.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The server failed.",
}
_IN_THE_LOG = "The server's log says more."
_CODES = {404: "no_such_path", 413: "body_too_large", 415: "content_type", 422: "invalid_request"}


class Fault(BaseModel):
    """A part of a request that does not fit: where it stands, and why."""

    place: list[str]
    problem: str


class Problem(BaseModel):
    """An error. ``code`` is a stable name for programs, ``hint`` says what to do next, ``data`` has facts of the case,
    and ``faults`` what of a request does not fit."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""
    data: dict[str, Any] = {}
    faults: list[Fault] = []


@dataclass(frozen=True, slots=True)
class _Answer:
    """The status for a class of errors, a hint that fits HTTP better than that of the error, and the headers. Details of
    a ``hidden`` one are of the server, and only logged."""

    status: HTTPStatus
    hint: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hidden: bool = False


_ANSWERS: dict[type[DeepResearchError], _Answer] = {
    RunNotFoundError: _Answer(HTTPStatus.NOT_FOUND, "GET /v1/runs lists your runs."),
    ContentMissingError: _Answer(HTTPStatus.NOT_FOUND),
    MemoryNotFoundError: _Answer(HTTPStatus.NOT_FOUND, "GET /v1/memory lists your entries."),
    MemoryFullError: _Answer(HTTPStatus.CONFLICT, "POST /v1/memory/forget makes room."),
    RepeatedKeyError: _Answer(HTTPStatus.CONFLICT),
    RunBusyError: _Answer(HTTPStatus.CONFLICT, "GET /v1/runs/{id} shows its status.", {"retry-after": "5"}),
    RunStateError: _Answer(HTTPStatus.CONFLICT, "GET /v1/runs/{id} shows its status."),
    TokenError: _Answer(
        HTTPStatus.UNAUTHORIZED, headers={"www-authenticate": 'Bearer realm="deep-research"'}
    ),
    RightError: _Answer(HTTPStatus.FORBIDDEN),
    QuotaError: _Answer(HTTPStatus.TOO_MANY_REQUESTS),
    UsageError: _Answer(HTTPStatus.UNPROCESSABLE_ENTITY),
    ConfigurationError: _Answer(HTTPStatus.UNPROCESSABLE_ENTITY),
    StoreFullError: _Answer(HTTPStatus.INSUFFICIENT_STORAGE, hidden=True),
    StoreReadOnlyError: _Answer(HTTPStatus.SERVICE_UNAVAILABLE, headers={"retry-after": "60"}, hidden=True),
    StoreLockedError: _Answer(HTTPStatus.SERVICE_UNAVAILABLE, headers={"retry-after": "2"}, hidden=True),
    DeepResearchError: _Answer(HTTPStatus.INTERNAL_SERVER_ERROR, hidden=True),
}


def problem_of(error: Exception) -> tuple[Problem, dict[str, str]]:
    """What an error is to the sender of a request, and the headers of the answer."""
    if isinstance(error, DeepResearchError):
        return _of_ours(error)
    if isinstance(error, RequestValidationError):
        return _of_request(error), {}
    if isinstance(error, HTTPException):
        return _of_http(error), dict(error.headers or {})
    log.error("request_failed", error=describe_error(error), exc_info=error)
    return _problem(500, "unexpected", _HIDDEN_DETAILS[HTTPStatus.INTERNAL_SERVER_ERROR], _IN_THE_LOG), {}


def _of_ours(error: DeepResearchError) -> tuple[Problem, dict[str, str]]:
    answer = next(_ANSWERS[kind] for kind in type(error).__mro__ if kind in _ANSWERS)
    headers = dict(answer.headers)
    if answer.hidden:
        log.error("request_failed", error=describe_error(error), exc_info=error)
        return _problem(answer.status, error.code, _HIDDEN_DETAILS[answer.status], _IN_THE_LOG), headers
    data = {name: error.data[name] for name in _SHOWN_DATA if error.data.get(name) is not None}
    if "retry_after" in data:
        headers["retry-after"] = str(data["retry_after"])
    hint = error.hint if answer.hint is None else answer.hint
    return _problem(answer.status, error.code, error.problem, hint, redact_value(data)), headers


def _of_request(error: RequestValidationError) -> Problem:
    faults = [
        Fault(
            place=[_short(str(each)) for each in fault["loc"][:MAX_PLACES]],
            problem=_short(redact(str(fault["msg"]))),
        )
        for fault in error.errors()[:MAX_FAULTS]
    ]
    first = f"{'.'.join(faults[0].place)}: {faults[0].problem}" if faults else "It cannot be read"
    problem = _problem(
        422,
        _CODES[422],
        f"The request does not fit: {first}.",
        "GET /openapi.json says what each route takes.",
    )
    return problem.model_copy(update={"faults": faults})


def _of_http(error: HTTPException) -> Problem:
    if isinstance(error, RequestRefused):
        return _problem(error.status_code, error.code, str(error.detail), error.hint)
    code = _CODES.get(error.status_code, HTTPStatus(error.status_code).name.lower())
    return _problem(error.status_code, code, _short(str(error.detail)), "")


class RequestRefused(HTTPException):
    """A request that is refused before a route sees it."""

    def __init__(
        self, status: int, code: str, detail: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.hint = hint


def _problem(status: int, code: str, detail: str, hint: str, data: dict[str, Any] | None = None) -> Problem:
    return Problem(
        title=HTTPStatus(status).phrase,
        status=int(status),
        code=code,
        detail=placeless(redact(detail)),
        hint=placeless(redact(hint)),
        data=data or {},
    )


def _short(text: str) -> str:
    """A text of the request, fit to be sent back: with half characters replaced."""
    return text[:MAX_FAULT_CHARS].encode("utf-8", "replace").decode()


def path_of(scope: Scope) -> str:
    """The path within the application, wherever it is mounted."""
    path, root = scope.get("path", ""), scope.get("root_path", "")
    return str(path.removeprefix(root) if root and path.startswith(f"{root}/") else path)


def error_response(scope: Scope, error: Exception) -> JSONResponse:
    """The answer to a request that failed."""
    problem, headers = problem_of(error)
    if path_of(scope).startswith(OPENAI_PATHS):
        return JSONResponse(_as_openai(problem), problem.status, headers)
    body = problem.model_dump(mode="json", exclude_defaults=False)
    return JSONResponse(body, problem.status, headers, media_type="application/problem+json")


def _as_openai(problem: Problem) -> dict[str, Any]:
    kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(problem.status)
    if kind is None:
        kind = "server_error" if problem.status >= 500 else "invalid_request_error"
    places = [place for place in problem.faults[0].place if place != "body"] if problem.faults else []
    message = f"{problem.detail} {problem.hint}".strip()
    return {
        "error": {"message": message, "type": kind, "code": problem.code, "param": ".".join(places) or None}
    }


def openai_error(error: Exception) -> dict[str, Any]:
    """An error in a stream, in OpenAI's shape."""
    return _as_openai(problem_of(error)[0])


def add_error_handlers(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """``routes`` are all of the application, of which a path may have several."""

    async def answer(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            error.headers = {"allow": ", ".join(_methods(routes, request.scope))}
        return error_response(request.scope, error)

    for kind in (DeepResearchError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)


def _methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """The methods that a path takes: those of the first route that it fits, and of others with the same pattern."""
    fitting = [route for route in routes if route.matches(scope)[0] is not Match.NONE]
    patterns = [getattr(route, "path", "") for route in fitting]
    of_path = [route for route, pattern in zip(fitting, patterns, strict=True) if pattern == patterns[0]]
    return sorted({method for route in of_path for method in getattr(route, "methods", None) or ()})
