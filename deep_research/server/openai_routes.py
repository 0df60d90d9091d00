"""The OpenAI door: routes on which existing clients of OpenAI's API work at once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from deep_research.errors import RunNotFoundError
from deep_research.research.operations import Right
from deep_research.server.access import SCHEMES, service_of, user_of, user_with
from deep_research.server.chat_completions import chat_completion, chat_stream
from deep_research.server.live_stream import EVENT_SCHEMA, KEEPALIVE, sequence_number, until_ended, watched
from deep_research.server.openai_models import (
    ChatRequest,
    ResponseRequest,
    model_list,
    model_object,
    research_id_of,
)
from deep_research.server.problems import openai_error
from deep_research.server.response_events import ResponseEvents
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state.events import Event
from deep_research.state.identity import RUN_ID

WAIT_SECONDS = 570.0  # for a run, before its client gives up after 600; the run goes on
REPEAT_SECONDS = 60  # in which the same request is the same run
STREAM = "text/event-stream"
_STATUSES = (400, 401, 403, 404, 408, 409, 413, 414, 415, 422, 429, 431, 500, 503, 507)
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "code": {"type": ["string", "null"]},
                "param": {"type": ["string", "null"]},
            },
        }
    },
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": _ERROR}},
    }
    for status in _STATUSES
}
_Key = Annotated[str | None, Header(max_length=200)]
_Creator = Annotated[User, Depends(user_with(Right.CREATE))]
_Reader = Annotated[User, Depends(user_with(Right.READ))]
_OBJECT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The object of OpenAI's API, or its stream of events.",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            STREAM: {"itemSchema": EVENT_SCHEMA},
        },
    }
}


def openai_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=ERRORS, tags=["openai"])
    for method, path, endpoint in (
        ("POST", "/v1/responses", create_response),
        ("GET", "/v1/responses/{response_id}", get_response),
        ("POST", "/v1/responses/{response_id}/cancel", cancel_response),
        ("DELETE", "/v1/responses/{response_id}", delete_response),
        ("POST", "/v1/chat/completions", create_chat_completion),
        ("GET", "/v1/models", list_models),
        ("GET", "/v1/models/{model}", get_model),
    ):
        router.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_class=Response,
            responses=_OBJECT,
            operation_id=endpoint.__name__,
        )
    return router


async def create_response(
    request: Request, user: _Creator, body: ResponseRequest, idempotency_key: _Key = None
) -> Response:
    """Research a question. A run that is not in the background is waited for; one that takes longer than 570 seconds goes
    on, and is answered as it stands."""
    service = service_of(request)
    body.check()
    if body.previous_response_id is not None:
        await _run_of(service, user, body.previous_response_id)
    research_id = await submit_once(request, service, user, body, idempotency_key)
    if body.stream:
        service.streams.check(user.name)
        return _stream(response_stream(service, user, research_id))
    if not body.background:
        await until_ended(service, user.name, research_id, WAIT_SECONDS)
    return await _answer(service, research_id)


async def get_response(
    request: Request,
    user: _Reader,
    response_id: str,
    stream: Annotated[bool, Query()] = False,
    starting_after: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    """A response as it stands; as a stream its events, from behind a sequence number."""
    service = service_of(request)
    research_id = await _run_of(service, user, response_id)
    if not stream:
        return await _answer(service, research_id)
    after = -1 if starting_after is None else sequence_number(starting_after)
    service.refuse_closing()
    service.streams.check(user.name)
    return _stream(response_stream(service, user, research_id, after))


async def cancel_response(
    request: Request, response_id: str, user: Annotated[User, Depends(user_with(Right.CONTROL))]
) -> Response:
    """End a run; what it found is kept."""
    service = service_of(request)
    research_id = await _run_of(service, user, response_id)
    await service.cancel(user, await service.summary(user, research_id))
    return await _answer(service, research_id)


async def delete_response(
    request: Request, response_id: str, user: Annotated[User, Depends(user_with(Right.DELETE))]
) -> Response:
    """Remove a run and its saved texts."""
    service = service_of(request)
    research_id = await _run_of(service, user, response_id)
    await service.engine.adelete(research_id)
    return JSONResponse({"id": response_id, "object": "response", "deleted": True})


async def create_chat_completion(
    request: Request, user: _Creator, body: ChatRequest, idempotency_key: _Key = None
) -> Response:
    """Research the last question of a conversation."""
    service = service_of(request)
    body.check()
    research_id = await submit_once(request, service, user, body, idempotency_key)
    if body.stream:
        service.streams.check(user.name)
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        return _stream(chat_stream(service, user, research_id, with_usage=with_usage))
    await until_ended(service, user.name, research_id, WAIT_SECONDS)
    state = (await service.engine.aresult(research_id)).state
    return JSONResponse(await asyncio.to_thread(chat_completion, state))


async def list_models(_: Annotated[User, Depends(user_of)]) -> Response:
    """The presets of a run, as models."""
    return JSONResponse(model_list())


async def get_model(_: Annotated[User, Depends(user_of)], model: str) -> Response:
    return JSONResponse(model_object(model))


async def _run_of(service: Service, user: User, response_id: str) -> str:
    """Raises `RunNotFoundError` also for the response of somebody else."""
    research_id = research_id_of(response_id)
    if not RUN_ID.match(research_id):
        raise RunNotFoundError.of(response_id)
    await service.summary(user, research_id)
    return research_id


async def submit_once(
    request: Request,
    service: Service,
    user: User,
    body: ResponseRequest | ChatRequest,
    idempotency_key: str | None,
) -> str:
    """The run of a request. A client sends a request again by itself when a connection breaks: without a key, the same
    one within a minute is the same run."""
    question, options = body.question, body.options
    if idempotency_key is not None:
        return await service.submit(user, question, idempotency_key=idempotency_key, options=options)
    digest = hashlib.sha256(request.url.path.encode() + b"\0" + await request.body()).hexdigest()
    minute = int(time.time() // REPEAT_SECONDS)
    earlier = await service.submission(user, question, f"openai {digest} {minute - 1}", options)
    if earlier is not None:
        created = (await service.summary(user, earlier)).created_at
        if (datetime.now(UTC) - created).total_seconds() < REPEAT_SECONDS:
            return earlier
    return await service.submit(user, question, idempotency_key=f"openai {digest} {minute}", options=options)


async def _answer(service: Service, research_id: str) -> Response:
    events = await service.engine.aevents(research_id)

    def body() -> bytes:
        builder = ResponseEvents()
        for event in events:
            for _ in builder.apply(event):
                pass
        for _ in builder.end():
            pass
        return json.dumps(builder.response(), ensure_ascii=False).encode()

    return Response(await asyncio.to_thread(body), media_type="application/json")


def _stream(frames: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(frames, 200, headers, media_type=STREAM)


async def response_stream(
    service: Service, user: User, research_id: str, after: int = -1
) -> AsyncIterator[bytes]:
    """The events of a response behind a sequence number. When the server stops, the client gets an error: a stream that
    only ended would look as if the report did."""
    builder = ResponseEvents()
    try:
        async with aclosing(watched(service, user.name, research_id)) as batches:
            async for items in batches:
                events = [item.event for item in items if isinstance(item.event, Event)]
                frames = [_frames(builder.apply(event), after) for event in events]
                yield b"".join(frames) or KEEPALIVE
        yield _frames(builder.end(), after)
    except Exception as error:
        yield f"data: {json.dumps(openai_error(error))}\n\n".encode()


def _frames(events: Iterable[dict[str, Any]], after: int) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
        if event["sequence_number"] > after
    )
