"""The routes whose requests or answers are of another form than those of their verbs: lists, streams, texts and files."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from deep_research.assembly.named_corpora import named_corpora
from deep_research.errors import ContentMissingError, RunStateError, UsageError
from deep_research.research.operations import OPERATIONS, ROUTES, Right
from deep_research.research.run_summary import RunSummary
from deep_research.research.runs import Waiting
from deep_research.server.access import SCHEMES, run_with, service_of, user_with
from deep_research.server.list_pages import (
    MAX_PAGE,
    PAGE_SIZE,
    Page,
    SourceText,
    run_behind_cursor,
    run_cursor,
    slice_page,
)
from deep_research.server.live_stream import (
    EVENT_SCHEMA,
    event_frame,
    event_stream,
    protocol_frame,
    sequence_number,
)
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.request_models import StrictModel, arguments, request_model
from deep_research.server.routes import model_response
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state import Claim, RunStatus, Source
from deep_research.state.events import encode
from deep_research.state.identity import RUN_ID

MAX_EVENTS = 1_000  # of one answer
MAX_TEXT = 200_000  # characters of one answer
CHUNK_BYTES = 64 << 10
JSON, MARKDOWN, EVENTS, ZIP = "application/json", "text/markdown", "text/event-stream", "application/zip"

_Limit = Annotated[int, Field(ge=1, le=MAX_PAGE)]
_After = Annotated[str | None, Field(max_length=200, description="Go on there: `next` of the page before.")]
PAGED: dict[str, tuple[Any, Any]] = {"limit": (_Limit, PAGE_SIZE), "after": (_After, None)}
_NO_MORE: dict[int | str, dict[str, Any]] = {
    204: {"description": "The run has ended, and all its events were seen: do not come again."}
}
_Reader = Annotated[User, Depends(user_with(Right.READ))]
_Run = Annotated[RunSummary, Depends(run_with(Right.READ))]


class PageRequest(StrictModel):
    """A part of a list."""

    limit: _Limit = PAGE_SIZE
    after: _After = None


class EventPage(BaseModel):
    """Events of a run, oldest first. ``next`` is the number to give as ``after`` for those that follow; null at the end
    of what is recorded by now."""

    data: list[dict[str, Any]]
    next: int | None = None


class TextRequest(StrictModel):
    """A piece of a text, in characters."""

    start: Annotated[int, Field(ge=0, lt=2**40)] = 0
    end: Annotated[int | None, Field(ge=0, lt=2**40)] = None


class EventsRequest(StrictModel):
    """Where events begin."""

    after: Annotated[str | None, Field(description="The number of the last event that was seen.")] = None
    limit: Annotated[int, Field(ge=1, le=MAX_EVENTS, description="Of events as JSON.")] = MAX_EVENTS
    format: Annotated[
        Literal["events", "protocol"],
        Field(description="`protocol`: a stream in the five types of a graph of models and tools."),
    ] = "events"


def run_routes(*, has_tokens: bool) -> APIRouter:
    """Return the routes of lists, streams, texts and files of runs. ``has_tokens``: the token gives the user; otherwise
    the request names a ``user_id``."""
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS)
    _add_submit(router, has_tokens)
    _add_list(router)
    _add(router, "waiting", _waiting, response_model=Page[Waiting])
    _add(router, "report", _report, responses=_content(MARKDOWN, JSON))
    _add(router, "events", _events, responses={**_content(EVENTS, JSON, model=EventPage), **_NO_MORE})
    _add(router, "text", _text, response_model=SourceText)
    _add(router, "pack", _pack, responses=_content(ZIP))
    router.add_api_route(
        "/v1/corpora",
        _corpora,
        response_model=Page[str],
        summary="List the names of the corpora that a run may search.",
        operation_id="corpora",
    )
    for name, view, model in (("claims", _claims, Page[Claim]), ("sources", _sources, Page[Source])):
        router.add_api_route(
            f"{ROUTES['status'].path}/{name}",
            view,
            response_model=model,
            summary=f"Give the {name} of a run, by pages.",
            operation_id=name,
        )
    return router


def _content(*kinds: str, model: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """What a route answers with, by media type."""
    shapes: dict[str, dict[str, Any]] = {
        JSON: {"schema": {} if model is None else model.model_json_schema()},
        MARKDOWN: {"schema": {"type": "string"}},
        EVENTS: {"itemSchema": EVENT_SCHEMA},
        ZIP: {"schema": {"type": "string", "format": "binary"}},
    }
    return {200: {"description": "Done", "content": {kind: shapes[kind] for kind in kinds}}}


def _add(router: APIRouter, operation_name: str, endpoint: Callable[..., Any], **more: Any) -> None:
    route = ROUTES[operation_name]
    if "responses" in more:
        more["response_class"] = Response
    router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        status_code=route.status,
        summary=OPERATIONS[operation_name].summary,
        operation_id=operation_name,
        **more,
    )


_Paged = Annotated[PageRequest, Query()]


def _add_submit(router: APIRouter, has_tokens: bool) -> None:
    without = ("user_id",) if has_tokens else ()
    model: Any = request_model("submit", without=without)

    async def submit(
        request: Request,
        user: Annotated[User, Depends(user_with(Right.CREATE))],
        payload: Annotated[model, Body()],
        idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
    ) -> Response:
        options = arguments(payload)
        key = options.pop("idempotency_key", None)
        if None not in (key, idempotency_key) and key != idempotency_key:
            raise UsageError("The request names two idempotency keys.", hint="Send one.")
        service = service_of(request)
        run_id = await service.submit(
            user,
            options.pop("query"),
            idempotency_key=idempotency_key if key is None else key,
            priority=options.pop("priority", 0),
            not_before=options.pop("not_before", None),
            options=options,
        )
        place = f"{request.scope.get('root_path', '')}{ROUTES['submit'].path}/{run_id}"
        return await model_response(await service.summary(user, run_id), 202, {"location": place})

    _add(router, "submit", _resolved(submit, model), response_model=RunSummary)


def _add_list(router: APIRouter) -> None:
    model: Any = request_model("list", of_query=True, without=("limit", "after"), more=PAGED)

    async def list_runs(request: Request, user: _Reader, payload: Annotated[model, Query()]) -> Response:
        filters = arguments(payload)
        limit, after = filters.pop("limit", PAGE_SIZE), filters.pop("after", None)
        if not user.may(Right.ADMIN):
            if filters.get("user") not in (None, user.name):
                return await model_response(Page[RunSummary](data=[]))
            filters["user"] = user.name
        service = service_of(request)
        at = await _place(service, user, after)
        runs = await service.engine.alist(limit=limit + 1, after=at, **filters)
        cursor = run_cursor(runs[limit - 1]) if len(runs) > limit else None
        return await model_response(Page[RunSummary](data=list(runs[:limit]), next=cursor))

    _add(router, "list", _resolved(list_runs, model), response_model=Page[RunSummary])


def _resolved(endpoint: Callable[..., Any], model: Any) -> Callable[..., Any]:
    """The endpoint with the model of its request in its annotations, which are texts, and name a local variable."""
    place = Body() if endpoint.__name__ == "submit" else Query()
    endpoint.__annotations__["payload"] = Annotated[model, place]
    return endpoint


async def _place(service: Service, user: User, after: str | None) -> RunSummary | None:
    """The run behind which a page begins: by a cursor, or by the id of one of the user's."""
    if after is None:
        return None
    return await service.summary(user, after) if RUN_ID.match(after) else run_behind_cursor(after)


async def _waiting(request: Request, user: _Reader, query: _Paged) -> Response:
    service = service_of(request)
    engine, at = service.engine, await _place(service, user, query.after)
    own = None if user.may(Right.ADMIN) else user.name
    parked = await engine.alist(status=RunStatus.PARKED, user=own, limit=query.limit + 1, after=at)
    waiting = await engine.awaiting(user=own, limit=query.limit, after=at)
    cursor = run_cursor(parked[query.limit - 1]) if len(parked) > query.limit else None
    return await model_response(Page[Waiting](data=list(waiting), next=cursor))


async def _corpora(request: Request, _: _Reader, query: _Paged) -> Response:
    settings = service_of(request).engine.settings.settings
    names = sorted(await asyncio.to_thread(named_corpora, settings))
    data, cursor = slice_page(names, query.after, query.limit)
    return await model_response(Page[str](data=list(data), next=cursor))


async def _claims(request: Request, run: _Run, query: _Paged) -> Response:
    result = await service_of(request).engine.aresult(run.research_id)
    data, cursor = slice_page(result.claims, query.after, query.limit)
    return await model_response(Page[Claim](data=list(data), next=cursor))


async def _sources(request: Request, run: _Run, query: _Paged) -> Response:
    result = await service_of(request).engine.aresult(run.research_id)
    data, cursor = slice_page(result.sources, query.after, query.limit)
    return await model_response(Page[Source](data=list(data), next=cursor))


async def _text(
    request: Request, run: _Run, source_id: str, query: Annotated[TextRequest, Query()]
) -> Response:
    engine = service_of(request).engine
    result = await engine.aresult(run.research_id)
    source = next((each for each in result.sources if each.id == source_id), None)
    if source is None or source.content_hash is None:
        raise ContentMissingError(
            "The run has no source with that id and a text.",
            hint="GET /v1/runs/{id}/sources lists its sources.",
        )
    text = await engine.atext(source)
    start = min(query.start, len(text))
    end = min(len(text) if query.end is None else max(query.end, start), start + MAX_TEXT, len(text))
    piece = SourceText(
        source_id=source.id,
        content_hash=source.content_hash,
        start=start,
        end=end,
        length=len(text),
        text=text[start:end],
    )
    return await model_response(piece)


class ReportRequest(request_model("report", of_query=True) or StrictModel):  # type: ignore[misc]
    """The form of a report."""


async def _report(request: Request, run: _Run, query: Annotated[ReportRequest, Query()]) -> Response:
    report = await service_of(request).engine.areport(run.research_id, query.format)
    if report is None:
        raise RunStateError(f"Run '{run.research_id}' has no report.", research_id=run.research_id)
    return Response(report, media_type=MARKDOWN if query.format == "markdown" else JSON)


async def _events(
    request: Request,
    user: _Reader,
    run: _Run,
    query: Annotated[EventsRequest, Query()],
    last_event_id: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """As server-sent events: what is recorded, then what happens, until the run ends or parks. The id of an event is its
    number; `Last-Event-ID`, or `after`, goes on behind one. With `Accept: application/json`: what is recorded, by pages.
    """
    service = service_of(request)
    after = sequence_number(last_event_id, query.after)
    accepted = request.headers.get("accept", "")
    if JSON in accepted and EVENTS not in accepted:
        events = await service.engine.aevents(run.research_id, after, limit=query.limit + 1)
        return await asyncio.to_thread(_event_page, events, query.limit)
    service.refuse_closing()
    service.streams.check(user.name)
    if after and run.status.is_final and not await service.engine.aevents(run.research_id, after, limit=1):
        return Response(status_code=204)
    frame = protocol_frame(run.research_id) if query.format == "protocol" else event_frame
    stream = event_stream(service, user.name, run.research_id, after, frame)
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(stream, 200, headers, media_type=EVENTS)


def _event_page(events: Sequence[Any], limit: int) -> Response:
    page = events[:limit]
    following = page[-1].seq if len(events) > limit else None
    body = f'"next":{"null" if following is None else following}}}'.encode()
    return Response(b'{"data":[' + b",".join(map(encode, page)) + b"]," + body, media_type=JSON)


async def _pack(request: Request, run: _Run) -> Response:
    """The run with all its evidence as a zip file."""
    service = service_of(request)
    async with service.packing:
        folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="deep-research-")
        try:
            path = Path(folder.name) / "pack.zip"
            await service.engine.apack(run.research_id, path)
            file = await asyncio.to_thread(path.open, "rb")
        finally:
            await asyncio.to_thread(folder.cleanup)  # the open file stays until it is closed
    size = file.seek(0, 2)
    file.seek(0)
    headers = {
        "content-length": str(size),
        "content-disposition": f'attachment; filename="{run.research_id}.zip"',
    }
    return StreamingResponse(_chunks(file), 200, headers, media_type=ZIP)


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
